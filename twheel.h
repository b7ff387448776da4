/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A hierarchical timing wheel as a pure data structure
 *
 * The comment at the top of twheel_core.c says how it works. The wheel knows
 * no clock and takes no lock: the caller passes the time in, as a count of
 * ticks, serialises all calls on one wheel, and owns the memory of the timers.
 *
 * Times and deadlines are in any one unit, from 0 to S64_MAX as a ktime_t is. Tick n
 * ends n times the length of a tick after 0.
 */
#ifndef _TWHEEL_H
#define _TWHEEL_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/timerqueue.h>
#include <linux/types.h>

#include "twheel_divide.h"

/* A wheel of two buckets needs this many levels for all of time. */
#define TWHEEL_MAX_LEVELS	63

/* twheel_add() looks up the starting level by log2 of the delay. */
#define TWHEEL_LOG2S	64

/* timer->level of a timer that was due before it reached a bucket of level 0. */
#define TWHEEL_LEVEL_DUE	0xff

/* A bucket with this many timers in no order is opened ahead of its time. */
#ifndef TWHEEL_CROWD
#define TWHEEL_CROWD		128
#endif

/* A bucket is sorted by digits of up to this many bits, with a bin for each value. */
#ifndef TWHEEL_BIN_BITS
#define TWHEEL_BIN_BITS		6
#endif
#define TWHEEL_BINS		BIT(TWHEEL_BIN_BITS)

/**
 * struct twheel_timer - a timer in a wheel
 * @node: links the timer into its bucket or the list of expired timers.
 * @deadline: when it is due, in the caller's unit of time (see twheel_init()).
 *	The caller sets it while the timer is in no wheel.
 * @level: the level of the timer's bucket, or TWHEEL_LEVEL_DUE.
 * @slot: the caller's: the core leaves alone what alignment would waste.
 * @bucket: the place of the bucket in its level.
 * @tag: the caller's, too.
 */
struct twheel_timer {
	struct list_head node;
	u64 deadline;
	u8 level;
	u8 slot;
	u16 bucket;
	u32 tag;
};

/* Whether the timers of a level's first bucket are in the order of their ticks. */
enum twheel_order {
	TWHEEL_UNSORTED,
	TWHEEL_SORTING,
	TWHEEL_SORTED,
};

/**
 * struct twheel_bucket - the timers of one span of ticks
 * @timers: the timers.
 * @first_expiry: a lower bound of their deadlines: the earliest since the bucket was
 *	empty, or that of the first one when they are in order; U64_MAX without timers.
 * @count: number of timers, those included that are being cascaded or sorted.
 */
struct twheel_bucket {
	struct list_head timers;
	u64 first_expiry;
	u32 count;
};

/**
 * struct twheel_level - one wheel of the hierarchy: a ring of buckets
 * @limit: the first deadline that the level does not cover; sync_level() keeps it and the
 *	next two up to date with the clock.
 * @base: what to subtract from a deadline and divide by @span to find the number of
 *	its bucket, or that of the one a whole ring further on.
 * @next_edge: the time at which the clock enters the next bucket.
 * @span: the length of a bucket in the unit of deadlines; or 2^63, if that is less.
 * @range: the length of all buckets in the unit of deadlines; or 2^63.
 * @lead: how far ahead of its time a crowd is opened.
 * @node: in the wheel's queue while there are timers. Its time is the tick at which the
 *	level has something to do, or an earlier one.
 * @crowd: the bucket that is being cascaded ahead of its time; or NULL.
 * @crowd_expiry: a lower bound of its deadlines, as it was opened.
 * @cascading: those of its timers that have not been looked at yet.
 * @size: number of buckets.
 * @first: the place of the first bucket, from the clock's on, that has timers.
 * @nr_busy: how many buckets have timers.
 * @nr: the number of this level; 0 is the lowest.
 * @order: whether the timers of the first bucket are in order: on level 0 they always are.
 *	On other levels nothing is added to a bucket that is, or is being sorted.
 * @busy: a bit for each bucket, whether it has timers.
 * @busy_words: a bit for each word of @busy that is not zero.
 * @sort: what the wheel needs for sorting; only with level 0.
 * @bucket: the ring.
 */
struct twheel_level {
	u64 limit;
	u64 base;
	u64 next_edge;
	struct twheel_divisor span;
	u64 range;
	u64 lead;
	struct timerqueue_node node;
	struct twheel_bucket *crowd;
	u64 crowd_expiry;
	struct list_head cascading;
	u32 size;
	u32 first;
	u32 nr_busy;
	u8 nr;
	u8 order;
	unsigned long *busy;
	unsigned long *busy_words;
	struct twheel_sort *sort;
	struct twheel_bucket bucket[];
};

/**
 * struct twheel_sort - a bucket that is being sorted
 * @level: its level, whose first bucket it is; or NULL.
 * @bits: how many bits a digit has.
 * @shift: how many bits are below the digit that it is being sorted by.
 * @end: how many bits the ticks have.
 * @bins: the timers that have been looked at, by their digits.
 */
struct twheel_sort {
	struct twheel_level *level;
	u8 bits;
	u8 shift;
	u8 end;
	struct list_head bins[TWHEEL_BINS];
};

/**
 * struct twheel - a hierarchical timing wheel
 * @now: the wheel's clock, in ticks: everything due by then has expired, and of the ticks
 *	after it at most the next one's timers, in part.
 * @time: the same, in the unit of deadlines.
 * @tick: what a deadline is divided by, rounding up, to find its tick.
 * @size: number of buckets in a level.
 * @queue: the bucket queue: the levels that have timers, ordered by when the first
 *	bucket of each has to be opened.
 * @cascading_levels: bitmask of levels with a crowd that is being cascaded.
 * @expired: timers that expired, oldest first, until twheel_pop() takes them.
 * @nr_pending: number of timers that wait for their tick.
 * @nr_expired: number of timers on @expired.
 * @cascaded: how often a timer moved to a lower level.
 * @sort: what is being sorted; with level 0.
 * @level_hint: for log2 of a delay, the lowest level that may cover it.
 * @nr_levels: number of levels there are.
 * @level: the levels, lowest first; beyond @nr_levels, a dummy that covers nothing.
 */
struct twheel {
	u64 now;
	u64 time;
	struct twheel_divisor tick;
	struct twheel_divisor size;
	struct timerqueue_head queue;
	u64 cascading_levels;
	struct list_head expired;
	u64 nr_pending;
	u64 nr_expired;
	u64 cascaded;
	struct twheel_sort *sort;
	u8 level_hint[TWHEEL_LOG2S];
	u8 nr_levels;
	struct twheel_level *level[TWHEEL_MAX_LEVELS + 1];
};

void twheel_init(struct twheel *w, u64 tick, u32 size, u64 now);
void twheel_destroy(struct twheel *w);
struct twheel_level *twheel_level_alloc(const struct twheel *w, u8 nr, gfp_t gfp);
void twheel_level_free(struct twheel_level *level);
void twheel_level_install(struct twheel *w, struct twheel_level *level);
size_t twheel_level_bytes(const struct twheel *w, u8 nr);
u64 twheel_max_delay(const struct twheel *w);
bool twheel_covers(const struct twheel *w, u64 deadline);
u64 twheel_next_hint(const struct twheel *w);
u32 twheel_cascading(const struct twheel *w, u64 *tick);

void twheel_forward(struct twheel *w, u64 now);
bool twheel_advance(struct twheel *w, u64 now, unsigned int budget);

/**
 * twheel_tick() - the tick at which a deadline expires
 * @w: the wheel
 * @deadline: in the caller's unit of time
 *
 * Return: the first tick at or after the deadline.
 */
static inline u64 twheel_tick(const struct twheel *w, u64 deadline)
{
	return deadline ? twheel_divide(&w->tick, deadline - 1) + 1 : 0;
}

/**
 * twheel_floor() - the last tick that a time has reached
 * @w: the wheel
 * @time: in the caller's unit of time
 *
 * Return: the tick to hand to twheel_advance() when it is @time.
 */
static inline u64 twheel_floor(const struct twheel *w, u64 time)
{
	return twheel_divide(&w->tick, time);
}

/* The level whose first bucket has to be opened first, as it is in the queue; or NULL. */
static inline struct timerqueue_node *twheel_queue_head(const struct twheel *w)
{
	/* Only reads, but the queue's type has no room for const. */
	return timerqueue_getnext((struct timerqueue_head *)&w->queue);
}

/**
 * twheel_next() - when the wheel has to be advanced next
 * @w: the wheel
 * @tick: set to the tick at which the first bucket has to be opened; that may have passed,
 *	if the bucket is crowded and should be opened ahead of its time
 *
 * Return: false if no bucket holds timers, and @tick is untouched.
 */
static inline bool twheel_next(const struct twheel *w, u64 *tick)
{
	struct timerqueue_node *node = twheel_queue_head(w);

	if (node)
		*tick = node->expires;
	return node;
}

/* twheel_add(), twheel_expire(), twheel_expired(), twheel_cancel() and twheel_pop() are inline. */
#include "twheel_inline.h"

#endif /* _TWHEEL_H */
