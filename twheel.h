/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hierarchical timing wheel as a pure data structure
 *
 * The comment at the top of twheel_core.c says how it works. The wheel knows
 * no clock and takes no lock: the caller passes the time in, as a count of
 * ticks, serialises all calls on one wheel, and owns the memory of the timers.
 */
#ifndef _TWHEEL_H
#define _TWHEEL_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/timerqueue.h>
#include <linux/types.h>

/* A wheel of two buckets needs this many levels to reach U64_MAX ticks. */
#define TWHEEL_MAX_LEVELS	64

/* A bucket with this many timers is opened ahead of its expiry. */
#define TWHEEL_CROWD		64

/*
 * A tick of this length or more is long enough for a wheel to be fast: no time is a
 * count of more than 2^62 of it, so that the double of any distance fits an s64.
 */
#define TWHEEL_TICK_FAST	4

/* What twheel_distance() says of a tick that has come. */
#define TWHEEL_CLASS_NONE	63

/* timer->level of a timer that was due before it reached a bucket. */
#define TWHEEL_LEVEL_DUE	0xff

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

/**
 * struct twheel_bucket - the timers of one span of ticks
 * @timers: the timers; initialised when @count leaves zero. With @split, only those
 *	that are not aside: see struct twheel_level.
 * @queue: the bucket's place in the wheel's queue, while @early.
 * @expiry: the first tick of the span.
 * @count: number of timers whose bucket this is, those on its level's cascade
 *	list included.
 * @level: the number of the bucket's level.
 * @early: the bucket is crowded, and queued to be opened ahead of its expiry.
 * @split: the bucket has been crowded: some of its timers are aside.
 */
struct twheel_bucket {
	struct list_head timers;
	struct timerqueue_node queue;
	u64 expiry;
	u32 count;
	u8 level;
	bool early;
	bool split;
};

/**
 * struct twheel_divisor - division by a number that is known beforehand
 * @magic: what to multiply by, or 0 when @divisor is 1.
 * @divisor: the number to divide by.
 * @shift: what to shift the upper half of the product by.
 */
struct twheel_divisor {
	u64 magic;
	u64 divisor;
	u8 shift;
};

/**
 * struct twheel_level - one wheel of the hierarchy
 * @end: on a wheel that is @fast, the first tick that the level does not cover, or an
 *	earlier one; else 0. See twheel_add().
 * @length: the length of a bucket in ticks.
 * @lead: how many ticks ahead of its expiry a crowded bucket is opened.
 * @opened: the bucket that is being cascaded.
 * @cascade: the timers of @opened that have yet to be placed again, in two lists.
 * @nr: the number of this level; 0 is the lowest.
 * @shift: what to shift by to divide by @length, where that is a power of two.
 * @first: the expiry of the first bucket that holds timers.
 * @nr_busy: how many buckets do.
 * @busy: a bit for each of those.
 * @busy_words: a bit for each word of @busy that is not zero.
 * @aside: for each bucket, its other list.
 * @bucket: the buckets, as many as the wheel's size.
 */
struct twheel_level {
	u64 end;
	struct twheel_divisor length;
	u64 lead;
	struct twheel_bucket *opened;
	struct list_head cascade[2];
	u8 nr;
	u8 shift;
	u64 first;
	u32 nr_busy;
	unsigned long *busy;
	unsigned long *busy_words;
	struct list_head *aside;
	struct twheel_bucket bucket[];
};

/**
 * struct twheel - a hierarchical timing wheel
 * @now: the wheel's clock, in ticks. Timers with an earlier tick have expired;
 *	those with this very tick have too, or are about to be cascaded.
 * @tick: what a deadline is divided by, rounding up, to find its tick.
 * @size: number of buckets in a level.
 * @mask: one less, if that is a power of two; or else 0.
 * @fast: multiplying does for @tick, and shifting for all else: the size is a power of
 *	two, and the tick at least TWHEEL_TICK_FAST.
 * @queue: crowded buckets, ordered by when they must be opened ahead of their expiry.
 * @first: the tick at which the first bucket has to be opened, if there is one...
 * @stale: ... or an earlier one: that bucket is gone, and the next one is yet to be
 *	found.
 * @busy: levels (a bit each) that have buckets with timers.
 * @expired: timers that expired, oldest first, until twheel_pop() takes them.
 * @nr_pending: number of timers that wait for their tick.
 * @nr_expired: number of timers on @expired.
 * @cascaded: how often a timer moved to a lower level.
 * @early: levels (a bit each) that cascade an opened bucket ahead of time.
 * @late: levels whose opened bucket has expired: the clock waits for them.
 * @limit: where @end of a level ends.
 * @lowest: for the class that twheel_distance() says, the lowest level that may cover
 *	such a distance; for the last class, TWHEEL_MAX_LEVELS.
 * @nr_levels: number of levels there are.
 * @level: the levels, lowest first; from @nr_levels on, one that covers nothing.
 */
struct twheel {
	u64 now;
	struct twheel_divisor tick;
	struct twheel_divisor size;
	u64 mask;
	bool fast;
	struct timerqueue_head queue;
	u64 first;
	bool stale;
	u64 busy;
	struct list_head expired;
	u64 nr_pending;
	u64 nr_expired;
	u64 cascaded;
	u64 early;
	u64 late;
	u64 limit;
	u8 lowest[TWHEEL_CLASS_NONE + 1];
	u8 nr_levels;
	struct twheel_level *level[TWHEEL_MAX_LEVELS + 1];
};

void twheel_init(struct twheel *w, u64 tick, u32 size, u64 now);
void twheel_destroy(struct twheel *w);
struct twheel_level *twheel_level_alloc(const struct twheel *w, u8 nr, gfp_t gfp);
void twheel_level_free(struct twheel_level *level);
void twheel_level_install(struct twheel *w, struct twheel_level *level);
size_t twheel_level_bytes(const struct twheel *w);
u8 twheel_levels_for(const struct twheel *w, u64 from, u64 deadline);
u8 twheel_levels_within(const struct twheel *w, u64 ticks);
u64 twheel_tick(const struct twheel *w, u64 deadline);
bool twheel_serves(const struct twheel *w, u64 ticks);
bool twheel_covers(const struct twheel *w, u64 deadline);

void twheel_expire(struct twheel *w, struct twheel_timer *timer);
bool twheel_expired(const struct twheel *w, const struct twheel_timer *timer);
struct twheel_timer *twheel_pop(struct twheel *w);
void twheel_take(struct twheel *w, struct twheel_timer *last, unsigned int n);
void twheel_forget(struct twheel *w);

void twheel_forward(struct twheel *w, u64 now);
bool twheel_advance(struct twheel *w, u64 now, unsigned int budget);
bool twheel_early(struct twheel *w, u64 now, u64 *timers, u64 *ticks);
bool twheel_next(struct twheel *w, u64 *tick);

/*
 * Adding and cancelling are inline: they are a few instructions, of which calls
 * would be a large part. What follows up to them is not for other callers.
 */

bool twheel_add_slowly(struct twheel *w, struct twheel_timer *timer);
void twheel_bucket_counts(struct twheel *w, struct twheel_level *level,
			  struct twheel_bucket *b, u64 number);
void twheel_bucket_emptied(struct twheel *w, struct twheel_bucket *b);
u64 twheel_divide(const struct twheel_divisor *d, u64 n);

/* Exact for @n below 2^63 and a divisor above 1: see divisor_init(). */
static __always_inline u64 twheel_multiply_shift(const struct twheel_divisor *d, u64 n)
{
	return mul_u64_u64_shr(n, d->magic, 64) >> d->shift;
}

/**
 * twheel_floor() - the last tick that a time has reached
 * @w: the wheel
 * @time: in the caller's unit of time, any value
 *
 * Return: the tick to hand to twheel_advance() when it is @time.
 */
static inline u64 twheel_floor(const struct twheel *w, u64 time)
{
	if (unlikely(!w->fast || (s64)time < 0))
		return twheel_divide(&w->tick, time);
	return twheel_multiply_shift(&w->tick, time);
}

/*
 * A wheel whose size is a power of two makes do with shifts and masks, which is
 * what @fast stands for: it is a constant wherever speed matters.
 */
static __always_inline u64 twheel_bucket_number(const struct twheel_level *level, u64 tick,
						bool fast)
{
	return fast ? tick >> level->shift : twheel_divide(&level->length, tick);
}

static __always_inline u32 twheel_bucket_index(const struct twheel *w, u64 number, bool fast)
{
	if (fast)
		return number & w->mask;
	return number - twheel_divide(&w->size, number) * w->size.divisor;
}

/*
 * Link and unlink a timer: list_add_tail() and list_del() but for their checks
 * on kernels with DEBUG_LIST, which with the calls cost a third of adding a
 * timer.
 */
static __always_inline void twheel_link_between(struct twheel_timer *timer,
						struct list_head *prev, struct list_head *next)
{
	timer->node.next = next;
	timer->node.prev = prev;
	next->prev = &timer->node;
	WRITE_ONCE(prev->next, &timer->node);
}

static __always_inline void twheel_link(struct twheel_timer *timer, struct list_head *list)
{
	twheel_link_between(timer, list->prev, list);
}

static __always_inline void twheel_unlink(struct twheel_timer *timer)
{
	__list_del(timer->node.prev, timer->node.next);
}

static __always_inline unsigned long twheel_log2(u64 n)
{
	return BITS_PER_LONG == 64 ? __fls(n) : fls64(n) - 1;
}

/*
 * Put a timer into the bucket with this number of level @nr, which covers it. Without
 * @calls, only if that takes no call.
 */
static __always_inline bool twheel_put(struct twheel *w, struct twheel_level *level,
				       unsigned int nr, struct twheel_timer *timer,
				       u64 number, bool fast, bool calls)
{
	u32 index = twheel_bucket_index(w, number, fast);
	struct twheel_bucket *b = &level->bucket[index];

	/* Or the compiler works out the address again for each field. */
	OPTIMIZER_HIDE_VAR(b);
	if (unlikely(!(b->count % TWHEEL_CROWD))) {
		if (!calls)
			return false;
		twheel_bucket_counts(w, level, b, number);
	}
	/* Or the compiler does it by way of a register. */
	OPTIMIZER_HIDE_VAR(b);
	b->count++;
	timer->level = nr;
	timer->bucket = index;
	twheel_link(timer, &b->timers);
	return true;
}

/*
 * The class of a distance of @ticks + 1 ticks: 0 for one tick, and n for 2^(n - 1) + 1
 * to 2^n. With less than one, TWHEEL_CLASS_NONE: see TWHEEL_TICK_FAST.
 */
static __always_inline unsigned long twheel_distance(u64 ticks)
{
	return twheel_log2(2 * ticks + 1);
}

/*
 * Put a timer into a bucket in a few instructions, if that is how many it takes. All
 * that is out of the ordinary shows in that its tick, the one after @before, is beyond
 * what the level is known to cover: ticks that have come, wheels that are not fast and
 * deadlines that are too large for multiplying. Without @calls there is none, not even to
 * what reports an index out of bounds: sums of pointers are no indices.
 */
static __always_inline bool twheel_place_fast(struct twheel *w, struct twheel_timer *timer,
					      u64 before, bool calls)
{
	unsigned int nr = *(w->lowest + twheel_distance(before - w->now));
	struct twheel_level *level = *(w->level + nr);
	u64 tick = before + 1;

	if (unlikely(tick >= level->end))
		return false;
	return twheel_put(w, level, nr, timer, tick >> level->shift, true, calls);
}

static __always_inline bool twheel_add_fast(struct twheel *w, struct twheel_timer *timer,
					    bool calls)
{
	u64 before = twheel_multiply_shift(&w->tick, timer->deadline - 1);

	if (unlikely(!twheel_place_fast(w, timer, before, calls)))
		return false;
	w->nr_pending++;
	return true;
}

/**
 * twheel_add_quickly() - arm a timer, if no function has to be called for it
 * @w: the wheel
 * @timer: in no wheel, with its deadline set
 *
 * For where none can be called, as while user memory is being accessed.
 *
 * Return: false, and nothing has changed, if it takes twheel_add().
 */
static __always_inline bool twheel_add_quickly(struct twheel *w, struct twheel_timer *timer)
{
	return twheel_add_fast(w, timer, false);
}

/**
 * twheel_add() - arm a timer
 * @w: the wheel
 * @timer: in no wheel, with its deadline set
 *
 * A timer whose tick is not after the wheel's clock expires at once. O(1).
 *
 * Return: false, and nothing has changed, if the wheel has no level that covers
 * the deadline: see twheel_levels_for().
 */
static __always_inline bool twheel_add(struct twheel *w, struct twheel_timer *timer)
{
	return likely(twheel_add_fast(w, timer, true)) || twheel_add_slowly(w, timer);
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
	struct twheel_bucket *b;
	u8 nr = timer->level;

	twheel_unlink(timer);
	/* It is due, or in level 0, which does not know. */
	if (unlikely((u8)(nr - 1) >= TWHEEL_LEVEL_DUE - 1 && twheel_expired(w, timer))) {
		w->nr_expired--;
		return;
	}
	w->nr_pending--;
	b = &w->level[nr]->bucket[timer->bucket];
	if (unlikely(!--b->count))
		twheel_bucket_emptied(w, b);
}

#endif /* _TWHEEL_H */
