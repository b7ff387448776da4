/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_TIMEKEEPING_H
#define _DRIVER_LINUX_TIMEKEEPING_H

#include "../../kernel.h"

#define NSEC_PER_USEC	1000L
#define NSEC_PER_MSEC	1000000L

static inline u64 ktime_get_ns(void)
{
	return clock_look(CLOCK_MONOTONIC);
}

enum tk_offsets { TK_OFFS_REAL = CLOCK_REALTIME, TK_OFFS_BOOT = CLOCK_BOOTTIME,
		  TK_OFFS_TAI = CLOCK_TAI };

static inline u64 ktime_get_with_offset(enum tk_offsets offset)
{
	return clock_look((clockid_t)offset);
}

#endif /* _DRIVER_LINUX_TIMEKEEPING_H */
