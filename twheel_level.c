// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Making and freeing wheels and their levels
 *
 * A caller with a timer that no level covers allocates the next level, for which it can drop the
 * wheel's lock, and installs it.
 */
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "twheel.h"

/* Return the length that covers each deadline, in the tick that it expires in. */
static u64 all_of_time(const struct twheel *w)
{
	return TWHEEL_TIME_END + (w->tick - 1);
}

/* Return the length of a level with buckets of this span. */
static u64 range_of(const struct twheel *w, u64 span)
{
	u64 range;

	if (check_mul_overflow(span, (u64)w->size, &range))
		return all_of_time(w);
	return min(range, all_of_time(w));
}

/**
 * twheel_init() - make an empty wheel without levels
 * @w: the wheel
 * @tick: length of a tick in the caller's unit of time, at least 1
 * @size: number of buckets in a level, 2 to 65536
 * @now: the time, in ticks
 */
void twheel_init(struct twheel *w, u64 tick, u32 size, u64 now)
{
	unsigned int log2;
	u64 range;
	u8 nr = 0;

	TWHEEL_EXPECT(tick && size >= 2 && size <= 65536);
	memset(w, 0, sizeof(*w));
	w->tick = tick;
	w->size = size;
	timerqueue_init_head(&w->queue);
	INIT_LIST_HEAD(&w->expired);
	TWHEEL_EXPECT(now <= twheel_floor(w, S64_MAX));
	w->now = now;
	w->time = now * tick;

	/* A delay of log2 n is 2^n + 1 to 2^(n + 1); or of 1, for n = 0. */
	range = range_of(w, tick);
	for (log2 = 0; log2 < ARRAY_SIZE(w->level_hint) - 1; log2++) {
		while (range <= BIT_ULL(log2)) {
			range = range_of(w, range);
			nr++;
		}
		w->level_hint[log2] = nr;
	}
	/* For deadlines that have passed. */
	w->level_hint[log2] = TWHEEL_MAX_LEVELS;
}
EXPORT_SYMBOL_GPL(twheel_init);

/**
 * twheel_destroy() - free the levels of a wheel
 * @w: the wheel, which must not be used afterwards
 *
 * O(1): no timer is touched.
 */
void twheel_destroy(struct twheel *w)
{
	while (w->nr_levels)
		kvfree(w->level[--w->nr_levels]);
}
EXPORT_SYMBOL_GPL(twheel_destroy);

/**
 * twheel_level_bytes() - how much memory a level takes
 * @w: the wheel; only what twheel_init() set is read, so no lock is needed
 * @nr: the number of the level: 0 takes more than the others
 *
 * Return: bytes, rounded up as the allocator does.
 */
size_t twheel_level_bytes(const struct twheel *w, u8 nr)
{
	size_t words = BITS_TO_LONGS(w->size);
	size_t bytes = struct_size((struct twheel_level *)NULL, bucket, w->size) +
		       (words + BITS_TO_LONGS(words)) * sizeof(long);

	if (!nr)
		bytes += sizeof(struct twheel_sort);
	return bytes < PAGE_SIZE ? roundup_pow_of_two(bytes) : PAGE_ALIGN(bytes);
}
EXPORT_SYMBOL_GPL(twheel_level_bytes);

/**
 * twheel_level_alloc() - make a level, which is not yet part of the wheel
 * @w: the wheel; only what twheel_init() set is read, so no lock is needed
 * @nr: the number of the level, 0 to TWHEEL_MAX_LEVELS - 1
 * @gfp: how to allocate; must be allowed to sleep
 *
 * Return: the level, for twheel_level_install() or kvfree(); or NULL without memory.
 */
struct twheel_level *twheel_level_alloc(const struct twheel *w, u8 nr, gfp_t gfp)
{
	size_t words = BITS_TO_LONGS(w->size), bytes = twheel_level_bytes(w, nr);
	struct twheel_level *level;
	u32 i;

	TWHEEL_EXPECT(nr < TWHEEL_MAX_LEVELS);
	/* kmalloc() would round up to a power of two contiguous pages. */
	level = bytes > PAGE_SIZE ? __vmalloc(bytes, gfp) : kmalloc(bytes, gfp);
	if (!level)
		return NULL;
	memset(level, 0, sizeof(*level));
	level->span = w->tick;
	for (i = 0; i < nr; i++)
		level->span = range_of(w, level->span);
	level->range = range_of(w, level->span);
	INIT_LIST_HEAD(&level->cascading);
	timerqueue_init(&level->node);
	level->size = w->size;
	level->nr = nr;
	level->sorted = !nr;
	level->busy = (unsigned long *)&level->bucket[level->size];
	level->busy_words = level->busy + words;
	memset(level->busy, 0, (words + BITS_TO_LONGS(words)) * sizeof(long));
	for (i = 0; i < level->size; i++) {
		INIT_LIST_HEAD(&level->bucket[i].timers);
		level->bucket[i].first_expiry = U64_MAX;
		level->bucket[i].count = 0;
		if (i % 256 == 255)
			cond_resched();
	}
	return level;
}
EXPORT_SYMBOL_GPL(twheel_level_alloc);

/* Bring a level up to date: its ring begins with the bucket of @time. */
void twheel_sync_level(const struct twheel *w, struct twheel_level *level, u64 time)
{
	u64 number = div64_u64(time, level->span);
	u64 start = number * level->span;

	level->next_edge = start + level->span;
	/* Tick n has the deadlines after the end of the tick before, and up to its own. */
	level->limit = start + min(level->range - (w->tick - 1), TWHEEL_TIME_END - start);
	level->base = start - number % level->size * level->span - (w->tick - 1);
}

/**
 * twheel_level_install() - put a level on top of a wheel
 * @w: the wheel
 * @level: from twheel_level_alloc(), with @nr the wheel's current number of levels
 */
void twheel_level_install(struct twheel *w, struct twheel_level *level)
{
	size_t words = BITS_TO_LONGS(BITS_TO_LONGS(w->size));
	struct twheel_sort *sort = (void *)(level->busy_words + words);
	unsigned int i;

	TWHEEL_EXPECT(level->nr == w->nr_levels);
	twheel_sync_level(w, level, w->time);
	w->level[w->nr_levels] = level;
	if (!w->nr_levels) {
		sort->level = NULL;
		for (i = 0; i < TWHEEL_BINS; i++)
			INIT_LIST_HEAD(&sort->bins[i]);
		timerqueue_init(&sort->rewinding);
		INIT_LIST_HEAD(&sort->unplaced);
		w->sort = sort;
	}
	WRITE_ONCE(w->nr_levels, w->nr_levels + 1);
}
EXPORT_SYMBOL_GPL(twheel_level_install);

/* Return the longest delay that levels up to one with buckets of this span cover. */
static u64 longest_delay(const struct twheel *w, u64 span)
{
	u64 range = range_of(w, span);

	if (range == all_of_time(w))
		return S64_MAX;
	/* When the clock is at the end of a bucket, nothing of that bucket is left. */
	return range - min(range, w->tick - 1 + span);
}

/**
 * twheel_levels_for() - how many levels a delay may need
 * @w: the wheel; only what twheel_init() set is read, so no lock is needed
 * @delay: in the unit of deadlines, at most S64_MAX
 *
 * Return: the smallest number of levels with which twheel_max_delay() is not shorter.
 */
u8 twheel_levels_for(const struct twheel *w, u64 delay)
{
	u64 span = w->tick;
	u8 nr = 1;

	for (; longest_delay(w, span) < delay; nr++)
		span = range_of(w, span);
	return nr;
}
EXPORT_SYMBOL_GPL(twheel_levels_for);

/**
 * twheel_levels_until() - how many levels a deadline needs now
 * @w: the wheel
 * @deadline: the deadline
 *
 * Return: a number of levels with which twheel_add() succeeds: the smallest, unless levels are
 * ahead of the clock, in a bucket that has been opened.
 */
u8 twheel_levels_until(const struct twheel *w, u64 deadline)
{
	u64 span = w->tick, range = range_of(w, span), start = w->time;
	u8 nr = 1;

	/* As twheel_sync_level() has it. */
	while (deadline >= start + min(range - (w->tick - 1), TWHEEL_TIME_END - start)) {
		span = range;
		range = range_of(w, span);
		start = div64_u64(w->time, span) * span;
		nr++;
	}
	return nr;
}
EXPORT_SYMBOL_GPL(twheel_levels_until);

/**
 * twheel_max_delay() - the longest delay that the levels cover
 * @w: the wheel
 *
 * Return: the longest delay, in the unit of deadlines, for which twheel_add() succeeds at
 * any time within the clock's tick; 0 without levels.
 */
u64 twheel_max_delay(const struct twheel *w)
{
	return w->nr_levels ? longest_delay(w, w->level[w->nr_levels - 1]->span) : 0;
}
EXPORT_SYMBOL_GPL(twheel_max_delay);
