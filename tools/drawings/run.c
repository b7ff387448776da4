// SPDX-License-Identifier: MIT
/*
 * A wheel that runs as in the driver: it is advanced when it is due, and expired timers
 * are taken out
 */
#include <stdlib.h>

#include <linux/gfp.h>

#include "draw.h"

static u64 seed = 1;

/* The same numbers in each run, from @from to @to. */
u64 run_random(u64 from, u64 to)
{
	/* xorshift64*, by S. Vigna. */
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return from + (u64)((__uint128_t)(seed * 0x2545f4914f6cdd1dULL) * (to - from + 1) >> 64);
}

static int by_deadline(const void *a, const void *b)
{
	const struct twheel_timer *x = a, *y = b;

	return (x->deadline > y->deadline) - (x->deadline < y->deadline);
}

/* Make a wheel of DRAW_LEVELS levels, and @n timers whose deadlines the caller sets. */
void run_start(struct run *run, u32 size, u64 now, u32 n)
{
	u8 nr;

	run->n = n;
	run->fires = 0;
	run->timer = calloc(n, sizeof(*run->timer));
	if (!run->timer)
		abort();
	twheel_init(&run->wheel, 1, size, now);
	for (nr = 0; nr < DRAW_LEVELS; nr++) {
		struct twheel_level *level = twheel_level_alloc(&run->wheel, nr, GFP_KERNEL);

		if (!level)
			abort();
		twheel_level_install(&run->wheel, level);
	}
}

/* Add all timers, in the order of their deadlines. */
void run_add(struct run *run)
{
	u32 i;

	qsort(run->timer, run->n, sizeof(*run->timer), by_deadline);
	for (i = 0; i < run->n; i++) {
		if (!twheel_add(&run->wheel, &run->timer[i]))
			abort();
	}
}

/* The hrtimer fires: advance the wheel to that time. Return false if it is empty. */
bool run_advance(struct run *run)
{
	u64 now;

	if (!twheel_next(&run->wheel, &now))
		return false;
	while (twheel_advance(&run->wheel, now, 64))
		;
	while (twheel_pop(&run->wheel))
		;
	run->fires++;
	return true;
}

/* The number of ticks with timers due. */
u32 run_due_ticks(const struct run *run)
{
	u32 i, ticks = 0;

	for (i = 0; i < run->n; i++)
		ticks += !i || run->timer[i].deadline != run->timer[i - 1].deadline;
	return ticks;
}

void run_end(struct run *run)
{
	twheel_destroy(&run->wheel);
	free(run->timer);
}
