// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sorting a bucket of a hierarchical timing wheel by the ticks of its timers
 *
 * By insertion, if they are few; that is 3% of an expiry one by one. Others are put into bins
 * by a digit of their ticks, and the bins are concatenated, for one digit after the other from
 * low to high. That can stop after any timer, with the rest in the bucket's list: timers are
 * cancelled from a bin as from a bucket, for all that they know of is their neighbours.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/list.h>

#include "twheel_core.h"

/* Up to this many timers are sorted by insertion. */
#ifndef TWHEEL_INSERTION_MAX
#define TWHEEL_INSERTION_MAX	64
#endif

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
	u64 zero = level->next_edge - level->span.divisor - (w->tick.divisor - 1);
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

unsigned int twheel_sort_bucket(struct twheel *w, struct twheel_level *level,
				struct twheel_bucket *b, unsigned int budget)
{
	if (level->order == TWHEEL_UNSORTED) {
		/* The clock enters the bucket: from now on lower levels cover its span. */
		twheel_sync_levels(w, level->node.expires * w->tick.divisor);
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
