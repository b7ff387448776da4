/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Inline fast paths of the wheel; part of twheel.h
 *
 * Adding and cancelling are a few instructions, of which calls would be a large part.
 * Functions without kernel-doc are for callers that count instructions.
 */
#ifndef _TWHEEL_INLINE_H
#define _TWHEEL_INLINE_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/overflow.h>

bool twheel_add_slowpath(struct twheel *w, struct twheel_timer *timer);
void twheel_enqueue_slowpath(struct twheel *w, struct twheel_level *level,
			     struct twheel_timer *timer, u32 index);
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

static __always_inline unsigned long twheel_log2(u64 n)
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
static __always_inline bool twheel_enqueue_fast(struct twheel_level *level,
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

static __always_inline void twheel_enqueue(struct twheel *w, struct twheel_level *level,
					   struct twheel_timer *timer)
{
	if (unlikely(!twheel_enqueue_fast(level, timer)))
		twheel_enqueue_slowpath(w, level, timer, twheel_index(level, timer->deadline));
}

/* Find the lowest level that covers a deadline: there is none for one that has come. */
static __always_inline bool twheel_find_level(const struct twheel *w, u64 deadline,
					      struct twheel_level **level)
{
	unsigned int nr = *(w->level_hint + twheel_log2(deadline - 1 - w->time));

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
static __always_inline void twheel_dequeue(struct twheel *w, struct twheel_level *level,
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
