/* SPDX-License-Identifier: MIT */
/*
 * The account of a wheel: each timer is read once or cancelled once, not early, and not late
 *
 * Timers have numbers, which are their data. All calls that change or read them go through here.
 */
#ifndef INTERLEAVE_LEDGER_H
#define INTERLEAVE_LEDGER_H

#include <linux/limits.h>

#include "calls.h"
#include "clock.h"
#include "scenario.h"

/* The wheel of the scenario, and its ring or NULL. */
extern struct file *wheel;
extern struct twheel_ring *ring;

/* Open the wheel on a clock; all times below are in ticks from the beginning. */
#define TICK_NS		1000ULL
void ledger_open(clockid_t clock);
/* Give it a ring, and map it. */
void ledger_open_ring(void);

/* Each returns 0 or a negative errno. */
long add(unsigned int nr, unsigned int due);
long add_periodic(unsigned int nr, unsigned int due, unsigned int period);
/* Add @n timers with numbers from @nr on, due at the same time; return how many. */
long add_batch(unsigned int nr, unsigned int due, unsigned int n);
long modify(unsigned int nr, unsigned int due);
long cancel(unsigned int nr);
/* The same as io_uring commands, which a worker repeats if the lock is held. */
long uring_add(unsigned int nr, unsigned int due);
long uring_cancel(unsigned int nr);
long set_up(clockid_t clock, u64 tick);

/* Read up to @max events; a negative errno, or how many. */
int read_events(unsigned int max, int flags);
/* Take what is in the ring; returns how many. */
unsigned int take_events(void);

/* Check, while time stands still, that every sleeping waiter will be woken in time. */
void ledger_check_idle(void);
/* Read the rest, check every timer and all memory, and close. */
void ledger_close(void);

#endif /* INTERLEAVE_LEDGER_H */
