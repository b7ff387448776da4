// SPDX-License-Identifier: GPL-2.0-only
/*
 * Invariants of a wheel
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/math64.h>

#include "structure.h"

/* A pending timer is in the bucket of its tick, on a level no higher than before. */
static struct twheel_bucket *check_timer(struct model *m, struct model_timer *t)
{
	struct slot *s = slot_of(t);
	u8 nr = t->timer.level;
	struct twheel_level *level;
	u64 index;

	MODEL_CHECK(m, nr < m->wheel.nr_levels && nr <= s->level);
	s->level = nr;
	level = m->wheel.level[nr];
	MODEL_CHECK(m, level->nr == nr);
	div64_u64_rem(div64_u64(t->tick * m->tick, level->span.value), m->size, &index);
	MODEL_CHECK(m, t->timer.bucket == index);
	return &level->bucket[t->timer.bucket];
}

static u32 length_of(const struct list_head *list)
{
	const struct list_head *node;
	u32 n = 0;

	for (node = list->next; node != list; node = node->next)
		n++;
	return n;
}

/* Check that the lower bound of a bucket holds, and that a sorted bucket is in order. */
static void check_order(struct model *m, const struct twheel_bucket *b, bool sorted)
{
	struct twheel_timer *timer;
	u64 last = 0;

	list_for_each_entry(timer, &b->timers, node) {
		u64 tick = twheel_tick(&m->wheel, timer->deadline);

		if (sorted)
			MODEL_CHECK(m, tick >= max(last, twheel_tick(&m->wheel, b->first_expiry)));
		else
			MODEL_CHECK(m, timer->deadline >= b->first_expiry);
		last = tick;
	}
}

/* Timers of the bucket outside of its list: being cascaded, or sorted. */
static u32 length_elsewhere(struct model *m, const struct twheel_level *level,
			    const struct twheel_bucket *b, bool sorting)
{
	u32 n = level->crowd == b ? length_of(&level->cascading) : 0;
	unsigned int i;

	for (i = 0; sorting && i < TWHEEL_BINS; i++)
		n += length_of(&m->wheel.sort->bins[i]);
	return n;
}

/* Check a bucket that holds @count timers, of which @t is one. */
static void check_bucket(struct model *m, const struct twheel_bucket *b,
			 const struct model_timer *t, u32 count)
{
	u8 nr = t->timer.level;
	u16 place = t->timer.bucket;
	const struct twheel_level *level = m->wheel.level[nr];
	u64 number = div64_u64(t->tick * m->tick, level->span.value);
	bool first = b == &level->bucket[level->first];
	bool sorting = first && m->wheel.sort->level == level;

	MODEL_CHECK(m, b->count == length_of(&b->timers) + length_elsewhere(m, level, b, sorting));
	MODEL_CHECK(m, b->count == count);
	/* A level may be a tick ahead of the clock. */
	number -= max(div64_u64(m->wheel.time, level->span.value),
		      div64_u64(level->next_edge, level->span.value) - 1);
	MODEL_CHECK(m, number < m->size);
	MODEL_CHECK(m, test_bit(place, level->busy));
	check_order(m, b, !nr || (first && level->sorted && !sorting));
	if (level->crowd == b)
		MODEL_CHECK(m, min(level->crowd_expiry, b->first_expiry) <= t->timer.deadline);
	MODEL_CHECK(m, !sorting || level->sorted);
	MODEL_CHECK(m, !level->sorted || !first || level->crowd != b);
	MODEL_CHECK(m, nr || level->sorted);
	/* Check that it is opened in time, and before all buckets after it in the ring. */
	MODEL_CHECK(m, twheel_key(level) <= t->tick);
	if (!first && level->crowd != &level->bucket[level->first])
		MODEL_CHECK(m, level->bucket[level->first].first_expiry < t->timer.deadline);
}

static u32 count_busy(const struct twheel_level *level)
{
	u32 n = 0, i;

	for (i = 0; i < level->size; i++)
		n += !!test_bit(i, level->busy);
	return n;
}

/* Check the levels. The model checks their queue. */
static void check_levels(struct model *m)
{
	u64 busy = 0, crowds = 0;
	struct model_timer *t;
	unsigned int nr;

	for (t = model_first(m); t && t->tick <= m->end; t = model_next(t))
		busy |= BIT_ULL(t->timer.level);
	for (nr = 0; nr < m->wheel.nr_levels; nr++) {
		const struct twheel_level *level = m->wheel.level[nr];

		MODEL_CHECK(m, !level->nr_busy == !(busy & BIT_ULL(nr)));
		MODEL_CHECK(m, level->nr_busy == count_busy(level));
		MODEL_CHECK(m, level->crowd || list_empty(&level->cascading));
		if (level->nr_busy)
			MODEL_CHECK(m, level->bucket[level->first].count);
		if (level->crowd)
			crowds |= BIT_ULL(nr);
	}
	MODEL_CHECK(m, m->wheel.cascading_levels == crowds);
	MODEL_CHECK(m, !(crowds & ~busy));
}

void check_structure(struct model *m, u32 **seen_in)
{
	struct model_timer *t;
	u32 *seen;

	/* Timers after the last tick, which never comes, are in no bucket. */
	for (t = model_first(m); t && t->tick <= m->end; t = model_next(t)) {
		check_timer(m, t);
		seen_in[t->timer.level][t->timer.bucket]++;
	}
	for (t = model_first(m); t && t->tick <= m->end; t = model_next(t)) {
		seen = &seen_in[t->timer.level][t->timer.bucket];
		if (*seen)
			check_bucket(m, check_timer(m, t), t, *seen);
		*seen = 0;
	}
	MODEL_CHECK(m, length_of(&m->wheel.expired) == m->nr_expired);
	check_levels(m);
}
