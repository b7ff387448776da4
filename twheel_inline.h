/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What of the wheel is inline for speed; part of twheel.h
 *
 * Adding and cancelling are a few instructions, of which calls would be a large part.
 * Those functions here without a description are not for other callers.
 */
#ifndef _TWHEEL_INLINE_H
#define _TWHEEL_INLINE_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/overflow.h>

/* timer->level of a timer that was due before it reached a bucket of level 0. */
#define TWHEEL_LEVEL_DUE	0xff

/* A bucket with this many timers in no order is opened ahead of its time. */
#ifndef TWHEEL_CROWD
#define TWHEEL_CROWD		128
#endif

/* A bucket is sorted by digits of up to this many bits, with a bin for each value. */
#ifndef TWHEEL_BIN_BITS
#define TWHEEL_BIN_BITS		7
#endif
#define TWHEEL_BINS		BIT(TWHEEL_BIN_BITS)

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
 * @turn: the time at which the clock enters the next bucket.
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
	u64 turn;
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

bool twheel_add_slowly(struct twheel *w, struct twheel_timer *timer);
void twheel_put_first(struct twheel *w, struct twheel_level *level, struct twheel_timer *timer,
		      u32 index);
void twheel_bucket_emptied(struct twheel *w, struct twheel_level *level, u32 index);

/*
 * Link and unlink a timer: list_add_tail() and list_del() but for their checks on kernels
 * with DEBUG_LIST, which cost a third of adding a timer.
 */
static __always_inline void twheel_link(struct twheel_timer *timer, struct list_head *next)
{
	struct list_head *prev = next->prev;

	timer->node.next = next;
	timer->node.prev = prev;
	next->prev = &timer->node;
	WRITE_ONCE(prev->next, &timer->node);
}

static __always_inline void twheel_unlink(struct twheel_timer *timer)
{
	__list_del(timer->node.prev, timer->node.next);
}

static __always_inline unsigned long twheel_magnitude(u64 n)
{
	return BITS_PER_LONG == 64 ? __fls(n | 1) : fls64(n | 1) - 1;
}

/* The place in the ring of the bucket for a deadline, which the level covers. */
static __always_inline unsigned long twheel_index(const struct twheel_level *level,
						  u64 deadline)
{
	unsigned long index = twheel_divide(&level->span, deadline - level->base);
	unsigned long size = level->size, wrapped;

	return check_sub_overflow(index, size, &wrapped) ? index : wrapped;
}

/* Put a timer into a bucket of @level; or false, and nothing has changed, if it takes a call. */
static __always_inline bool twheel_put_quickly(struct twheel_level *level,
					       struct twheel_timer *timer)
{
	/* Where no bound can be exceeded, none is checked: UBSAN's checks are calls. */
	unsigned long index = twheel_index(level, timer->deadline);
	struct twheel_bucket *b = level->bucket + index;

	if (unlikely(timer->deadline < b->first_expiry || b->count == TWHEEL_CROWD - 1))
		return false;
	b->count++;
	timer->level = level->nr;
	timer->bucket = index;
	twheel_link(timer, &b->timers);
	return true;
}

static __always_inline void twheel_put(struct twheel *w, struct twheel_level *level,
				       struct twheel_timer *timer)
{
	if (unlikely(!twheel_put_quickly(level, timer)))
		twheel_put_first(w, level, timer, twheel_index(level, timer->deadline));
}

/* Find the lowest level that covers a deadline: there is none for one that has come. */
static __always_inline bool twheel_level_for(const struct twheel *w, u64 deadline,
					     struct twheel_level **level)
{
	unsigned int nr = *(w->lowest + twheel_magnitude(deadline - 1 - w->time));

	*level = *(w->level + nr);
	while (unlikely(deadline >= (*level)->limit)) {
		if (++nr >= w->nr_levels)
			return false;
		*level = *(w->level + nr);
	}
	return true;
}

/**
 * twheel_add() - arm a timer
 * @w: the wheel
 * @timer: in no wheel, with its deadline set
 *
 * A timer whose tick is not after the wheel's clock expires at once. O(1).
 *
 * Return: false, and nothing has changed, if the wheel has no level that covers
 * the deadline: see twheel_covers().
 */
static __always_inline bool twheel_add(struct twheel *w, struct twheel_timer *timer)
{
	struct twheel_level *level;

	if (unlikely(!twheel_level_for(w, timer->deadline, &level)))
		return twheel_add_slowly(w, timer);
	w->nr_pending++;
	twheel_put(w, level, timer);
	return true;
}

/**
 * twheel_expire() - let a timer expire at once
 * @w: the wheel
 * @timer: in no wheel
 *
 * It queues behind the timers that have expired so far.
 */
static __always_inline void twheel_expire(struct twheel *w, struct twheel_timer *timer)
{
	timer->level = TWHEEL_LEVEL_DUE;
	twheel_link(timer, &w->expired);
	w->nr_expired++;
}

/**
 * twheel_expired() - whether a timer has expired
 * @w: the wheel
 * @timer: in the wheel
 *
 * Buckets of level 0 are spliced without touching their timers, so the clock decides.
 *
 * Return: true if it waits for twheel_pop().
 */
static __always_inline bool twheel_expired(const struct twheel *w,
					   const struct twheel_timer *timer)
{
	if (timer->level)
		return timer->level == TWHEEL_LEVEL_DUE;
	return timer->deadline <= w->time;
}

/* A pending timer leaves its bucket, which is one of its level's. */
static __always_inline void twheel_leave(struct twheel *w, struct twheel_level *level,
					 struct twheel_timer *timer)
{
	twheel_unlink(timer);
	if (unlikely(!--level->bucket[timer->bucket].count))
		twheel_bucket_emptied(w, level, timer->bucket);
}

/**
 * twheel_cancel() - take a timer out of the wheel
 * @w: the wheel
 * @timer: in the wheel, pending or expired
 *
 * O(1).
 */
static __always_inline void twheel_cancel(struct twheel *w, struct twheel_timer *timer)
{
	struct twheel_level *level;

	if (unlikely(twheel_expired(w, timer))) {
		twheel_unlink(timer);
		w->nr_expired--;
	} else {
		level = w->level[timer->level];
		w->nr_pending--;
		twheel_leave(w, level, timer);
	}
}

/**
 * twheel_pop() - take the timer that expired first
 * @w: the wheel
 *
 * Return: a timer that is no longer in the wheel; or NULL if none has expired.
 */
static __always_inline struct twheel_timer *twheel_pop(struct twheel *w)
{
	struct twheel_timer *timer;

	timer = list_first_entry_or_null(&w->expired, struct twheel_timer, node);
	if (timer) {
		twheel_unlink(timer);
		w->nr_expired--;
	}
	return timer;
}

#endif /* _TWHEEL_INLINE_H */
