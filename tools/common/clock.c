// SPDX-License-Identifier: MIT
/*
 * Sleeping, and setting the time of day; see clock.h
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

/* Set CLOCK_REALTIME, and with it CLOCK_TAI; fails without CAP_SYS_TIME. */
bool set_time_of_day(int64_t change_ns)
{
	struct timespec ts = timespec_of(now_on(CLOCK_REALTIME) + change_ns);

	return !clock_settime(CLOCK_REALTIME, &ts);
}
