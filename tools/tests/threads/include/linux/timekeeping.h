/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_TIMEKEEPING_H
#define _DRIVER_LINUX_TIMEKEEPING_H

#include "../../kernel.h"

#define NSEC_PER_USEC	1000L
#define NSEC_PER_MSEC	1000000L

static inline u64 ktime_get_ns(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

static inline u64 ktime_get_boottime_ns(void)
{
	return clock_now(CLOCK_BOOTTIME);
}

#endif /* _DRIVER_LINUX_TIMEKEEPING_H */
