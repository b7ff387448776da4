// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: work in steps, and changes between them
 */
#include "core.h"

KUNIT_ARRAY_PARAM(size, sizes, size_desc);

/* However many timers are due at one tick, a step expires a few of them. */
static void a_tick_expires_in_steps(struct kunit *test)
{
	struct twheel *w = start(test, 1, 256, 0);
	struct fixture *f = test->priv;
	u64 expired = 0;
	unsigned int i;

	for (i = 0; i < NR_TIMERS - 1; i++)
		arm(test, &f->timer[i], 7 + i % 2);
	KUNIT_EXPECT_TRUE(test, twheel_advance(w, 100, 0));
	KUNIT_EXPECT_EQ(test, w->nr_expired, 0);
	while (twheel_advance(w, 100, 1)) {
		KUNIT_ASSERT_GT(test, w->nr_expired, expired);
		KUNIT_ASSERT_LE(test, w->nr_expired, expired + 2 * TWHEEL_TIMERS_PER_STEP);
		KUNIT_ASSERT_EQ(test, w->nr_expired + w->nr_pending, NR_TIMERS - 1);
		KUNIT_ASSERT_EQ(test, w->now, w->nr_expired <= NR_TIMERS / 2 ? 7 : 8);
		expired = w->nr_expired;
	}
	KUNIT_EXPECT_EQ(test, w->now, 100);
	expect_expired(test, NR_TIMERS - 1);
	expect_nothing_pending(test);
}

/* The clock is in a tick that has expired in part. */
static void a_tick_that_has_half_expired(struct kunit *test)
{
	struct twheel *w = start(test, 1, 256, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < 100; i++)
		arm(test, &f->timer[i], 7);
	KUNIT_EXPECT_TRUE(test, twheel_advance(w, 20, 5));
	KUNIT_EXPECT_EQ(test, w->now, 7);
	/* Timers are added as always: due at once, or a whole ring later. */
	arm(test, &f->timer[100], 7);
	KUNIT_EXPECT_TRUE(test, twheel_expired(&f->timer[100]));
	arm(test, &f->timer[101], 7 + 256);
	KUNIT_EXPECT_EQ(test, f->timer[101].level, 1);
	for (i = 0; i < 100; i += 2)
		twheel_cancel(w, &f->timer[i]);
	KUNIT_EXPECT_EQ(test, w->nr_expired + w->nr_pending, 52);
	expect_next(test, 7);
	advance(test, 7);
	expect_expired(test, 51);
	expect_expiry_at(test, 7 + 256);
}

/* However small the budget: no call does more, and the outcome is the same. */
static void work_is_bounded_by_budget(struct kunit *test) /* SECURITY: expiry */
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	unsigned int budget, calls = 0;
	bool more = true;

	arm_random(test, NR_TIMERS, 63);
	while (more) {
		u64 cascaded = w->cascaded;
		u64 now = w->now;

		budget = calls % 5;
		more = twheel_advance(w, TIME_END, budget);
		KUNIT_ASSERT_LE(test, w->cascaded - cascaded, budget);
		KUNIT_ASSERT_GE(test, w->now, now);
		KUNIT_ASSERT_LT(test, ++calls, 200 * NR_TIMERS);
	}
	KUNIT_EXPECT_EQ(test, w->now, TIME_END);
	KUNIT_EXPECT_LE(test, w->cascaded, NR_TIMERS * (w->nr_levels - 1));
	expect_expired(test, NR_TIMERS);
	expect_nothing_pending(test);
}

/* A bucket of many timers of which few are left is sorted at the cost of these. */
static void cancelled_timers_cost_no_steps(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	const unsigned int left = 11;
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < NR_TIMERS; i++)
		arm(test, &f->timer[i], 2ULL * *size - 1);
	for (i = left; i < NR_TIMERS; i++)
		twheel_cancel(w, &f->timer[i]);
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, 2ULL * *size - 1, 2 * left));
	expect_expired(test, left);
	expect_nothing_pending(test);
}

/*
 * A bucket that is half sorted: 80 timers, too many to be sorted in one step, are due at 50 to
 * 59, eight at each tick; a wheel of 10 has them in one bucket of level 1. The sort has looked at
 * 60 of them: those due at 50 have expired, the others are in bins.
 */
#define HALF_SORTED	80
#define LOOKED_AT	60

static struct twheel *start_half_sorted(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < HALF_SORTED; i++)
		arm(test, &f->timer[i], 50 + i % 10);
	expect_next(test, 50);
	KUNIT_ASSERT_TRUE(test, twheel_advance(w, 53, LOOKED_AT / TWHEEL_TIMERS_PER_STEP));
	KUNIT_ASSERT_EQ(test, w->now, 50);
	KUNIT_ASSERT_EQ(test, w->nr_expired, LOOKED_AT / 10);
	KUNIT_ASSERT_PTR_EQ(test, w->sort->level, w->level[1]);
	return w;
}

/* The timers left expire at exactly their ticks, and the bucket serves its next round. */
static void expect_half_sorted_on_time(struct kunit *test, unsigned int left)
{
	struct fixture *f = test->priv;
	unsigned int expired;

	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending + f->wheel.nr_expired, left);
	advance(test, 50);
	expired = f->wheel.nr_expired;
	expect_expired(test, expired);
	expect_all_on_time(test, left - expired);
	advance(test, 13000);
	arm(test, &f->timer[0], 13055);
	KUNIT_EXPECT_EQ(test, f->timer[0].bucket, 5);
	expect_expiry_at(test, 13055);
}

/* After any jump, timers expire in order, and only those of the first tick before it is sorted. */
static void half_sorted_bucket_is_finished(struct kunit *test)
{
	struct twheel *w = start_half_sorted(test);
	struct twheel_timer *timer;
	unsigned int popped = 0;
	bool more = true;
	u64 last = 0;

	twheel_advance(w, 70, 0);
	while (more) {
		KUNIT_ASSERT_TRUE(test, w->now == 50 || !w->sort->level);
		while ((timer = twheel_pop(w))) {
			KUNIT_ASSERT_GE(test, timer->deadline, last);
			KUNIT_ASSERT_LE(test, timer->deadline, w->now);
			last = timer->deadline;
			popped++;
		}
		more = twheel_advance(w, TIME_END, 1);
	}
	KUNIT_EXPECT_EQ(test, popped + w->nr_expired, HALF_SORTED);
	expect_nothing_pending(test);
}

/* With its bins, and timers that have expired. */
static void half_sorted_bucket_is_rewound(struct kunit *test)
{
	struct twheel *w = start_half_sorted(test);

	grow(test, TIME_END);
	KUNIT_EXPECT_FALSE(test, twheel_rewind(w, 40, 2 * HALF_SORTED + 1));
	expect_all_on_time(test, HALF_SORTED);
}

/* The other 20 timers and all bins take 22 steps, to expire 72 timers takes 18. */
static void half_sorted_bucket_costs_few_steps(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, twheel_advance(start_half_sorted(test), 59, 39));
	KUNIT_EXPECT_FALSE(test, twheel_advance(start_half_sorted(test), 59, 40));
	expect_expired(test, HALF_SORTED);
}

/*
 * Every @step-th timer from @first on, expired, in a bin or not, is cancelled; with @later, it is
 * armed again for that many ticks after its first deadline.
 */
struct change {
	unsigned int first;
	unsigned int step;
	unsigned int later;
};

static const struct change changes[] = {
	{ 0, 1, 0 }, { 0, 2, 0 }, { 0, 10, 0 }, { LOOKED_AT, 1, 0 },
	{ 0, 1, 1 }, { 0, 3, 9 }, { 0, 1, 100 }, { LOOKED_AT, 1, 100 },
};

static void change_desc(const struct change *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "every %uth from %u on, %u later", c->step, c->first,
		 c->later);
}

KUNIT_ARRAY_PARAM(change, changes, change_desc);

static void half_sorted_bucket_changes(struct kunit *test)
{
	const struct change *c = test->param_value;
	struct twheel *w = start_half_sorted(test);
	struct fixture *f = test->priv;
	unsigned int i, left = HALF_SORTED;

	for (i = c->first; i < HALF_SORTED; i += c->step) {
		twheel_cancel(w, &f->timer[i]);
		if (c->later)
			arm(test, &f->timer[i], 50 + i % 10 + c->later);
		else
			left--;
	}
	expect_half_sorted_on_time(test, left);
}

static void half_sorted_bucket_with_additions(struct kunit *test)
{
	/* Due; within the bucket, at its end, after it, its next round, far away. */
	static const u64 deadlines[] = { 49, 50, 51, 55, 59, 60, 69, 149, 150, 155, 12345 };
	struct fixture *f = test->priv;
	unsigned int i;

	start_half_sorted(test);
	expect_expired(test, LOOKED_AT / 10);
	for (i = 0; i < ARRAY_SIZE(deadlines); i++) {
		struct twheel_timer *timer = &f->timer[HALF_SORTED + i];

		arm(test, timer, deadlines[i]);
		KUNIT_EXPECT_EQ(test, twheel_expired(timer), deadlines[i] <= 50);
	}
	expect_half_sorted_on_time(test, HALF_SORTED - LOOKED_AT / 10 + i);
}

/*
 * Buckets of the levels 0, 1 and 2 are due at one tick, 9400, and three quarters of their timers,
 * too. Level 0 was the last to be filled.
 */
static struct twheel *start_tied(struct kunit *test, unsigned int count)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	static const u64 clocks[] = { 9395, 9320, 9300 };
	unsigned int level, i;

	for (level = 3; level--;) {
		advance(test, clocks[level]);
		for (i = level; i < count; i += 3) {
			arm(test, &f->timer[i], 9400 + (i >= count / 4 * 3));
			KUNIT_ASSERT_EQ(test, f->timer[i].level, level);
		}
	}
	expect_next(test, 9400);
	return w;
}

/* twheel_expired() is true for exactly the timers that wait to be popped. */
static void expect_expired_are_marked(struct kunit *test, unsigned int count)
{
	struct fixture *f = test->priv;
	unsigned int i, expired = 0;

	for (i = 0; i < count; i++)
		expired += twheel_expired(&f->timer[i]);
	KUNIT_ASSERT_EQ(test, f->wheel.nr_expired, expired);
	KUNIT_ASSERT_EQ(test, f->wheel.nr_pending, count - expired);
}

/* Take the steps for @count timers, and return whether it takes more of them. */
static bool take_steps(struct kunit *test, unsigned int steps, unsigned int count)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;

	while (steps--) {
		if (!twheel_advance(w, 9401, 1))
			return false;
		/* A time that has passed stands for the clock. */
		twheel_advance(w, 3, steps % 2);
		expect_expired_are_marked(test, count);
		/* All timers of a tick have expired before the clock moves on. */
		if (w->now > 9400)
			KUNIT_ASSERT_GE(test, w->nr_expired, count / 4 * 3);
	}
	return true;
}

/* A few timers are sorted in one step, many in several. */
static void levels_tied_step_by_step(struct kunit *test)
{
	static const unsigned int counts[] = { 12, 3 * HALF_SORTED };
	struct fixture *f = test->priv;
	unsigned int i, j, steps;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		struct twheel *w = start_tied(test, counts[i]);

		for (steps = 1; take_steps(test, steps, counts[i]); steps++) {
			for (j = 0; j < counts[i]; j++)
				twheel_cancel(w, &f->timer[j]);
			expect_expired(test, 0);
			expect_nothing_pending(test);
			arm(test, &f->timer[0], 9499);
			expect_expiry_at(test, 9499);
			KUNIT_ASSERT_LT(test, steps, 3 * counts[i]);
			start_tied(test, counts[i]);
		}
		expect_expired(test, counts[i]);
		expect_nothing_pending(test);
	}
}

/* A level is due first, and at a tick of its second timer two others are due, too. */
static void levels_tied_behind_another(struct kunit *test)
{
	static const u64 clocks[] = { 0, 0, 150, 203 }, deadlines[] = { 205, 210, 210, 210 };
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		advance(test, clocks[i]);
		arm(test, &f->timer[i], deadlines[i]);
	}
	KUNIT_ASSERT_EQ(test, f->timer[1].level, 2);
	KUNIT_ASSERT_EQ(test, f->timer[2].level, 1);
	KUNIT_ASSERT_EQ(test, f->timer[3].level, 0);
	while (twheel_advance(w, 300, 1))
		expect_expired_are_marked(test, ARRAY_SIZE(clocks));
	expect_expired(test, ARRAY_SIZE(clocks));
}

/* A bucket of level 1 is overdue, all of it, and its last tick is that of level 0. */
static void last_tick_of_overdue_bucket_tied(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;

	arm(test, &f->timer[0], *size + 1);
	advance(test, *size);
	arm(test, &f->timer[1], 2 * *size - 1);
	KUNIT_ASSERT_EQ(test, f->timer[0].level, 1);
	KUNIT_ASSERT_EQ(test, f->timer[1].level, 0);
	while (twheel_advance(w, 3 * *size, 1))
		expect_expired_are_marked(test, 2);
	expect_expired(test, 2);
}

static struct kunit_case budget_cases[] = {
	KUNIT_CASE(a_tick_expires_in_steps),
	KUNIT_CASE(a_tick_that_has_half_expired),
	KUNIT_CASE_PARAM(work_is_bounded_by_budget, size_gen_params),
	KUNIT_CASE_PARAM(cancelled_timers_cost_no_steps, size_gen_params),
	KUNIT_CASE(half_sorted_bucket_is_finished),
	KUNIT_CASE(half_sorted_bucket_is_rewound),
	KUNIT_CASE(half_sorted_bucket_costs_few_steps),
	KUNIT_CASE_PARAM(half_sorted_bucket_changes, change_gen_params),
	KUNIT_CASE(half_sorted_bucket_with_additions),
	KUNIT_CASE(levels_tied_step_by_step),
	KUNIT_CASE(levels_tied_behind_another),
	KUNIT_CASE_PARAM(last_tick_of_overdue_bucket_tied, size_gen_params),
	{}
};

CORE_SUITE(budget);
