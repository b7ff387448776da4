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
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "twheel.h"

/* A crowded bucket is opened as much ahead as its length divided by this. */
#ifndef TWHEEL_LEAD_SHARE
#define TWHEEL_LEAD_SHARE	16
#endif

/* Up to this many timers are sorted by insertion. */
#ifndef TWHEEL_INSERTION_MAX
#define TWHEEL_INSERTION_MAX	64
#endif

/* It is a step to cascade a timer; to sort or expire this many in a row costs less. */
#ifndef TWHEEL_TIMERS_PER_STEP
#define TWHEEL_TIMERS_PER_STEP	4
#endif

/* Times and deadlines are below this, as a ktime_t is. */
#define TWHEEL_TIME_END		((u64)S64_MAX + 1)

static u64 mul_capped(u64 a, u64 b)
{
	u64 product;

	if (check_mul_overflow(a, b, &product))
		return TWHEEL_TIME_END;
	return min(product, TWHEEL_TIME_END);
}

/*
 * The clock, and where the levels are with it.
 */

/* Put a level's ring where it covers most at @time. */
static void sync_level(const struct twheel *w, struct twheel_level *level, u64 time)
{
	u64 number = twheel_divide(&level->span, time);
	u64 start = number * level->span.divisor;
	u64 ring = number - twheel_divide(&w->size, number) * level->size;

	level->turn = start + level->span.divisor;
	/* Tick n has the deadlines after the end of the tick before, and up to its own. */
	level->limit = min(start + level->range, TWHEEL_TIME_END) - (w->tick.divisor - 1);
	level->base = start - ring * level->span.divisor - (w->tick.divisor - 1);
}

/*
 * Bring the levels up to date. A stale level finds the right bucket, but covers less: timers
 * would go to a higher level. No level is ahead of the levels below it.
 */
static void sync_levels(struct twheel *w, u64 time)
{
	unsigned int nr;

	for (nr = 0; nr < w->nr_levels && time >= w->level[nr]->turn; nr++)
		sync_level(w, w->level[nr], time);
}

static void set_clock(struct twheel *w, u64 now)
{
	w->now = now;
	w->time = now * w->tick.divisor;
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

static unsigned int timers_of(unsigned int steps)
{
	return min(steps, UINT_MAX / TWHEEL_TIMERS_PER_STEP) * TWHEEL_TIMERS_PER_STEP;
}

static unsigned int steps_of(unsigned int timers)
{
	return timers / TWHEEL_TIMERS_PER_STEP + 1;
}

/*
 * When a bucket is opened, and the bucket queue.
 */

static u64 deadline_of(const struct list_head *node)
{
	return list_entry(node, struct twheel_timer, node)->deadline;
}

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

/* Set all timers of a crowd aside. Those that stay or come make for a new lower bound. */
static void open_crowd(struct twheel *w, struct twheel_level *level, struct twheel_bucket *b)
{
	level->crowd = b;
	level->crowd_expiry = b->first_expiry;
	b->first_expiry = U64_MAX;
	list_splice_tail_init(&b->timers, &level->cascading);
	w->opened |= BIT_ULL(level->nr);
}

/* All that can cascade has done so, or the crowd is due. */
static void close_crowd(struct twheel *w, struct twheel_level *level)
{
	if (!list_empty(&level->cascading)) {
		level->crowd->first_expiry = first_expiry(level, level->crowd);
		list_splice_tail_init(&level->cascading, &level->crowd->timers);
	}
	level->crowd = NULL;
	w->opened &= ~BIT_ULL(level->nr);
}

/*
 * Put and emptied.
 */

/* Put a timer into a bucket that is empty, has later ones only, or becomes a crowd by it. */
void twheel_put_first(struct twheel *w, struct twheel_level *level, struct twheel_timer *timer,
		      u32 index)
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
EXPORT_SYMBOL_GPL(twheel_put_first);

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
 * Wheels and levels.
 */

/* Stands for all levels that there are not: no deadline is before its end. */
static struct twheel_level no_level;

/**
 * twheel_init() - make an empty wheel without levels
 * @w: the wheel
 * @tick: length of a tick in the caller's unit of time, at least 1: deadlines
 *	are divided by it. With 1, deadlines are ticks.
 * @size: number of buckets in a level, at least 2
 * @now: the time, in ticks
 */
void twheel_init(struct twheel *w, u64 tick, u32 size, u64 now)
{
	u64 range = mul_capped(tick, size);
	unsigned int magnitude;
	u8 nr;

	memset(w, 0, sizeof(*w));
	for (nr = 0; nr <= TWHEEL_MAX_LEVELS; nr++)
		w->level[nr] = &no_level;
	twheel_divisor_init(&w->tick, tick);
	twheel_divisor_init(&w->size, size);
	timerqueue_init_head(&w->queue);
	INIT_LIST_HEAD(&w->expired);
	set_clock(w, now);

	/* A delay of magnitude n is one of 2^n + 1 to 2^(n + 1); or of 1, for n = 0. */
	nr = 0;
	for (magnitude = 0; magnitude < TWHEEL_MAGNITUDES - 1; magnitude++) {
		while (range <= BIT_ULL(magnitude) && range < TWHEEL_TIME_END) {
			range = mul_capped(range, size);
			nr++;
		}
		w->lowest[magnitude] = nr;
	}
	/* One that is below zero. */
	w->lowest[magnitude] = TWHEEL_MAX_LEVELS;
}
EXPORT_SYMBOL_GPL(twheel_init);

/**
 * twheel_destroy() - free the levels of a wheel
 * @w: the wheel, which must not be used afterwards
 *
 * No timer is touched: the time this takes does not depend on how many there are.
 */
void twheel_destroy(struct twheel *w)
{
	while (w->nr_levels)
		twheel_level_free(w->level[--w->nr_levels]);
}
EXPORT_SYMBOL_GPL(twheel_destroy);

/**
 * twheel_level_bytes() - what one level of a wheel takes
 * @w: the wheel; only what twheel_init() set is read, so no lock is needed
 * @nr: the number of the level: 0 takes more than the others
 *
 * Return: bytes, as many as the allocator takes for a level.
 */
size_t twheel_level_bytes(const struct twheel *w, u8 nr)
{
	size_t words = BITS_TO_LONGS(w->size.divisor);
	size_t bytes = struct_size((struct twheel_level *)NULL, bucket, w->size.divisor) +
		       (words + BITS_TO_LONGS(words)) * sizeof(long);

	if (!nr)
		bytes += sizeof(struct twheel_sort);
	return bytes < PAGE_SIZE ? roundup_pow_of_two(bytes) : PAGE_ALIGN(bytes);
}
EXPORT_SYMBOL_GPL(twheel_level_bytes);

static void level_init(const struct twheel *w, struct twheel_level *level, u8 nr,
		       bool may_sleep)
{
	size_t words = BITS_TO_LONGS(w->size.divisor);
	u64 length = 1;
	u32 i;

	memset(level, 0, sizeof(*level));
	for (i = 0; i < nr; i++)
		length = mul_capped(length, w->size.divisor);
	twheel_divisor_init(&level->span, mul_capped(length, w->tick.divisor));
	level->range = mul_capped(level->span.divisor, w->size.divisor);
	INIT_LIST_HEAD(&level->cascading);
	level->lead = mul_capped(length / TWHEEL_LEAD_SHARE, w->tick.divisor);
	timerqueue_init(&level->node);
	level->size = w->size.divisor;
	level->nr = nr;
	level->order = nr ? TWHEEL_UNSORTED : TWHEEL_SORTED;
	level->busy = (unsigned long *)&level->bucket[level->size];
	level->busy_words = level->busy + words;
	memset(level->busy, 0, (words + BITS_TO_LONGS(words)) * sizeof(long));
	level->sort = nr ? NULL : (struct twheel_sort *)(level->busy_words + BITS_TO_LONGS(words));
	if (level->sort) {
		level->sort->level = NULL;
		for (i = 0; i < TWHEEL_BINS; i++)
			INIT_LIST_HEAD(&level->sort->bins[i]);
	}
	for (i = 0; i < level->size; i++) {
		INIT_LIST_HEAD(&level->bucket[i].timers);
		level->bucket[i].first_expiry = U64_MAX;
		level->bucket[i].count = 0;
		if (i % 256 == 255 && may_sleep)
			cond_resched();
	}
}

/**
 * twheel_level_alloc() - make a level that is not yet part of the wheel
 * @w: the wheel; only what twheel_init() set is read, so no lock is needed
 * @nr: the number of the level, 0 to TWHEEL_MAX_LEVELS - 1
 * @gfp: how to allocate; with GFP_KERNEL this may sleep
 *
 * Return: the level, for twheel_level_install(); or NULL without memory.
 */
struct twheel_level *twheel_level_alloc(const struct twheel *w, u8 nr, gfp_t gfp)
{
	size_t bytes = twheel_level_bytes(w, nr);
	struct twheel_level *level;

	/* Several pages in a row are not worth looking hard for, and would be a power of two. */
	level = bytes > PAGE_SIZE ? __vmalloc(bytes, gfp) : kmalloc(bytes, gfp);
	if (level)
		level_init(w, level, nr, gfpflags_allow_blocking(gfp));
	return level;
}
EXPORT_SYMBOL_GPL(twheel_level_alloc);

/**
 * twheel_level_free() - free a level that was not installed
 * @level: the level, or NULL
 */
void twheel_level_free(struct twheel_level *level)
{
	kvfree(level);
}
EXPORT_SYMBOL_GPL(twheel_level_free);

/**
 * twheel_level_install() - put a level on top of a wheel
 * @w: the wheel
 * @level: from twheel_level_alloc(), with the number of levels the wheel has
 */
void twheel_level_install(struct twheel *w, struct twheel_level *level)
{
	sync_level(w, level, w->time);
	w->level[w->nr_levels] = level;
	if (level->sort)
		w->sort = level->sort;
	/* Who looks without the caller's lock finds the level complete. */
	smp_store_release(&w->nr_levels, w->nr_levels + 1);
}
EXPORT_SYMBOL_GPL(twheel_level_install);

/**
 * twheel_longest() - the longest delay for which there are levels enough
 * @w: the wheel
 *
 * Return: the longest delay, in the unit of deadlines, for which twheel_add() succeeds at
 * any time of which the clock shows the tick; 0 without levels.
 */
u64 twheel_longest(const struct twheel *w)
{
	u64 longest;

	if (!w->nr_levels)
		return 0;
	/* What begins in the last tick of a bucket does not have that bucket any more. */
	longest = mul_capped(w->level[w->nr_levels - 1]->span.divisor, w->size.divisor - 1);
	return longest == TWHEEL_TIME_END ? S64_MAX : longest - (w->tick.divisor - 1);
}
EXPORT_SYMBOL_GPL(twheel_longest);

/*
 * The lowest level that covers a deadline, and the place of its bucket there; or NULL. The
 * tick may end after the end of time, where only plain divisions are exact.
 */
static struct twheel_level *level_at_end(const struct twheel *w, u64 deadline, u64 *index)
{
	unsigned int nr = w->lowest[twheel_magnitude(deadline - 1 - w->time)];

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

	return deadline <= w->time || level_at_end(w, deadline, &index);
}
EXPORT_SYMBOL_GPL(twheel_covers);

/* twheel_add() for what is due, or beyond the end of any level, as it is at the end of time. */
bool twheel_add_slowly(struct twheel *w, struct twheel_timer *timer)
{
	struct twheel_level *level;
	u64 index;

	if (timer->deadline <= w->time) {
		twheel_expire(w, timer);
		return true;
	}
	sync_levels(w, w->time);
	level = level_at_end(w, timer->deadline, &index);
	if (!level)
		return false;
	w->nr_pending++;
	twheel_put_first(w, level, timer, index);
	return true;
}
EXPORT_SYMBOL_GPL(twheel_add_slowly);

/*
 * Sorting.
 */

/* Sort the timers of a bucket by insertion. */
static void sort_by_insertion(struct twheel_bucket *b)
{
	struct twheel_timer *timer, *next;
	u64 latest = 0;

	list_for_each_entry_safe(timer, next, &b->timers, node) {
		struct list_head *place = &b->timers;
		u64 deadline = timer->deadline;

		if (deadline >= latest) {
			latest = deadline;
			continue;
		}
		if (deadline >= deadline_of(b->timers.next)) {
			place = timer->node.prev;
			do {
				place = place->prev;
			} while (deadline_of(place) > deadline);
		}
		twheel_unlink(timer);
		twheel_link(timer, place->next);
	}
}

/* Choose the digit that follows the one at @shift: as wide as those above it, or a bit wider. */
static void next_digit(struct twheel_sort *sort, u8 shift)
{
	u8 left = sort->end - shift;

	sort->shift = shift;
	sort->bits = DIV_ROUND_UP(left, DIV_ROUND_UP(left, TWHEEL_BIN_BITS));
}

static void start_sorting(struct twheel *w, struct twheel_level *level)
{
	w->sort->level = level;
	w->sort->end = fls64(twheel_divide(&w->tick, level->span.divisor - 1));
	next_digit(w->sort, 0);
}

/* Put up to @max timers into the bins of their digits. Returns how many. */
static unsigned int fill_bins(const struct twheel *w, const struct twheel_level *level,
			      struct list_head *timers, unsigned int max)
{
	struct list_head *bins = w->sort->bins, *node = timers->next;
	unsigned long mask = BIT(w->sort->bits) - 1;
	/* Ticks are counted from the bucket's first one on. */
	u64 zero = level->turn - level->span.divisor - (w->tick.divisor - 1);
	struct twheel_divisor unit = w->tick;
	unsigned int left;

	unit.shift += w->sort->shift;
	for (left = max; left && node != timers; left--) {
		struct twheel_timer *timer = list_entry(node, struct twheel_timer, node);
		u64 number = twheel_divide(&unit, timer->deadline - zero);

		node = node->next;
		twheel_link(timer, bins + (number & mask));
	}
	__list_del(timers, node);
	return max - left;
}

/*
 * Sort on, by one digit of the ticks after the other from low to high: timers go to the bin of
 * their digit, and the bins are concatenated. It can stop after any timer.
 */
static unsigned int sort_by_digits(struct twheel *w, struct twheel_level *level,
				   struct twheel_bucket *b, unsigned int budget)
{
	struct twheel_sort *sort = w->sort;
	unsigned int n = fill_bins(w, level, &b->timers, timers_of(budget));
	unsigned int i;

	if (!list_empty(&b->timers))
		return steps_of(n);
	for (i = 0; i < BIT(sort->bits); i++)
		list_splice_tail_init(&sort->bins[i], &b->timers);
	if (sort->shift + sort->bits < sort->end) {
		next_digit(sort, sort->shift + sort->bits);
	} else {
		sort->level = NULL;
		level->order = TWHEEL_SORTED;
	}
	return steps_of(n + i);
}

/* Sort a level's first bucket, which is due. Returns how many steps it took. */
static unsigned int sort_bucket(struct twheel *w, struct twheel_level *level,
				struct twheel_bucket *b, unsigned int budget)
{
	if (level->order == TWHEEL_UNSORTED) {
		/* The clock enters the bucket: from now on lower levels cover its span. */
		sync_levels(w, level->node.expires * w->tick.divisor);
		if (b->count <= TWHEEL_INSERTION_MAX) {
			sort_by_insertion(b);
			level->order = TWHEEL_SORTED;
			return b->count;
		}
		level->order = TWHEEL_SORTING;
		start_sorting(w, level);
	}
	return sort_by_digits(w, level, b, budget);
}

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
 * Advancing.
 */

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

	sync_levels(w, w->time);
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
	if (level->order != TWHEEL_SORTED)
		return sort_bucket(w, level, b, budget);
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
 * twheel_after() - when the wheel is likely to be advanced after what twheel_next() says
 * @w: the wheel, with a bucket that holds timers
 *
 * Return: a tick, or 0 if it knows of none. It is a guess from what is at hand: but for
 * timers that have been cancelled, it is not too early.
 */
u64 twheel_after(const struct twheel *w)
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
EXPORT_SYMBOL_GPL(twheel_after);

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
	sync_levels(w, w->time);
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
			if (!w->opened)
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
			steps = cascade(w, w->level[__ffs64(w->opened)], budget);
		budget -= min(budget, steps);
	}
}
EXPORT_SYMBOL_GPL(twheel_advance);
