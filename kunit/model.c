// SPDX-License-Identifier: GPL-2.0-only
/*
 * A model of the wheel, with which the tests of the core compare it; see
 * model.h
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include "model.h"

void model_init(struct model *m, u64 tick, u32 size, u64 now, model_wrong_fn *wrong)
{
	memset(m, 0, sizeof(*m));
	m->wrong = wrong;
	m->size = size;
	m->tick = tick;
	m->end = div64_u64(MODEL_TIME_END, tick);
	m->now = now;
	m->pending = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&m->expired);
	twheel_init(&m->wheel, tick, size, now);
}

u64 model_after(const struct model *m, u64 tick, u64 delay)
{
	u64 sum;

	return check_add_overflow(tick, delay, &sum) ? m->end : min(sum, m->end);
}

/* The model's timers */

static bool earlier(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct model_timer, node)->tick <
	       rb_entry(b, struct model_timer, node)->tick;
}

struct model_timer *model_first(const struct model *m)
{
	return rb_entry_safe(rb_first_cached(&m->pending), struct model_timer, node);
}

struct model_timer *model_next(struct model_timer *t)
{
	return rb_entry_safe(rb_next(&t->node), struct model_timer, node);
}

static void pend(struct model *m, struct model_timer *t)
{
	t->state = MODEL_PENDING;
	rb_add_cached(&t->node, &m->pending, earlier);
	m->nr_pending++;
}

static void expire(struct model *m, struct model_timer *t)
{
	t->state = MODEL_EXPIRED;
	t->group = m->group;
	list_add_tail(&t->expired, &m->expired);
	m->nr_expired++;
}

/* Expired at once: it has a group of its own. */
static void expire_at_once(struct model *m, struct model_timer *t)
{
	m->group++;
	m->group_open = false;
	expire(m, t);
}

/* Expired in the wheel: never after a later tick. */
static void expire_in_wheel(struct model *m, struct model_timer *t)
{
	MODEL_CHECK(m, t->tick >= m->last);
	if (t->tick != m->last || !m->group_open)
		m->group++;
	m->group_open = true;
	m->last = t->tick;
	rb_erase_cached(&t->node, &m->pending);
	m->nr_pending--;
	expire(m, t);
}

static void leave(struct model *m, struct model_timer *t)
{
	if (t->state == MODEL_PENDING) {
		rb_erase_cached(&t->node, &m->pending);
		m->nr_pending--;
	} else {
		list_del(&t->expired);
		m->nr_expired--;
	}
	t->state = MODEL_IDLE;
}

/*
 * Follow the wheel's clock. All timers before it have expired; only as long as
 * there is more work may timers that are due at this very tick be waiting.
 */
static void follow(struct model *m)
{
	u64 clock = m->wheel.now;
	struct model_timer *t, *next;

	for (t = model_first(m); t && t->tick <= clock; t = next) {
		next = model_next(t);
		if (twheel_expired(&t->timer))
			expire_in_wheel(m, t);
		else
			MODEL_CHECK(m, m->more && t->tick == clock);
	}
}

/* Check that exactly the levels with timers are in the queue, in the order of their keys. */
static void check_queue(const struct model *m)
{
	const struct twheel *w = &m->wheel;
	struct timerqueue_node *node = timerqueue_getnext((struct timerqueue_head *)&w->queue);
	u64 queued = 0, busy = 0;
	ktime_t last = 0;
	unsigned int nr;

	for (; node; node = timerqueue_iterate_next(node)) {
		MODEL_CHECK(m, node->expires >= last);
		last = node->expires;
		if (node != &w->sort->rewinding)
			queued |= BIT_ULL(container_of(node, struct twheel_level, node)->nr);
	}
	for (nr = 0; nr < w->nr_levels; nr++)
		if (w->level[nr]->nr_busy)
			busy |= BIT_ULL(nr);
	MODEL_CHECK(m, queued == busy);
}

void model_compare(const struct model *m)
{
	const struct model_timer *first = model_first(m);
	u64 tick = 0;
	bool next = twheel_next(&m->wheel, &tick);

	MODEL_CHECK(m, m->wheel.nr_pending == m->nr_pending);
	MODEL_CHECK(m, m->wheel.nr_expired == m->nr_expired);
	MODEL_CHECK(m, next == !!first);
	MODEL_CHECK(m, !next || tick <= first->tick);
	check_queue(m);
}

/* Operations, on the wheel and on the model */

static void set_tick(const struct model *m, struct model_timer *t)
{
	u64 deadline = t->timer.deadline;

	t->tick = div64_u64(deadline, m->tick);
	t->tick += t->tick * m->tick < deadline;
}

void model_add(struct model *m, struct model_timer *t, u64 deadline)
{
	t->timer.deadline = deadline;
	set_tick(m, t);
	MODEL_CHECK(m, twheel_tick(&m->wheel, deadline) == t->tick);
	MODEL_CHECK(m, twheel_add(&m->wheel, &t->timer));
	if (t->tick <= m->wheel.now)
		expire_at_once(m, t);
	else
		pend(m, t);
	MODEL_CHECK(m, twheel_expired(&t->timer) == (t->state == MODEL_EXPIRED));
}

void model_cancel(struct model *m, struct model_timer *t)
{
	if (!twheel_is_rewinding(&m->wheel))
		MODEL_CHECK(m, twheel_expired(&t->timer) == (t->state == MODEL_EXPIRED));
	twheel_cancel(&m->wheel, &t->timer);
	leave(m, t);
}

void model_expire(struct model *m, struct model_timer *t)
{
	/* A clock that is set back makes it pending until then. */
	set_tick(m, t);
	twheel_expire(&m->wheel, &t->timer);
	expire_at_once(m, t);
}

struct model_timer *model_pop(struct model *m)
{
	struct model_timer *first, *t;
	struct twheel_timer *popped = twheel_pop(&m->wheel);

	first = list_first_entry_or_null(&m->expired, struct model_timer, expired);
	MODEL_CHECK(m, !popped == !first);
	if (!popped)
		return NULL;
	t = container_of(popped, struct model_timer, timer);
	MODEL_CHECK(m, t->state == MODEL_EXPIRED);
	MODEL_CHECK(m, t->group == first->group);
	leave(m, t);
	return t;
}

/* Note the level of each pending timer; return how many have left the one noted before. */
static u64 note_levels(const struct model *m)
{
	struct model_timer *t;
	u64 moved = 0;

	for (t = model_first(m); t; t = model_next(t)) {
		moved += t->level != t->timer.level;
		t->level = t->timer.level;
	}
	return moved;
}

void model_advance(struct model *m, u64 now, unsigned int budget)
{
	struct twheel *w = &m->wheel;
	u64 before = w->now, cascaded = w->cascaded, expired = w->nr_expired, next;

	note_levels(m);
	m->now = max(m->now, now);
	m->more = twheel_advance(w, now, budget);
	now = max(now, before);
	MODEL_CHECK(m, w->now >= before && w->now <= now);
	MODEL_CHECK(m, m->more || w->now == now);
	MODEL_CHECK(m, m->more == (twheel_next(w, &next) && next <= now));
	/* Due timers come first; then as many cascade as others have expired, and a few more. */
	cascaded = w->cascaded - cascaded;
	expired = w->nr_expired - expired;
	MODEL_CHECK(m, expired <= (u64)budget * TWHEEL_TIMERS_PER_STEP);
	MODEL_CHECK(m, !cascaded || !m->more);
	MODEL_CHECK(m, cascaded <= min_t(u64, budget, TWHEEL_AHEAD_MIN +
					 expired * TWHEEL_LEAD_DIVISOR));
	follow(m);
	MODEL_CHECK(m, cascaded == note_levels(m));
}

/* After the clock has been set back, expired timers may be pending again. */
static void pend_again(struct model *m, bool all)
{
	struct model_timer *t, *next;

	list_for_each_entry_safe(t, next, &m->expired, expired) {
		bool later = t->tick > m->wheel.now;

		if (twheel_expired(&t->timer)) {
			MODEL_CHECK(m, !all || !later);
		} else {
			MODEL_CHECK(m, later);
			leave(m, t);
			pend(m, t);
		}
	}
}

void model_rewind(struct model *m, u64 now, unsigned int budget, unsigned int calls)
{
	u64 before = m->wheel.now;

	while (calls && twheel_rewind(&m->wheel, now, budget)) {
		check_queue(m);
		calls--;
	}
	while (twheel_is_rewinding(&m->wheel))
		twheel_rewind(&m->wheel, m->wheel.now, budget);
	MODEL_CHECK(m, m->wheel.now == min(now, before) || (!calls && m->wheel.now == before));
	if (m->wheel.now < before)
		m->more = false;
	m->now = m->wheel.now;
	m->last = 0;
	m->group_open = false;
	pend_again(m, m->now < before);
	follow(m);
}

/* Invariants of the wheel */

/*
 * Check a timer of a bucket: it is that of its tick, on a level no higher than before. Return the
 * tick.
 */
static u64 check_timer(struct model *m, const struct twheel_level *level, u32 index,
		       const struct twheel_timer *timer)
{
	struct model_timer *t = container_of(timer, struct model_timer, timer);
	const struct twheel_bucket *first = &level->bucket[level->first];
	u64 tick = t->tick, place;
	u64 number = div64_u64(tick * m->tick, level->span);

	MODEL_CHECK(m, t->state == MODEL_PENDING);
	MODEL_CHECK(m, timer->level == level->nr && timer->bucket == index);
	MODEL_CHECK(m, level->nr <= t->lowest);
	t->lowest = level->nr;
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

void model_check_structure(struct model *m)
{
	const struct twheel *w = &m->wheel;
	u64 crowds = 0, timers = 0;
	unsigned int nr;

	/* model_compare() checks the queue of levels. */
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
