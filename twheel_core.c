// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hierarchical timing wheel as a pure data structure
 *
 * The wheel knows no clock, takes no lock and sleeps nowhere: the caller passes
 * the time in as a count of ticks, serialises all calls on one wheel, and owns
 * the timers. Adding and cancelling a timer is O(1) whatever the wheel holds.
 *
 * Theory
 *
 * A level is an array of @size buckets, each of which holds the timers of one
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
 * A timer goes to the lowest level whose range, counted from the bucket that
 * the clock is in, covers its tick. When the clock reaches a bucket of level 0,
 * all its timers expire: the bucket is spliced onto the list of expired timers
 * whole, in O(1). When it reaches a bucket of a higher level, its timers
 * cascade: each is placed again, and by then a lower level covers it. So every
 * timer expires at exactly its tick, however far ahead it was set, and moves
 * at most once for each level on the way.
 *
 * Hashed and hierarchical wheels are due to G. Varghese and T. Lauck, "Hashed
 * and Hierarchical Timing Wheels" (SOSP 1987). As in the form that Apache Kafka
 * gave them, nothing ticks: the clock jumps from one bucket that holds timers to the
 * next. In each level they are due in the order in which they stand, so that a bit
 * for each is enough to find the next; to put every one into a tree would be most
 * of the work of a timer that is alone in its bucket. What is due first in the wheel
 * is the first of the levels' first ones.
 *
 * Bounded work
 *
 * twheel_advance() stops after a given number of steps (a bucket of level 0, or
 * one timer that cascades or is sorted) and says that there is more. A bucket
 * whose expiry has come must be cascaded before the clock can move past it, or
 * timers would be read out of order. Half a million timers in one bucket would
 * thus make those late that are due right after it. Therefore a bucket of a higher
 * level that is crowded is opened twice: first some ticks ahead of its expiry (the
 * level's lead), when all but the last of its timers are within the range of the
 * level below, and can move there without any hurry; then at its expiry, for the
 * few that were not. Those that are to be opened ahead are in a timerqueue. Cascading
 * ahead of time gives way to all that is due, and the clock does not wait for it.
 *
 * Waiting for memory
 *
 * To cascade is to go along a list whose timers lie all over the memory, each of which
 * says where the next one is: with a million of them, most of the time would be spent
 * waiting. So a crowded bucket has two lists, which get timers by turns, and they
 * are taken from both ends of both: the processor waits for four at the same time.
 *
 * Falling behind
 *
 * When the clock has jumped, after a suspend or because nobody could run, a bucket
 * can be overdue with all of its span. With few timers in it, and nothing else due
 * between them, it is sorted instead: they expire in the same order, and need not
 * cascade through levels whose buckets would each hold one of them.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/prefetch.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "twheel.h"

/* A crowded bucket is opened as much ahead as its length divided by this. */
#define TWHEEL_LEAD_SHARE	16

/* Every so many timers, a crowded bucket goes on with its other list. */
#define TWHEEL_SWAP		256

/* An overdue bucket with no more timers than this is sorted. */
#define TWHEEL_FEW		32

/*
 * Division by an invariant: multiply by the rounded-up reciprocal and keep the
 * high part (T. Granlund and P. Montgomery, "Division by Invariant Integers
 * using Multiplication", PLDI 1994). With 2^(l-1) < d <= 2^l the multiplier
 * floor(2^(63+l) / d) + 1 is exact for dividends below 2^63, which is all of
 * ktime_t; it has 64 bits. For d = 2^l it would be exact without the 1.
 */
static void divisor_init(struct twheel_divisor *d, u64 n)
{
	unsigned int l = fls64(n - 1);
	u64 quotient = 0, rest = 1;
	unsigned int i;

	d->divisor = n;
	d->magic = 0;
	d->shift = 0;
	if (n == 1)
		return;

	for (i = 0; i < 63 + l; i++) {
		bool carry = rest >> 63;

		rest <<= 1;
		quotient <<= 1;
		if (carry || rest >= n) {
			rest -= n;
			quotient |= 1;
		}
	}
	d->magic = quotient + !is_power_of_2(n);
	d->shift = l - 1;
}

/* Division by a divisor of a wheel; for twheel.h. */
u64 twheel_divide(const struct twheel_divisor *d, u64 n)
{
	if (unlikely(n >> 63 || !d->magic))
		return div64_u64(n, d->divisor);
	return twheel_multiply_shift(d, n);
}
EXPORT_SYMBOL_GPL(twheel_divide);

static u64 tick_of(const struct twheel *w, u64 deadline)
{
	return deadline ? twheel_divide(&w->tick, deadline - 1) + 1 : 0;
}

/**
 * twheel_tick() - the tick at which a deadline expires
 * @w: the wheel
 * @deadline: in the caller's unit of time, any value
 *
 * Return: the first tick at or after the deadline.
 */
u64 twheel_tick(const struct twheel *w, u64 deadline)
{
	return tick_of(w, deadline);
}
EXPORT_SYMBOL_GPL(twheel_tick);

/*
 * The queue of crowded buckets. A timerqueue orders by signed time; ticks are
 * unsigned, and flipping the top bit maps one order onto the other.
 */
static inline ktime_t tick_to_key(u64 tick)
{
	return (ktime_t)(tick ^ BIT_ULL(63));
}

static inline u64 key_to_tick(ktime_t key)
{
	return (u64)key ^ BIT_ULL(63);
}

/* The bucket that has to be opened ahead of its expiry first, or NULL. */
static struct twheel_bucket *first_crowded(const struct twheel *w)
{
	struct timerqueue_node *node;

	/* Only reads, but the queue's type has no room for const. */
	node = timerqueue_getnext((struct timerqueue_head *)&w->queue);
	return node ? container_of(node, struct twheel_bucket, queue) : NULL;
}

/* There is a bucket to be opened at a tick: it may be the wheel's first. */
static void comes_first(struct twheel *w, u64 tick)
{
	if (w->busy && tick >= w->first)
		return;
	w->first = tick;
	w->stale = false;
}

static void enqueue_crowded(struct twheel *w, struct twheel_bucket *b, u64 tick)
{
	b->early = true;
	timerqueue_init(&b->queue);
	b->queue.expires = tick_to_key(tick);
	timerqueue_add(&w->queue, &b->queue);
	comes_first(w, tick);
}

static void dequeue_crowded(struct twheel *w, struct twheel_bucket *b)
{
	b->early = false;
	timerqueue_del(&w->queue, &b->queue);
}

/*
 * The busy buckets. In a level, they are due in the order in which they stand: a bit
 * for each is enough to find the next one.
 */

/* The next busy bucket of a level after the one at @index, from its end round to it. */
static __always_inline struct twheel_bucket *next_busy(const struct twheel *w,
						       struct twheel_level *level, u32 index)
{
	u32 words = BITS_TO_LONGS(w->size.divisor);
	u32 word = BIT_WORD(index);
	unsigned long bits = level->busy[word] & ~1UL << index % BITS_PER_LONG;

	if (!bits) {
		word = find_next_bit(level->busy_words, words, word + 1);
		if (word >= words)
			word = find_first_bit(level->busy_words, words);
		bits = level->busy[word];
	}
	return &level->bucket[word * BITS_PER_LONG + __ffs(bits)];
}

/* Find out which bucket of the wheel is the first to be opened, if there is one. */
static void find_first(struct twheel *w)
{
	struct twheel_bucket *crowded = first_crowded(w);
	u64 busy;

	w->first = crowded ? key_to_tick(crowded->queue.expires) : U64_MAX;
	for (busy = w->busy; busy; busy &= busy - 1)
		w->first = min(w->first, w->level[__ffs64(busy)]->first);
	w->stale = false;
}

/* The tick at which the first bucket has to be opened. There must be one. */
static u64 first_tick(struct twheel *w)
{
	if (w->stale)
		find_first(w);
	return w->first;
}

static __always_inline void clear_busy(struct twheel_level *level, u32 index)
{
	__clear_bit(index, level->busy);
	if (!level->busy[BIT_WORD(index)])
		__clear_bit(BIT_WORD(index), level->busy_words);
	level->nr_busy--;
}

/* A bucket of the level has got its first timer. */
static void bucket_busy(struct twheel *w, struct twheel_level *level, u32 index, u64 expiry)
{
	__set_bit(index, level->busy);
	__set_bit(BIT_WORD(index), level->busy_words);
	if (!level->nr_busy++ || expiry < level->first) {
		level->first = expiry;
		comes_first(w, expiry);
		w->busy |= BIT_ULL(level->nr);
	}
}

/* A bucket of the level has lost its last timer, or is being opened. */
static void bucket_idle(struct twheel *w, struct twheel_level *level, u32 index)
{
	u64 expiry = level->bucket[index].expiry;

	clear_busy(level, index);
	if (!level->nr_busy)
		w->busy &= ~BIT_ULL(level->nr);
	else if (expiry == level->first)
		level->first = next_busy(w, level, index)->expiry;
	if (expiry == w->first)
		w->stale = true;
}

/* The last timer of @b has left: not worth waking up for; for twheel.h. */
void twheel_bucket_emptied(struct twheel *w, struct twheel_bucket *b)
{
	struct twheel_level *level = w->level[b->level];
	u32 index = b - level->bucket;

	/* Not if it has been opened, and the clock waits for its timers. */
	if (!test_bit(index, level->busy))
		return;
	bucket_idle(w, level, index);
	if (b->early) {
		dequeue_crowded(w, b);
		w->stale = true;
	}
}
EXPORT_SYMBOL_GPL(twheel_bucket_emptied);

static struct list_head *aside(struct twheel_level *level, const struct twheel_bucket *b)
{
	return &level->aside[b - level->bucket];
}

/* Swap the timers of a bucket for those aside: to these, further ones will be added. */
static void put_aside(struct twheel_level *level, struct twheel_bucket *b)
{
	struct list_head *list = aside(level, b);
	struct list_head *first;

	if (!b->split || list_empty(list)) {
		b->split = true;
		INIT_LIST_HEAD(list);
		list_splice_init(&b->timers, list);
		return;
	}
	/* Without a head, those aside are a ring, into which the other head goes. */
	first = list->next;
	list_del_init(list);
	list_splice_init(&b->timers, list);
	list_add_tail(&b->timers, first);
}

/*
 * The bucket @b is about to get its first timer; or it is crowded and has to be
 * opened ahead of its expiry, if there is still time for that. For twheel.h.
 */
void twheel_bucket_counts(struct twheel *w, struct twheel_level *level,
			  struct twheel_bucket *b, u64 number)
{
	if (!b->count) {
		INIT_LIST_HEAD(&b->timers);
		b->expiry = number * level->length.divisor;
		b->level = level->nr;
		b->early = false;
		b->split = false;
		bucket_busy(w, level, b - level->bucket, b->expiry);
		return;
	}
	if (level->nr && (b->count == TWHEEL_CROWD || !(b->count % TWHEEL_SWAP)))
		put_aside(level, b);
	if (level->lead && !b->early && b->expiry - level->lead > w->now + 1)
		enqueue_crowded(w, b, b->expiry - level->lead);
}
EXPORT_SYMBOL_GPL(twheel_bucket_counts);

/* Stands for all levels that there are not. */
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
	unsigned int class;
	u64 range = size;
	u64 nearest = 1;
	u8 nr;

	memset(w, 0, sizeof(*w));
	for (nr = 0; nr <= TWHEEL_MAX_LEVELS; nr++)
		w->level[nr] = &no_level;
	w->now = now;
	divisor_init(&w->tick, tick);
	divisor_init(&w->size, size);
	w->mask = is_power_of_2(size) ? size - 1 : 0;
	w->fast = w->mask && tick >= TWHEEL_TICK_FAST;
	/* Up to there, no deadline is too large for multiplying. */
	if (w->fast)
		w->limit = div64_u64(S64_MAX, tick);
	timerqueue_init_head(&w->queue);
	INIT_LIST_HEAD(&w->expired);

	nr = 0;
	for (class = 0; class < TWHEEL_CLASS_NONE; class++) {
		/* Level @nr ends @range ticks from the clock, at the latest. */
		while (nr < TWHEEL_MAX_LEVELS - 1 && range <= nearest) {
			nr++;
			if (check_mul_overflow(range, (u64)size, &range))
				range = U64_MAX;
		}
		w->lowest[class] = nr;
		nearest = BIT_ULL(class) + 1;
	}
	w->lowest[TWHEEL_CLASS_NONE] = TWHEEL_MAX_LEVELS;
}
EXPORT_SYMBOL_GPL(twheel_init);

/**
 * twheel_destroy() - free the levels of a wheel
 * @w: the wheel
 *
 * The timers are the caller's, and none of them is touched: the time this takes
 * does not depend on how many there are. The wheel must not be used afterwards.
 */
void twheel_destroy(struct twheel *w)
{
	while (w->nr_levels) {
		twheel_level_free(w->level[--w->nr_levels]);
		w->level[w->nr_levels] = &no_level;
	}
}
EXPORT_SYMBOL_GPL(twheel_destroy);

/**
 * twheel_level_bytes() - what one level of a wheel takes
 * @w: the wheel; only what twheel_init() set is read, so no lock is needed
 *
 * Return: bytes, as many as the allocator takes for a level.
 */
size_t twheel_level_bytes(const struct twheel *w)
{
	size_t words = BITS_TO_LONGS(w->size.divisor);
	size_t bytes = struct_size((struct twheel_level *)NULL, bucket, w->size.divisor) +
		       (words + BITS_TO_LONGS(words)) * sizeof(long) +
		       w->size.divisor * sizeof(struct list_head);

	return bytes < PAGE_SIZE ? roundup_pow_of_two(bytes) : PAGE_ALIGN(bytes);
}
EXPORT_SYMBOL_GPL(twheel_level_bytes);

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
	size_t words = BITS_TO_LONGS(w->size.divisor);
	size_t bytes = twheel_level_bytes(w);
	struct twheel_level *level;
	u64 length = 1;
	u8 i;

	/*
	 * All zero is what an empty bucket looks like. Several pages in a row are not
	 * worth looking hard for, and would be a power of two.
	 */
	if (bytes > PAGE_SIZE)
		level = __vmalloc(bytes, gfp | __GFP_ZERO);
	else
		level = kzalloc(bytes, gfp);
	if (!level)
		return NULL;

	for (i = 0; i < nr; i++)
		length *= w->size.divisor;
	divisor_init(&level->length, length);
	level->lead = nr ? length / TWHEEL_LEAD_SHARE : 0;
	level->nr = nr;
	level->shift = ilog2(length);
	level->busy = (unsigned long *)&level->bucket[w->size.divisor];
	level->busy_words = level->busy + words;
	level->aside = (struct list_head *)(level->busy_words + BITS_TO_LONGS(words));
	INIT_LIST_HEAD(&level->cascade[0]);
	INIT_LIST_HEAD(&level->cascade[1]);
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
	w->level[w->nr_levels++] = level;
}
EXPORT_SYMBOL_GPL(twheel_level_install);

/*
 * How many levels it takes until the highest has tick @to less than
 * @size - @slack buckets after tick @from, or covers all of time.
 */
static u8 levels_spanning(const struct twheel *w, u64 from, u64 to, u64 slack)
{
	u64 size = w->size.divisor;
	u64 end = U64_MAX;
	u8 nr = 1;

	while (end >= size && to - from >= size - slack) {
		from = div64_u64(from, size);
		to = div64_u64(to, size);
		end = div64_u64(end, size);
		nr++;
	}
	return nr;
}

/**
 * twheel_levels_for() - the levels it takes to add a timer
 * @w: the wheel
 * @from: the tick that the wheel's clock shows
 * @deadline: the timer's
 *
 * Return: the number of levels with which twheel_add() succeeds.
 */
u8 twheel_levels_for(const struct twheel *w, u64 from, u64 deadline)
{
	u64 tick = tick_of(w, deadline);

	return levels_spanning(w, from, max(from, tick), 0);
}
EXPORT_SYMBOL_GPL(twheel_levels_for);

/**
 * twheel_levels_within() - the levels it takes for any delay up to a length
 * @w: the wheel
 * @ticks: the longest delay
 *
 * Return: the number of levels with which twheel_add() succeeds for timers due
 * at most @ticks ticks from the wheel's clock, wherever that stands.
 */
u8 twheel_levels_within(const struct twheel *w, u64 ticks)
{
	/* A span of n bucket lengths can touch n + 1 buckets. */
	return levels_spanning(w, 0, ticks, 1);
}
EXPORT_SYMBOL_GPL(twheel_levels_within);

/**
 * twheel_serves() - whether there are levels enough for any delay up to a length
 * @w: the wheel
 * @ticks: the longest delay
 *
 * O(1).
 *
 * Return: true if there are as many levels as twheel_levels_within() says.
 */
bool twheel_serves(const struct twheel *w, u64 ticks)
{
	u64 length, range;

	if (!w->nr_levels)
		return false;
	length = w->level[w->nr_levels - 1]->length.divisor;
	return check_mul_overflow(length, w->size.divisor, &range) || ticks < range - length;
}
EXPORT_SYMBOL_GPL(twheel_serves);

/**
 * twheel_expire() - let a timer expire at once
 * @w: the wheel
 * @timer: in no wheel
 *
 * It queues behind the timers that have expired so far.
 */
void twheel_expire(struct twheel *w, struct twheel_timer *timer)
{
	timer->level = TWHEEL_LEVEL_DUE;
	twheel_link(timer, &w->expired);
	w->nr_expired++;
}
EXPORT_SYMBOL_GPL(twheel_expire);

/**
 * twheel_covers() - whether there are levels enough to add a timer
 * @w: the wheel
 * @deadline: the timer's
 *
 * Return: true if twheel_add() would succeed now.
 */
bool twheel_covers(const struct twheel *w, u64 deadline)
{
	u64 tick = tick_of(w, deadline);
	const struct twheel_level *top;

	if (tick <= w->now)
		return true;
	if (!w->nr_levels)
		return false;
	top = w->level[w->nr_levels - 1];
	return twheel_bucket_number(top, tick, false) - twheel_bucket_number(top, w->now, false) <
	       w->size.divisor;
}
EXPORT_SYMBOL_GPL(twheel_covers);

/* The clock has moved on since @end was set: so has what the level covers. */
static void stretch(const struct twheel *w, struct twheel_level *level)
{
	u64 number = (w->now >> level->shift) + w->size.divisor;

	level->end = number > w->limit >> level->shift ? w->limit : number << level->shift;
}

/* Put a timer whose @tick is yet to come into level @nr, unless it does not cover it. */
static bool place_in(struct twheel *w, unsigned int nr, struct twheel_timer *timer, u64 tick)
{
	struct twheel_level *level = w->level[nr];
	u64 number = twheel_bucket_number(level, tick, w->mask);

	if (number - twheel_bucket_number(level, w->now, w->mask) >= w->size.divisor)
		return false;
	if (w->fast)
		stretch(w, level);
	twheel_put(w, level, nr, timer, number, w->mask, true);
	return true;
}

/* Put a timer whose @tick is yet to come into the lowest level that covers it. */
static bool place(struct twheel *w, struct twheel_timer *timer, u64 tick)
{
	unsigned long class = TWHEEL_CLASS_NONE - 1;
	u64 ticks = tick - 1 - w->now;
	unsigned int nr;

	/* Or else it is further than any class says. */
	if (ticks < BIT_ULL(class))
		class = twheel_distance(ticks);
	for (nr = w->lowest[class]; nr < w->nr_levels; nr++) {
		if (place_in(w, nr, timer, tick))
			return true;
	}
	return false;
}

/* twheel_add() for every deadline, tick and size; for twheel.h. */
bool twheel_add_slowly(struct twheel *w, struct twheel_timer *timer)
{
	u64 tick = tick_of(w, timer->deadline);

	if (tick <= w->now) {
		twheel_expire(w, timer);
		return true;
	}
	if (!place(w, timer, tick))
		return false;
	w->nr_pending++;
	return true;
}
EXPORT_SYMBOL_GPL(twheel_add_slowly);

/**
 * twheel_expired() - whether a timer has expired
 * @w: the wheel
 * @timer: in the wheel
 *
 * No timer is told that it expired, for its bucket was spliced whole: it
 * follows from its tick and the clock.
 *
 * Return: true if it waits for twheel_pop().
 */
bool twheel_expired(const struct twheel *w, const struct twheel_timer *timer)
{
	if (timer->level)
		return timer->level == TWHEEL_LEVEL_DUE;
	return tick_of(w, timer->deadline) <= w->now;
}
EXPORT_SYMBOL_GPL(twheel_expired);

/**
 * twheel_pop() - take the timer that expired first
 * @w: the wheel
 *
 * Return: a timer that is no longer in the wheel; or NULL if none has expired.
 */
struct twheel_timer *twheel_pop(struct twheel *w)
{
	struct twheel_timer *timer;

	timer = list_first_entry_or_null(&w->expired, struct twheel_timer, node);
	if (timer) {
		twheel_unlink(timer);
		w->nr_expired--;
	}
	return timer;
}
EXPORT_SYMBOL_GPL(twheel_pop);

/**
 * twheel_take() - take several timers that expired first
 * @w: the wheel
 * @last: the last one of them
 * @n: how many they are
 *
 * O(1). They are linked from the first one to @last as before.
 */
void twheel_take(struct twheel *w, struct twheel_timer *last, unsigned int n)
{
	__list_del(&w->expired, last->node.next);
	w->nr_expired -= n;
}
EXPORT_SYMBOL_GPL(twheel_take);

/**
 * twheel_forget() - let nothing happen any more
 * @w: the wheel
 *
 * O(1). All timers that there were are the caller's again. Nothing but
 * twheel_forward(), twheel_advance(), twheel_next() and twheel_destroy() may be
 * called for the wheel from now on.
 */
void twheel_forget(struct twheel *w)
{
	timerqueue_init_head(&w->queue);
	w->busy = 0;
	w->early = 0;
	w->late = 0;
}
EXPORT_SYMBOL_GPL(twheel_forget);

/**
 * twheel_next() - when the wheel has to be advanced next
 * @w: the wheel
 * @tick: set to the tick at which the first bucket has to be opened
 *
 * Return: false if no bucket holds timers, and @tick is untouched.
 */
bool twheel_next(struct twheel *w, u64 *tick)
{
	if (w->busy)
		*tick = first_tick(w);
	return w->busy;
}
EXPORT_SYMBOL_GPL(twheel_next);

/* Bring the timers of a bucket that need not cascade in order: an insertion sort. */
static void sort_bucket(struct twheel_bucket *b)
{
	/* Due before all others, so that no search goes past it. */
	struct twheel_timer first = { .deadline = 0 };
	struct twheel_timer *timer, *next, *place;

	INIT_LIST_HEAD(&first.node);
	list_for_each_entry_safe(timer, next, &b->timers, node) {
		u64 deadline = timer->deadline;

		timer->level = TWHEEL_LEVEL_DUE;
		place = list_prev_entry(&first, node);
		while (place->deadline > deadline)
			place = list_prev_entry(place, node);
		twheel_link_between(timer, &place->node, place->node.next);
	}
	list_replace(&first.node, &b->timers);
}

static struct twheel_bucket *first_bucket(const struct twheel *w, struct twheel_level *level)
{
	u64 number = twheel_bucket_number(level, level->first, w->mask);

	return &level->bucket[twheel_bucket_index(w, number, w->mask)];
}

/*
 * The first buckets of a level that need not cascade expire. They are those of level 0;
 * and of any other level those with few timers, all of them due before @now and before
 * it is the turn of another level. Returns how many steps it took, no more than those
 * of a bucket beyond @budget.
 */
static unsigned int expire_buckets(struct twheel *w, struct twheel_level *level, u64 now,
				   unsigned int budget)
{
	struct twheel_bucket *opened = w->early & BIT_ULL(level->nr) ? level->opened : NULL;
	u32 few = level->nr ? TWHEEL_FEW : U32_MAX;
	u64 span = level->length.divisor - 1;
	struct twheel_bucket *b = first_bucket(w, level);
	unsigned int steps = 0;
	u64 last = now;
	u64 n = 0;

	w->busy &= ~BIT_ULL(level->nr);
	find_first(w);
	/* In the same tick, it is the turn of level 0. */
	if (w->first <= last)
		last = w->first - !!level->nr;
	/* A bucket must not be half way through an early cascade. */
	while (steps < budget && last >= span && b->expiry <= last - span &&
	       b->count <= few && b != opened) {
		if (!level->nr) {
			steps++;
		} else {
			if (b->split)
				list_splice_tail_init(aside(level, b), &b->timers);
			steps += b->count;
			if (b->count > 1)
				sort_bucket(b);
			else
				list_first_entry(&b->timers, struct twheel_timer, node)->level =
					TWHEEL_LEVEL_DUE;
		}
		list_splice_tail(&b->timers, &w->expired);
		n += b->count;
		b->count = 0;
		w->now = b->expiry + span;
		clear_busy(level, b - level->bucket);
		if (!level->nr_busy)
			break;
		b = next_busy(w, level, b - level->bucket);
	}
	w->nr_pending -= n;
	w->nr_expired += n;
	if (level->nr_busy) {
		level->first = b->expiry;
		w->first = min(w->first, level->first);
		w->busy |= BIT_ULL(level->nr);
	}
	return steps;
}

static void start_cascade(struct twheel_level *level, struct twheel_bucket *b)
{
	level->opened = b;
	list_splice_tail_init(&b->timers, &level->cascade[0]);
	if (b->split)
		list_splice_tail_init(aside(level, b), &level->cascade[1]);
}

/* Start to empty the bucket @b ahead of its expiry, at which it is still due. */
static void open_early(struct twheel *w, struct twheel_bucket *b)
{
	struct twheel_level *level = w->level[b->level];

	/* Other buckets may be due at the same tick: stop just before. */
	w->now = max(w->now, key_to_tick(b->queue.expires) - 1);
	dequeue_crowded(w, b);
	w->stale = true;
	w->early |= BIT_ULL(level->nr);
	start_cascade(level, b);
}

/* The first bucket of a level is due: start to empty it. The clock waits for that. */
static void open_first(struct twheel *w, struct twheel_level *level)
{
	struct twheel_bucket *b = first_bucket(w, level);

	bucket_idle(w, level, b - level->bucket);
	w->now = b->expiry;
	w->early &= ~BIT_ULL(level->nr);
	w->late |= BIT_ULL(level->nr);
	start_cascade(level, b);
}

static __always_inline u64 tick_to_cascade(const struct twheel *w,
					   const struct twheel_timer *timer, bool fast)
{
	if (fast && likely((s64)(timer->deadline - 1) >= 0))
		return twheel_multiply_shift(&w->tick, timer->deadline - 1) + 1;
	return tick_of(w, timer->deadline);
}

/* Place a timer of an opened bucket anew, wherever it belongs. */
static __always_inline void place_again(struct twheel *w, struct twheel_timer *timer, u64 tick,
					bool fast)
{
	if (fast && likely(twheel_place_fast(w, timer, tick - 1, true)))
		return;
	if (tick <= w->now) {
		w->nr_pending--;
		twheel_expire(w, timer);
	} else {
		place(w, timer, tick);
	}
}

/* The ends of a list of an opened bucket, from which its timers are taken by turns. */
struct ends {
	struct list_head *left;
	struct list_head *right;
	bool empty;
};

static __always_inline struct ends ends_of(const struct list_head *list)
{
	return (struct ends) {
		.left = list->next,
		.right = list->prev,
		.empty = list_empty(list),
	};
}

/* There are timers to be taken from both ends, and one that is left then. */
static __always_inline bool ends_apart(const struct ends *e)
{
	return e->left != e->right && e->left->next != e->right;
}

static __always_inline struct twheel_timer *take_left(struct ends *e)
{
	struct list_head *node = e->left;

	e->left = node->next;
	prefetch(e->left);
	return list_entry(node, struct twheel_timer, node);
}

static __always_inline struct twheel_timer *take_right(struct ends *e)
{
	struct list_head *node = e->right;

	e->right = node->prev;
	prefetch(e->right);
	return list_entry(node, struct twheel_timer, node);
}

static __always_inline struct twheel_timer *take_any(struct ends *e)
{
	e->empty = e->left == e->right;
	return take_left(e);
}

/* Leave to the list what has not been taken. */
static void put_ends(const struct ends *e, struct list_head *list)
{
	if (e->empty) {
		INIT_LIST_HEAD(list);
	} else {
		__list_del(list, e->left);
		__list_del(e->right, list);
	}
}

/*
 * Place a timer of the bucket that level @nr has opened. If that was at its expiry, the
 * clock waits, so that the level below covers the timer, and its first bucket the levels
 * below that one. If it was ahead, the timer is due later than all that falls due
 * meanwhile.
 */
static __always_inline void cascade_one(struct twheel *w, struct twheel_level *below,
					unsigned int nr, struct twheel_timer *timer,
					u64 first, bool late, bool fast)
{
	u64 tick = tick_to_cascade(w, timer, fast);
	u64 number;

	if (!late) {
		place_again(w, timer, tick, fast);
		w->cascaded += timer->level != nr;
		return;
	}
	number = twheel_bucket_number(below, tick, fast);
	if (likely(number != first))
		twheel_put(w, below, nr - 1, timer, number, fast, true);
	else
		place_again(w, timer, tick, fast);
}

/* Place up to @max timers of the bucket that level @nr has opened; returns how many. */
static __always_inline unsigned int cascade(struct twheel *w, unsigned int nr,
					    unsigned int max, bool late, bool fast)
{
	struct twheel_level *level = w->level[nr];
	struct ends one = ends_of(&level->cascade[0]);
	struct ends other = ends_of(&level->cascade[1]);
	struct twheel_level *below = w->level[nr - 1];
	u64 first = twheel_bucket_number(below, w->now, fast);
	unsigned int n = 0;

	for (; fast && max - n >= 4 && ends_apart(&one) && ends_apart(&other); n += 4) {
		cascade_one(w, below, nr, take_left(&one), first, late, fast);
		cascade_one(w, below, nr, take_right(&one), first, late, fast);
		cascade_one(w, below, nr, take_left(&other), first, late, fast);
		cascade_one(w, below, nr, take_right(&other), first, late, fast);
	}
	for (; fast && max - n >= 2 && ends_apart(&one); n += 2) {
		cascade_one(w, below, nr, take_left(&one), first, late, fast);
		cascade_one(w, below, nr, take_right(&one), first, late, fast);
	}
	for (; n < max && !(one.empty && other.empty); n++)
		cascade_one(w, below, nr, take_any(one.empty ? &other : &one), first, late, fast);
	put_ends(&one, &level->cascade[0]);
	put_ends(&other, &level->cascade[1]);
	return n;
}

static unsigned int cascade_late(struct twheel *w, unsigned int budget)
{
	unsigned int nr = __ffs64(w->late);
	struct twheel_bucket *b = w->level[nr]->opened;
	unsigned int max = min(budget, b->count);
	unsigned int n;

	n = w->fast ? cascade(w, nr, max, true, true) : cascade(w, nr, max, true, false);
	w->cascaded += n;
	b->count -= n;
	if (!b->count)
		w->late &= ~BIT_ULL(nr);
	return n;
}

static unsigned int cascade_early(struct twheel *w, unsigned int budget)
{
	unsigned int nr = __ffs64(w->early);
	struct twheel_level *level = w->level[nr];
	struct twheel_bucket *b = level->opened;
	unsigned int n;

	n = w->fast ? cascade(w, nr, budget, false, true) :
		      cascade(w, nr, budget, false, false);
	if (list_empty(&level->cascade[0]) && list_empty(&level->cascade[1]))
		w->early &= ~BIT_ULL(nr);
	/* Others may have come, and some of those that left. */
	b->count -= n;
	if (n && !b->count)
		twheel_bucket_emptied(w, b);
	return n;
}

static unsigned int cascade_some(struct twheel *w, unsigned int budget)
{
	return budget - (w->late ? cascade_late(w, budget) : cascade_early(w, budget));
}

/**
 * twheel_forward() - bring the clock forward, as far as nothing is due
 * @w: the wheel
 * @now: the time, in ticks
 *
 * For use before twheel_add(): on a wheel whose clock has stood still for long,
 * near timers would go to far levels and have to cascade.
 */
void twheel_forward(struct twheel *w, u64 now)
{
	u64 next;

	if (now <= w->now || w->late)
		return;
	if (twheel_next(w, &next) && next <= now)
		now = next - 1;
	w->now = max(w->now, now);
}
EXPORT_SYMBOL_GPL(twheel_forward);

/* The level whose first bucket is due first in the wheel; or NULL if it is a crowded one. */
static struct twheel_level *first_level(struct twheel *w)
{
	struct twheel_level *level;
	u64 busy;

	for (busy = w->busy; busy; busy &= busy - 1) {
		level = w->level[__ffs64(busy)];
		if (level->first == w->first)
			return level;
	}
	return NULL;
}

/* Open what is due first, if it is: returns how many steps it took. */
static unsigned int open_next(struct twheel *w, u64 now, unsigned int budget)
{
	struct twheel_level *level;
	unsigned int steps;

	if (!w->busy || first_tick(w) > now)
		return 0;
	level = first_level(w);
	if (!level) {
		open_early(w, first_crowded(w));
		return 1;
	}
	steps = expire_buckets(w, level, now, budget);
	if (steps)
		return steps;
	open_first(w, level);
	return 1;
}

/**
 * twheel_advance() - bring the clock to a tick and expire what is due
 * @w: the wheel
 * @now: the time, in ticks. The clock never goes back: an earlier time than
 *	before stands for the same time.
 * @budget: the number of steps to take, or a few more
 *
 * Timers expire in the order of their ticks; those of one tick in any order.
 * Each step is O(1): a bucket of level 0 that expires, a timer that moves to a
 * lower level, or one of at most TWHEEL_FEW that expire together, sorted.
 *
 * Return: true if there is more to do: call again, not necessarily at once.
 */
bool twheel_advance(struct twheel *w, u64 now, unsigned int budget)
{
	unsigned int steps;
	u64 next;

	now = max(now, w->now);
	while (budget) {
		steps = w->late ? 0 : open_next(w, now, budget);
		if (steps) {
			/* Many levels are looked at one by one. */
			steps += w->nr_levels / 32;
			budget -= min(budget, steps);
			continue;
		}
		if (!w->late) {
			w->now = now;
			if (!w->early)
				return false;
		}
		budget = cascade_some(w, budget);
	}
	if (!w->late && !(twheel_next(w, &next) && next <= now)) {
		w->now = now;
		return w->early;
	}
	return true;
}
EXPORT_SYMBOL_GPL(twheel_advance);

/**
 * twheel_early() - what there is to cascade ahead of time
 * @w: the wheel
 * @now: the time, in ticks, that twheel_advance() was told
 * @timers: set to the number of timers that are left to be placed, or more
 * @ticks: set to the number of ticks that are left for it
 *
 * Return: true if twheel_advance() said that there is more to do only because
 * of a bucket that is being cascaded ahead of its expiry. If false, @timers and
 * @ticks are untouched.
 */
bool twheel_early(struct twheel *w, u64 now, u64 *timers, u64 *ticks)
{
	const struct twheel_bucket *b;
	u64 next;

	if (w->late || !w->early)
		return false;
	if (twheel_next(w, &next) && next <= max(now, w->now))
		return false;
	b = w->level[__ffs64(w->early)]->opened;
	*timers = b->count;
	/* The clock waits for it only while it holds timers. */
	*ticks = b->count ? b->expiry - w->now : 0;
	return true;
}
EXPORT_SYMBOL_GPL(twheel_early);
