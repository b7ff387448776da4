// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: on which level a timer is placed
 */
#include "core.h"

KUNIT_ARRAY_PARAM(size, sizes, size_desc);
KUNIT_ARRAY_PARAM(tick, ticks, tick_desc);

/* The last tick that, with the one after it, ends before the end of time. */
static u64 last_tick(u64 tick)
{
	return div64_u64(TIME_END - (tick - 1), tick);
}

static void expect_place(struct kunit *test, u64 tick)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	struct twheel_timer *timer = &f->timer[0];
	struct place p = place_of(w->size.value, w->now, tick);
	u64 deadline = mul_saturated(min(tick, TIME_END), w->tick.value);

	/* There are no ticks after the end of time, and the last one never comes. */
	if (plain_ceil(deadline, w->tick.value) != tick || tick > last_tick(w->tick.value))
		return;
	KUNIT_ASSERT_EQ_MSG(test, twheel_covers(w, deadline), w->nr_levels > p.level,
			    "tick %llu at %llu", tick, w->now);
	arm(test, timer, deadline);
	KUNIT_ASSERT_EQ_MSG(test, timer->level, p.level, "tick %llu at %llu", tick, w->now);
	KUNIT_ASSERT_EQ_MSG(test, timer->bucket, p.index, "tick %llu at %llu", tick, w->now);
	expect_next(test, tick);
	KUNIT_EXPECT_FALSE(test, twheel_expired(timer));
	twheel_cancel(w, timer);
}

/* The ticks around the end of the range of each level. */
static void expect_places_at_edges(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 now = f->wheel.now, size = f->wheel.size.value;
	u64 length, range, end;

	for (length = 1;; length *= size) {
		if (check_mul_overflow(length, size, &range))
			return;
		if (check_add_overflow(div64_u64(now, length) * length, range, &end) ||
		    end > TIME_END)
			return;
		expect_place(test, end - 1);
		expect_place(test, end);
		expect_place(test, end + 1);
	}
}

static void expect_places(struct kunit *test, u64 tick)
{
	const u32 *size = test->param_value;
	const u64 end = last_tick(tick);
	const u64 clocks[] = {
		0, 1, *size - 1, *size, (u64)*size * *size - 1,
		1000000000000001ULL, end / 4 * 3 + 1, end - *size - 1, end - 1,
	};
	struct fixture *f = test->priv;
	unsigned int i, j;

	start(test, tick, *size, 0);
	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		advance(test, clocks[i]);
		expect_places_at_edges(test);
		expect_place(test, end);
		expect_place(test, end + 1);
		for (j = 0; j < 200; j++)
			expect_place(test, random_tick(f, clocks[i], 63));
	}
	expect_nothing_pending(test);
}

/* For several ticks, as twheel_add() divides by the tick. */
static void placed_at_lowest_level_that_covers(struct kunit *test)
{
	u64 tick;

	for (tick = 1; tick <= 5; tick++)
		expect_places(test, tick);
	expect_places(test, 1000);
}

static void missing_level_changes_nothing(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 5);
	struct fixture *f = test->priv;
	struct twheel_timer *timer = &f->timer[0];

	kvfree(twheel_level_alloc(w, 0, GFP_KERNEL));
	timer->deadline = 6;
	KUNIT_EXPECT_FALSE(test, twheel_covers(w, 6));
	KUNIT_EXPECT_FALSE(test, twheel_add(w, timer));
	expect_nothing_pending(test);

	/* A timer that is already due needs no bucket. */
	timer->deadline = 5;
	KUNIT_EXPECT_TRUE(test, twheel_covers(w, 5));
	KUNIT_EXPECT_TRUE(test, twheel_add(w, timer));
	expect_expired(test, 1);

	grow(test, 6);
	KUNIT_EXPECT_EQ(test, w->nr_levels, 1);
	timer->deadline = 5 + *size;
	KUNIT_EXPECT_FALSE(test, twheel_add(w, timer));
	KUNIT_EXPECT_EQ(test, w->now, 5);
	expect_nothing_pending(test);

	arm(test, timer, 5 + *size);
	KUNIT_EXPECT_EQ(test, w->nr_levels, 2);
	expect_expiry_at(test, 5 + *size);
}

/* It fits at any time in any tick, and one unit more does not always. */
static void expect_longest(struct kunit *test, u64 tick, s64 length)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	const u64 longest = twheel_max_delay(w), end = last_tick(tick);
	/* In the last tick of a bucket, the least of the level is left. */
	const u64 worst = 2 * length - 1;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		u64 now = max(i ? min(random64(f) >> (1 + i % 63), end) : worst, w->now);
		u64 time = add_saturated(now * tick, tick - 1);

		advance(test, now);
		KUNIT_ASSERT_TRUE(test, twheel_covers(w, add_saturated(time, longest)));
		if (!i && longest < TIME_END - w->time - 3 * tick)
			KUNIT_ASSERT_FALSE(test, twheel_covers(w, w->time + tick + longest));
	}
}

static void longest_delay_fits_anywhere(struct kunit *test)
{
	static const u64 lengths[] = { 1, 3, 1000, BIT_ULL(32) + 1 };
	const u32 *size = test->param_value;
	struct fixture *f = test->priv;
	unsigned int i;
	s64 length;

	start(test, 1024, *size, 0);
	while (twheel_max_delay(&f->wheel) < S64_MAX)
		add_level(test);
	KUNIT_EXPECT_TRUE(test, twheel_covers(&f->wheel, S64_MAX));

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		const u64 end = div64_u64(TIME_END, lengths[i] * *size);
		u8 nr_levels = 0;

		start(test, lengths[i], *size, 0);
		KUNIT_EXPECT_EQ(test, twheel_max_delay(&f->wheel), 0);
		for (length = 1; length < end; length *= *size) {
			start(test, lengths[i], *size, 0);
			for (nr_levels++; f->wheel.nr_levels < nr_levels;)
				add_level(test);
			expect_longest(test, lengths[i], length);
		}
	}
}

/* Timers before the last tick expire on time; no clock comes to the others. */
static void expect_deadlines_at_the_end(struct kunit *test, u64 tick, u32 size)
{
	const u64 end = last_tick(tick);
	const u64 deadlines[] = {
		BIT_ULL(62) - 1, BIT_ULL(62), BIT_ULL(62) + 1, (end - 1) * tick, end * tick - 1,
		end * tick, min(end * tick + 1, TIME_END), TIME_END,
	};
	struct twheel *w = start(test, tick, size, 0);
	struct fixture *f = test->priv;
	const unsigned int last = ARRAY_SIZE(deadlines) - 1;
	unsigned int i, never = 0;
	u64 next;

	/* First, the timers that never expire. */
	for (i = 0; i <= last; i++) {
		arm(test, &f->timer[i], deadlines[last - i]);
		never += deadlines[last - i] > end * tick;
	}
	for (i = last; i + 1 > never; i--) {
		u64 expiry = plain_ceil(f->timer[i].deadline, tick);

		if (expiry > w->now) {
			advance(test, expiry - 1);
			KUNIT_EXPECT_FALSE(test, twheel_expired(&f->timer[i]));
			advance(test, expiry);
		}
		KUNIT_EXPECT_TRUE(test, twheel_expired(&f->timer[i]));
	}
	advance(test, end);
	expect_expired(test, last + 1 - never);
	KUNIT_EXPECT_EQ(test, w->nr_pending, never);
	KUNIT_EXPECT_FALSE(test, twheel_next(w, &next));
	for (i = 0; i < never; i++)
		twheel_cancel(w, &f->timer[i]);
	expect_nothing_pending(test);
}

static void deadline_at_the_end_of_time(struct kunit *test) /* SECURITY: extreme times and sizes */
{
	const u64 *tick = test->param_value;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		expect_deadlines_at_the_end(test, *tick, sizes[i]);
}

static struct kunit_case placing_cases[] = {
	KUNIT_CASE_PARAM(placed_at_lowest_level_that_covers, size_gen_params),
	KUNIT_CASE_PARAM(missing_level_changes_nothing, size_gen_params),
	KUNIT_CASE_PARAM(longest_delay_fits_anywhere, size_gen_params),
	KUNIT_CASE_PARAM(deadline_at_the_end_of_time, tick_gen_params),
	{}
};

CORE_SUITE(placing);
