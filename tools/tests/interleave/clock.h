/* SPDX-License-Identifier: MIT */
/*
 * Time, which passes only when a coroutine advances it, and hrtimers
 */
#ifndef INTERLEAVE_CLOCK_H
#define INTERLEAVE_CLOCK_H

#include "schedule.h"

/* The time of all clocks at the beginning. */
#define CLOCK_BEGIN	1000000000ULL
/* No hrtimer fires from here on. */
#define CLOCK_END	(CLOCK_BEGIN + 150000)

/* CLOCK_REALTIME, which the other clocks are equal to until it is set. */
u64 clock_wall(void);
/* The latest time that it has shown since the running coroutine's call began. */
u64 clock_latest(void);
void clock_call_begins(void);

/* Let time pass. */
void clock_pass(u64 ns);
/* Set CLOCK_REALTIME forward, or back. */
void clock_set(s64 ns);

/* When the first hrtimer fires, in CLOCK_REALTIME; U64_MAX if none is queued. */
u64 clock_next_fire(void);

/* A coroutine that lets time pass until the next hrtimer is due, and then runs its interrupt. */
struct coroutine *clock_add(void);
/* It waits for time to pass. */
bool clock_is_waiting(const struct coroutine *c);

#endif /* INTERLEAVE_CLOCK_H */
