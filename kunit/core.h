/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fixture of the KUnit tests of the wheel, and helpers of several suites
 *
 * Most cases run for a table of wheel sizes or of ticks. Expected results come from
 * plain divisions here, not from the functions under test.
 */
#ifndef _CORE_H
#define _CORE_H

#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/prandom.h>

#include "../twheel.h"

#define NR_TIMERS	1000
#define HOUR_NS		3600000000000ULL

/* The end of time, that of a ktime_t. */
#define TIME_END	((u64)S64_MAX)

struct fixture {
	struct twheel wheel;
	struct rnd_state rnd;
	struct twheel_timer timer[NR_TIMERS];
};

static const u32 sizes[] __maybe_unused = { 2, 3, 10, 20, 60, 256, 65536 };

static inline void size_desc(const u32 *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "size %u", *size);
}

static const u64 ticks[] __maybe_unused = {
	1, 2, 3, 7, 10, 999, 1000, 1000000, BIT_ULL(20), BIT_ULL(32) - 1,
	BIT_ULL(32) + 1, HOUR_NS,
};

static inline void tick_desc(const u64 *tick, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "tick %llu", *tick);
}

/* Put a new, empty wheel into the fixture, in memory that was used before. */
static inline struct twheel *start(struct kunit *test, u64 tick, u32 size, u64 now)
{
	struct fixture *f = test->priv;

	twheel_destroy(&f->wheel);
	memset(&f->wheel, 0x5a, sizeof(f->wheel));
	twheel_init(&f->wheel, tick, size, now);
	return &f->wheel;
}

static inline void add_level(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	struct twheel_level *level = twheel_level_alloc(w, w->nr_levels, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, level);
	twheel_level_install(w, level);
}

/* Give the wheel the levels that @deadline needs. */
static inline void grow(struct kunit *test, u64 deadline)
{
	struct fixture *f = test->priv;

	while (!twheel_covers(&f->wheel, deadline))
		add_level(test);
}

static inline void arm(struct kunit *test, struct twheel_timer *timer, u64 deadline)
{
	struct fixture *f = test->priv;

	timer->deadline = deadline;
	grow(test, deadline);
	twheel_advance(&f->wheel, f->wheel.now, 0);
	KUNIT_ASSERT_TRUE(test, twheel_add(&f->wheel, timer));
}

/* Advance until nothing more is due at @now, and check that this ends. */
static inline void advance(struct kunit *test, u64 now)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	u64 clock = max(w->now, now);
	unsigned int calls = 0;

	while (twheel_advance(w, now, 100))
		KUNIT_ASSERT_LT(test, ++calls, 100 * NR_TIMERS);
	KUNIT_ASSERT_EQ(test, w->now, clock);
}

/* Take all expired timers: @count of them, in the order of their ticks. */
static inline void expect_expired(struct kunit *test, unsigned int count)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	struct twheel_timer *timer;
	unsigned int popped = 0;
	u64 last = 0;

	KUNIT_EXPECT_EQ(test, w->nr_expired, count);
	while ((timer = twheel_pop(w))) {
		u64 tick = twheel_tick(w, timer->deadline);

		KUNIT_ASSERT_GE(test, tick, last);
		KUNIT_ASSERT_LE(test, tick, w->now);
		last = tick;
		popped++;
	}
	KUNIT_EXPECT_EQ(test, popped, count);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 0);
}

static inline void expect_next(struct kunit *test, u64 expected)
{
	struct fixture *f = test->priv;
	u64 tick;

	KUNIT_ASSERT_TRUE(test, twheel_next(&f->wheel, &tick));
	KUNIT_EXPECT_EQ(test, tick, expected);
}

/* No timer is pending, and there is nothing to wake up for. */
static inline void expect_nothing_pending(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 tick;

	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending, 0);
	KUNIT_EXPECT_FALSE(test, twheel_next(&f->wheel, &tick));
}

/* The only pending timer expires at @tick: not before, and not after. */
static inline void expect_expiry_at(struct kunit *test, u64 tick)
{
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending, 1);
	advance(test, tick - 1);
	KUNIT_EXPECT_EQ(test, f->wheel.nr_expired, 0);
	advance(test, tick);
	KUNIT_EXPECT_EQ(test, f->wheel.nr_expired, 1);
	expect_expired(test, 1);
	expect_nothing_pending(test);
}

/**
 * struct sleeper - a driver that sleeps until twheel_next()
 * @fires: how often it woke up, each time at a later tick.
 * @spurious: how many of these found no timer due.
 * @expired: number of timers.
 */
struct sleeper {
	unsigned int fires;
	unsigned int spurious;
	unsigned int expired;
};

/* Sleep once, and take the expired timers, each at exactly its tick. */
static inline bool sleep_once(struct kunit *test, struct sleeper *s)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	unsigned int expired = s->expired;
	struct twheel_timer *timer;
	u64 tick;

	if (!twheel_next(w, &tick))
		return false;
	KUNIT_ASSERT_GT(test, tick, w->now);
	advance(test, tick);
	while ((timer = twheel_pop(w))) {
		KUNIT_ASSERT_EQ(test, twheel_tick(w, timer->deadline), w->now);
		s->expired++;
	}
	s->spurious += s->expired == expired;
	KUNIT_ASSERT_LT(test, ++s->fires, 100 * NR_TIMERS);
	return true;
}

static inline struct sleeper sleep_through(struct kunit *test)
{
	struct sleeper s = { };

	while (sleep_once(test, &s))
		;
	expect_nothing_pending(test);
	return s;
}

/* All @count timers expire at exactly their ticks, and no wake-up is spurious. */
static inline void expect_all_on_time(struct kunit *test, unsigned int count)
{
	struct sleeper s = sleep_through(test);

	KUNIT_EXPECT_EQ(test, s.expired, count);
	KUNIT_EXPECT_EQ(test, s.spurious, 0);
}

static inline u64 random64(struct fixture *f)
{
	u64 high = prandom_u32_state(&f->rnd);

	return high << 32 | prandom_u32_state(&f->rnd);
}

static inline u64 add_saturated(s64 a, s64 b)
{
	s64 sum;

	return check_add_overflow(a, b, &sum) ? TIME_END : sum;
}

static inline u64 mul_saturated(s64 a, s64 b)
{
	s64 product;

	return check_mul_overflow(a, b, &product) ? TIME_END : product;
}

/* Return a tick after @now, at a distance of any order of magnitude up to @bits (63) bits. */
static inline u64 random_tick(struct fixture *f, u64 now, unsigned int bits)
{
	u64 delay = random64(f) >> (64 - 1 - prandom_u32_state(&f->rnd) % bits);

	return add_saturated(now, max(delay, 1ULL));
}

static inline u64 plain_ceil(u64 n, u64 divisor)
{
	u64 rest, quotient = div64_u64_rem(n, divisor, &rest);

	return quotient + !!rest;
}

struct place {
	u8 level;
	u32 index;
};

/* Return where a timer that is due at @tick belongs when the clock is at @now. */
static inline struct place place_of(u32 size, u64 now, u64 tick)
{
	struct place p = { };
	u64 length = 1, index;

	while (div64_u64(tick, length) - div64_u64(now, length) >= size) {
		length *= size;
		p.level++;
	}
	div64_u64_rem(div64_u64(tick, length), size, &index);
	p.index = index;
	return p;
}

static inline void arm_random(struct kunit *test, unsigned int count, unsigned int bits)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < count; i++)
		arm(test, &f->timer[i], random_tick(f, f->wheel.now, bits));
}

static inline int core_test_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	twheel_init(&f->wheel, 1, 2, 0);
	prandom_seed_state(&f->rnd, 1);
	test->priv = f;
	return 0;
}

static inline void core_test_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	if (f)
		twheel_destroy(&f->wheel);
}

/* The only suite of a file. */
#define CORE_SUITE(what)				\
	static struct kunit_suite what##_suite = {	\
		.name = "twheel_" #what,		\
		.init = core_test_init,			\
		.exit = core_test_exit,			\
		.test_cases = what##_cases,		\
	};						\
	kunit_test_suites(&what##_suite)

#endif /* _CORE_H */
