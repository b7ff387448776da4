// SPDX-License-Identifier: MIT
/*
 * The kernel's clocks in nanoseconds, and sleeping; see clock.h
 */
#include <errno.h>

#include "clock.h"

uint64_t now_on(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SEC + ts.tv_nsec;
}

uint64_t now_ns(void)
{
	return now_on(CLOCK_MONOTONIC);
}

void sleep_until(uint64_t when)
{
	struct timespec ts = { .tv_sec = when / SEC, .tv_nsec = when % SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

void sleep_for(uint64_t ns)
{
	sleep_until(now_ns() + ns);
}
