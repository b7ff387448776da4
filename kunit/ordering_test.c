// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: timers expire in the order of their ticks
 */
#include "core.h"

KUNIT_ARRAY_PARAM(size, sizes, size_desc);

/* The caller's fields of a timer come back unchanged. */
static void jumps_of_every_length(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	unsigned int expired = 0, i;

	for (i = 0; i < NR_TIMERS; i++) {
		f->timer[i].slot = i;
		f->timer[i].tag = i;
	}
	arm_random(test, NR_TIMERS, 63);
	while (w->now < TIME_END) {
		u64 before = w->now;
		struct twheel_timer *timer;
		u64 last = before;

		advance(test, random_tick(f, before, 63));
		while ((timer = twheel_pop(w))) {
			KUNIT_ASSERT_GT(test, timer->deadline, before);
			KUNIT_ASSERT_GE(test, timer->deadline, last);
			KUNIT_ASSERT_LE(test, timer->deadline, w->now);
			KUNIT_ASSERT_PTR_EQ(test, timer, &f->timer[timer->tag]);
			KUNIT_ASSERT_EQ(test, timer->slot, (u8)timer->tag);
			last = timer->deadline;
			expired++;
		}
	}
	KUNIT_EXPECT_EQ(test, expired, NR_TIMERS);
	expect_nothing_pending(test);
}

/* Timers of one tick are armed as it comes nearer: they start on many levels. */
static void one_tick_from_many_levels(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	const u64 tick = (u64)*size * *size * *size + *size;
	unsigned int count = 0;
	u64 distance;

	for (distance = tick; distance; distance /= 2) {
		advance(test, tick - distance);
		arm(test, &f->timer[count++], tick);
		arm(test, &f->timer[count++], tick + 1);
	}
	advance(test, tick - 1);
	expect_expired(test, 0);
	advance(test, tick);
	expect_expired(test, count / 2);
	advance(test, tick + 1);
	expect_expired(test, count / 2);
	KUNIT_EXPECT_LE(test, w->cascaded, count * w->nr_levels);
	expect_nothing_pending(test);
}

static void due_timers_queue_behind_expired(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	struct twheel_timer *t = f->timer;
	unsigned int i;

	arm(test, &t[1], 200);
	arm(test, &t[0], 100);
	arm(test, &t[5], 300);
	advance(test, 250);
	arm(test, &t[2], 150);
	t[3].deadline = 900;
	twheel_expire(w, &t[3]);
	arm(test, &t[4], 0);
	advance(test, 300);
	arm(test, &t[6], 300);

	KUNIT_EXPECT_EQ(test, w->nr_expired, 7);
	for (i = 0; i < 7; i++) {
		KUNIT_EXPECT_TRUE(test, twheel_expired(&t[i]));
		KUNIT_EXPECT_PTR_EQ(test, twheel_pop(w), &t[i]);
	}
	KUNIT_EXPECT_NULL(test, twheel_pop(w));
	expect_nothing_pending(test);
}

/* Arm @count timers all over the bucket of level 2 that is due at the returned tick. */
static u64 arm_overdue(struct kunit *test, unsigned int count)
{
	const u32 *size = test->param_value;
	struct fixture *f = test->priv;
	u64 length = (u64)*size * *size;
	unsigned int i;

	start(test, 1, *size, 0);
	for (i = 0; i < count; i++) {
		arm(test, &f->timer[i], length + (i + 1) * 7919 % length);
		KUNIT_ASSERT_EQ(test, f->timer[i].level, 2);
	}
	return length;
}

static void overdue_bucket_is_read_in_order(struct kunit *test)
{
	static const unsigned int counts[] = { 1, 2, 20, 48, 49, 64, 65, 192, 193, 257, 700, 1000 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		u64 length = arm_overdue(test, counts[i]);

		advance(test, 2 * length - 1);
		expect_expired(test, counts[i]);
		expect_nothing_pending(test);
	}
}

/*
 * Any number of timers in any part of the bucket, even in one tick of it, expire in order, in
 * few steps, and even if some are cancelled in between.
 */
static void overdue_bucket_is_sorted_step_by_step(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct fixture *f = test->priv;
	u64 length = (u64)*size * *size;
	unsigned int i, cancelled = 0;
	struct twheel *w;

	w = start(test, 3, *size, 0);
	for (i = 0; i < NR_TIMERS; i++) {
		u64 tick = length + (i * 7919 % length >> i % 8 * ilog2(length) / 8);

		arm(test, &f->timer[i], 3 * tick - i % 3);
	}
	KUNIT_ASSERT_EQ(test, f->timer[0].level, 2);
	for (i = 0; twheel_advance(w, 2 * length - 1, 1); i++) {
		KUNIT_ASSERT_LT(test, i, 20 * NR_TIMERS);
		if (i % 16 || i / 16 >= NR_TIMERS || twheel_expired(&f->timer[i / 16]))
			continue;
		twheel_cancel(w, &f->timer[i / 16]);
		cancelled++;
	}
	KUNIT_EXPECT_GT(test, cancelled, 0);
	expect_expired(test, NR_TIMERS - cancelled);
	expect_nothing_pending(test);
}

static struct kunit_case ordering_cases[] = {
	KUNIT_CASE_PARAM(jumps_of_every_length, size_gen_params),
	KUNIT_CASE_PARAM(one_tick_from_many_levels, size_gen_params),
	KUNIT_CASE_PARAM(due_timers_queue_behind_expired, size_gen_params),
	KUNIT_CASE_PARAM(overdue_bucket_is_read_in_order, size_gen_params),
	KUNIT_CASE_PARAM(overdue_bucket_is_sorted_step_by_step, size_gen_params),
	{}
};

CORE_SUITE(ordering);
