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

/* The other 20 timers and all bins take 22 steps, to expire 72 timers takes 18. */
static void half_sorted_bucket_costs_few_steps(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, twheel_advance(start_half_sorted(test), 59, 39));
	KUNIT_EXPECT_FALSE(test, twheel_advance(start_half_sorted(test), 59, 40));
	expect_expired(test, HALF_SORTED);
}

static struct kunit_case budget_cases[] = {
	KUNIT_CASE(a_tick_expires_in_steps),
	KUNIT_CASE_PARAM(work_is_bounded_by_budget, size_gen_params),
	KUNIT_CASE_PARAM(cancelled_timers_cost_no_steps, size_gen_params),
	KUNIT_CASE(half_sorted_bucket_costs_few_steps),
	{}
};

CORE_SUITE(budget);
