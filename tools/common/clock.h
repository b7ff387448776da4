/* SPDX-License-Identifier: MIT */
/*
 * The kernel's clocks in nanoseconds, and sleeping
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

#define USEC	1000ULL
#define MSEC	1000000ULL
#define SEC	1000000000ULL
#define MINUTE	(60 * SEC)
#define HOUR	(3600 * SEC)

uint64_t now_on(clockid_t clock);
uint64_t now_ns(void);
void sleep_until(uint64_t when);
void sleep_for(uint64_t ns);

#endif /* CLOCK_H */
