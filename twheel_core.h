/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the files of the core share, and nobody else needs
 */
#ifndef _TWHEEL_CORE_H
#define _TWHEEL_CORE_H

#include <linux/kernel.h>
#include <linux/limits.h>

#include "twheel.h"

/* It is a step to cascade a timer; to sort or expire this many in a row costs less. */
#ifndef TWHEEL_TIMERS_PER_STEP
#define TWHEEL_TIMERS_PER_STEP	4
#endif

/* Times and deadlines are below this, as a ktime_t is. */
#define TWHEEL_TIME_END		((u64)S64_MAX + 1)

static inline unsigned int timers_of(unsigned int steps)
{
	return min(steps, UINT_MAX / TWHEEL_TIMERS_PER_STEP) * TWHEEL_TIMERS_PER_STEP;
}

static inline unsigned int steps_of(unsigned int timers)
{
	return timers / TWHEEL_TIMERS_PER_STEP + 1;
}

static inline u64 deadline_of(const struct list_head *node)
{
	return list_entry(node, struct twheel_timer, node)->deadline;
}

static inline void set_clock(struct twheel *w, u64 now)
{
	w->now = now;
	w->time = now * w->tick.divisor;
}

/* Put a level's ring where it covers most at @time. */
void twheel_sync_level(const struct twheel *w, struct twheel_level *level, u64 time);

/*
 * Bring the levels up to date. A stale level finds the right bucket, but covers less: timers
 * would go to a higher level. No level is ahead of the levels below it.
 */
void twheel_sync_levels(struct twheel *w, u64 time);

/* Sort a level's first bucket, which is due. Returns how many steps it took. */
unsigned int twheel_sort_bucket(struct twheel *w, struct twheel_level *level,
				struct twheel_bucket *b, unsigned int budget);

#endif /* _TWHEEL_CORE_H */
