// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: when the wheel wants to be advanced
 */
#include "core.h"

/*
 * Waking up. Timers with deadlines all over the next @span units of time, of which a tick
 * has 1,000; or, with @span 0, at distances of every magnitude.
 */
struct spread {
	u32 size;
	unsigned int count;
	u64 span;
};

/* Never so many that a bucket is crowded. */
static const struct spread sparse[] = {
	{ 2, TWHEEL_EARLY_CASCADE_MIN - 1, 1800000000 }, { 2, NR_TIMERS, 0 },
	{ 3, TWHEEL_EARLY_CASCADE_MIN - 1, 1800000000 }, { 3, NR_TIMERS, 0 },
	{ 60, NR_TIMERS, 12000000000 }, { 60, NR_TIMERS, 0 },
	{ 256, NR_TIMERS, 1800000000 }, { 256, NR_TIMERS, 0 },
	{ 65536, NR_TIMERS, 1800000000 }, { 65536, NR_TIMERS, 0 },
};

static void spread_desc(const struct spread *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "size %u, %u timers in %llu", s->size, s->count,
		 s->span);
}

KUNIT_ARRAY_PARAM(sparse, sparse, spread_desc);

static u64 random_deadline(struct fixture *f, const struct spread *s)
{
	u64 delay;

	if (!s->span)
		return random_tick(f, f->wheel.time, 63);
	div64_u64_rem(random64(f), s->span, &delay);
	return f->wheel.time + 1 + delay;
}

static void arm_sparse(struct kunit *test, struct twheel_timer *timer)
{
	const struct spread *s = test->param_value;
	struct fixture *f = test->priv;

	arm(test, timer, random_deadline(f, s));
	if (timer->level)
		KUNIT_ASSERT_LT(test, f->wheel.level[timer->level]->bucket[timer->bucket].count,
				TWHEEL_EARLY_CASCADE_MIN);
	/* Set for timers that are cancelled later. */
	timer->tag = 0;
}

static struct twheel *start_sparse(struct kunit *test)
{
	const struct spread *s = test->param_value;
	struct twheel *w = start(test, 1000, s->size, 1000);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < s->count; i++)
		arm_sparse(test, &f->timer[i]);
	return w;
}

/* No more often than there are different ticks with timers due. */
static void sparse_wheel_has_no_spurious_wake_ups(struct kunit *test)
{
	const struct spread *s = test->param_value;
	struct sleeper sleeper;

	start_sparse(test);
	sleeper = sleep_through(test);
	KUNIT_EXPECT_EQ(test, sleeper.expired, s->count);
	KUNIT_EXPECT_LE(test, sleeper.fires, s->count);
	KUNIT_EXPECT_EQ(test, sleeper.spurious, 0);
}

static const struct spread live[] = {
	{ 2, TWHEEL_EARLY_CASCADE_MIN - 1, 1800000000 },
	{ 3, TWHEEL_EARLY_CASCADE_MIN - 1, 1800000000 },
	{ 60, 250, 12000000000 }, { 256, 250, 1800000000 },
	{ 65536, 250, 1800000000 },
};

KUNIT_ARRAY_PARAM(live, live, spread_desc);

/* The same while every timer that expires is armed again. */
static void live_wheel_has_no_spurious_wake_ups(struct kunit *test)
{
	const struct spread *s = test->param_value;
	struct twheel *w = start_sparse(test);
	struct fixture *f = test->priv;
	struct sleeper sleeper = { };
	unsigned int i;

	while (sleeper.expired < 10 * s->count) {
		KUNIT_ASSERT_TRUE(test, sleep_once(test, &sleeper));
		for (i = 0; i < s->count; i++) {
			if (f->timer[i].deadline <= w->time)
				arm_sparse(test, &f->timer[i]);
		}
	}
	KUNIT_EXPECT_EQ(test, sleeper.spurious, 0);
}

static bool was_cancelled(struct kunit *test, u64 tick)
{
	const struct spread *s = test->param_value;
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < s->count; i++) {
		if (f->timer[i].tag && twheel_tick(&f->wheel, f->timer[i].deadline) == tick)
			return true;
	}
	return false;
}

/* A wake-up is spurious only at the tick of a timer that was cancelled. */
static void spurious_wake_ups_are_of_cancelled_timers(struct kunit *test)
{
	const struct spread *s = test->param_value;
	struct twheel *w = start_sparse(test);
	struct fixture *f = test->priv;
	struct sleeper sleeper = { };
	unsigned int spurious, i, cancelled = 0;

	do {
		for (i = 0; i < s->count; i++) {
			if (f->timer[i].tag || f->timer[i].deadline <= w->time ||
			    prandom_u32_state(&f->rnd) % (s->count / 4))
				continue;
			twheel_cancel(w, &f->timer[i]);
			f->timer[i].tag = 1;
			cancelled++;
		}
		spurious = sleeper.spurious;
		if (!sleep_once(test, &sleeper))
			break;
		if (sleeper.spurious > spurious)
			KUNIT_ASSERT_TRUE(test, was_cancelled(test, w->now));
	} while (w->nr_pending);
	KUNIT_EXPECT_EQ(test, sleeper.expired + cancelled, s->count);
	KUNIT_EXPECT_LE(test, sleeper.spurious, cancelled);
	expect_nothing_pending(test);
}

static struct kunit_case waking_cases[] = {
	KUNIT_CASE_PARAM(sparse_wheel_has_no_spurious_wake_ups, sparse_gen_params),
	KUNIT_CASE_PARAM(live_wheel_has_no_spurious_wake_ups, live_gen_params),
	KUNIT_CASE_PARAM(spurious_wake_ups_are_of_cancelled_timers, sparse_gen_params),
	{}
};

CORE_SUITE(waking);
