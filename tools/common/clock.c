// SPDX-License-Identifier: MIT
/*
 * Sleeping; see clock.h
 */
#include <errno.h>

#include "clock.h"

void sleep_until(uint64_t when)
{
	struct timespec ts = timespec_of(when);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

void sleep_for(uint64_t ns)
{
	sleep_until(now_ns() + ns);
}
