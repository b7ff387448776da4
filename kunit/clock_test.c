// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: the clock
 */
#include "core.h"

KUNIT_ARRAY_PARAM(size, sizes, size_desc);

/*
 * With one loop iteration for each tick these jumps would not end. A timer far away costs a step
 * for each level, however long the way is.
 */
static void idle_time_costs_no_steps(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < 62; i++) {
		KUNIT_EXPECT_FALSE(test, twheel_advance(w, BIT_ULL(i), 0));
		KUNIT_EXPECT_EQ(test, w->now, BIT_ULL(i));
	}
	KUNIT_EXPECT_EQ(test, w->nr_levels, 0);
	arm(test, &f->timer[0], TIME_END - 1);
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, TIME_END, 4 * w->nr_levels));
	expect_expired(test, 1);
}

/* An advance without a budget goes as far as it can without opening a bucket. */
static void forward_stops_before_what_is_due(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	const u64 tick = 17 + (u64)*size * *size;

	/* Not even to the first tick of all. */
	arm(test, &f->timer[0], 1);
	twheel_advance(w, 17, 0);
	KUNIT_EXPECT_EQ(test, w->now, 0);
	twheel_cancel(w, &f->timer[0]);
	twheel_advance(w, 17, 0);
	KUNIT_EXPECT_EQ(test, w->now, 17);
	arm(test, &f->timer[0], tick);
	twheel_advance(w, TIME_END, 0);
	KUNIT_EXPECT_EQ(test, w->now, tick - 1);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 0);
	KUNIT_EXPECT_EQ(test, w->cascaded, 0);

	/* A near timer is near, however long the wheel was idle. */
	arm(test, &f->timer[1], w->now + 1);
	KUNIT_EXPECT_EQ(test, f->timer[1].level, 0);
	advance(test, tick);
	expect_expired(test, 2);
}

/* To take a timer out of the wheel is a move, and so is to place it again. */
static void rewind_keeps_to_its_budget(struct kunit *test)
{
	struct twheel *w = start(test, 1, 256, 1000);
	struct fixture *f = test->priv;
	unsigned int i, placed = 0;

	while (twheel_max_delay(w) < S64_MAX)
		add_level(test);
	for (i = 0; i < 100; i++)
		arm(test, &f->timer[i], 2000 + i);
	KUNIT_EXPECT_TRUE(test, twheel_rewind(w, 500, 150));
	for (i = 0; i < 100; i++)
		placed += twheel_in_bucket(&f->timer[i]);
	KUNIT_EXPECT_EQ(test, placed, 50);
	KUNIT_EXPECT_FALSE(test, twheel_rewind(w, 500, 51));
	advance(test, 2099);
	expect_expired(test, 100);
}

static struct kunit_case clock_cases[] = {
	KUNIT_CASE_PARAM(idle_time_costs_no_steps, size_gen_params),
	KUNIT_CASE_PARAM(forward_stops_before_what_is_due, size_gen_params),
	KUNIT_CASE(rewind_keeps_to_its_budget),
	{}
};

CORE_SUITE(clock);
