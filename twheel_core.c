// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A hierarchical timing wheel as a pure data structure
 *
 * The wheel knows no clock, takes no lock and sleeps nowhere: the caller passes
 * the time in as a count of ticks, serialises all calls on one wheel, and owns
 * the timers. Adding and cancelling a timer is O(1) whatever the wheel holds.
 *
 * Theory
 *
 * A level is a ring of @size buckets, each of which holds the timers of one
 * span of ticks. A bucket of level 0 spans one tick; a bucket of any other
 * level spans as much as the whole level below it, so level n is the overflow
 * wheel of level n - 1. With a tick of 1 ms and 256 buckets:
 *
 *	level	bucket length	range
 *	0	1 ms		256 ms
 *	1	256 ms		65 s
 *	2	65 s		4.6 h
 *	3	4.6 h		49 d
 *	4	49 d		34 y
 *
 * A timer goes to the lowest level whose range, counted from the bucket that the clock is
 * in, covers its tick. A bucket that is due expires in one of three ways:
 *
 * - On level 0 it has a single tick: it is spliced onto the list of expired timers, in O(1).
 * - On a higher level it is sorted, and its timers expire from the front, each in its tick.
 *   Nothing is added to it any more, for lower levels cover the span of a bucket that the
 *   clock has entered. So it is sorted once.
 * - A crowd cascades ahead of its time: its timers are placed again, on lower levels.
 *
 * So every timer expires at exactly its tick, and moves at most once for each level.
 *
 * Hashed and hierarchical wheels are due to G. Varghese and T. Lauck, "Hashed and
 * Hierarchical Timing Wheels" (SOSP 1987). As in the form that Apache Kafka gave them,
 * nothing ticks: the clock jumps from one bucket that holds timers to the next.
 *
 * The bucket queue
 *
 * The buckets of a level are due in the order in which they stand in its ring, and a bit for
 * each that is busy finds the next one. So only the levels need to be merged: the queue, a
 * timerqueue, has one node for each level with timers. Its key is the tick at which the first
 * bucket of that level has to be opened; its head is what the caller has to wake up for.
 *
 * A bucket is opened when its first timer is due, not when its span begins: opening and
 * expiry are then one wake-up. It has a lower bound of its deadlines, which adding lowers and
 * cancelling leaves as it is; a key that is too early is put right when it comes. So, except
 * for crowds, the caller wakes up once for each tick with timers due, plus one spurious
 * wake-up if the timer it woke for was cancelled.
 *
 * Bounded work
 *
 * twheel_advance() stops after a given number of steps and shows that there is more. The clock
 * waits for a bucket that is due until it is in order, or timers would be read out of order.
 * With half a million timers in it, those due right after its first one would be late (by 2.1
 * million instructions). Therefore a crowd, a bucket with many timers, is opened ahead of its
 * time, by the lead of its level. The level below covers all but the last of its timers then,
 * and they cascade there as low-priority work that yields to due timers and to the clock. The
 * rest stays and is opened again: when it is due; or, still a crowd, ahead of its time. A crowd
 * that is due before it has cascaded is sorted like any other bucket.
 *
 * Sorting
 *
 * A bucket with few timers is sorted by insertion, at once. Otherwise timers go to bins by a
 * digit of their ticks, and the bins are concatenated, for one digit after the other from low
 * to high. That can stop after any timer; cancelling takes a timer out of a bin as out of a
 * bucket. There are bins for one bucket: its sort is finished before another one begins.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/math64.h>

#include "twheel_core.h"

/*
 * The clock, and where the levels are with it.
 */

/* Put a level's ring where it covers most at @time. */
void twheel_sync_level(const struct twheel *w, struct twheel_level *level, u64 time)
{
	u64 number = twheel_divide(&level->span, time);
	u64 start = number * level->span.divisor;
	u64 ring = number - twheel_divide(&w->size, number) * level->size;

	level->next_edge = start + level->span.divisor;
	/* Tick n has the deadlines after the end of the tick before, and up to its own. */
	level->limit = min(start + level->range, TWHEEL_TIME_END) - (w->tick.divisor - 1);
	level->base = start - ring * level->span.divisor - (w->tick.divisor - 1);
}

/*
 * Bring the levels up to date. A stale level finds the right bucket, but covers less: timers
 * would go to a higher level. No level is ahead of the levels below it.
 */
void twheel_sync_levels(struct twheel *w, u64 time)
{
	unsigned int nr;

	for (nr = 0; nr < w->nr_levels && time >= w->level[nr]->next_edge; nr++)
		twheel_sync_level(w, w->level[nr], time);
}

/* Move the clock towards @now, but not to a tick that may have timers. */
static void move_clock(struct twheel *w, u64 now)
{
	u64 next;

	if (twheel_next(w, &next) && next <= now)
		now = next - 1;
	if (now > w->now)
		set_clock(w, now);
}

/* The busy bucket of a level that is next in the ring after the one at @index, if any is. */
static __always_inline u32 next_busy(const struct twheel_level *level, u32 index)
{
	u32 words = BITS_TO_LONGS(level->size);
	u32 word = BIT_WORD(index);
	unsigned long bits = level->busy[word] & ~1UL << index % BITS_PER_LONG;

	if (!bits) {
		word = find_next_bit(level->busy_words, words, word + 1);
		if (word >= words)
			word = find_first_bit(level->busy_words, words);
		bits = level->busy[word];
	}
	return word * BITS_PER_LONG + __ffs(bits);
}

/*
 * When a bucket is opened, and the bucket queue.
 */

/* A lower bound of a bucket's deadlines, those included that are being cascaded. */
static u64 first_expiry(const struct twheel_level *level, const struct twheel_bucket *b)
{
	return b == level->crowd ? min(level->crowd_expiry, b->first_expiry) : b->first_expiry;
}

/* Whether a bucket has many timers in no order. Only a first bucket can be in order. */
static bool is_crowd(const struct twheel_level *level, const struct twheel_bucket *b)
{
	return b->count >= TWHEEL_CROWD &&
	       (level->order == TWHEEL_UNSORTED || b != &level->bucket[level->first]);
}

/* When a bucket has to be opened: a crowd ahead of its time, unless another one already is. */
static u64 opening(const struct twheel_level *level, const struct twheel_bucket *b)
{
	u64 expiry = first_expiry(level, b);

	return is_crowd(level, b) && !level->crowd ? expiry - min(expiry - 1, level->lead) : expiry;
}

static struct twheel_bucket *next_bucket(struct twheel_level *level, struct twheel_bucket *b)
{
	return ++b == level->bucket + level->size ? level->bucket : b;
}

/* Change when a level is due in the queue, in its place if it stays in order there. */
static void set_key(struct twheel *w, struct twheel_level *level, u64 key)
{
	struct timerqueue_node *node = &level->node;

	if (timerqueue_node_queued(node)) {
		struct timerqueue_node *next = timerqueue_iterate_next(node);

		if (key < (u64)node->expires ? node == twheel_queue_head(w) :
					       !next || key <= (u64)next->expires) {
			node->expires = key;
			return;
		}
		timerqueue_del(&w->queue, node);
	}
	node->expires = key;
	timerqueue_add(&w->queue, node);
}

/*
 * Queue a level, which has timers, by its first bucket. The one behind it may be a crowd that
 * has to be opened before the first one is empty.
 */
static void queue_level(struct twheel *w, struct twheel_level *level)
{
	struct twheel_bucket *first = &level->bucket[level->first];
	struct twheel_bucket *next = next_bucket(level, first);
	u64 time = opening(level, first);

	if (is_crowd(level, next))
		time = min(time, opening(level, next));
	set_key(w, level, twheel_tick(w, time));
}

/*
 * Put and emptied.
 */

static void close_crowd(struct twheel *w, struct twheel_level *level);

/* Put a timer into a bucket that is empty, has later ones only, or becomes a crowd by it. */
void twheel_enqueue_slowpath(struct twheel *w, struct twheel_level *level,
			     struct twheel_timer *timer, u32 index)
{
	struct twheel_bucket *b = &level->bucket[index];
	u64 key;

	timer->level = level->nr;
	timer->bucket = index;
	twheel_link(timer, &b->timers);
	b->first_expiry = min(b->first_expiry, timer->deadline);
	if (!b->count++) {
		__set_bit(index, level->busy);
		__set_bit(BIT_WORD(index), level->busy_words);
		/* Buckets hold different ticks, so a lower bound says which comes first. */
		if (!level->nr_busy++ ||
		    timer->deadline < first_expiry(level, &level->bucket[level->first]))
			level->first = index;
	}
	if (index != level->first && !is_crowd(level, b))
		return;
	key = twheel_tick(w, opening(level, b));
	if (!timerqueue_node_queued(&level->node) || key < (u64)level->node.expires)
		set_key(w, level, key);
}
EXPORT_SYMBOL_GPL(twheel_enqueue_slowpath);

/* A bucket has lost its last timer. */
void twheel_bucket_emptied(struct twheel *w, struct twheel_level *level, u32 index)
{
	struct twheel_bucket *b = &level->bucket[index];
	bool requeue = index == level->first || b == level->crowd;

	__clear_bit(index, level->busy);
	if (!level->busy[BIT_WORD(index)])
		__clear_bit(BIT_WORD(index), level->busy_words);
	if (b == level->crowd)
		close_crowd(w, level);
	b->first_expiry = U64_MAX;
	if (index == level->first) {
		if (level->order == TWHEEL_SORTING)
			w->sort->level = NULL;
		/* On level 0 a bucket has one tick. */
		if (level->nr)
			level->order = TWHEEL_UNSORTED;
	}
	if (!--level->nr_busy) {
		timerqueue_del(&w->queue, &level->node);
	} else if (requeue) {
		if (index == level->first)
			level->first = next_busy(level, index);
		queue_level(w, level);
	}
}
EXPORT_SYMBOL_GPL(twheel_bucket_emptied);

/*
 * The lowest level that covers a deadline, and the place of its bucket there; or NULL. The
 * tick may end after the end of time, where only plain divisions are exact.
 */
static struct twheel_level *find_level_at_end(const struct twheel *w, u64 deadline, u64 *index)
{
	unsigned int nr = w->level_hint[twheel_log2(deadline - 1 - w->time)];

	for (; nr < w->nr_levels; nr++) {
		struct twheel_level *level = w->level[nr];
		u64 number = div64_u64(deadline + w->tick.divisor - 1, level->span.divisor);

		if (number - twheel_divide(&level->span, w->time) < level->size) {
			*index = number - twheel_divide(&w->size, number) * level->size;
			return level;
		}
	}
	return NULL;
}

/**
 * twheel_covers() - whether there are levels enough to add a timer
 * @w: the wheel
 * @deadline: the timer's
 *
 * Return: true if twheel_add() would succeed now.
 */
bool twheel_covers(const struct twheel *w, u64 deadline)
{
	u64 index;

	return deadline <= w->time || find_level_at_end(w, deadline, &index);
}
EXPORT_SYMBOL_GPL(twheel_covers);

/* twheel_add() for what is due, or beyond the end of any level, as it is at the end of time. */
bool twheel_add_slowpath(struct twheel *w, struct twheel_timer *timer)
{
	struct twheel_level *level;
	u64 index;

	if (timer->deadline <= w->time) {
		twheel_expire(w, timer);
		return true;
	}
	twheel_sync_levels(w, w->time);
	level = find_level_at_end(w, timer->deadline, &index);
	if (!level)
		return false;
	w->nr_pending++;
	twheel_enqueue_slowpath(w, level, timer, index);
	return true;
}
EXPORT_SYMBOL_GPL(twheel_add_slowpath);

/*
 * Expiring.
 */

/* Expire the first bucket of level 0 as a whole. */
static unsigned int expire_bucket(struct twheel *w, struct twheel_level *level)
{
	struct twheel_bucket *b = &level->bucket[level->first];

	list_splice_tail_init(&b->timers, &w->expired);
	w->nr_pending -= b->count;
	w->nr_expired += b->count;
	b->count = 0;
	set_clock(w, level->node.expires);
	twheel_bucket_emptied(w, level, level->first);
	return 1;
}

/* The last time up to tick @now before another level is due. */
static u64 run_limit(const struct twheel *w, const struct twheel_level *level, u64 now)
{
	struct timerqueue_node *node = twheel_queue_head(w);

	if (node == &level->node)
		node = timerqueue_iterate_next(node);
	if (node)
		now = min_t(u64, now, node->expires - 1);
	return max_t(u64, now, level->node.expires) * w->tick.divisor;
}

/*
 * Expire timers from the front of a level's first bucket, which is in order: those due by @now,
 * and before another level is. Returns how many steps it took.
 */
static unsigned int expire_front(struct twheel *w, struct twheel_level *level, u64 now,
				 unsigned int budget)
{
	struct twheel_bucket *b = &level->bucket[level->first];
	struct list_head *node = b->timers.next;
	u64 until = run_limit(w, level, now);
	u32 max = min(timers_of(budget), b->count), left, n;

	for (left = max; left && deadline_of(node) <= until; left--) {
		list_entry(node, struct twheel_timer, node)->level = TWHEEL_LEVEL_DUE;
		node = node->next;
	}
	n = max - left;
	if (n) {
		list_bulk_move_tail(&w->expired, b->timers.next, node->prev);
		set_clock(w, twheel_tick(w, deadline_of(w->expired.prev)));
		w->nr_pending -= n;
		w->nr_expired += n;
		b->count -= n;
	}
	if (!b->count) {
		twheel_bucket_emptied(w, level, level->first);
	} else {
		b->first_expiry = deadline_of(b->timers.next);
		queue_level(w, level);
	}
	return steps_of(n);
}

/*
 * Crowds.
 */

/* Find the crowd that has to be opened by @time; or NULL. */
static struct twheel_bucket *find_crowd(struct twheel_level *level, u64 time)
{
	struct twheel_bucket *b = &level->bucket[level->first];

	if (level->crowd)
		return NULL;
	if (!is_crowd(level, b))
		b = next_bucket(level, b);
	return is_crowd(level, b) && opening(level, b) <= time ? b : NULL;
}

/* Set all timers of a crowd aside. The bucket gets a new lower bound from later ones. */
static void open_crowd(struct twheel *w, struct twheel_level *level, struct twheel_bucket *b)
{
	level->crowd = b;
	level->crowd_expiry = b->first_expiry;
	b->first_expiry = U64_MAX;
	list_splice_tail_init(&b->timers, &level->cascading);
	w->cascading_levels |= BIT_ULL(level->nr);
}

/* All that can cascade has done so, or the crowd is due. */
static void close_crowd(struct twheel *w, struct twheel_level *level)
{
	if (!list_empty(&level->cascading)) {
		level->crowd->first_expiry = first_expiry(level, level->crowd);
		list_splice_tail_init(&level->cascading, &level->crowd->timers);
	}
	level->crowd = NULL;
	w->cascading_levels &= ~BIT_ULL(level->nr);
}

/*
 * Cascade up to @max timers of a crowd. They are scattered over the memory: alternating ends
 * overlaps two cache misses (122 instead of 170 ns). Returns how many steps it took.
 */
static unsigned int cascade(struct twheel *w, struct twheel_level *level, unsigned int max)
{
	struct list_head *cascading = &level->cascading;
	struct twheel_bucket *b = level->crowd;
	u32 count = b->count;
	unsigned int n;

	twheel_sync_levels(w, w->time);
	for (n = 0; n < max && !list_empty(cascading); n++) {
		struct list_head *node = n & 1 ? cascading->prev : cascading->next;
		struct twheel_timer *timer = list_entry(node, struct twheel_timer, node);

		twheel_unlink(timer);
		twheel_add(w, timer);
	}
	w->nr_pending -= n;
	/* Those that stay in the bucket have been counted once more. */
	w->cascaded += n - (b->count - count);
	b->count -= n;
	if (!b->count) {
		twheel_bucket_emptied(w, level, b - level->bucket);
	} else if (list_empty(cascading)) {
		close_crowd(w, level);
		queue_level(w, level);
	}
	return n + 1;
}

/*
 * Advancing.
 */

/*
 * Do what a level's key says has to be done. Returns how many steps it took.
 *
 *	first bucket			what is done
 *	----------------------------	------------------------------------------------
 *	not due yet, and
 *	  a crowd's lead has come	set its timers aside: they cascade ahead of time
 *	  nothing else			queue the level by what is first now: the timer
 *					that was has been cancelled
 *	due, and
 *	  a crowd that cascades		stop that, and go on as with any other bucket
 *	  in no order			sort it, a large one step by step
 *	  in order, or of level 0	expire what is due, from its front
 */
static unsigned int open_level(struct twheel *w, struct twheel_level *level, u64 now,
			       unsigned int budget)
{
	struct twheel_bucket *b = &level->bucket[level->first];
	u64 time = level->node.expires * w->tick.divisor;

	if (first_expiry(level, b) > time) {
		b = find_crowd(level, time);
		if (b)
			open_crowd(w, level, b);
		queue_level(w, level);
		return 1;
	}
	if (b == level->crowd)
		close_crowd(w, level);
	/* One timer is in order, and leaves no bucket behind that the levels must not add to. */
	if (level->order == TWHEEL_UNSORTED && b->count == 1 && deadline_of(b->timers.next) <= time)
		return expire_front(w, level, now, budget);
	if (level->order != TWHEEL_SORTED)
		return twheel_sort_bucket(w, level, b, budget);
	return level->nr ? expire_front(w, level, now, budget) : expire_bucket(w, level);
}

/*
 * Find the level that is due first; or NULL. A sort that has begun is finished first. In the
 * same tick level 0 comes first: its timers up to the clock have expired.
 */
static struct twheel_level *due_level(const struct twheel *w, u64 now)
{
	struct timerqueue_node *node = twheel_queue_head(w);
	struct twheel_level *lowest = w->level[0];

	if (!node || (u64)node->expires > now)
		return NULL;
	if (w->sort->level)
		return w->sort->level;
	if (lowest->nr_busy && lowest->node.expires == node->expires)
		return lowest;
	return container_of(node, struct twheel_level, node);
}

/**
 * twheel_next_hint() - when the wheel is likely to be advanced after what twheel_next() says
 * @w: the wheel, with a bucket that holds timers
 *
 * Return: a tick, or 0 if it knows of none. It is a guess from what is at hand: but for
 * timers that have been cancelled, it is not too early.
 */
u64 twheel_next_hint(const struct twheel *w)
{
	const struct twheel_level *level = container_of(twheel_queue_head(w),
							struct twheel_level, node);
	const struct twheel_bucket *b = &level->bucket[level->first];
	const struct list_head *timer = b->timers.next;

	if (b == level->crowd || level->order == TWHEEL_SORTING)
		return 0;
	/* One of the two may be the first. */
	if (b->count > 1)
		return twheel_tick(w, max(deadline_of(timer), deadline_of(timer->next)));
	if (level->nr_busy == 1)
		return 0;
	return twheel_tick(w, level->bucket[next_busy(level, level->first)].first_expiry);
}
EXPORT_SYMBOL_GPL(twheel_next_hint);

/**
 * twheel_cascading() - how many timers are cascading
 * @w: the wheel
 * @tick: set to the tick at which the first of them is due, or 0
 *
 * Return: the number of timers in the lowest crowd that is being cascaded, or 0.
 */
u32 twheel_cascading(const struct twheel *w, u64 *tick)
{
	const struct twheel_level *level;

	*tick = 0;
	if (!w->cascading_levels)
		return 0;
	level = w->level[__ffs64(w->cascading_levels)];
	*tick = twheel_tick(w, level->crowd_expiry);
	return level->crowd->count;
}
EXPORT_SYMBOL_GPL(twheel_cascading);

/**
 * twheel_forward() - bring the clock forward, as far as nothing is due, and the levels with it
 * @w: the wheel
 * @now: the time, in ticks; an earlier one than before stands for the same time
 *
 * For use before twheel_add(): when the clock has stood still for long, or twheel_advance() has
 * moved it, near timers would go to far levels.
 */
void twheel_forward(struct twheel *w, u64 now)
{
	move_clock(w, now);
	twheel_sync_levels(w, w->time);
}
EXPORT_SYMBOL_GPL(twheel_forward);

/**
 * twheel_advance() - bring the clock to a tick and expire what is due
 * @w: the wheel
 * @now: the time, in ticks. The clock never goes back: an earlier time than
 *	before stands for the same time.
 * @budget: the number of steps to take, or a few more
 *
 * Timers expire in the order of their ticks; those of one tick in any order. Each step is
 * O(1): a bucket that expires as a whole, or a timer that is moved, sorted or expires.
 *
 * Return: true if there is more to do: call again. If twheel_next() says a tick that is
 * later than @now, that is not urgent: only a crowd that is cascaded ahead of its time.
 */
bool twheel_advance(struct twheel *w, u64 now, unsigned int budget)
{
	u64 nr_expired = w->nr_expired;
	struct twheel_level *level;
	unsigned int steps;

	now = max(now, w->now);
	for (;;) {
		move_clock(w, now);
		level = due_level(w, now);
		if (!level) {
			if (!w->cascading_levels)
				return false;
			/* There is less of it when somebody waits for what has expired. */
			if (w->nr_expired != nr_expired) {
				nr_expired = w->nr_expired;
				budget /= 4;
			}
		}
		if (!budget)
			return true;
		if (level)
			steps = open_level(w, level, now, budget);
		else
			steps = cascade(w, w->level[__ffs64(w->cascading_levels)], budget);
		budget -= min(budget, steps);
	}
}
EXPORT_SYMBOL_GPL(twheel_advance);
