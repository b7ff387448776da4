// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: the bucket queue
 *
 * The wheels of 10 have the ticks up to 9 on level 0, to 99 on level 1, and to 999 on level 2, when
 * the clock is at 0. A timer stays on its level, so later the order of levels can be another one.
 */
#include "core.h"

KUNIT_ARRAY_PARAM(size, sizes, size_desc);

/* The queue has these levels, in order; "r" stands for the node of twheel_rewind(). */
static void expect_queue(struct kunit *test, const char *expected)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	struct timerqueue_node *node = timerqueue_getnext(&w->queue);
	char queue[8] = "";
	unsigned int n;

	for (n = 0; node && n < sizeof(queue) - 1; node = timerqueue_iterate_next(node))
		queue[n++] = node == &w->sort->rewinding ? 'r' :
			'0' + container_of(node, struct twheel_level, node)->nr;
	KUNIT_EXPECT_STREQ(test, queue, expected);
}

static struct twheel *start_at(struct kunit *test, u64 now)
{
	struct twheel *w = start(test, 1, 10, now);

	expect_queue(test, "");
	return w;
}

/* Arm the next timer, on level @nr. */
static struct twheel_timer *arm_on(struct kunit *test, u8 nr, u64 tick)
{
	struct fixture *f = test->priv;
	struct twheel_timer *timer = f->timer + f->wheel.nr_pending;

	arm(test, timer, tick);
	KUNIT_EXPECT_EQ(test, timer->level, nr);
	return timer;
}

static void levels_are_in_the_order_of_their_first_ticks(struct kunit *test)
{
	start_at(test, 0);
	arm_on(test, 1, 50);
	expect_queue(test, "1");
	arm_on(test, 3, 5000);
	expect_queue(test, "13");
	arm_on(test, 2, 500);
	expect_queue(test, "123");
	arm_on(test, 0, 5);
	expect_queue(test, "0123");
	expect_next(test, 5);
}

static void level_overtakes_another(struct kunit *test)
{
	start_at(test, 0);
	arm_on(test, 2, 105);
	advance(test, 94);
	arm_on(test, 1, 120);
	expect_queue(test, "21");
	/* Later timers change nothing, whether their buckets are in use or not. */
	arm_on(test, 1, 121);
	arm_on(test, 1, 130);
	arm_on(test, 2, 300);
	/* Nor does an earlier bucket or timer that is not early enough. */
	arm_on(test, 1, 108);
	arm_on(test, 1, 107);
	expect_queue(test, "21");
	expect_next(test, 105);
	arm_on(test, 1, 104);
	expect_queue(test, "12");
	expect_next(test, 104);
	expect_all_on_time(test, 8);
}

/* Each timer is the first. The level stays where it is: the fast path needs no call. */
static void head_is_lowered_in_place(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct twheel_level *level;
	unsigned int i;

	start_at(test, 0);
	arm_on(test, 1, 59);
	arm_on(test, 2, 500);
	for (i = 2; i < 11; i++) {
		f->timer[i].deadline = 60 - i;
		KUNIT_ASSERT_TRUE(test, twheel_find_level(&f->wheel, 60 - i, &level));
		KUNIT_ASSERT_TRUE(test, twheel_enqueue_fast(&f->wheel, level, &f->timer[i], true));
		f->wheel.nr_pending++;
		expect_next(test, 60 - i);
		expect_queue(test, "12");
	}
	expect_all_on_time(test, i);
}

/* A level that is not the head may have to overtake another one: the fast path changes nothing. */
static void only_the_head_is_lowered_in_place(struct kunit *test)
{
	struct twheel *w = start_at(test, 0);
	struct fixture *f = test->priv;
	struct twheel_timer *timer = &f->timer[900];

	arm_on(test, 1, 50);
	arm_on(test, 2, 550);
	timer->deadline = 550;
	KUNIT_EXPECT_TRUE(test, twheel_enqueue_fast(w, w->level[2], timer, true));
	w->nr_pending++;
	twheel_cancel(w, timer);
	timer->deadline = 549;
	KUNIT_EXPECT_FALSE(test, twheel_enqueue_fast(w, w->level[2], timer, true));
	KUNIT_EXPECT_EQ(test, w->level[2]->node.expires, 550);
	KUNIT_EXPECT_EQ(test, w->level[2]->bucket[5].first_expiry, 550);
	KUNIT_EXPECT_EQ(test, w->level[2]->bucket[5].count, 1);
	arm(test, timer, 549);
	KUNIT_EXPECT_EQ(test, w->level[2]->node.expires, 549);
	expect_queue(test, "12");
	expect_all_on_time(test, 3);
}

/* Levels with one first tick are due together, in any order. */
static void equal_keys(struct kunit *test)
{
	start_at(test, 0);
	arm_on(test, 2, 105);
	advance(test, 94);
	arm_on(test, 1, 105);
	advance(test, 96);
	arm_on(test, 0, 105);
	expect_next(test, 105);
	advance(test, 104);
	expect_expired(test, 0);
	advance(test, 105);
	expect_expired(test, 3);
	expect_queue(test, "");
	expect_nothing_pending(test);
}

/* A level's key is a lower bound, corrected when it comes, or when its first bucket is empty. */
static void first_timer_is_cancelled(struct kunit *test)
{
	struct twheel *w = start_at(test, 0);
	struct twheel_timer *first, *second;

	arm_on(test, 2, 106);
	advance(test, 94);
	first = arm_on(test, 1, 104);
	second = arm_on(test, 1, 109);
	arm_on(test, 1, 120);
	expect_queue(test, "12");
	twheel_cancel(w, first);
	expect_queue(test, "12");
	expect_next(test, 104);
	advance(test, 104);
	expect_expired(test, 0);
	expect_queue(test, "21");
	expect_next(test, 106);

	arm(test, first, 105);
	expect_queue(test, "021");
	twheel_cancel(w, second);
	twheel_cancel(w, first);
	expect_queue(test, "21");
	expect_all_on_time(test, 2);
}

static void empty_level_leaves_the_queue(struct kunit *test)
{
	struct twheel *w = start_at(test, 0);
	struct fixture *f = test->priv;

	arm_on(test, 1, 50);
	arm_on(test, 2, 500);
	arm_on(test, 0, 5);
	twheel_cancel(w, &f->timer[0]);
	expect_queue(test, "02");
	advance(test, 5);
	expect_queue(test, "2");
	expect_next(test, 500);
	twheel_cancel(w, &f->timer[1]);
	expect_queue(test, "");
	expect_expired(test, 1);
	expect_nothing_pending(test);
}

/* While there is more to do, twheel_next() is 0, before all timers. */
static void rewinding_comes_before_all_levels(struct kunit *test)
{
	struct twheel *w = start_at(test, 0);
	struct fixture *f = test->priv;

	grow(test, TIME_END);
	arm_on(test, 1, 50);
	arm_on(test, 2, 500);
	advance(test, 40);
	KUNIT_EXPECT_TRUE(test, twheel_rewind(w, 0, 1));
	KUNIT_EXPECT_TRUE(test, twheel_is_rewinding(w));
	expect_queue(test, "r2");
	expect_next(test, 1);
	f->timer[2].deadline = 41;
	KUNIT_ASSERT_TRUE(test, twheel_add(w, &f->timer[2]));
	expect_queue(test, "r02");
	KUNIT_EXPECT_FALSE(test, twheel_rewind(w, 0, 10));
	KUNIT_EXPECT_FALSE(test, twheel_is_rewinding(w));
	KUNIT_EXPECT_EQ(test, w->now, 0);
	expect_queue(test, "12");
	expect_next(test, 41);
	expect_all_on_time(test, 3);
}

/* Return the first tick of a pending timer. */
static u64 first_pending(struct fixture *f)
{
	u64 first = U64_MAX;
	unsigned int i;

	for (i = 0; i < NR_TIMERS; i++)
		if (f->timer[i].deadline > f->wheel.now)
			first = min(first, f->timer[i].deadline);
	return first;
}

/* As long as none is cancelled. */
static void head_is_the_earliest_pending_tick(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	unsigned int armed = 0, i;

	while (armed < NR_TIMERS) {
		for (i = 0; i < 20; i++) {
			arm(test, &f->timer[armed++], random_tick(f, w->now, 40));
			expect_next(test, first_pending(f));
		}
		advance(test, random_tick(f, w->now, 20));
		expect_expired(test, w->nr_expired);
		if (w->nr_pending)
			expect_next(test, first_pending(f));
	}
	while (w->nr_pending) {
		advance(test, first_pending(f));
		KUNIT_ASSERT_GT(test, w->nr_expired, 0);
		expect_expired(test, w->nr_expired);
	}
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(levels_are_in_the_order_of_their_first_ticks),
	KUNIT_CASE(level_overtakes_another),
	KUNIT_CASE(head_is_lowered_in_place),
	KUNIT_CASE(only_the_head_is_lowered_in_place),
	KUNIT_CASE(equal_keys),
	KUNIT_CASE(first_timer_is_cancelled),
	KUNIT_CASE(empty_level_leaves_the_queue),
	KUNIT_CASE(rewinding_comes_before_all_levels),
	KUNIT_CASE_PARAM(head_is_the_earliest_pending_tick, size_gen_params),
	{}
};

CORE_SUITE(queue);
