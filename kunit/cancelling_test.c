// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: cancelling in any state
 */
#include "core.h"

KUNIT_ARRAY_PARAM(size, sizes, size_desc);

static void cancelling_all_empties_the_queue(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	arm_random(test, NR_TIMERS, 63);
	/* 7 and the number of timers have no common factor: each is cancelled once. */
	for (i = 0; i < NR_TIMERS; i++) {
		KUNIT_EXPECT_EQ(test, w->nr_pending, NR_TIMERS - i);
		twheel_cancel(w, &f->timer[i * 7 % NR_TIMERS]);
	}
	expect_nothing_pending(test);
	advance(test, TIME_END);
	expect_expired(test, 0);
	KUNIT_EXPECT_EQ(test, w->cascaded, 0);
}

/* Cancelling the first timer of a bucket costs one spurious wake-up; any other, none. */
static void cancelling_causes_one_spurious_wake_up(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	const u64 tick = (u64)*size * *size;
	struct sleeper s;
	unsigned int i;

	for (i = 0; i < 4; i++)
		arm(test, &f->timer[i], tick + i);
	twheel_cancel(w, &f->timer[3]);
	s = sleep_through(test);
	KUNIT_EXPECT_EQ(test, s.fires, 3);
	KUNIT_EXPECT_EQ(test, s.spurious, 0);

	for (i = 0; i < 4; i++)
		arm(test, &f->timer[i], 2 * tick + i);
	twheel_cancel(w, &f->timer[0]);
	twheel_cancel(w, &f->timer[1]);
	s = sleep_through(test);
	KUNIT_EXPECT_EQ(test, s.expired, 2);
	KUNIT_EXPECT_LE(test, s.spurious, 1);
}

static void cancelled_after_expiry_is_never_popped(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	struct twheel_timer *t = f->timer;

	arm(test, &t[0], 1);
	arm(test, &t[1], 1);
	arm(test, &t[2], 500);
	arm(test, &t[3], 500);
	arm(test, &t[4], 500);
	advance(test, 1000);
	arm(test, &t[5], 1000);
	t[6].deadline = 2000;
	twheel_expire(w, &t[6]);

	twheel_cancel(w, &t[0]);
	twheel_cancel(w, &t[3]);
	twheel_cancel(w, &t[5]);
	twheel_cancel(w, &t[6]);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 3);
	KUNIT_EXPECT_PTR_EQ(test, twheel_pop(w), &t[1]);
	twheel_cancel(w, &t[2]);
	KUNIT_EXPECT_PTR_EQ(test, twheel_pop(w), &t[4]);
	KUNIT_EXPECT_NULL(test, twheel_pop(w));
	KUNIT_EXPECT_EQ(test, w->nr_expired, 0);
	expect_nothing_pending(test);
}

/* Expired timers have left their bucket: cancelling one must not touch those in it. */
static void bucket_is_reused_while_expired_wait(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	struct twheel_timer *t = f->timer;

	arm(test, &t[0], 1);
	arm(test, &t[1], 1);
	arm(test, &t[2], 1);
	advance(test, 2);
	arm(test, &t[3], *size + 1);
	KUNIT_EXPECT_EQ(test, t[3].level, 0);
	KUNIT_EXPECT_EQ(test, t[3].bucket, t[0].bucket);

	twheel_cancel(w, &t[1]);
	KUNIT_EXPECT_EQ(test, w->nr_pending, 1);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 2);
	expect_next(test, *size + 1);
	twheel_cancel(w, &t[0]);
	expect_next(test, *size + 1);
	twheel_cancel(w, &t[3]);
	expect_nothing_pending(test);
	arm(test, &t[3], *size + 1);
	expect_expired(test, 1);
	expect_expiry_at(test, *size + 1);
}

static struct kunit_case cancelling_cases[] = {
	KUNIT_CASE_PARAM(cancelling_all_empties_the_queue, size_gen_params),
	KUNIT_CASE_PARAM(cancelling_causes_one_spurious_wake_up, size_gen_params),
	KUNIT_CASE_PARAM(cancelled_after_expiry_is_never_popped, size_gen_params),
	KUNIT_CASE_PARAM(bucket_is_reused_while_expired_wait, size_gen_params),
	{}
};

CORE_SUITE(cancelling);
