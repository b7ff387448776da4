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
 * in, covers its tick. When a bucket of level 0 is due, all its timers expire: it is spliced
 * onto the list of expired timers whole, in O(1). When a bucket of a higher level is opened,
 * its timers cascade: each is placed again, and by then it is due or a lower level covers it.
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
 * expiry are then one wake-up. It knows a lower bound of its earliest deadline, which adding
 * lowers and cancelling leaves as it is. So, but for crowded buckets, the caller wakes up once
 * for each tick with timers due, and once in vain when the timer it woke for was cancelled.
 *
 * Bounded work
 *
 * twheel_advance() stops after a given number of steps and says that there is more. The clock
 * waits for a bucket that is due until all of it has cascaded, or timers would be read out of
 * order. With half a million timers in it, those due right after its first one would be late.
 * Therefore a crowded bucket is opened ahead of its time, by the lead of its level. The level
 * below covers all but the last of its timers by then, and they move there without any hurry:
 * that gives way to all that is due. What has to stay is opened again when it is due; or,
 * crowded, ahead of its time.
 *
 * Falling behind
 *
 * When the clock has jumped, after a suspend or because nobody asked, a bucket can be overdue
 * with most of its span. Its timers then need not cascade through levels whose buckets would
 * each hold a few of them. They are sorted: spread over heaps by a digit of their ticks, which
 * are put together in order, for one digit after the other from low to high. The highest
 * digits are enough to tell all but a few timers apart; those, and the timers of a bucket that
 * has few, are sorted by insertion.
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
#define TWHEEL_LEAD_SHARE	16

/* So many timers at most are sorted by insertion. */
#define TWHEEL_FEW		64

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

/* The clock has entered a bucket of the level. */
static void turn_level(const struct twheel *w, struct twheel_level *level)
{
	u64 number = twheel_divide(&level->span, w->time);
	u64 start = number * level->span.divisor;

	level->clock = number - twheel_divide(&w->size, number) * level->size;
	level->turn = start + level->span.divisor;
	/* Tick n has the deadlines after the end of the tick before, and up to its own. */
	level->end = min(start + level->range, TWHEEL_TIME_END) - (w->tick.divisor - 1);
	level->origin = start - level->clock * level->span.divisor - (w->tick.divisor - 1);
}

static void set_clock(struct twheel *w, u64 now)
{
	w->now = now;
	w->time = now * w->tick.divisor;
}

/*
 * Have the levels follow the clock, before timers are placed. A level that is behind puts them
 * into the right buckets, too, but covers less: they would go to a higher one.
 */
static void turn_levels(struct twheel *w)
{
	unsigned int nr;

	for (nr = 0; nr < w->nr_levels && w->time >= w->level[nr]->turn; nr++)
		turn_level(w, w->level[nr]);
}

/*
 * The bucket queue.
 */

/* Change when a level is due in the queue, in its place if it stays in order there. */
static void set_key(struct twheel *w, struct twheel_level *level, u64 time)
{
	struct timerqueue_node *node = &level->node;
	u64 key = twheel_tick(w, time);

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

/* The busy bucket of a level that is next in the ring after the one at @index, if any is. */
static __always_inline u32 next_busy(const struct twheel_level *level, u32 index)
{
	u32 words = BITS_TO_LONGS(level->size);
	u32 word = BIT_WORD(index);
	unsigned long bits = level->busy[word] & ~1UL << index % BITS_PER_LONG;

	if (!level->nr_busy)
		return index;
	if (!bits) {
		word = find_next_bit(level->busy_words, words, word + 1);
		if (word >= words)
			word = find_first_bit(level->busy_words, words);
		bits = level->busy[word];
	}
	return word * BITS_PER_LONG + __ffs(bits);
}

/* The first bucket of the level is being cascaded. */
static bool is_open(const struct twheel *w, const struct twheel_level *level)
{
	return w->opened & BIT_ULL(level->nr);
}

/* When a bucket has to be opened, of which @bound is the earliest deadline or less. */
static u64 opening(const struct twheel_level *level, const struct twheel_bucket *b, u64 bound)
{
	return b->count < TWHEEL_CROWD ? bound : bound - min(bound - 1, level->lead);
}

/*
 * When the first bucket of a level has to be opened: not after the next one in the ring,
 * which may be crowded.
 */
static u64 level_opening(const struct twheel *w, const struct twheel_level *level)
{
	const struct twheel_bucket *first = &level->bucket[level->first];
	const struct twheel_bucket *next = first + 1;

	if (is_open(w, level))
		return level->bound;
	if (next == level->bucket + level->size)
		next = level->bucket;
	return min(opening(level, first, level->bound), opening(level, next, next->earliest));
}

/* Put the heaps together, in their order. */
static void gather(struct twheel *w)
{
	struct twheel_level *level = w->level[w->sorting];
	unsigned int i;

	for (i = 0; i < TWHEEL_HEAPS; i++)
		list_splice_tail_init(&w->level[0]->heaps[i], &level->cascading);
}

/* Those timers that have not expired yet have to cascade. */
static void stop_sorting(struct twheel *w)
{
	gather(w);
	w->sorting = TWHEEL_MAX_LEVELS;
}

/* Its timers are to be cascaded; those that stay in it, or come now, make for a new bound. */
static void open_bucket(struct twheel *w, struct twheel_level *level)
{
	struct twheel_bucket *b = &level->bucket[level->first];

	b->earliest = U64_MAX;
	list_splice_tail_init(&b->timers, &level->cascading);
	w->opened |= BIT_ULL(level->nr);
	set_key(w, level, level->bound);
}

/* The bucket is no longer the first one of its level, or has lost its last timer. */
static void close_bucket(struct twheel *w, struct twheel_level *level)
{
	struct twheel_bucket *b = &level->bucket[level->first];

	b->earliest = min(b->earliest, level->bound);
	if (!is_open(w, level))
		return;
	if (w->sorting == level->nr)
		stop_sorting(w);
	list_splice_tail_init(&level->cascading, &b->timers);
	w->opened &= ~BIT_ULL(level->nr);
}

/* The level has another first bucket, or none, or another bound: so the key changes. */
static void set_first(struct twheel *w, struct twheel_level *level, u32 index, u64 bound)
{
	level->first = index;
	level->bound = bound;
	if (level->nr_busy)
		set_key(w, level, level_opening(w, level));
	else
		timerqueue_del(&w->queue, &level->node);
}

/* Put a timer into a bucket that is empty, has later ones only, or gets crowded by it. */
void twheel_put_first(struct twheel *w, struct twheel_level *level, struct twheel_timer *timer,
		      u32 index)
{
	struct twheel_bucket *b = &level->bucket[index];
	u64 deadline = timer->deadline;

	timer->level = level->nr;
	timer->bucket = index;
	twheel_link(timer, &b->timers);
	b->earliest = min(b->earliest, deadline);
	/* Its timers may have been in order. */
	if (index == level->first && !is_open(w, level))
		b->earliest = min(b->earliest, level->bound);
	if (!b->count++) {
		__set_bit(index, level->busy);
		__set_bit(BIT_WORD(index), level->busy_words);
		level->nr_busy++;
	}
	if (deadline < level->bound) {
		if (index != level->first)
			close_bucket(w, level);
		set_first(w, level, index, b->earliest);
	} else if (b->count == TWHEEL_CROWD) {
		set_key(w, level, level_opening(w, level));
	}
}
EXPORT_SYMBOL_GPL(twheel_put_first);

/* A bucket has lost its last timer. */
void twheel_bucket_emptied(struct twheel *w, struct twheel_level *level, u32 index)
{
	__clear_bit(index, level->busy);
	if (!level->busy[BIT_WORD(index)])
		__clear_bit(BIT_WORD(index), level->busy_words);
	level->nr_busy--;
	if (index == level->first)
		close_bucket(w, level);
	level->bucket[index].earliest = U64_MAX;
	if (index == level->first) {
		index = next_busy(level, index);
		set_first(w, level, index, level->bucket[index].earliest);
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
	w->sorting = TWHEEL_MAX_LEVELS;
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
		bytes += TWHEEL_HEAPS * sizeof(struct list_head);
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
	level->bound = U64_MAX;
	level->size = w->size.divisor;
	level->nr = nr;
	level->busy = (unsigned long *)&level->bucket[level->size];
	level->busy_words = level->busy + words;
	memset(level->busy, 0, (words + BITS_TO_LONGS(words)) * sizeof(long));
	level->heaps = (struct list_head *)(level->busy_words + BITS_TO_LONGS(words));
	for (i = 0; !nr && i < TWHEEL_HEAPS; i++)
		INIT_LIST_HEAD(&level->heaps[i]);
	for (i = 0; i < level->size; i++) {
		INIT_LIST_HEAD(&level->bucket[i].timers);
		level->bucket[i].earliest = U64_MAX;
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
	turn_level(w, level);
	w->level[w->nr_levels] = level;
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
	turn_levels(w);
	level = level_at_end(w, timer->deadline, &index);
	if (!level)
		return false;
	w->nr_pending++;
	twheel_put_first(w, level, timer, index);
	return true;
}
EXPORT_SYMBOL_GPL(twheel_add_slowly);

/*
 * Advancing.
 */

static u64 deadline_of(const struct list_head *node)
{
	return list_entry(node, struct twheel_timer, node)->deadline;
}

/* Until when, and no longer than @now, it is not the turn of another level. */
static u64 last_turn(const struct twheel *w, const struct twheel_level *level, u64 now)
{
	struct timerqueue_node *node = twheel_queue_head(w);

	if (node == &level->node)
		node = timerqueue_iterate_next(node);
	/* In the same tick, level 0 goes first: all its timers up to the clock have expired. */
	if (node)
		now = min_t(u64, now, node->expires - 1);
	return max_t(u64, now, level->node.expires) * w->tick.divisor;
}

/* The first bucket of level 0 expires. */
static void expire_bucket(struct twheel *w, struct twheel_level *level)
{
	struct twheel_bucket *b = &level->bucket[level->first];

	list_splice_tail_init(&b->timers, &w->expired);
	w->nr_pending -= b->count;
	w->nr_expired += b->count;
	b->count = 0;
	set_clock(w, level->node.expires);
	twheel_bucket_emptied(w, level, level->first);
}

/*
 * Sort the first timers of a list by insertion: @least of them, and all that are due in the
 * same unit of time, from @first on, as the last. Returns how many; 0 if more than a few.
 */
static u32 sort_few(struct list_head *timers, u32 least, const struct twheel_divisor *unit,
		    u64 first)
{
	struct twheel_timer *timer, *next;
	u64 latest = first;
	u32 n = 0;

	list_for_each_entry_safe(timer, next, timers, node) {
		struct list_head *place = timers;
		u64 deadline = timer->deadline;

		if (n >= least && twheel_divide(unit, deadline - first) >
				  twheel_divide(unit, latest - first))
			break;
		if (n++ == TWHEEL_FEW)
			return 0;
		if (deadline >= latest) {
			latest = deadline;
			continue;
		}
		if (deadline >= deadline_of(timers->next)) {
			place = timer->node.prev;
			do {
				place = place->prev;
			} while (deadline_of(place) > deadline);
		}
		twheel_unlink(timer);
		twheel_link(timer, place->next);
	}
	return n;
}

/*
 * Of the timers of a level's first bucket, in order, those expire that are due by @now and
 * before those of other levels, @max at most. Returns how many.
 */
static u32 expire_front(struct twheel *w, struct twheel_level *level, struct list_head *timers,
			u64 now, u32 max)
{
	u64 until = last_turn(w, level, now);
	struct list_head *node = timers->next;
	u32 n;

	for (n = 0; n < max && node != timers && deadline_of(node) <= until; n++) {
		list_entry(node, struct twheel_timer, node)->level = TWHEEL_LEVEL_DUE;
		node = node->next;
	}
	if (n) {
		list_bulk_move_tail(&w->expired, timers->next, node->prev);
		level->bucket[level->first].count -= n;
		w->nr_pending -= n;
		w->nr_expired += n;
		set_clock(w, twheel_tick(w, deadline_of(w->expired.prev)));
	}
	return n;
}

/* Put the timers of the first bucket of a level in order, which are a few. */
static void sort_first(struct twheel *w, struct twheel_level *level)
{
	struct twheel_bucket *b = &level->bucket[level->first];

	if (b->count > 1)
		sort_few(&b->timers, UINT_MAX, &w->tick, 0);
	b->earliest = deadline_of(b->timers.prev);
}

/* The first bucket of a level is due, and has few timers. Returns how many steps it took. */
static unsigned int expire_few(struct twheel *w, struct twheel_level *level, u64 now)
{
	struct twheel_bucket *b = &level->bucket[level->first];
	u32 steps = b->count;

	/* Those up to @earliest are in order. */
	if (b->earliest <= now * w->tick.divisor)
		sort_first(w, level);
	expire_front(w, level, &b->timers, now, UINT_MAX);
	if (b->count) {
		set_first(w, level, level->first,
			  min(b->earliest, deadline_of(b->timers.next)));
		return steps;
	}
	twheel_bucket_emptied(w, level, level->first);
	/* The next one is put in order ahead of its time for twheel_after(). */
	b = &level->bucket[level->first];
	if (!b->count || b->count > TWHEEL_FEW)
		return steps;
	sort_first(w, level);
	return steps + b->count;
}

/* Spread timers of a level's open bucket, up to @max, by the digit of their ticks at hand. */
static unsigned int spread(struct twheel *w, struct twheel_level *level, unsigned int max)
{
	struct list_head *heaps = w->level[0]->heaps;
	struct list_head *node = level->cascading.next;
	struct twheel_divisor unit = w->tick;
	u64 first = w->sort_first;
	unsigned int n;

	unit.shift += w->sort_shift;
	for (n = 0; n < max && node != &level->cascading; n++) {
		struct twheel_timer *timer = list_entry(node, struct twheel_timer, node);
		u64 number = twheel_divide(&unit, timer->deadline - first);

		node = node->next;
		twheel_link(timer, heaps + number % TWHEEL_HEAPS);
	}
	__list_del(&level->cascading, node);
	return n;
}

/*
 * Go on sorting an overdue bucket; when that is done, its timers expire. Those that are not
 * due yet cascade, and those that the digits do not tell apart. Returns the number of steps.
 */
static noinline unsigned int sort_some(struct twheel *w, struct twheel_level *level, u64 now,
				       unsigned int budget)
{
	struct twheel_bucket *b = &level->bucket[level->first];
	struct twheel_divisor unit = w->tick;
	unsigned int n;

	if (w->sort_shift < w->sort_end) {
		n = spread(w, level, budget);
		if (list_empty(&level->cascading)) {
			gather(w);
			w->sort_shift += TWHEEL_HEAP_BITS;
		}
		return n + 1;
	}
	unit.shift += w->sort_low;
	if (w->sort_low)
		budget = sort_few(&level->cascading, TWHEEL_FEW / 4, &unit, w->sort_first);
	n = expire_front(w, level, &level->cascading, now, budget);
	if (!b->count)
		twheel_bucket_emptied(w, level, level->first);
	else if (!n || n < budget)
		stop_sorting(w);
	return n + 1;
}

/* The first bucket of a level has been opened: it is sorted if half its span is overdue. */
static void start_sorting(struct twheel *w, struct twheel_level *level, u64 now)
{
	u32 count = level->bucket[level->first].count;
	u64 span = level->span.divisor;
	u8 bits;

	if (w->sorting != TWHEEL_MAX_LEVELS ||
	    last_turn(w, level, now) - level->bound < span / 2)
		return;
	w->sorting = level->nr;
	w->sort_first = (level->node.expires - 1) * w->tick.divisor + 1;
	w->sort_end = fls64(twheel_divide(&w->tick, span - 1));
	/* So many of the highest bits leave about sixteen timers of a kind. */
	bits = DIV_ROUND_UP(fls64(count / 16), TWHEEL_HEAP_BITS) * TWHEEL_HEAP_BITS;
	w->sort_low = w->sort_end - min(bits, w->sort_end);
	w->sort_shift = w->sort_low;
}

/*
 * Cascade timers of a level's opened bucket; returns how many, no more than @max. They are all
 * over the memory: from both ends in turn, the processor waits for two of them at a time.
 */
static unsigned int cascade(struct twheel *w, struct twheel_level *level, unsigned int max)
{
	struct twheel_bucket *b = &level->bucket[level->first];
	struct list_head *cascading = &level->cascading;
	u32 count = b->count;
	unsigned int n;

	/* The clock does not go back, but may have been told a time before that of the sort. */
	if (w->sorting == level->nr)
		stop_sorting(w);
	turn_levels(w);
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
	if (!list_empty(cascading))
		return n;
	if (b->count) {
		w->opened &= ~BIT_ULL(level->nr);
		set_first(w, level, level->first, b->earliest);
	} else {
		twheel_bucket_emptied(w, level, level->first);
	}
	return n;
}

/* The level whose first bucket is to be opened first, if that is due; or NULL. */
static struct twheel_level *due_level(const struct twheel *w, u64 now)
{
	struct timerqueue_node *node = twheel_queue_head(w);
	struct twheel_level *lowest = w->level[0];

	if (!node || (u64)node->expires > now)
		return NULL;
	if (lowest->nr_busy && lowest->node.expires == node->expires)
		return lowest;
	return container_of(node, struct twheel_level, node);
}

/* Open what is due first in a level, @budget permitting: returns how many steps it took. */
static unsigned int open_level(struct twheel *w, struct twheel_level *level, u64 now,
			       unsigned int budget)
{
	struct twheel_bucket *b = &level->bucket[level->first];
	u64 key = level->node.expires;
	u64 bound = level->bound;

	if (bound > key * w->tick.divisor) {
		/* Ahead of its time; but not if that has come, or the crowd has gone. */
		if (bound > now * w->tick.divisor)
			bound = level_opening(w, level);
		if (bound > key * w->tick.divisor)
			set_key(w, level, bound);
		else
			open_bucket(w, level);
		return 1;
	}
	if (!level->nr) {
		expire_bucket(w, level);
		return 1;
	}
	if (!is_open(w, level)) {
		if (b->count <= TWHEEL_FEW)
			return expire_few(w, level, now);
		open_bucket(w, level);
		start_sorting(w, level, now);
		return 1;
	}
	if (w->sorting == level->nr && list_empty(&b->timers))
		return sort_some(w, level, now, budget);
	if (key > w->now)
		set_clock(w, key);
	return cascade(w, level, budget);
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

	if (is_open(w, level))
		return 0;
	/* One of the two may be the first. */
	if (b->count > 1)
		return twheel_tick(w, max(deadline_of(timer), deadline_of(timer->next)));
	if (level->nr_busy == 1)
		return 0;
	return twheel_tick(w, level->bucket[next_busy(level, level->first)].earliest);
}
EXPORT_SYMBOL_GPL(twheel_after);

/**
 * twheel_cascading() - how many timers are cascading
 * @w: the wheel
 * @tick: set to the tick at which the first of them is due, or 0
 *
 * Return: the number of timers in the lowest bucket that is being cascaded, or 0.
 */
u32 twheel_cascading(const struct twheel *w, u64 *tick)
{
	const struct twheel_level *level;

	*tick = 0;
	if (!w->opened)
		return 0;
	level = w->level[__ffs64(w->opened)];
	*tick = level->node.expires;
	return level->bucket[level->first].count;
}
EXPORT_SYMBOL_GPL(twheel_cascading);

/**
 * twheel_forward() - bring the clock forward, as far as nothing is due, and the levels with it
 * @w: the wheel
 * @now: the time, in ticks; an earlier one than before stands for the same time
 *
 * For use before twheel_add(): when the clock has stood still for long, or twheel_advance() has
 * moved it, near timers would go to far levels and have to cascade.
 */
void twheel_forward(struct twheel *w, u64 now)
{
	u64 next;

	if (twheel_next(w, &next) && next <= now)
		now = next - 1;
	if (now > w->now)
		set_clock(w, now);
	turn_levels(w);
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
 * O(1): a bucket of level 0 that expires, or a timer that is moved, sorted or expires.
 *
 * Return: true if there is more to do: call again. If twheel_next() says a tick that is
 * later than @now, that is not urgent: only a bucket that is cascaded ahead of its time.
 */
bool twheel_advance(struct twheel *w, u64 now, unsigned int budget)
{
	u64 nr_expired = w->nr_expired;
	struct twheel_level *level;

	now = max(now, w->now);
	for (;;) {
		level = due_level(w, now);
		if (!level) {
			/* What cascades ahead of time gives way to what is due and to the clock. */
			if (now > w->now)
				set_clock(w, now);
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
			budget -= min(budget, open_level(w, level, now, budget));
		else
			budget -= cascade(w, w->level[__ffs64(w->opened)], budget);
	}
}
EXPORT_SYMBOL_GPL(twheel_advance);
