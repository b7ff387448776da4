/* SPDX-License-Identifier: MIT */
/*
 * The kernel's clocks in nanoseconds, sleeping, and setting the time of day
 *
 * Reading a clock is inline: the benchmark does it beside the code that it measures.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define USEC	1000ULL
#define MSEC	1000000ULL
#define SEC	1000000000ULL
#define MINUTE	(60 * SEC)
#define HOUR	(3600 * SEC)
#define DAY	(24 * HOUR)
#define YEAR	(365 * DAY)

static inline struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = ns / SEC, .tv_nsec = ns % SEC };
}

static inline uint64_t now_on(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SEC + ts.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return now_on(CLOCK_MONOTONIC);
}

void sleep_until(uint64_t when);
void sleep_for(uint64_t ns);
bool set_time_of_day(int64_t change_ns);
