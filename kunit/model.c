// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a wheel must do: the model that the tests of the core compare it with; see
 * model.h
 */
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
	t->turn = m->turn;
	list_add_tail(&t->expired, &m->expired);
	m->nr_expired++;
}

/* Expired on the spot: its turn is its own. */
static void expire_at_once(struct model *m, struct model_timer *t)
{
	m->turn++;
	m->turn_open = false;
	expire(m, t);
}

/* Expired in the wheel: never after a later tick. */
static void expire_in_wheel(struct model *m, struct model_timer *t)
{
	MODEL_CHECK(m, t->tick >= m->last);
	if (t->tick != m->last || !m->turn_open)
		m->turn++;
	m->turn_open = true;
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
 * Follow the wheel's clock. Whatever it has passed has expired; only as long as
 * there is more work may timers that are due at this very tick be waiting.
 */
static void follow(struct model *m)
{
	u64 clock = m->wheel.now;
	struct model_timer *t, *next;

	for (t = model_first(m); t && t->tick <= clock; t = next) {
		next = model_next(t);
		if (twheel_expired(&m->wheel, &t->timer))
			expire_in_wheel(m, t);
		else
			MODEL_CHECK(m, m->more && t->tick == clock);
	}
}

void model_compare(const struct model *m)
{
	const struct model_timer *first = model_first(m);
	u64 tick;
	bool next = twheel_next(&m->wheel, &tick);

	MODEL_CHECK(m, m->wheel.nr_pending == m->nr_pending);
	MODEL_CHECK(m, m->wheel.nr_expired == m->nr_expired);
	MODEL_CHECK(m, next == !!first);
	if (first)
		MODEL_CHECK(m, tick <= first->tick);
}

/* Operations, on the wheel and on the model */

void model_add(struct model *m, struct model_timer *t, u64 deadline)
{
	t->timer.deadline = deadline;
	t->tick = div64_u64(deadline, m->tick);
	t->tick += t->tick * m->tick < deadline;
	MODEL_CHECK(m, twheel_tick(&m->wheel, deadline) == t->tick);
	MODEL_CHECK(m, twheel_add(&m->wheel, &t->timer));
	if (t->tick <= m->wheel.now)
		expire_at_once(m, t);
	else
		pend(m, t);
	MODEL_CHECK(m, twheel_expired(&m->wheel, &t->timer) == (t->state == MODEL_EXPIRED));
}

void model_cancel(struct model *m, struct model_timer *t)
{
	MODEL_CHECK(m, twheel_expired(&m->wheel, &t->timer) == (t->state == MODEL_EXPIRED));
	twheel_cancel(&m->wheel, &t->timer);
	leave(m, t);
}

void model_expire(struct model *m, struct model_timer *t)
{
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
	MODEL_CHECK(m, t->turn == first->turn);
	leave(m, t);
	return t;
}

/*
 * What the wheel says is left to do at @now, and when to come again, is so. Work ahead of
 * its time gives way to the clock and to what is due.
 */
static void compare_next(const struct model *m, u64 now)
{
	const struct model_timer *first = model_first(m);
	bool due = first && first->tick <= now;
	u64 tick;

	if (!twheel_next(&m->wheel, &tick))
		MODEL_CHECK(m, !m->more);
	else if (!m->more)
		MODEL_CHECK(m, tick > now);
	else if (tick > now)
		MODEL_CHECK(m, m->wheel.now == now && m->wheel.cascading_levels);
	else
		return;
	MODEL_CHECK(m, !due);
}

void model_advance(struct model *m, u64 now, unsigned int budget)
{
	u64 before = m->wheel.now;

	m->now = max(m->now, now);
	m->more = twheel_advance(&m->wheel, now, budget);
	MODEL_CHECK(m, m->wheel.now >= before);
	MODEL_CHECK(m, m->wheel.now <= m->now);
	if (!m->more)
		MODEL_CHECK(m, m->wheel.now == max(before, now));
	follow(m);
	compare_next(m, max(before, now));
}

/* Whatever is due stays to be expired by twheel_advance(). */
void model_forward(struct model *m, u64 now)
{
	u64 before = m->wheel.now;

	twheel_forward(&m->wheel, now);
	m->now = max(m->now, m->wheel.now);
	MODEL_CHECK(m, m->wheel.now == before || (m->wheel.now > before && m->wheel.now <= now));
	follow(m);
	if (m->nr_pending && !m->more)
		MODEL_CHECK(m, model_first(m)->tick > m->wheel.now);
}
