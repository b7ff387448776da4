/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Inline fast paths of the wheel; part of twheel.h
 *
 * Functions without kernel-doc are for the core, and for callers that count instructions.
 */
#ifndef _TWHEEL_INLINE_H
#define _TWHEEL_INLINE_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/overflow.h>

void twheel_sync_level(const struct twheel *w, struct twheel_level *level, u64 time);
bool twheel_add_slowpath(struct twheel *w, struct twheel_timer *timer);
void twheel_enqueue_slowpath(struct twheel *w, struct twheel_level *level,
			     struct twheel_timer *timer, u32 index);
void twheel_bucket_emptied(struct twheel *w, struct twheel_level *level, u32 index);

/* list_add_tail() without the checks of DEBUG_LIST, which cost a third of adding a timer. */
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
	unsigned long index = twheel_divide(&level->span, deadline - level->base);
	unsigned long size = level->size, wrapped;

	return check_sub_overflow(index, size, &wrapped) ? index : wrapped;
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

/*
 * Open a level with timers earlier, if its new first @deadline needs that. Returns false, and
 * changes nothing, if it may have to overtake another level in the queue.
 */
static __always_inline bool twheel_lower_head(struct twheel *w, struct twheel_level *level,
					      u64 deadline)
{
	u64 key = twheel_divide(&w->tick, deadline - 1) + 1;

	if (key >= twheel_key(level))
		return true;
	if (timerqueue_getnext(&w->queue) != &level->node)
		return false;
	level->node.expires = key;
	return true;
}

/*
 * Add a timer to a bucket of @level. Returns false, and changes nothing, if that needs a call; or
 * if the timer is the first of its bucket and not @first, which needs more registers.
 */
static __always_inline bool twheel_enqueue_fast(struct twheel *w, struct twheel_level *level,
						struct twheel_timer *timer, bool first)
{
	/* No indexing here: UBSAN's bounds checks are calls. */
	unsigned long index = twheel_index(level, timer->deadline);
	struct twheel_bucket *b = level->bucket + index;

	if (unlikely(timer->deadline < b->first_expiry)) {
		if (!first || !b->count || !twheel_lower_head(w, level, timer->deadline))
			return false;
		b->first_expiry = timer->deadline;
	}
	b->count++;
	timer->level = level->nr;
	timer->bucket = index;
	twheel_link(timer, &b->timers);
	return true;
}

static __always_inline void twheel_enqueue(struct twheel *w, struct twheel_level *level,
					   struct twheel_timer *timer)
{
	if (unlikely(!twheel_enqueue_fast(w, level, timer, false)))
		twheel_enqueue_slowpath(w, level, timer, twheel_index(level, timer->deadline));
}

/* Find the lowest level that covers a deadline. Fails without one, or if it has passed. */
static __always_inline bool twheel_find_level(const struct twheel *w, u64 deadline,
					      struct twheel_level **level)
{
	unsigned int nr = *(w->level_hint + twheel_log2(deadline - 1 - w->time));

	TWHEEL_EXPECT(deadline < TWHEEL_TIME_END);
	*level = *(w->level + nr);
	while (unlikely(!*level || deadline >= (*level)->limit)) {
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
 * A timer that is due by the wheel's clock expires at once. O(1).
 *
 * Return: false, and nothing has changed, if the wheel has no level that covers
 * the deadline: see twheel_covers().
 */
static __always_inline bool twheel_add(struct twheel *w, struct twheel_timer *timer)
{
	struct twheel_level *level;

	if (unlikely(!twheel_find_level(w, timer->deadline, &level)))
		return twheel_add_slowpath(w, timer);
	w->nr_pending++;
	twheel_enqueue(w, level, timer);
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
 * twheel_cancel() - take a timer out of the wheel
 * @w: the wheel
 * @timer: in the wheel, pending or expired
 *
 * O(1).
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

#endif /* _TWHEEL_INLINE_H */
