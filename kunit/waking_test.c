// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: a driver that sleeps until twheel_next() wakes up for timers alone
 */
#include "core.h"

KUNIT_ARRAY_PARAM(size, sizes, size_desc);

/*
 * Timers with deadlines all over the next @span units of time, of which a tick has 1,000; or,
 * with @span 0, at distances of every magnitude. The shortest span makes crowds.
 */
struct spread {
	u32 size;
	u64 span;
};

static const struct spread spreads[] = {
	{ 2, 500000 }, { 2, 1800000000 }, { 2, 0 }, { 3, 500000 }, { 3, 1800000000 }, { 3, 0 },
	{ 60, 500000 }, { 60, 12000000000 }, { 60, 0 }, { 256, 500000 }, { 256, 1800000000 },
	{ 256, 0 }, { 65536, 500000 }, { 65536, 1800000000 }, { 65536, 0 },
};

static void spread_desc(const struct spread *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "size %u, span %llu", s->size, s->span);
}

KUNIT_ARRAY_PARAM(spread, spreads, spread_desc);

static void arm_within_span(struct kunit *test, struct twheel_timer *timer)
{
	const struct spread *s = test->param_value;
	struct fixture *f = test->priv;
	u64 delay;

	div64_u64_rem(random64(f), s->span ?: 1, &delay);
	arm(test, timer, s->span ? f->wheel.time + 1 + delay : random_tick(f, f->wheel.time, 63));
}

static struct twheel *start_spread(struct kunit *test)
{
	const struct spread *s = test->param_value;
	struct twheel *w = start(test, 1000, s->size, 1000);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < NR_TIMERS; i++)
		arm_within_span(test, &f->timer[i]);
	return w;
}

static void no_wake_up_is_spurious(struct kunit *test)
{
	start_spread(test);
	expect_all_on_time(test, NR_TIMERS);
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

static struct kunit_case waking_cases[] = {
	KUNIT_CASE_PARAM(no_wake_up_is_spurious, spread_gen_params),
	KUNIT_CASE_PARAM(cancelling_causes_one_spurious_wake_up, size_gen_params),
	{}
};

CORE_SUITE(waking);
