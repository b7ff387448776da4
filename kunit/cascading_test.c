// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: crowds cascade ahead of their time
 */
#include "core.h"

/*
 * A crowd: more than enough timers to cascade ahead of their time are spread over the bucket of
 * level @level that begins at its @length, which is where the first one is due.
 */
#define CROWD	(3 * TWHEEL_EARLY_CASCADE_MIN)

struct crowd {
	u32 size;
	u8 level;
	u64 length;
};

static const struct crowd crowds[] = {
	{ 2, 5, 32 }, { 3, 4, 81 }, { 10, 3, 1000 }, { 20, 1, 20 }, { 20, 2, 400 },
	{ 60, 2, 3600 }, { 256, 1, 256 }, { 256, 2, 65536 }, { 65536, 1, 65536 },
};

static void crowd_desc(const struct crowd *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "size %u, level %u", c->size, c->level);
}

KUNIT_ARRAY_PARAM(crowd, crowds, crowd_desc);

/* In no order, except that the first timer is due first. */
static u64 crowd_tick(const struct crowd *c, unsigned int i)
{
	return c->length + c->length * (i * 5 % CROWD) / CROWD;
}

/* The first tick at which the crowd may cascade. */
static u64 crowd_lead(const struct crowd *c)
{
	return c->length - c->length / TWHEEL_LEAD_DIVISOR;
}

/* Return whether the timer is on the level of the crowd. */
static bool arm_in_crowd(struct kunit *test, unsigned int i)
{
	const struct crowd *c = test->param_value;
	struct fixture *f = test->priv;

	arm(test, &f->timer[i], crowd_tick(c, i));
	return f->timer[i].level == c->level;
}

/* Nothing wakes the wheel ahead of the first timer's tick. */
static struct twheel *start_crowd(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct twheel *w = start(test, 1, c->size, 0);
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		KUNIT_ASSERT_TRUE(test, arm_in_crowd(test, i));
	expect_next(test, c->length);
	return w;
}

/* Advance to @now again and again, until @count timers have cascaded ahead of their time. */
static void cascade(struct kunit *test, u64 now, u64 count)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	u64 end = w->cascaded + count;
	unsigned int calls = 0;

	while (w->cascaded < end) {
		KUNIT_ASSERT_FALSE(test, twheel_advance(w, now, end - w->cascaded));
		KUNIT_ASSERT_LT(test, ++calls, CROWD);
	}
}

/* Not before its lead, and not with fewer timers. */
static void bucket_becomes_a_crowd(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct twheel *w = start(test, 1, c->size, 0);
	const unsigned int last = TWHEEL_EARLY_CASCADE_MIN - 1;
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < last; i++)
		arm_in_crowd(test, i);
	arm(test, &f->timer[last], 2 * c->length - 1);
	advance(test, crowd_lead(c) - 1);
	twheel_cancel(w, &f->timer[last]);
	advance(test, crowd_lead(c));
	KUNIT_EXPECT_EQ(test, w->cascaded, 0);
	arm(test, &f->timer[last], 2 * c->length - 1);
	cascade(test, crowd_lead(c), 1);
	expect_next(test, c->length);
	/* The level below covers all but the latest: for these, the bucket is opened later. */
	for (i = 0; w->cascading_levels && i < CROWD; i++)
		twheel_advance(w, crowd_lead(c), 10);
	KUNIT_EXPECT_GT(test, w->level[c->level]->node.expires, c->length);
	expect_next(test, c->length);
	expect_all_on_time(test, TWHEEL_EARLY_CASCADE_MIN);
}

/* An advance of @budget steps, in which @due timers expire, cascades @cascaded. */
struct visit {
	unsigned int budget;
	unsigned int due;
	unsigned int cascaded;
};

static const struct visit visits[] = {
	{ 0, 0, 0 }, { 10, 0, 10 }, { TWHEEL_AHEAD_MIN, 0, TWHEEL_AHEAD_MIN },
	{ 1000, 0, TWHEEL_AHEAD_MIN }, { 1000, 1, TWHEEL_AHEAD_MIN + TWHEEL_LEAD_DIVISOR },
	{ 1000, 4, TWHEEL_AHEAD_MIN + 4 * TWHEEL_LEAD_DIVISOR },
	/* To sort four timers takes five steps, to expire them two. */
	{ 50, 4, 43 }, { 8, 4, 1 }, { 7, 4, 0 },
};

static void visit_desc(const struct visit *v, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "budget %u, %u due", v->budget, v->due);
}

KUNIT_ARRAY_PARAM(visit, visits, visit_desc);

static void visit_cascades_more_when_timers_expire(struct kunit *test)
{
	const struct visit *v = test->param_value;
	struct twheel *w = start(test, 1, 256, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		arm(test, &f->timer[i], 65536 + i);
	for (i = 0; i < v->due; i++)
		arm(test, &f->timer[CROWD + i], 65000);
	/* It has expired before, and counts no more. */
	arm(test, &f->timer[CROWD + i], 10);
	advance(test, 10);
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, 65000, v->budget));
	KUNIT_EXPECT_EQ(test, w->cascaded, v->cascaded);
	expect_expired(test, v->due + 1);
	expect_all_on_time(test, CROWD);
}

/* A timer that is due while the crowd cascades goes first: one step is enough for it. */
static void crowd_gives_way_to_due(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct twheel *w = start_crowd(test);
	struct fixture *f = test->priv;
	u64 now = crowd_lead(c), armed = 0;

	cascade(test, now, 2);
	while (armed < min(50ULL, c->length - 1 - crowd_lead(c)) && armed < c->size - 1) {
		armed++;
		arm(test, &f->timer[CROWD + armed], now + armed);
	}
	while (armed--) {
		KUNIT_EXPECT_FALSE(test, twheel_advance(w, ++now, 1));
		expect_expired(test, 1);
	}
	expect_all_on_time(test, CROWD);
}

static struct kunit_case cascading_cases[] = {
	KUNIT_CASE_PARAM(bucket_becomes_a_crowd, crowd_gen_params),
	KUNIT_CASE_PARAM(visit_cascades_more_when_timers_expire, visit_gen_params),
	KUNIT_CASE_PARAM(crowd_gives_way_to_due, crowd_gen_params),
	{}
};

CORE_SUITE(cascading);
