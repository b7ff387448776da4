/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A hierarchical timing wheel as a pure data structure; twheel_core.c describes how it works
 *
 * It has no clock and takes no lock: the caller passes the time in as a count of ticks, serialises
 * all calls on one wheel, and owns the memory of the timers. Times and deadlines share one unit of
 * its choice, from 0 to S64_MAX as a ktime_t. Tick n ends n times the length of a tick after 0.
 */
#ifndef _TWHEEL_H
#define _TWHEEL_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/timerqueue.h>
#include <linux/types.h>

/* Preconditions that callers must meet; checked under KUnit and by the fuzzers. */
#ifdef TWHEEL_DEBUG
#include <linux/bug.h>
#define TWHEEL_EXPECT(condition)	WARN_ON_ONCE(!(condition))
#else
#include <linux/build_bug.h>
#define TWHEEL_EXPECT(condition)	BUILD_BUG_ON_INVALID(condition)
#endif

#define TWHEEL_TIME_END		((u64)S64_MAX + 1)
#define TWHEEL_MAX_LEVELS	63	/* for all of time in a wheel of two buckets */
/* timer->level of a timer that is not in a bucket: expired; or to be added again */
#define TWHEEL_LEVEL_EXPIRED	0xff
#define TWHEEL_LEVEL_UNPLACED	0xfe

/* The fuzzers define all of these, to reach every state with a handful of timers. */
#ifndef TWHEEL_EARLY_CASCADE_MIN
/* A crowd, a bucket with this many unsorted timers, cascades ahead of its time ... */
#define TWHEEL_EARLY_CASCADE_MIN 128
/* ... by the length of the bucket divided by this. */
#define TWHEEL_LEAD_DIVISOR	8
/* Up to this many timers are insertion-sorted. */
#define TWHEEL_INSERTION_MAX	64
/* More are radix-sorted by digits of this many bits, with a bin for each value. */
#define TWHEEL_DIGIT_BITS	6
/* An advance cascades as many timers ahead of their time, and more for each that expires. */
#define TWHEEL_AHEAD_MIN	16
/* Cascading a timer is a step; to sort or expire this many in a row costs less. */
#define TWHEEL_TIMERS_PER_STEP	4
#endif
#define TWHEEL_BINS		BIT(TWHEEL_DIGIT_BITS)

/**
 * struct twheel_timer - a timer in a wheel
 * @node: links the timer into its bucket or the list of expired timers.
 * @deadline: when it is due. The caller sets it while the timer is in no wheel.
 * @level: the level of the timer's bucket, TWHEEL_LEVEL_EXPIRED or TWHEEL_LEVEL_UNPLACED.
 * @slot: padding, free for the caller.
 * @bucket: the index of the bucket in its level.
 * @tag: free for the caller.
 */
struct twheel_timer {
	struct list_head node;
	u64 deadline;
	u8 level;
	u8 slot;
	u16 bucket;
	u32 tag;
};

/* The timers of one span of ticks. */
struct twheel_bucket {
	struct list_head timers;
	u64 first_expiry;		/* lower bound of their deadlines, or U64_MAX */
	u32 count;			/* includes those that are being cascaded or sorted */
};

/* One wheel of the hierarchy: a ring of buckets. */
struct twheel_level {
	/* Brought up to date with the clock by sync_levels(). */
	u64 limit;			/* the first deadline that it does not cover */
	u64 base;			/* (deadline - base) / span: the index, or index + size */
	u64 next_edge;			/* the time at which the clock enters the next bucket */

	u64 span;			/* length of a bucket */
	u64 range;			/* length of all buckets, or of all time and a tick */

	/*
	 * In the bucket queue while the level has timers. It expires at the tick at which the
	 * first bucket has to be opened, or at an earlier one.
	 */
	struct timerqueue_node node;

	/* The bucket that is being cascaded ahead of its time, or NULL. */
	struct twheel_bucket *crowd;
	u64 crowd_expiry;		/* lower bound of its deadlines, as it was opened */
	struct list_head cascading;	/* its timers that have not been moved yet */

	u32 size;			/* number of buckets */
	u32 first;			/* the first busy bucket, from the clock's on */
	u32 nr_busy;			/* number of buckets with timers */
	u8 nr;				/* 0 is the lowest level */
	/*
	 * The first bucket is sorted or being sorted, and no timer is added to it.
	 * Always set on level 0, whose buckets span one tick and need no sorting.
	 */
	bool sorted;
	unsigned long *busy;		/* bitmap of the buckets with timers */
	unsigned long *busy_words;	/* bitmap of the words of @busy that are not zero */
	struct twheel_bucket bucket[];
};

/* A bucket that is being sorted, and a clock that is being set back. */
struct twheel_sort {
	struct twheel_level *level;	/* whose first bucket it is, or NULL */
	u8 shift;			/* number of bits below the current digit */
	struct list_head bins[TWHEEL_BINS];
	/* In the queue, before all levels, while twheel_rewind() has more to do. */
	struct timerqueue_node rewinding;
	struct list_head unplaced;	/* timers that it has to place again */
};

/**
 * struct twheel - a hierarchical timing wheel
 * @now: the wheel's clock, in ticks: everything due before it has expired; timers of exactly
 *	this tick may still be in their buckets.
 * @time: the same, in the unit of deadlines.
 * @tick: the length of a tick, in the unit of deadlines.
 * @size: number of buckets in a level.
 * @queue: the bucket queue: a node for each level that has timers.
 * @cascading_levels: bitmask of levels with a crowd that is being cascaded.
 * @expired: timers that expired, oldest first, until twheel_pop() takes them.
 * @nr_pending: number of timers that wait for their tick.
 * @nr_expired: number of timers on @expired.
 * @cascaded: number of moves of a timer to a lower level.
 * @sort: the bucket that is being sorted; allocated with level 0.
 * @level_hint: for log2 of a delay, the lowest level that may cover it.
 * @nr_levels: number of levels.
 * @level: the levels, lowest first, and at least one NULL after them.
 */
struct twheel {
	u64 now;
	u64 time;
	u64 tick;
	u32 size;
	struct timerqueue_head queue;
	u64 cascading_levels;
	struct list_head expired;
	u64 nr_pending;
	u64 nr_expired;
	u64 cascaded;
	struct twheel_sort *sort;
	u8 level_hint[64];
	u8 nr_levels;
	struct twheel_level *level[TWHEEL_MAX_LEVELS + 1];
};

void twheel_sync_level(const struct twheel *w, struct twheel_level *level, u64 time);
void twheel_enqueue_slowpath(struct twheel *w, struct twheel_level *level,
			     struct twheel_timer *timer);
void twheel_bucket_emptied(struct twheel *w, struct twheel_level *level, u32 index);

void twheel_init(struct twheel *w, u64 tick, u32 size, u64 now);
void twheel_destroy(struct twheel *w);
struct twheel_level *twheel_level_alloc(const struct twheel *w, u8 nr, gfp_t gfp);
void twheel_level_install(struct twheel *w, struct twheel_level *level);
size_t twheel_level_bytes(const struct twheel *w, u8 nr);
u8 twheel_levels_for(const struct twheel *w, u64 delay);
u8 twheel_levels_until(const struct twheel *w, u64 deadline);
u64 twheel_max_delay(const struct twheel *w);

bool twheel_rewind(struct twheel *w, u64 now, unsigned int budget);
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
	TWHEEL_EXPECT(deadline < TWHEEL_TIME_END);
	return div64_u64(deadline + w->tick - 1, w->tick);
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
	TWHEEL_EXPECT(time < TWHEEL_TIME_END);
	return div64_u64(time, w->tick);
}

/**
 * twheel_next() - when the wheel has to be advanced next
 * @w: the wheel
 * @tick: set to the tick; or to 0, while twheel_rewind() has more to do
 *
 * Return: false, with @tick untouched, if no timer is pending.
 */
static inline bool twheel_next(const struct twheel *w, u64 *tick)
{
	/* A level, or a rewind. It only reads, but its parameter is not const. */
	const struct timerqueue_node *head =
		timerqueue_getnext((struct timerqueue_head *)&w->queue);

	if (head)
		*tick = head->expires;
	return head;
}

/**
 * twheel_is_rewinding() - whether twheel_rewind() has more to do
 * @w: the wheel
 *
 * Return: true if it has to be called before twheel_advance() or twheel_pop().
 */
static inline bool twheel_is_rewinding(const struct twheel *w)
{
	return w->sort && timerqueue_node_queued(&w->sort->rewinding);
}

/* Return true if something is due that has not expired yet. */
static inline bool twheel_is_due(const struct twheel *w)
{
	u64 next;

	return twheel_next(w, &next) && next <= w->now;
}

/* ---- Fast paths; functions without kernel-doc are for the core ---- */

/* list_add_tail() without the checks of DEBUG_LIST, which cost 25% of adding a timer. */
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

static __always_inline unsigned long twheel_log2(u64 n)
{
	return BITS_PER_LONG == 64 ? __fls(n | 1) : fls64(n | 1) - 1;
}

/* Return the index of the bucket for a deadline that the level covers. */
static __always_inline unsigned long twheel_index(const struct twheel_level *level,
						  u64 deadline)
{
	unsigned long index = div64_u64(deadline - level->base, level->span);

	return index < level->size ? index : index - level->size;
}

/* Return a lower bound of a bucket's deadlines, including those that are being cascaded. */
static __always_inline u64 twheel_first_expiry(const struct twheel_level *level,
					       const struct twheel_bucket *b)
{
	return b == level->crowd ? min(level->crowd_expiry, b->first_expiry) : b->first_expiry;
}

static __always_inline bool twheel_is_crowd(const struct twheel_level *level,
					    const struct twheel_bucket *b)
{
	return b->count >= TWHEEL_EARLY_CASCADE_MIN &&
	       !(level->sorted && b == level->bucket + level->first);
}

/* Return the tick at which a level with timers has to be opened, or an earlier one. */
static __always_inline u64 twheel_key(const struct twheel_level *level)
{
	return level->node.expires;
}

static __always_inline void twheel_insert(struct twheel_level *level, unsigned long index,
					  struct twheel_timer *timer)
{
	level->bucket[index].count++;
	timer->level = level->nr;
	timer->bucket = index;
	twheel_link(timer, &level->bucket[index].timers);
}

/*
 * Let a level expire by an earlier tick. Returns false, and changes nothing, if it may have to
 * overtake another one in the queue.
 */
static __always_inline bool twheel_lower_key(struct twheel *w, struct twheel_level *level, u64 key)
{
	if (key >= twheel_key(level))
		return true;
	if (timerqueue_getnext(&w->queue) != &level->node)
		return false;
	level->node.expires = key;
	return true;
}

/* Add a timer to its bucket of @level. */
static __always_inline void twheel_enqueue(struct twheel *w, struct twheel_level *level,
					   struct twheel_timer *timer)
{
	unsigned long index = twheel_index(level, timer->deadline);
	struct twheel_bucket *b = &level->bucket[index];

	/* Timers in falling order cost little more than others. */
	if (unlikely(timer->deadline < b->first_expiry)) {
		if (!b->count || !twheel_lower_key(w, level, twheel_tick(w, timer->deadline))) {
			twheel_enqueue_slowpath(w, level, timer);
			return;
		}
		b->first_expiry = timer->deadline;
	}
	twheel_insert(level, index, timer);
}

/* Find the lowest level that covers a deadline. Fails without one, or if it has passed. */
static __always_inline bool twheel_find_level(const struct twheel *w, u64 deadline,
					      struct twheel_level **level)
{
	unsigned int nr = w->level_hint[twheel_log2(deadline - 1 - w->time)];

	TWHEEL_EXPECT(deadline < TWHEEL_TIME_END);
	*level = w->level[nr];
	while (unlikely(!*level || deadline >= (*level)->limit)) {
		if (++nr >= w->nr_levels)
			return false;
		*level = w->level[nr];
	}
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
	timer->level = TWHEEL_LEVEL_EXPIRED;
	twheel_link(timer, &w->expired);
	w->nr_expired++;
}

/**
 * twheel_add() - arm a timer
 * @w: the wheel
 * @timer: in no wheel, with its deadline set
 *
 * O(1). A timer that is due by the wheel's clock expires at once.
 *
 * Return: false, and nothing has changed, if the wheel has no level that covers
 * the deadline: see twheel_levels_until().
 */
static __always_inline bool twheel_add(struct twheel *w, struct twheel_timer *timer)
{
	struct twheel_level *level;

	if (unlikely(!twheel_find_level(w, timer->deadline, &level))) {
		if (timer->deadline > w->time)
			return false;
		twheel_expire(w, timer);
		return true;
	}
	w->nr_pending++;
	twheel_enqueue(w, level, timer);
	return true;
}

/* Let a timer expire again, before all others. */
static inline void twheel_expire_first(struct twheel *w, struct twheel_timer *timer)
{
	timer->level = TWHEEL_LEVEL_EXPIRED;
	twheel_link(timer, w->expired.next);
	w->nr_expired++;
}

/**
 * twheel_expired() - whether a timer has expired
 * @timer: in a wheel
 *
 * Return: true if it waits for twheel_pop().
 */
static __always_inline bool twheel_expired(const struct twheel_timer *timer)
{
	return timer->level == TWHEEL_LEVEL_EXPIRED;
}

static __always_inline bool twheel_in_bucket(const struct twheel_timer *timer)
{
	return timer->level < TWHEEL_LEVEL_UNPLACED;
}

/* Remove a pending timer from its bucket. */
static __always_inline void twheel_dequeue(struct twheel *w, struct twheel_level *level,
					   struct twheel_timer *timer)
{
	TWHEEL_EXPECT(timer->bucket < level->size && level->bucket[timer->bucket].count);
	twheel_unlink(timer);
	if (unlikely(!--level->bucket[timer->bucket].count))
		twheel_bucket_emptied(w, level, timer->bucket);
}

/**
 * twheel_cancel() - take a timer out of the wheel, in O(1)
 * @w: the wheel
 * @timer: in the wheel, pending or expired
 */
static __always_inline void twheel_cancel(struct twheel *w, struct twheel_timer *timer)
{
	struct twheel_level *level;

	if (unlikely(!twheel_in_bucket(timer))) {
		twheel_unlink(timer);
		if (twheel_expired(timer))
			w->nr_expired--;
		else
			w->nr_pending--;
	} else {
		level = w->level[timer->level];
		w->nr_pending--;
		twheel_dequeue(w, level, timer);
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

#endif /* _TWHEEL_H */
