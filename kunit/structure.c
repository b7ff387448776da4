// SPDX-License-Identifier: GPL-2.0-only
/*
 * Invariants of a wheel
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/math64.h>

#include "structure.h"

/*
 * Check a timer of a bucket: it is that of its tick, on a level no higher than before. Return the
 * tick.
 */
static u64 check_timer(struct model *m, const struct twheel_level *level, u32 index,
		       const struct twheel_timer *timer)
{
	struct slot *s = container_of(timer, struct slot, timer.timer);
	const struct twheel_bucket *first = &level->bucket[level->first];
	u64 tick = s->timer.tick, place;
	u64 number = div64_u64(tick * m->tick, level->span);

	MODEL_CHECK(m, s->timer.state == MODEL_PENDING);
	MODEL_CHECK(m, timer->level == level->nr && timer->bucket == index);
	MODEL_CHECK(m, level->nr <= s->level);
	s->level = level->nr;
	div64_u64_rem(number, m->size, &place);
	MODEL_CHECK(m, place == index);
	/* A level may be a tick ahead of the clock. */
	number -= div64_u64(max(m->wheel.time, level->next_edge - level->span),
			    level->span);
	MODEL_CHECK(m, number < m->size);
	/* Check that it is opened in time, and before all buckets after it in the ring. */
	MODEL_CHECK(m, twheel_key(level) <= tick);
	if (index != level->first && level->crowd != first)
		MODEL_CHECK(m, first->first_expiry < timer->deadline);
	return tick;
}

/*
 * Check a list of timers of a bucket, whether they are not before its lower bound, and whether
 * they are in order if it is sorted. Return how many there are.
 */
static u32 check_list(struct model *m, const struct twheel_level *level, u32 index,
		      const struct list_head *list, bool sorted)
{
	const struct twheel_timer *timer;
	u64 bound = twheel_first_expiry(level, &level->bucket[index]);
	u64 last = twheel_tick(&m->wheel, bound);
	u32 n = 0;

	list_for_each_entry(timer, list, node) {
		u64 tick = check_timer(m, level, index, timer);

		MODEL_CHECK(m, sorted ? tick >= last : timer->deadline >= bound);
		last = tick;
		n++;
	}
	return n;
}

/* Check a bucket with timers. Return how many there are. */
static u32 check_bucket(struct model *m, const struct twheel_level *level, u32 index)
{
	const struct twheel_bucket *b = &level->bucket[index];
	bool first = index == level->first;
	bool sorting = first && m->wheel.sort->level == level;
	u32 n = check_list(m, level, index, &b->timers,
			   !level->nr || (first && level->sorted && !sorting));
	unsigned int i;

	if (level->crowd == b)
		n += check_list(m, level, index, &level->cascading, false);
	for (i = 0; sorting && i < TWHEEL_BINS; i++)
		n += check_list(m, level, index, &m->wheel.sort->bins[i], false);
	MODEL_CHECK(m, n && b->count == n);
	MODEL_CHECK(m, !sorting || level->sorted);
	MODEL_CHECK(m, !level->sorted || !first || level->crowd != b);
	return n;
}

static u32 length_of(const struct list_head *list)
{
	const struct list_head *node;
	u32 n = 0;

	for (node = list->next; node != list; node = node->next)
		n++;
	return n;
}

void check_structure(struct model *m)
{
	const struct twheel *w = &m->wheel;
	u64 crowds = 0, timers = 0;
	unsigned int nr;

	/* The model checks the queue of levels. */
	for (nr = 0; nr < w->nr_levels; nr++) {
		const struct twheel_level *level = w->level[nr];
		u32 busy = 0, i;

		MODEL_CHECK(m, level->nr == nr && (nr || level->sorted));
		for (i = 0; i < level->size; i++) {
			if (test_bit(i, level->busy)) {
				timers += check_bucket(m, level, i);
				busy++;
			}
		}
		MODEL_CHECK(m, level->nr_busy == busy);
		MODEL_CHECK(m, !busy || test_bit(level->first, level->busy));
		MODEL_CHECK(m, level->crowd ? busy : list_empty(&level->cascading));
		if (level->crowd)
			crowds |= BIT_ULL(nr);
	}
	MODEL_CHECK(m, w->cascading_levels == crowds);
	MODEL_CHECK(m, timers == m->nr_pending);
	MODEL_CHECK(m, length_of(&w->expired) == m->nr_expired);
}
