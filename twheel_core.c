// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A hierarchical timing wheel: the algorithm
 *
 * A level is a ring of @size buckets, each of which holds the timers of one span of ticks. A
 * bucket of level 0 spans one tick; a bucket of any other level spans as much as the whole level
 * below it, so level n is the overflow wheel of level n - 1. With a tick of 1 ms and 256 buckets:
 *
 *	level	bucket length	range
 *	0	1 ms		256 ms
 *	1	256 ms		65 s
 *	2	65 s		4.6 h
 *	3	4.6 h		49 d
 *
 * A timer goes to the lowest level whose range, counted from the bucket that the clock is in,
 * covers its tick. A bucket that is due is sorted, and its timers expire from the front, each in
 * its tick. It is sorted once: lower levels cover the span of a bucket that the clock has
 * entered, so nothing is added to it after that.
 *
 * Hashed and hierarchical wheels are due to G. Varghese and T. Lauck, "Hashed and Hierarchical
 * Timing Wheels" (SOSP 1987). As in the form that Apache Kafka gave them, nothing ticks: the
 * clock jumps from one bucket that holds timers to the next.
 *
 * The bucket queue
 *
 * The buckets of a level are due in the order of its ring, so each level has one key: the tick at
 * which its first bucket has to be opened. The bucket queue, an rbtree, orders the levels by their
 * keys, and with that all buckets; the caller wakes up for its head. It belongs to the contract.
 *
 * That tick is when the first timer of the bucket is due, not when its span begins: opening and
 * expiry are one wake-up. A bucket has a lower bound of its deadlines, which adding lowers and
 * cancelling leaves as it is; a key that is too early is corrected when it comes. So, except for
 * crowds, the caller wakes up once for each tick with timers due, plus one spurious wake-up if
 * the timer it woke for was cancelled.
 *
 * Crowds
 *
 * The clock waits until a due bucket is sorted, or timers would expire out of order. With half a
 * million timers in it, those due right after its first one would be late (by 2.1 million
 * instructions). Therefore a crowd, a bucket with many timers, is opened ahead of its time. The
 * level below then covers all but its latest timers, and they cascade: they are placed again there,
 * as low-priority work that yields to due timers and to the clock. The rest is opened later.
 *
 * What that buys, with a million timers over half an hour: the latest is 0.04 ms late instead of
 * 3.6 ms. Its price is a second move of most timers, and with that a p99 of 12.8 instead of 8.5 us.
 */
#include <linux/bitmap.h>
#include <linux/export.h>

#include "twheel.h"

static u64 deadline_of(const struct list_head *node)
{
	return list_entry(node, struct twheel_timer, node)->deadline;
}

/* ---- The clock, and the levels that follow it ---- */

/*
 * A stale level finds the right bucket, but covers less: timers would go to a higher level. No
 * level is ahead of the levels below it.
 */
static void sync_levels(struct twheel *w, u64 time)
{
	unsigned int nr;

	for (nr = 0; nr < w->nr_levels && time >= w->level[nr]->next_edge; nr++)
		twheel_sync_level(w, w->level[nr], time);
}

static void set_clock(struct twheel *w, u64 now)
{
	w->now = now;
	w->time = now * w->tick;
}

/* Move the clock to @now, or to before the next tick that may have timers: then returns true. */
static bool move_clock(struct twheel *w, u64 now)
{
	u64 next;
	bool is_due = twheel_next(w, &next) && next <= now;

	TWHEEL_EXPECT(now <= twheel_floor(w, S64_MAX));
	set_clock(w, max(w->now, is_due ? next - 1 : now));
	return is_due;
}

/* Return the index of the next busy bucket in the ring after @index; there must be one. */
static u32 next_busy(const struct twheel_level *level, u32 index)
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

/* ---- When a bucket is opened ---- */

static u64 expiry_of(const struct rb_node *node)
{
	return rb_entry(node, struct timerqueue_node, node)->expires;
}

/* Set the key of a level with timers. It moves in the queue only if the order changes. */
static void set_key(struct twheel *w, struct twheel_level *level, u64 key)
{
	bool rises = key > level->node.expires;
	const struct rb_node *passed = rises ? rb_next(&level->node.node) :
					       rb_prev(&level->node.node);

	level->node.expires = key;
	if (!passed || (rises ? key <= expiry_of(passed) : expiry_of(passed) <= key))
		return;
	timerqueue_del(&w->queue, &level->node);
	timerqueue_add(&w->queue, &level->node);
}

static void update_key(struct twheel *w, struct twheel_level *level)
{
	set_key(w, level, twheel_tick(w, twheel_first_expiry(level, &level->bucket[level->first])));
}

/* ---- Adding to buckets, and emptying them ---- */

/* Stop cascading a crowd: every timer that can cascade has done so, or the crowd is due. */
static void close_crowd(struct twheel *w, struct twheel_level *level)
{
	if (!list_empty(&level->cascading)) {
		level->crowd->first_expiry = twheel_first_expiry(level, level->crowd);
		list_splice_tail_init(&level->cascading, &level->crowd->timers);
	}
	level->crowd = NULL;
	w->cascading_levels &= ~BIT_ULL(level->nr);
}

/* Add a timer to a bucket that is empty, or holds only later timers. */
void twheel_enqueue_slowpath(struct twheel *w, struct twheel_level *level,
			     struct twheel_timer *timer)
{
	u32 index = twheel_index(level, timer->deadline);
	struct twheel_bucket *b = &level->bucket[index];
	u64 key = twheel_tick(w, timer->deadline);

	timer->level = level->nr;
	timer->bucket = index;
	twheel_link(timer, &b->timers);
	b->first_expiry = min(b->first_expiry, timer->deadline);
	if (!b->count++) {
		__set_bit(index, level->busy);
		__set_bit(BIT_WORD(index), level->busy_words);
		/* Buckets hold different ticks, so lower bounds show which comes first. */
		if (!level->nr_busy++ ||
		    timer->deadline < twheel_first_expiry(level, &level->bucket[level->first]))
			level->first = index;
	}
	if (!timerqueue_node_queued(&level->node)) {
		level->node.expires = key;
		timerqueue_add(&w->queue, &level->node);
	} else if (key < twheel_key(level)) {
		set_key(w, level, key);
	}
}
EXPORT_SYMBOL_GPL(twheel_enqueue_slowpath);

/* Take a bucket that has lost its last timer out of the bitmaps, and correct the key. */
void twheel_bucket_emptied(struct twheel *w, struct twheel_level *level, u32 index)
{
	struct twheel_bucket *b = &level->bucket[index];
	bool first = index == level->first;

	__clear_bit(index, level->busy);
	if (!level->busy[BIT_WORD(index)])
		__clear_bit(BIT_WORD(index), level->busy_words);
	if (b == level->crowd)
		close_crowd(w, level);
	b->first_expiry = U64_MAX;
	if (first) {
		level->sorted = !level->nr;
		if (w->sort->level == level)
			w->sort->level = NULL;
	}
	if (!--level->nr_busy) {
		timerqueue_del(&w->queue, &level->node);
	} else if (first) {
		level->first = next_busy(level, index);
		update_key(w, level);
	}
}
EXPORT_SYMBOL_GPL(twheel_bucket_emptied);

/* ---- Sorting and expiring ---- */

/*
 * Expire timers from the front of a first bucket that is in order, up to the tick at which the
 * next level is due. Returns how many.
 */
static u64 expire_front(struct twheel *w, struct twheel_level *level, u64 now, u64 max)
{
	struct twheel_bucket *b = &level->bucket[level->first];
	const struct rb_node *next = rb_next(&level->node.node);
	u64 limit = (next ? min(now, expiry_of(next)) : now) * w->tick;
	struct list_head *node = b->timers.next;
	u64 left, n;

	max = min_t(u64, max, b->count);
	for (left = max; left && deadline_of(node) <= limit; left--) {
		list_entry(node, struct twheel_timer, node)->level = TWHEEL_LEVEL_EXPIRED;
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
		update_key(w, level);
	}
	return n;
}

/*
 * Sort a small bucket: 3% of the cost where timers expire one by one. The bucket's head ends each
 * search: its lower bound has the place of a timer's deadline.
 */
static void sort_by_insertion(struct twheel_bucket *b)
{
	struct twheel_timer *timer, *next;

	static_assert(offsetof(struct twheel_bucket, first_expiry) ==
		      offsetof(struct twheel_timer, deadline));
	list_for_each_entry_safe(timer, next, &b->timers, node) {
		struct list_head *place = timer->node.prev;

		while (deadline_of(place) > timer->deadline)
			place = place->prev;
		if (place != timer->node.prev) {
			twheel_unlink(timer);
			twheel_link(timer, place->next);
		}
	}
}

/*
 * Put up to @max timers of a list into the bins of their digits; returns how many. Timers due by
 * @due expire at once instead: no other timer is due earlier.
 */
static __always_inline u64 fill_bins(struct twheel *w, struct list_head *timers, u64 max, u64 due)
{
	struct twheel_level *level = w->sort->level;
	struct twheel_bucket *b = &level->bucket[level->first];
	struct list_head *bins = w->sort->bins, *node = timers->next;
	/* Ticks are counted from the bucket's first one on. */
	u64 tick = w->tick, zero = level->next_edge - level->span - (tick - 1), left;
	u8 shift = w->sort->shift;

	for (left = max; left && node != timers; left--) {
		struct twheel_timer *timer = list_entry(node, struct twheel_timer, node);

		node = node->next;
		if (due && timer->deadline <= due) {
			b->count--;
			w->nr_pending--;
			twheel_expire(w, timer);
			continue;
		}
		twheel_link(timer, bins + (div64_u64(timer->deadline - zero, tick) >> shift) %
					  TWHEEL_BINS);
	}
	__list_del(timers, node);
	return max - left;
}

static void empty_bins(const struct twheel *w, struct list_head *timers)
{
	unsigned int i;

	for (i = 0; i < TWHEEL_BINS; i++)
		list_splice_tail_init(&w->sort->bins[i], timers);
}

/*
 * For each digit of the ticks, from low to high, timers go to bins, and the bins are concatenated.
 * This can stop after any timer: one is cancelled from a bin as from a bucket.
 */
static u64 sort_by_digits(struct twheel *w, u64 max)
{
	struct twheel_sort *sort = w->sort;
	struct twheel_level *level = sort->level;
	struct twheel_bucket *b = &level->bucket[level->first];
	struct list_head *timers = &b->timers;
	u64 n;

	if (sort->shift) {
		n = fill_bins(w, timers, max, 0);
	} else {
		/* Expire while distributing. */
		set_clock(w, twheel_key(level));
		n = fill_bins(w, timers, max, w->time);
		if (!b->count)
			twheel_bucket_emptied(w, level, level->first);
	}
	if (!b->count || !list_empty(timers))
		return n;
	empty_bins(w, timers);
	sort->shift += TWHEEL_DIGIT_BITS;
	if (sort->shift >= fls64(div64_u64(level->span - 1, w->tick)))
		sort->level = NULL;
	return n + TWHEEL_BINS;
}

static u64 sort_bucket(struct twheel *w, struct twheel_level *level, u64 max)
{
	struct twheel_bucket *b = &level->bucket[level->first];

	/* The clock enters the bucket: from now on lower levels cover its span. */
	sync_levels(w, twheel_key(level) * w->tick);
	level->sorted = true;
	if (b->count <= TWHEEL_INSERTION_MAX) {
		sort_by_insertion(b);
		return b->count * TWHEEL_TIMERS_PER_STEP;
	}
	w->sort->level = level;
	w->sort->shift = 0;
	return sort_by_digits(w, max);
}

/* ---- Crowds ---- */

/*
 * Set a crowd's timers aside once its lead has begun. It is the first bucket, or the one after
 * that. Timers added later get a new bound.
 */
static void open_ahead(struct twheel *w, struct twheel_level *level)
{
	struct twheel_bucket *b = &level->bucket[level->first];

	if (!level->nr_busy)
		return;
	if (!twheel_is_crowd(level, b) && ++b == level->bucket + level->size)
		b = level->bucket;
	if (!twheel_is_crowd(level, b) ||
	    b->first_expiry > w->time + level->span / TWHEEL_LEAD_DIVISOR)
		return;
	level->crowd = b;
	level->crowd_expiry = b->first_expiry;
	b->first_expiry = U64_MAX;
	list_splice_tail_init(&b->timers, &level->cascading);
	w->cascading_levels |= BIT_ULL(level->nr);
}

/*
 * Cascade up to @max timers of the lowest crowd. They are scattered over memory: alternating ends
 * overlaps two cache misses (122 instead of 170 ns).
 */
static void cascade(struct twheel *w, unsigned int max)
{
	struct twheel_level *level = w->level[__ffs64(w->cascading_levels)];
	struct list_head *cascading = &level->cascading;
	struct twheel_bucket *b = level->crowd;
	u32 count = b->count;
	unsigned int n;

	for (n = 0; n < max && !list_empty(cascading); n++) {
		struct list_head *node = n & 1 ? cascading->prev : cascading->next;
		struct twheel_timer *timer = list_entry(node, struct twheel_timer, node);

		twheel_unlink(timer);
		twheel_add(w, timer);
	}
	/* Those that have stayed in the bucket were counted there again. */
	w->cascaded += n - (b->count - count);
	w->nr_pending -= n;
	b->count -= n;
	if (!b->count) {
		twheel_bucket_emptied(w, level, b - level->bucket);
	} else if (list_empty(cascading)) {
		close_crowd(w, level);
		update_key(w, level);
	}
}

/* Cascade up to @max timers of a crowd ahead of their time, while nothing is due. */
static void work_ahead(struct twheel *w, unsigned int max)
{
	unsigned int nr;

	for (nr = 1; nr < w->nr_levels && !w->cascading_levels; nr++)
		open_ahead(w, w->level[nr]);
	if (w->cascading_levels)
		cascade(w, max);
}

/* ---- Advancing ---- */

/*
 * Handle a level whose key has come. Returns how many timers were sorted or expired.
 *
 *	first bucket			action
 *	----------------------------	--------------------------------------------------
 *	not due yet			correct the key: its timer has been cancelled
 *	due, and
 *	  a crowd that cascades		stop that, and treat it as any other bucket
 *	  unsorted			sort it
 *	  sorted, or a single timer	expire due timers from its front
 */
static u64 open_level(struct twheel *w, struct twheel_level *level, u64 now, u64 max)
{
	struct twheel_bucket *b = &level->bucket[level->first];
	u64 time = twheel_key(level) * w->tick;

	if (twheel_first_expiry(level, b) > time) {
		update_key(w, level);
		return 0;
	}
	if (b == level->crowd)
		close_crowd(w, level);
	if (level->sorted || (b->count == 1 && deadline_of(b->timers.next) <= time))
		return expire_front(w, level, now, max);
	return sort_bucket(w, level, max);
}

/* Finish a sort that has begun, or open the level that is due first. Returns how many steps. */
static unsigned int work(struct twheel *w, u64 now, unsigned int budget)
{
	u64 max = (u64)budget * TWHEEL_TIMERS_PER_STEP;
	struct timerqueue_node *head = timerqueue_getnext(&w->queue);
	u64 n = w->sort->level ? sort_by_digits(w, max) :
		open_level(w, container_of(head, struct twheel_level, node), now, max);

	return n / TWHEEL_TIMERS_PER_STEP + 1;
}

/**
 * twheel_advance() - bring the clock to a tick and expire what is due
 * @w: the wheel
 * @now: the time, in ticks; if it is before the wheel's clock, that is used
 * @budget: the number of steps to take; the last can exceed it by up to TWHEEL_INSERTION_MAX
 *
 * Timers expire in the order of their ticks; those of one tick in any order. Each step is O(1).
 * If nothing more is due, some timers of a crowd cascade ahead of their time. With no budget, only
 * the clock moves, up to what is due: else twheel_add() puts near timers into high levels.
 *
 * Return: true if more is due: call again.
 */
bool twheel_advance(struct twheel *w, u64 now, unsigned int budget)
{
	u64 nr_expired = w->nr_expired;
	bool more;

	TWHEEL_EXPECT(!twheel_is_rewinding(w));
	now = max(now, w->now);
	while ((more = move_clock(w, now)) && budget)
		budget -= min(budget, work(w, now, budget));
	sync_levels(w, w->time);
	if (!more)
		work_ahead(w, min_t(u64, budget, TWHEEL_AHEAD_MIN +
				    (w->nr_expired - nr_expired) * TWHEEL_LEAD_DIVISOR));
	return more;
}
EXPORT_SYMBOL_GPL(twheel_advance);

/* ---- Setting the clock back ---- */

/* Return any pending timer, or NULL. */
static struct twheel_timer *any_pending(struct twheel *w)
{
	struct twheel_level *level;
	struct twheel_bucket *b;
	unsigned int nr = 0;

	while (nr < w->nr_levels && !w->level[nr]->nr_busy)
		nr++;
	if (nr == w->nr_levels)
		return NULL;
	level = w->level[nr];
	b = &level->bucket[level->first];
	if (b == level->crowd)
		close_crowd(w, level);
	if (w->sort->level == level) {
		/* Abandon the sort: the timers are in no order after it. */
		empty_bins(w, &b->timers);
		w->sort->level = NULL;
		level->sorted = false;
	}
	return list_first_entry(&b->timers, struct twheel_timer, node);
}

/*
 * Take up to @max timers out of the wheel, to be placed again: expired ones first, from the last
 * one on, to keep their order. Returns how many.
 */
static unsigned int unplace(struct twheel *w, unsigned int max)
{
	struct list_head *unplaced = &w->sort->unplaced;
	struct twheel_timer *timer;
	unsigned int n;

	for (n = 0; n < max; n++) {
		bool expired = w->nr_expired;

		timer = expired ? list_last_entry(&w->expired, struct twheel_timer, node) :
				  any_pending(w);
		if (!timer)
			break;
		twheel_cancel(w, timer);
		timer->level = TWHEEL_LEVEL_UNPLACED;
		twheel_link(timer, expired ? unplaced->next : unplaced);
		w->nr_pending++;
	}
	return n;
}

/**
 * twheel_rewind() - set the clock back
 * @w: the wheel, with levels for all of time if it has timers
 * @now: the time, in ticks
 * @budget: the number of timers to move at most, where taking out and placing are a move each
 *
 * While @now is before the wheel's clock, timers are taken out of the wheel, expired ones too.
 * When none is left, the clock is set; then they are placed again, and may be due. Each call does
 * a part of this, and @now may differ from call to call.
 *
 * Return: true if there is more to do: call again, before twheel_advance() or twheel_pop().
 */
bool twheel_rewind(struct twheel *w, u64 now, unsigned int budget)
{
	struct list_head *unplaced;
	unsigned int n, nr;

	TWHEEL_EXPECT(!(w->nr_pending | w->nr_expired) || twheel_max_delay(w) == S64_MAX);
	if (!w->nr_levels) {
		set_clock(w, now);
		return false;
	}
	unplaced = &w->sort->unplaced;
	if (!timerqueue_node_queued(&w->sort->rewinding)) {
		/* Before all levels, and due at any time. */
		w->sort->rewinding.expires = 0;
		timerqueue_add(&w->queue, &w->sort->rewinding);
	}
	if (now < w->now) {
		n = unplace(w, budget);
		if (n == budget)
			return true;
		budget -= n;
		set_clock(w, now);
		for (nr = 0; nr < w->nr_levels; nr++)
			twheel_sync_level(w, w->level[nr], w->time);
	}
	for (; budget && !list_empty(unplaced); budget--) {
		struct twheel_timer *timer = list_first_entry(unplaced, struct twheel_timer, node);

		twheel_unlink(timer);
		w->nr_pending--;
		twheel_add(w, timer);
	}
	if (!list_empty(unplaced))
		return true;
	timerqueue_del(&w->queue, &w->sort->rewinding);
	return false;
}
EXPORT_SYMBOL_GPL(twheel_rewind);
