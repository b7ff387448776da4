// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: crowds cascade ahead of their time
 */
#include "core.h"

KUNIT_ARRAY_PARAM(size, sizes, size_desc);

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

/* The clock moves on while the crowd cascades, and nothing expires. */
static void crowd_is_never_early(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct twheel *w = start_crowd(test);
	u64 now;

	for (now = crowd_lead(c); now < c->length; now++) {
		u64 cascaded = w->cascaded;

		KUNIT_ASSERT_FALSE(test, twheel_advance(w, now, 2));
		KUNIT_ASSERT_EQ(test, w->now, now);
		KUNIT_ASSERT_EQ(test, w->nr_expired, 0);
		KUNIT_ASSERT_LE(test, w->cascaded - cascaded, 2);
	}
	KUNIT_EXPECT_EQ(test, w->nr_pending, CROWD);
	KUNIT_EXPECT_GT(test, w->cascaded, 0);
	expect_all_on_time(test, CROWD);
}

/* An advance of @budget steps, in which @due timers expire, cascades @cascaded. */
struct visit {
	unsigned int budget;
	unsigned int due;
	unsigned int cascaded;
};

static const struct visit visits[] = {
	{ 0, 0, 0 }, { 10, 0, 10 }, { TWHEEL_AHEAD_MIN, 0, TWHEEL_AHEAD_MIN },
	{ 1000, 0, TWHEEL_AHEAD_MIN }, { 1000, 1, TWHEEL_AHEAD_MIN + 16 },
	{ 1000, 4, TWHEEL_AHEAD_MIN + 4 * 16 },
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

/* Timers come and go in the bucket while it cascades. */
static void crowd_changes_while_it_cascades(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct twheel *w = start_crowd(test);
	struct fixture *f = test->priv;
	unsigned int i;

	cascade(test, crowd_lead(c), CROWD / 4);
	for (i = 0; i < CROWD; i += 2)
		twheel_cancel(w, &f->timer[i]);
	/* The same ticks again, in the bucket or where it has cascaded to. */
	for (i = 0; i < CROWD; i += 4)
		arm_in_crowd(test, i);
	/* New deadlines for others, in the bucket after it. */
	for (i = 1; i < CROWD; i += 4) {
		twheel_cancel(w, &f->timer[i]);
		arm(test, &f->timer[i], 2 * c->length + i);
	}
	twheel_advance(w, crowd_lead(c), 1);
	KUNIT_EXPECT_EQ(test, w->nr_pending, CROWD * 3 / 4);
	KUNIT_EXPECT_EQ(test, sleep_through(test).expired, CROWD * 3 / 4);
}

/*
 * The timers from @first to @last are cancelled, except every @keep-th: before any has cascaded,
 * when some have, when the first is due, or when all are overdue.
 */
struct thinned {
	unsigned int first;
	unsigned int last;
	unsigned int keep;
};

enum when { BEFORE, CASCADING, DUE, OVERDUE, NR_WHEN };

static void expect_thinned_on_time(struct kunit *test, const struct thinned *t, enum when when)
{
	const struct crowd *c = test->param_value;
	struct twheel *w = start_crowd(test);
	struct fixture *f = test->priv;
	unsigned int i, left = CROWD, expired, calls = 0;
	u64 now;

	if (when != BEFORE)
		cascade(test, crowd_lead(c), CROWD / 4);
	if (when == DUE)
		twheel_advance(w, c->length, 5);
	if (when == OVERDUE)
		twheel_advance(w, 2 * c->length, 5);
	for (i = t->first; i < t->last; i++) {
		if (i % t->keep == t->keep - 1)
			continue;
		twheel_cancel(w, &f->timer[i]);
		left--;
	}
	KUNIT_EXPECT_EQ(test, w->nr_pending + w->nr_expired, left);
	now = when == OVERDUE ? 2 * c->length : when == DUE ? c->length : w->now;
	while (twheel_advance(w, now, 7))
		KUNIT_ASSERT_LT(test, ++calls, 100 * CROWD);
	expired = w->nr_expired;
	expect_expired(test, expired);
	KUNIT_EXPECT_EQ(test, sleep_through(test).expired, left - expired);

	/* The bucket serves its next round. */
	advance(test, 2 * c->length);
	for (i = 0; i < CROWD; i++)
		arm(test, &f->timer[i], c->length * c->size + crowd_tick(c, i));
	expect_all_on_time(test, CROWD);
}

static void crowd_is_thinned(struct kunit *test)
{
	static const struct thinned thinned[] = {
		{ 0, 0, 1 }, { 0, CROWD, CROWD + 1 }, { 0, CROWD, CROWD },
		{ 1, CROWD, CROWD + 1 }, { 0, CROWD, 7 }, { 0, 64, CROWD }, { 64, CROWD, CROWD },
		{ 300, CROWD, CROWD + 1 },
	};
	enum when when;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(thinned); i++)
		for (when = 0; when < NR_WHEN; when++)
			expect_thinned_on_time(test, &thinned[i], when);
}

/* The crowd is cancelled, and the bucket is in use again before its time. */
static void crowd_comes_again(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct fixture *f = test->priv;
	unsigned int cascaded, i;

	for (cascaded = 0; cascaded <= 10; cascaded += 10) {
		struct twheel *w = start_crowd(test);

		cascade(test, crowd_lead(c), cascaded);
		for (i = CROWD; i--;)
			twheel_cancel(w, &f->timer[i]);
		expect_nothing_pending(test);
		for (i = 0; i < CROWD; i++)
			arm_in_crowd(test, i);
		expect_all_on_time(test, CROWD);
	}
}

/* Buckets of levels 0, 1 and 2 are due at one tick: none of a crowd cascades before them. */
static void due_levels_come_before_a_crowd(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	struct twheel_timer *t = &f->timer[CROWD];
	static const u64 clocks[] = { 9395, 9320, 9300 };
	unsigned int i;
	u64 cascaded;

	for (i = 0; i < CROWD; i++)
		arm(test, &f->timer[i], 10000 + i);
	for (i = 3; i--;) {
		advance(test, clocks[i]);
		arm(test, &t[i], 9400);
		KUNIT_ASSERT_EQ(test, t[i].level, i);
	}
	cascade(test, 9396, 2);
	cascaded = w->cascaded;
	for (i = 0; twheel_advance(w, 9400, 1); i++) {
		KUNIT_ASSERT_EQ(test, w->cascaded, cascaded);
		KUNIT_ASSERT_LT(test, i, 10);
	}
	KUNIT_EXPECT_EQ(test, w->now, 9400);
	expect_expired(test, 3);
	expect_all_on_time(test, CROWD);
}

/*
 * The bucket before the crowd's has one timer, at its very end, and the clock is in it: most of
 * the crowd cascades before that timer is due.
 */
static void crowd_does_not_wait_for_the_bucket_before(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct twheel *w = start(test, 1, c->size, 0);
	struct fixture *f = test->priv;
	unsigned int i, expired;

	arm(test, &f->timer[CROWD], 2 * c->length - 1);
	advance(test, c->length);
	KUNIT_ASSERT_EQ(test, f->timer[CROWD].level, c->level);
	for (i = 0; i < CROWD; i++) {
		arm(test, &f->timer[i], c->length + crowd_tick(c, i));
		KUNIT_ASSERT_EQ(test, f->timer[i].level, c->level);
	}
	advance(test, c->length + crowd_lead(c) - 1);
	KUNIT_EXPECT_EQ(test, w->cascaded, 0);
	cascade(test, c->length + crowd_lead(c), CROWD / 2 - 1);
	/* A lead of one tick begins when that timer is due. */
	expired = w->nr_expired;
	expect_expired(test, expired);
	expect_all_on_time(test, CROWD + 1 - expired);
}

/* A crowd has been opened ahead of its time, and a timer is added that is due before it. */
struct newcomer {
	u64 tick;
	u64 now;
};

static const struct newcomer newcomers[] = {
	{ 12000, 14945 }, { 14937, 14945 }, { 14970, 14945 }, { 14970, 14972 },
	{ 14999, 14945 }, { 14999, 15001 }, { 15000, 14945 }, { 15000, 15002 },
};

static void newcomer_desc(const struct newcomer *n, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "at %llu, advanced to %llu", n->tick, n->now);
}

KUNIT_ARRAY_PARAM(newcomer, newcomers, newcomer_desc);

static void crowd_is_not_first_any_more(struct kunit *test)
{
	const struct newcomer *n = test->param_value;
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	struct twheel_timer *t = &f->timer[CROWD];
	const unsigned int due = n->tick <= n->now;
	unsigned int i;

	arm(test, &t[0], 14942);
	advance(test, 11000);
	for (i = 0; i < CROWD; i++)
		arm(test, &f->timer[i], 15003 + i);
	KUNIT_ASSERT_EQ(test, t[0].level, 4);
	KUNIT_ASSERT_EQ(test, f->timer[0].level, 3);
	cascade(test, 14945, 1);
	KUNIT_ASSERT_TRUE(test, w->cascading_levels);
	expect_expired(test, 1);

	arm(test, &t[1], n->tick);
	for (i = 0; twheel_advance(w, n->now, 1); i++) {
		KUNIT_ASSERT_TRUE(test, w->now <= n->tick || twheel_expired(&t[1]));
		KUNIT_ASSERT_LT(test, i, 10 * CROWD);
	}
	expect_expired(test, due);
	expect_all_on_time(test, CROWD + 1 - due);
}

/* All timers are at the bucket's end, and most are cancelled when some have cascaded. */
static void crowd_comes_late(struct kunit *test)
{
	static const unsigned int counts[] = { CROWD, 10, 1 };
	const struct crowd *c = test->param_value;
	struct fixture *f = test->priv;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		struct twheel *w = start(test, 1, c->size, c->length - 1);

		for (j = 0; j < CROWD; j++)
			arm(test, &f->timer[j], 2 * c->length - 1);
		KUNIT_EXPECT_FALSE(test, twheel_advance(w, 2 * c->length - 2, 10));
		for (j = counts[i]; j < CROWD; j++)
			twheel_cancel(w, &f->timer[j]);
		expect_all_on_time(test, counts[i]);
	}
}

/* A crowd for each level, and a visit ahead of each expiry: the order holds. */
static void crowds_on_every_level(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	struct sleeper s = { };
	s64 center = 1;
	unsigned int i;
	u64 next;

	for (i = 0; i < NR_TIMERS; i++) {
		if (i % 200 == 0 && check_mul_overflow(center, (s64)*size + 1, &center))
			break;
		arm(test, &f->timer[i], add_saturated(center, i % 200 * div_s64(center, 1000)));
	}
	while (twheel_next(w, &next)) {
		KUNIT_ASSERT_FALSE(test, twheel_advance(w, next - 1, 1000));
		sleep_once(test, &s);
	}
	KUNIT_EXPECT_EQ(test, s.expired, i);
	KUNIT_EXPECT_GT(test, w->cascaded, 0);
}

static struct kunit_case cascading_cases[] = {
	KUNIT_CASE_PARAM(bucket_becomes_a_crowd, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_is_never_early, crowd_gen_params),
	KUNIT_CASE_PARAM(visit_cascades_more_when_timers_expire, visit_gen_params),
	KUNIT_CASE_PARAM(crowd_gives_way_to_due, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_changes_while_it_cascades, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_is_thinned, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_comes_again, crowd_gen_params),
	KUNIT_CASE(due_levels_come_before_a_crowd),
	KUNIT_CASE_PARAM(crowd_does_not_wait_for_the_bucket_before, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_is_not_first_any_more, newcomer_gen_params),
	KUNIT_CASE_PARAM(crowd_comes_late, crowd_gen_params),
	KUNIT_CASE_PARAM(crowds_on_every_level, size_gen_params),
	{}
};

CORE_SUITE(cascading);
