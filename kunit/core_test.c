// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: placing, ordering, cancelling, budget, cascading
 * ahead of time, waking up, clock.
 *
 * Most cases run for a table of wheel sizes or of ticks. What is expected comes
 * from plain divisions that are made here, not from the functions under test.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/prandom.h>

#include "../twheel.h"

#define NR_TIMERS	1000
#define HOUR_NS		3600000000000ULL

/* The last time there is: those of a ktime_t. */
#define TIME_END	((u64)S64_MAX)

struct fixture {
	struct twheel wheel;
	struct rnd_state rnd;
	struct twheel_timer timer[NR_TIMERS];
};

static const u32 sizes[] = { 2, 3, 10, 20, 60, 256, 65536 };

static void size_desc(const u32 *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "size %u", *size);
}

KUNIT_ARRAY_PARAM(size, sizes, size_desc);

static const u64 ticks[] = {
	1, 2, 3, 7, 10, 999, 1000, 1000000, BIT_ULL(20), BIT_ULL(32) - 1,
	BIT_ULL(32) + 1, HOUR_NS,
};

static void tick_desc(const u64 *tick, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "tick %llu", *tick);
}

KUNIT_ARRAY_PARAM(tick, ticks, tick_desc);

/* Put a new, empty wheel into the fixture. */
static struct twheel *start(struct kunit *test, u64 tick, u32 size, u64 now)
{
	struct fixture *f = test->priv;

	twheel_destroy(&f->wheel);
	twheel_init(&f->wheel, tick, size, now);
	return &f->wheel;
}

static void add_level(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	struct twheel_level *level = twheel_level_alloc(w, w->nr_levels, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, level);
	twheel_level_install(w, level);
}

/* Give the wheel the levels that @deadline needs. */
static void grow(struct kunit *test, u64 deadline)
{
	struct fixture *f = test->priv;

	while (!twheel_covers(&f->wheel, deadline))
		add_level(test);
}

static void arm(struct kunit *test, struct twheel_timer *timer, u64 deadline)
{
	struct fixture *f = test->priv;

	timer->deadline = deadline;
	grow(test, deadline);
	twheel_forward(&f->wheel, f->wheel.now);
	KUNIT_ASSERT_TRUE(test, twheel_add(&f->wheel, timer));
}

/* Advance until nothing is left to do at @now, and see that it does end. */
static void advance(struct kunit *test, u64 now)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	u64 clock = max(w->now, now);
	unsigned int calls = 0;

	while (twheel_advance(w, now, 100))
		KUNIT_ASSERT_LT(test, ++calls, 100 * NR_TIMERS);
	KUNIT_ASSERT_EQ(test, w->now, clock);
}

/* Take everything that expired: @count timers, in the order of their ticks. */
static void expect_expired(struct kunit *test, unsigned int count)
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

static void expect_next(struct kunit *test, u64 expected)
{
	struct fixture *f = test->priv;
	u64 tick;

	KUNIT_ASSERT_TRUE(test, twheel_next(&f->wheel, &tick));
	KUNIT_EXPECT_EQ(test, tick, expected);
}

/* Nothing pending, and no bucket left in the queue to wake up for. */
static void expect_nothing_pending(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 tick;

	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending, 0);
	KUNIT_EXPECT_FALSE(test, twheel_next(&f->wheel, &tick));
}

/* The only pending timer expires at @tick: not before, and not after. */
static void expect_expiry_at(struct kunit *test, u64 tick)
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
 * struct sleeper - what became of a driver that sleeps until twheel_next()
 * @fires: how often it woke up, at different ticks.
 * @in_vain: how often of these no timer was due.
 * @expired: number of timers.
 */
struct sleeper {
	unsigned int fires;
	unsigned int in_vain;
	unsigned int expired;
};

/*
 * Sleep once, and take what expires: each timer at its very tick. So the ticks at which
 * timers are due and no others are @fires less @in_vain.
 */
static bool sleep_once(struct kunit *test, struct sleeper *s)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	unsigned int expired = s->expired;
	struct twheel_timer *timer;
	u64 tick;

	if (!twheel_next(w, &tick))
		return false;
	/* One that has become crowded too late has to be opened at once. */
	if (s->fires)
		KUNIT_ASSERT_GT(test, tick, w->now);
	advance(test, tick);
	while ((timer = twheel_pop(w))) {
		KUNIT_ASSERT_EQ(test, twheel_tick(w, timer->deadline), w->now);
		s->expired++;
	}
	s->in_vain += s->expired == expired;
	KUNIT_ASSERT_LT(test, ++s->fires, 100 * NR_TIMERS);
	return true;
}

static struct sleeper sleep_through(struct kunit *test)
{
	struct sleeper s = { };

	while (sleep_once(test, &s))
		;
	expect_nothing_pending(test);
	return s;
}

static u64 random64(struct fixture *f)
{
	u64 high = prandom_u32_state(&f->rnd);

	return high << 32 | prandom_u32_state(&f->rnd);
}

static u64 add_saturated(s64 a, s64 b)
{
	s64 sum;

	return check_add_overflow(a, b, &sum) ? TIME_END : sum;
}

static u64 mul_saturated(s64 a, s64 b)
{
	s64 product;

	return check_mul_overflow(a, b, &product) ? TIME_END : product;
}

/* A tick after @now, at a distance of any order of magnitude up to @bits (63) bits. */
static u64 random_tick(struct fixture *f, u64 now, unsigned int bits)
{
	u64 delay = random64(f) >> (64 - 1 - prandom_u32_state(&f->rnd) % bits);

	return add_saturated(now, max(delay, 1ULL));
}

/* Ticks and deadlines */

static u64 plain_ceil(u64 n, u64 divisor)
{
	u64 rest, quotient = div64_u64_rem(n, divisor, &rest);

	return quotient + !!rest;
}

static void expect_tick(struct kunit *test, u64 deadline)
{
	struct fixture *f = test->priv;
	u64 tick = f->wheel.tick.divisor;

	if (deadline > TIME_END)
		return;
	KUNIT_ASSERT_EQ_MSG(test, twheel_tick(&f->wheel, deadline),
			    plain_ceil(deadline, tick), "deadline %llu", deadline);
	KUNIT_ASSERT_EQ_MSG(test, twheel_floor(&f->wheel, deadline),
			    div64_u64(deadline, tick), "time %llu", deadline);
}

static void tick_of_chosen_deadlines(struct kunit *test)
{
	static const u64 marks[] = {
		0, BIT_ULL(31), BIT_ULL(32), BIT_ULL(62), BIT_ULL(63),
	};
	const u64 *tick = test->param_value;
	unsigned int i, j;

	start(test, *tick, 2, 0);
	for (i = 0; i < ARRAY_SIZE(marks); i++) {
		u64 multiple = div64_u64(marks[i], *tick) * *tick;

		/* What is below zero or beyond the end of time is no deadline. */
		for (j = 0; j < 4; j++) {
			expect_tick(test, marks[i] + j);
			expect_tick(test, marks[i] - j);
			expect_tick(test, multiple + j);
			expect_tick(test, multiple - j);
			expect_tick(test, multiple + *tick + j);
			expect_tick(test, multiple + *tick - j);
		}
	}
}

static void tick_of_random_deadlines(struct kunit *test)
{
	const u64 *tick = test->param_value;
	struct fixture *f = test->priv;
	unsigned int i;

	start(test, *tick, 2, 0);
	for (i = 0; i < 20000; i++) {
		u64 deadline = random64(f) >> (1 + i % 63);
		u64 multiple = div64_u64(deadline, *tick) * *tick;

		expect_tick(test, deadline);
		expect_tick(test, multiple);
		expect_tick(test, multiple + 1);
		expect_tick(test, multiple - 1);
	}
}

/* Placing */

struct place {
	u8 level;
	u32 index;
};

/* Where a timer belongs that is due at @tick, when the clock is at @now. */
static struct place place_of(u32 size, u64 now, u64 tick)
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

static bool in_bucket(const struct twheel *w, const struct twheel_timer *timer,
		      const struct place *p)
{
	const struct twheel_bucket *b = &w->level[p->level]->bucket[p->index];
	struct list_head *pos;

	if (!b->count)
		return false;
	list_for_each(pos, &b->timers) {
		if (pos == &timer->node)
			return true;
	}
	return false;
}

static void expect_place(struct kunit *test, u64 tick)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	struct twheel_timer *timer = &f->timer[0];
	struct place p = place_of(w->size.divisor, w->now, tick);
	u64 deadline = mul_saturated(min(tick, TIME_END), w->tick.divisor);

	/* The last tick may be cut short by the end of time. */
	if (plain_ceil(deadline, w->tick.divisor) != tick)
		return;
	KUNIT_ASSERT_EQ_MSG(test, twheel_covers(w, deadline), w->nr_levels > p.level,
			    "tick %llu at %llu", tick, w->now);
	arm(test, timer, deadline);
	KUNIT_ASSERT_EQ_MSG(test, timer->level, p.level, "tick %llu at %llu",
			    tick, w->now);
	KUNIT_ASSERT_TRUE_MSG(test, in_bucket(w, timer, &p), "tick %llu at %llu",
			      tick, w->now);
	expect_next(test, tick);
	KUNIT_EXPECT_FALSE(test, twheel_expired(w, timer));
	twheel_cancel(w, timer);
}

/* The ticks around the end of the range of each level. */
static void expect_places_at_edges(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 now = f->wheel.now, size = f->wheel.size.divisor;
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
	const u64 end = div64_u64(TIME_END, tick);
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

/* The tick decides which way twheel_add() goes about it. */
static void placed_at_lowest_level_that_covers(struct kunit *test)
{
	expect_places(test, 1);
	expect_places(test, 2);
	expect_places(test, 3);
	expect_places(test, 4);
	expect_places(test, 5);
	expect_places(test, 1000);
}

/* Whatever levels there are, and however long ago it was. */
static void expires_at_once_if_the_tick_has_come(struct kunit *test)
{
	static const u64 lengths[] = { 1, 2, 3, 4, 5, 8, 1000, 1000000 };
	const u32 *size = test->param_value;
	struct fixture *f = test->priv;
	unsigned int i, j, shift;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		const u64 end = div64_u64(TIME_END, lengths[i]);

		start(test, lengths[i], *size, 0);
		grow(test, end * lengths[i]);
		for (shift = 0; shift < 63; shift++) {
			const u64 now = min(end, TIME_END >> (62 - shift));
			const u64 deadlines[] = {
				0, 1, lengths[i], lengths[i] + 1, now / 2 * lengths[i],
				(now - 1) * lengths[i], (now - 1) * lengths[i] + 1,
				now * lengths[i] - 1, now * lengths[i],
			};

			advance(test, now);
			/* What comes next meets levels that have been in use. */
			expect_places_at_edges(test);
			for (j = 0; j < ARRAY_SIZE(deadlines); j++) {
				struct twheel_timer *timer = &f->timer[0];

				if (twheel_tick(&f->wheel, deadlines[j]) > now)
					continue;
				arm(test, timer, deadlines[j]);
				KUNIT_ASSERT_EQ_MSG(test, timer->level, TWHEEL_LEVEL_DUE,
						    "deadline %llu at %llu, tick %llu",
						    deadlines[j], now, lengths[i]);
				KUNIT_ASSERT_PTR_EQ(test, timer, twheel_pop(&f->wheel));
			}
		}
	}
}

static bool add_quickly(struct twheel *w, struct twheel_timer *timer)
{
	struct twheel_level *level;

	if (!twheel_level_for(w, timer->deadline, &level) || !twheel_put_quickly(level, timer))
		return false;
	w->nr_pending++;
	return true;
}

/* Only where that needs no call: an empty bucket is one that does, with any size. */
static void added_quickly_or_not_at_all(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct fixture *f = test->priv;
	struct twheel_timer *timer = f->timer;
	u64 tick = 1000, n = 0;

	start(test, tick, *size, 77);
	timer[0].deadline = 77 * tick + 2;
	KUNIT_EXPECT_FALSE(test, add_quickly(&f->wheel, &timer[0]));
	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending, 0);
	arm(test, &timer[0], 77 * tick + 2);

	for (n = 1; n < TWHEEL_CROWD - 1; n++) {
		timer[n].deadline = 77 * tick + 1 + n;
		KUNIT_EXPECT_TRUE(test, add_quickly(&f->wheel, &timer[n]));
	}
	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending, n);
	KUNIT_EXPECT_EQ(test, f->wheel.level[0]->bucket[timer[0].bucket].count, n);
	/* Earlier than all others in the bucket; due; and too far ahead. */
	timer[n].deadline = 77 * tick + 1;
	KUNIT_EXPECT_FALSE(test, add_quickly(&f->wheel, &timer[n]));
	timer[n].deadline = 77 * tick;
	KUNIT_EXPECT_FALSE(test, add_quickly(&f->wheel, &timer[n]));
	timer[n].deadline = TIME_END;
	KUNIT_EXPECT_FALSE(test, add_quickly(&f->wheel, &timer[n]));
	/* One more, and the bucket is crowded. */
	timer[n].deadline = 78 * tick;
	KUNIT_EXPECT_FALSE(test, add_quickly(&f->wheel, &timer[n]));
	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending, n);
	KUNIT_EXPECT_EQ(test, f->wheel.nr_expired, 0);

	advance(test, 78);
	expect_expired(test, n);
}

/*
 * The table in Kafka's documentation: tick 1, size 3, start c. Each bucket is
 * given by its first tick, relative to c; step is the clock, likewise.
 */
struct example {
	u64 step;
	u64 bucket[3][3];
};

static const struct example examples[] = {
	{ 0, { { 0, 1, 2 }, { 0, 3, 6 }, { 0, 9, 18 } } },
	{ 1, { { 1, 2, 3 }, { 0, 3, 6 }, { 0, 9, 18 } } },
	{ 3, { { 3, 4, 5 }, { 3, 6, 9 }, { 0, 9, 18 } } },
};

static void example_desc(const struct example *e, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "at c+%llu", e->step);
}

KUNIT_ARRAY_PARAM(example, examples, example_desc);

/* The table's first bucket that covers tick c + @tick, lowest level first. */
static struct place example_place(const struct example *e, u64 c, u64 tick)
{
	static const u64 lengths[] = { 1, 3, 9 };
	struct place p;
	unsigned int i;
	u64 first, index;

	for (p.level = 0; p.level < 2; p.level++) {
		for (i = 0; i < 3; i++) {
			if (tick - e->bucket[p.level][i] < lengths[p.level])
				goto found;
		}
	}
	i = tick / 9;
found:
	first = c + e->bucket[p.level][i];
	div64_u64_rem(div64_u64(first, lengths[p.level]), 3, &index);
	p.index = index;
	return p;
}

static void expect_example_place(struct kunit *test, u64 c, u64 tick)
{
	const struct example *e = test->param_value;
	struct place p = example_place(e, c, tick);
	struct fixture *f = test->priv;
	struct twheel_timer *timer = &f->timer[0];

	arm(test, timer, c + tick);
	KUNIT_EXPECT_EQ(test, timer->level, p.level);
	KUNIT_EXPECT_TRUE_MSG(test, in_bucket(&f->wheel, timer, &p), "c+%llu", tick);
	expect_next(test, c + tick);
	twheel_cancel(&f->wheel, timer);
}

static void example_buckets(struct kunit *test)
{
	/* Multiples of the longest bucket: there the table's buckets line up. */
	static const u64 starts[] = {
		0, 9, 27000000, BIT_ULL(62) / 9 * 9, TIME_END / 9 * 9 - 27,
	};
	const struct example *e = test->param_value;
	struct fixture *f = test->priv;
	unsigned int i;
	u64 tick;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		start(test, 1, 3, starts[i]);
		advance(test, starts[i] + e->step);
		for (tick = 0; tick <= e->step; tick++) {
			arm(test, &f->timer[0], starts[i] + tick);
			expect_expired(test, 1);
		}
		for (; tick < 27; tick++)
			expect_example_place(test, starts[i], tick);
	}
}

/* Where a timer is put: what is in [c+3..c+5] is near from c+3 on. */
static u8 example_level(unsigned int step, unsigned int tick)
{
	if (tick < (step < 3 ? 3 : 6))
		return 0;
	return tick < 9 ? 1 : 2;
}

/* While the clock walks over all of the example, a timer is where it was put, or lower. */
static void example_walk(struct kunit *test)
{
	struct twheel *w = start(test, 1, 3, 27);
	struct fixture *f = test->priv;
	unsigned int i, step;

	for (i = 1; i < 27; i++)
		arm(test, &f->timer[i], 27 + i);
	for (step = 0; step <= 3; step++) {
		advance(test, 27 + step);
		expect_expired(test, step ? 1 : 0);
		for (i = step + 1; i < 27; i++) {
			KUNIT_EXPECT_GE_MSG(test, f->timer[i].level, example_level(step, i),
					    "c+%u at c+%u", i, step);
			KUNIT_EXPECT_LE_MSG(test, f->timer[i].level, example_level(0, i),
					    "c+%u at c+%u", i, step);
		}
	}
	/* Too few of them to be moved before each is due. */
	KUNIT_EXPECT_EQ(test, w->cascaded, 0);
	for (; step < 27; step++) {
		advance(test, 27 + step);
		expect_expired(test, 1);
	}
	expect_nothing_pending(test);
}

/* Delays of m intervals: the end of a level's range, where off by one shows. */
static void expect_delays_of_intervals(struct kunit *test, s64 interval)
{
	const u32 *size = test->param_value;
	const s64 multiples[] = { 1, 2, *size - 1, *size };
	struct fixture *f = test->priv;
	s64 delay, deadline;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(multiples); i++) {
		if (check_mul_overflow(interval, multiples[i], &delay) ||
		    check_add_overflow((s64)f->wheel.now, delay, &deadline))
			continue;
		arm(test, &f->timer[0], deadline);
		expect_expiry_at(test, deadline);
	}
}

static void delay_of_exact_intervals(struct kunit *test)
{
	const u32 *size = test->param_value;
	s64 interval = 1;
	unsigned int i;

	while (!check_mul_overflow(interval, (s64)*size, &interval)) {
		/* Where the clock is within the interval. */
		const u64 starts[] = { 0, 1, interval / 2, interval - 1 };

		for (i = 0; i < ARRAY_SIZE(starts); i++) {
			start(test, 1, *size, starts[i]);
			expect_delays_of_intervals(test, interval);
		}
	}
}

static void missing_level_changes_nothing(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 5);
	struct fixture *f = test->priv;
	struct twheel_timer *timer = &f->timer[0];

	timer->deadline = 6;
	KUNIT_EXPECT_FALSE(test, twheel_covers(w, 6));
	KUNIT_EXPECT_FALSE(test, twheel_add(w, timer));
	expect_nothing_pending(test);

	/* A timer that is due already needs no bucket. */
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

static void a_level_can_be_freed_unused(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 5);
	struct twheel_level *level = twheel_level_alloc(w, 0, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, level);
	twheel_level_free(level);
	twheel_level_free(NULL);
	KUNIT_EXPECT_FALSE(test, twheel_covers(w, 6));
	grow(test, 6);
	KUNIT_EXPECT_TRUE(test, twheel_covers(w, 6));
}

/* It fits at any time in any tick, and one unit more does not always. */
static void expect_longest(struct kunit *test, u64 tick, s64 length)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	const u64 longest = twheel_longest(w), end = div64_u64(TIME_END, tick);
	/* In the last tick of a bucket, the least of the level is left. */
	const u64 worst = 2 * length - 1;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		u64 now = max(i ? min(random64(f) >> (1 + i % 63), end) : worst, w->now);
		u64 time = add_saturated(now * tick, tick - 1);

		advance(test, now);
		KUNIT_ASSERT_TRUE(test, twheel_covers(w, add_saturated(time, longest)));
		if (!i && longest < TIME_END - w->time - 2 * tick)
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

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		const u64 end = div64_u64(TIME_END, lengths[i] * *size);
		u8 nr_levels = 0;

		start(test, lengths[i], *size, 0);
		KUNIT_EXPECT_EQ(test, twheel_longest(&f->wheel), 0);
		for (length = 1; length < end; length *= *size) {
			start(test, lengths[i], *size, 0);
			for (nr_levels++; f->wheel.nr_levels < nr_levels;)
				add_level(test);
			expect_longest(test, lengths[i], length);
		}
	}
}

/* The clock has gone to tick @end, the last: whatever is not due by then never is. */
static void expect_never(struct kunit *test, u64 end, unsigned int count)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	unsigned int i;

	advance(test, end);
	expect_expired(test, 0);
	KUNIT_EXPECT_EQ(test, w->nr_pending, count);
	if (count)
		expect_next(test, end + 1);
	for (i = 0; i < count; i++) {
		KUNIT_EXPECT_FALSE(test, twheel_expired(w, &f->timer[i]));
		twheel_cancel(w, &f->timer[i]);
	}
	expect_nothing_pending(test);
}

static void expect_deadlines_at_the_end(struct kunit *test, u64 tick, u32 size)
{
	const u64 end = div64_u64(TIME_END, tick), cut = TIME_END - end * tick;
	const u64 deadlines[] = {
		BIT_ULL(62) - 1, BIT_ULL(62), BIT_ULL(62) + 1, (end - 1) * tick,
		TIME_END - tick, end * tick - 1, end * tick,
		end * tick + min(cut, 1ULL), TIME_END,
	};
	struct twheel *w = start(test, tick, size, 0);
	struct fixture *f = test->priv;
	const unsigned int never = cut ? 2 : 0, last = ARRAY_SIZE(deadlines) - 1;
	unsigned int i;

	/* Those that never expire first. */
	for (i = 0; i <= last; i++)
		arm(test, &f->timer[i], deadlines[last - i]);
	for (i = last; i + 1 > never; i--) {
		u64 expiry = plain_ceil(f->timer[i].deadline, tick);

		if (expiry > w->now) {
			advance(test, expiry - 1);
			KUNIT_EXPECT_FALSE(test, twheel_expired(w, &f->timer[i]));
			advance(test, expiry);
		}
		KUNIT_EXPECT_TRUE(test, twheel_expired(w, &f->timer[i]));
	}
	expect_expired(test, last + 1 - never);
	expect_never(test, end, never);
}

static void deadline_at_the_end_of_time(struct kunit *test)
{
	const u64 *tick = test->param_value;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		expect_deadlines_at_the_end(test, *tick, sizes[i]);
}

/* A crowd in what is left of time after the last tick: it may cascade, no more. */
static void expect_crowd_never(struct kunit *test, u64 tick, u32 size)
{
	const u64 end = div64_u64(TIME_END, tick), cut = TIME_END - end * tick;
	struct fixture *f = test->priv;
	unsigned int i;

	/* Time may end with a tick. */
	if (!cut)
		return;
	start(test, tick, size, end / 4);
	for (i = 0; i < 2 * TWHEEL_CROWD; i++)
		arm(test, &f->timer[i], TIME_END - min((u64)i, cut - 1));
	advance(test, end - 1);
	expect_never(test, end, i);
}

static void crowd_after_the_last_tick(struct kunit *test)
{
	const u32 *size = test->param_value;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ticks); i++)
		expect_crowd_never(test, ticks[i], *size);
}

static void clock_at_the_end_of_time(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, TIME_END - 100);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i <= 100; i++)
		arm(test, &f->timer[i], TIME_END - 100 + i);
	expect_expired(test, 1);
	for (i = 1; i <= 100; i++) {
		advance(test, TIME_END - 100 + i);
		expect_expired(test, 1);
	}
	expect_nothing_pending(test);

	arm(test, &f->timer[0], TIME_END);
	expect_expired(test, 1);
	KUNIT_EXPECT_EQ(test, w->now, TIME_END);
}

static struct kunit_case placing_cases[] = {
	KUNIT_CASE_PARAM(tick_of_chosen_deadlines, tick_gen_params),
	KUNIT_CASE_PARAM(tick_of_random_deadlines, tick_gen_params),
	KUNIT_CASE_PARAM(placed_at_lowest_level_that_covers, size_gen_params),
	KUNIT_CASE_PARAM(expires_at_once_if_the_tick_has_come, size_gen_params),
	KUNIT_CASE_PARAM(added_quickly_or_not_at_all, size_gen_params),
	KUNIT_CASE_PARAM(example_buckets, example_gen_params),
	KUNIT_CASE(example_walk),
	KUNIT_CASE_PARAM(delay_of_exact_intervals, size_gen_params),
	KUNIT_CASE_PARAM(missing_level_changes_nothing, size_gen_params),
	KUNIT_CASE_PARAM(a_level_can_be_freed_unused, size_gen_params),
	KUNIT_CASE_PARAM(longest_delay_fits_anywhere, size_gen_params),
	KUNIT_CASE_PARAM(deadline_at_the_end_of_time, tick_gen_params),
	KUNIT_CASE_PARAM(crowd_after_the_last_tick, size_gen_params),
	KUNIT_CASE_PARAM(clock_at_the_end_of_time, size_gen_params),
	{}
};

/* Ordering */

static void arm_random(struct kunit *test, unsigned int count, unsigned int bits)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < count; i++)
		arm(test, &f->timer[i], random_tick(f, f->wheel.now, bits));
}

static void one_jump_over_everything(struct kunit *test)
{
	const u32 *size = test->param_value;

	start(test, 1, *size, 12345);
	arm_random(test, NR_TIMERS, 63);
	advance(test, TIME_END);
	expect_expired(test, NR_TIMERS);
	expect_nothing_pending(test);
}

static void jumps_of_every_length(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	u64 expired = 0;

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
			last = timer->deadline;
			expired++;
		}
	}
	KUNIT_EXPECT_EQ(test, expired, NR_TIMERS);
	expect_nothing_pending(test);
}

/* A driver that sleeps until twheel_next() has every timer at its own tick. */
static void next_leads_to_every_expiry(struct kunit *test)
{
	const u32 *size = test->param_value;

	start(test, 1, *size, 99);
	arm_random(test, NR_TIMERS, 63);
	KUNIT_EXPECT_EQ(test, sleep_through(test).expired, NR_TIMERS);
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
		KUNIT_EXPECT_TRUE(test, twheel_expired(w, &t[i]));
		KUNIT_EXPECT_PTR_EQ(test, twheel_pop(w), &t[i]);
	}
	KUNIT_EXPECT_NULL(test, twheel_pop(w));
	expect_nothing_pending(test);
}

/* To the unit: a deadline on the clock's own tick is due, one after it is not. */
static void due_up_to_the_clocks_tick(struct kunit *test)
{
	const u64 *tick = test->param_value;
	struct twheel *w = start(test, *tick, 256, 1000);
	struct fixture *f = test->priv;
	struct twheel_timer *t = f->timer;
	unsigned int i;

	arm(test, &t[0], 1000 * *tick);
	arm(test, &t[1], 999 * *tick + 1);
	arm(test, &t[2], 1);
	arm(test, &t[3], 0);
	arm(test, &t[4], 1000 * *tick + 1);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_PTR_EQ(test, twheel_pop(w), &t[i]);
	KUNIT_EXPECT_NULL(test, twheel_pop(w));
	expect_expiry_at(test, 1001);
}

/* What the core does not use of a timer comes back as it was. */
static void the_tag_is_left_alone(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	struct twheel_timer *timer;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		f->timer[i].tag = i * 40000001;
		arm(test, &f->timer[i], 5 + i * 100);
	}
	advance(test, 10000);
	for (i = 0; (timer = twheel_pop(w)); i++) {
		KUNIT_EXPECT_EQ(test, timer->deadline, 5 + i * 100);
		KUNIT_EXPECT_EQ(test, timer->tag, (u32)(i * 40000001));
	}
	KUNIT_EXPECT_EQ(test, i, 100);
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
 * However many are due in however small a part of the bucket, and at one tick of it: they
 * expire in order, also when some are cancelled meanwhile, and few steps are enough.
 */
static void overdue_bucket_is_sorted_step_by_step(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct fixture *f = test->priv;
	u64 length = (u64)*size * *size;
	unsigned int i, cancelled = 0;
	struct twheel *w;

	w = start(test, 1, *size, 0);
	for (i = 0; i < NR_TIMERS; i++)
		arm(test, &f->timer[i], length + (i * 7919 % length >> i % 8 * ilog2(length) / 8));
	KUNIT_ASSERT_EQ(test, f->timer[0].level, 2);
	for (i = 0; twheel_advance(w, 2 * length - 1, 1); i++) {
		KUNIT_ASSERT_LT(test, i, 20 * NR_TIMERS);
		if (i % 16 || i / 16 >= NR_TIMERS || twheel_expired(w, &f->timer[i / 16]))
			continue;
		twheel_cancel(w, &f->timer[i / 16]);
		cancelled++;
	}
	KUNIT_EXPECT_GT(test, cancelled, 0);
	expect_expired(test, NR_TIMERS - cancelled);
	expect_nothing_pending(test);
}

/* While one overdue bucket is sorted, timers come that make for another, before it. */
static void overdue_before_one_that_is_sorted(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < 100; i++)
		arm(test, &f->timer[i], 150 + i % 50);
	advance(test, 95);
	KUNIT_ASSERT_TRUE(test, twheel_advance(w, 300, 10));
	KUNIT_ASSERT_TRUE(test, twheel_advance(w, 300, 10));
	/* The clock is about to enter the bucket: what would be due before expires at once. */
	KUNIT_ASSERT_EQ(test, w->now, 149);
	for (; i < 200; i++)
		arm(test, &f->timer[i], 110 + (i - 100) / 10);
	KUNIT_EXPECT_EQ(test, f->timer[0].level, 2);
	KUNIT_EXPECT_TRUE(test, twheel_expired(w, &f->timer[199]));
	while (twheel_advance(w, 300, 10))
		KUNIT_ASSERT_LT(test, i++, 1000);
	expect_expired(test, 200);
	expect_nothing_pending(test);
}

/* The clock is one tick short of the bucket's end, where there is a timer. */
static void overdue_but_for_the_last(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 length = arm_overdue(test, 20);

	arm(test, &f->timer[20], 2 * length - 1);
	arm(test, &f->timer[21], 2 * length - 2);
	advance(test, 2 * length - 2);
	KUNIT_EXPECT_FALSE(test, twheel_expired(&f->wheel, &f->timer[20]));
	KUNIT_EXPECT_TRUE(test, twheel_expired(&f->wheel, &f->timer[21]));
	advance(test, 2 * length - 1);
	expect_expired(test, 22);
}

/* Timers on lower levels are due between those of the bucket. */
static void overdue_among_nearer_timers(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 length = arm_overdue(test, 10);
	unsigned int i;

	advance(test, length - 1);
	for (i = 10; i < 20; i++)
		arm(test, &f->timer[i], length + (i - 10) * length / 10);
	KUNIT_ASSERT_LT(test, f->timer[10].level, 2);
	advance(test, 3 * length);
	expect_expired(test, 20);
}

static void overdue_then_cancelled(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 length = arm_overdue(test, 5);
	unsigned int i;

	advance(test, 2 * length);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_TRUE(test, twheel_expired(&f->wheel, &f->timer[i]));
	twheel_cancel(&f->wheel, &f->timer[2]);
	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending, 0);
	expect_expired(test, 4);
}

static void overdue_at_the_end_of_time(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct fixture *f = test->priv;
	unsigned int i;

	start(test, 1, *size, 0);
	for (i = 0; i < 20; i++)
		arm(test, &f->timer[i], TIME_END - i * 7 % 20);
	advance(test, TIME_END - 1);
	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending, 1);
	advance(test, TIME_END);
	expect_expired(test, 20);
}

static struct kunit_case ordering_cases[] = {
	KUNIT_CASE_PARAM(one_jump_over_everything, size_gen_params),
	KUNIT_CASE_PARAM(jumps_of_every_length, size_gen_params),
	KUNIT_CASE_PARAM(next_leads_to_every_expiry, size_gen_params),
	KUNIT_CASE_PARAM(one_tick_from_many_levels, size_gen_params),
	KUNIT_CASE_PARAM(due_timers_queue_behind_expired, size_gen_params),
	KUNIT_CASE_PARAM(due_up_to_the_clocks_tick, tick_gen_params),
	KUNIT_CASE(the_tag_is_left_alone),
	KUNIT_CASE_PARAM(overdue_bucket_is_read_in_order, size_gen_params),
	KUNIT_CASE_PARAM(overdue_bucket_is_sorted_step_by_step, size_gen_params),
	KUNIT_CASE(overdue_before_one_that_is_sorted),
	KUNIT_CASE_PARAM(overdue_but_for_the_last, size_gen_params),
	KUNIT_CASE_PARAM(overdue_among_nearer_timers, size_gen_params),
	KUNIT_CASE_PARAM(overdue_then_cancelled, size_gen_params),
	KUNIT_CASE_PARAM(overdue_at_the_end_of_time, size_gen_params),
	{}
};

/* Cancelling */

static void cancelling_all_empties_the_queue(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	arm_random(test, NR_TIMERS, 63);
	/* 7 and the number of timers have no factor in common: each comes once. */
	for (i = 0; i < NR_TIMERS; i++) {
		KUNIT_EXPECT_EQ(test, w->nr_pending, NR_TIMERS - i);
		twheel_cancel(w, &f->timer[i * 7 % NR_TIMERS]);
	}
	expect_nothing_pending(test);
	advance(test, TIME_END);
	expect_expired(test, 0);
	KUNIT_EXPECT_EQ(test, w->cascaded, 0);
}

static void cancelling_the_first_moves_next(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	const u64 far = (u64)*size * *size;

	arm(test, &f->timer[0], far);
	arm(test, &f->timer[1], 1);
	arm(test, &f->timer[2], 1);
	expect_next(test, 1);
	twheel_cancel(w, &f->timer[1]);
	expect_next(test, 1);
	twheel_cancel(w, &f->timer[2]);
	expect_next(test, far);
	arm(test, &f->timer[1], *size);
	expect_next(test, *size);
	twheel_cancel(w, &f->timer[0]);
	expect_next(test, *size);
	expect_expiry_at(test, *size);
}

/* A bucket is opened for a timer that has gone once; for one behind the first never. */
static void cancelling_wakes_once_in_vain(struct kunit *test)
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
	KUNIT_EXPECT_EQ(test, s.in_vain, 0);

	for (i = 0; i < 4; i++)
		arm(test, &f->timer[i], 2 * tick + i);
	twheel_cancel(w, &f->timer[0]);
	twheel_cancel(w, &f->timer[1]);
	s = sleep_through(test);
	KUNIT_EXPECT_EQ(test, s.expired, 2);
	KUNIT_EXPECT_LE(test, s.in_vain, 1);
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

/*
 * Expired timers were spliced from their bucket whole, and still carry its
 * level: cancelling one must not touch those that are in that bucket by now.
 */
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
	KUNIT_EXPECT_EQ(test, t[0].level, 0);

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

/* A new deadline is cancel and add, whatever became of the timer so far. */
static void new_deadline_in_any_state(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	struct twheel_timer *t = &f->timer[0];

	arm(test, t, (u64)*size * 5);
	twheel_cancel(w, t);
	arm(test, t, 1);
	expect_next(test, 1);
	advance(test, 1);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 1);

	/* expired in the wheel, then pending again */
	twheel_cancel(w, t);
	arm(test, t, (u64)*size * 7 + 1);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 0);
	KUNIT_EXPECT_EQ(test, w->nr_pending, 1);

	/* pending, then due at once, then pending again */
	twheel_cancel(w, t);
	arm(test, t, 1);
	KUNIT_EXPECT_TRUE(test, twheel_expired(w, t));
	expect_nothing_pending(test);
	twheel_cancel(w, t);
	arm(test, t, (u64)*size * 9 + 1);
	KUNIT_EXPECT_FALSE(test, twheel_expired(w, t));
	expect_expiry_at(test, (u64)*size * 9 + 1);
}

static struct kunit_case cancelling_cases[] = {
	KUNIT_CASE_PARAM(cancelling_all_empties_the_queue, size_gen_params),
	KUNIT_CASE_PARAM(cancelling_the_first_moves_next, size_gen_params),
	KUNIT_CASE_PARAM(cancelling_wakes_once_in_vain, size_gen_params),
	KUNIT_CASE_PARAM(cancelled_after_expiry_is_never_popped, size_gen_params),
	KUNIT_CASE_PARAM(bucket_is_reused_while_expired_wait, size_gen_params),
	KUNIT_CASE_PARAM(new_deadline_in_any_state, size_gen_params),
	{}
};

/* Budget */

static void lowest_bucket_costs_one_step(struct kunit *test)
{
	struct twheel *w = start(test, 1, 256, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < NR_TIMERS; i++)
		arm(test, &f->timer[i], 7 + i % 2);
	KUNIT_EXPECT_TRUE(test, twheel_advance(w, 100, 1));
	KUNIT_EXPECT_EQ(test, w->nr_expired, NR_TIMERS / 2);
	KUNIT_EXPECT_EQ(test, w->now, 7);
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, 100, 1));
	KUNIT_EXPECT_EQ(test, w->now, 100);
	expect_expired(test, NR_TIMERS);
	expect_nothing_pending(test);
}

static void no_budget_no_step(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;

	KUNIT_EXPECT_FALSE(test, twheel_advance(w, 3, 0));
	KUNIT_EXPECT_EQ(test, w->now, 3);
	arm(test, &f->timer[0], 5);
	KUNIT_EXPECT_TRUE(test, twheel_advance(w, 6, 0));
	KUNIT_EXPECT_EQ(test, w->nr_expired, 0);
	KUNIT_EXPECT_LT(test, w->now, 5);
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, 6, 1));
	expect_expired(test, 1);
}

/* However small the budget: no call does more, and the outcome is the same. */
static void work_is_bounded_by_budget(struct kunit *test)
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

/*
 * A sort that is half done. 80 timers, too few to cascade ahead of time and too many to be
 * sorted at once, are due at 50 to 59, eight at each; a wheel of 10 has them in one bucket of
 * level 1.
 */
#define HALF_DONE	80

static struct twheel *start_half_done(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < HALF_DONE; i++)
		arm(test, &f->timer[i], 50 + i % 10);
	expect_next(test, 50);
	KUNIT_ASSERT_TRUE(test, twheel_advance(w, 53, 15));
	KUNIT_ASSERT_EQ(test, w->now, 49);
	KUNIT_ASSERT_PTR_EQ(test, w->sort->level, w->level[1]);
	return w;
}

static void half_done_then_finished(struct kunit *test)
{
	struct twheel *w = start_half_done(test);

	while (w->sort->level) {
		KUNIT_ASSERT_TRUE(test, twheel_advance(w, 70, 1));
		/* Until all are in order none may expire. */
		KUNIT_ASSERT_EQ(test, w->now, 49);
		KUNIT_ASSERT_EQ(test, w->nr_expired, 0);
	}
	advance(test, 70);
	expect_expired(test, HALF_DONE);
	expect_nothing_pending(test);
}

static void half_done_then_cancelled(struct kunit *test)
{
	struct twheel *w = start_half_done(test);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < HALF_DONE; i++)
		twheel_cancel(w, &f->timer[i]);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 0);
	expect_nothing_pending(test);
	advance(test, 70);
	expect_expired(test, 0);

	/* The bucket serves its next round. */
	arm(test, &f->timer[0], 155);
	expect_next(test, 155);
	expect_expiry_at(test, 155);
}

/* Every other timer, of those in bins and those that are not. */
static void half_done_then_half_cancelled(struct kunit *test)
{
	struct twheel *w = start_half_done(test);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < HALF_DONE; i += 2)
		twheel_cancel(w, &f->timer[i]);
	KUNIT_EXPECT_EQ(test, w->nr_pending + w->nr_expired, HALF_DONE / 2);
	advance(test, 70);
	expect_expired(test, HALF_DONE / 2);
	expect_nothing_pending(test);
}

/* All that are in no bin yet. */
static void half_done_then_rest_cancelled(struct kunit *test)
{
	struct twheel *w = start_half_done(test);
	struct list_head *left = &w->level[1]->bucket[5].timers;
	unsigned int n = HALF_DONE;

	for (; !list_empty(left); n--)
		twheel_cancel(w, list_first_entry(left, struct twheel_timer, node));
	KUNIT_EXPECT_GT(test, n, 0);
	KUNIT_EXPECT_EQ(test, w->nr_pending, n);
	advance(test, 70);
	expect_expired(test, n);
	expect_nothing_pending(test);
}

/*
 * All timers of a crowded bucket are cancelled but every @keep-th, from @first to @last,
 * before it is opened (@when 0), when some of them have moved ahead of time (1), or when
 * the first is due (2); or it is all overdue at once (3).
 */
struct thinned {
	unsigned int first;
	unsigned int last;
	unsigned int keep;
	unsigned int when;
};

static const struct thinned thinned[] = {
	{ 0, NR_TIMERS, NR_TIMERS, 0 }, { 0, NR_TIMERS, NR_TIMERS, 1 },
	{ 0, NR_TIMERS, NR_TIMERS, 2 }, { 0, NR_TIMERS, 7, 0 },
	{ 0, NR_TIMERS, 7, 1 }, { 0, NR_TIMERS, 7, 2 },
	{ 0, 64, 100, 0 }, { 0, 256, 1000, 1 }, { 64, 256, 1000, 0 },
	{ 64, 256, 1000, 1 }, { 64, 1000, 1000, 0 }, { 64, 1000, 1000, 2 },
	{ 3, 999, 1000, 0 }, { 60, 70, 1000, 0 }, { 250, 1000, 1000, 0 },
	{ 0, NR_TIMERS, 100, 3 }, { 64, NR_TIMERS, NR_TIMERS, 3 },
	{ 0, 64, NR_TIMERS, 3 }, { 1, NR_TIMERS, NR_TIMERS, 3 },
};

static void thinned_desc(const struct thinned *t, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u to %u but each %uth, when %u",
		 t->first, t->last, t->keep, t->when);
}

KUNIT_ARRAY_PARAM(thinned, thinned, thinned_desc);

static void crowded_bucket_is_thinned(struct kunit *test)
{
	const struct thinned *param = test->param_value;
	struct twheel *w = start(test, 1000, 64, 0);
	struct fixture *f = test->priv;
	unsigned int i, left = NR_TIMERS;
	u64 early;

	/* Level 1, 640 to 703; some of them twice. */
	for (i = 0; i < NR_TIMERS; i++)
		arm(test, &f->timer[i], (640 + i * 37 % 64) * 1000);
	for (i = 10; i < NR_TIMERS; i += 13) {
		twheel_cancel(w, &f->timer[i]);
		arm(test, &f->timer[i], (640 + i % 64) * 1000);
	}
	KUNIT_ASSERT_TRUE(test, twheel_next(w, &early));
	KUNIT_ASSERT_LT(test, early, 640);
	if (param->when == 1)
		twheel_advance(w, early, 100);
	if (param->when == 2) {
		advance(test, 639);
		twheel_advance(w, 640, 5);
	}
	for (i = param->first; i < param->last; i++) {
		if (i % param->keep == param->keep - 1 || twheel_expired(w, &f->timer[i]))
			continue;
		twheel_cancel(w, &f->timer[i]);
		left--;
	}
	KUNIT_EXPECT_EQ(test, w->nr_pending + w->nr_expired, left);
	for (i = param->when == 3 ? 704 : 639; i <= 704; i++)
		advance(test, i);
	expect_expired(test, left);
	expect_nothing_pending(test);

	/* The bucket serves its next round. */
	for (i = 0; i < NR_TIMERS; i++)
		arm(test, &f->timer[i], (640 + 4096 + i % 64) * 1000);
	advance(test, 640 + 4096 + 64);
	expect_expired(test, NR_TIMERS);
	expect_nothing_pending(test);
}

/* Crowded when it is too late to be opened ahead, and then it is all overdue. */
static void crowded_too_late(struct kunit *test)
{
	struct twheel *w = start(test, 1000, 64, 0);
	struct fixture *f = test->priv;
	const unsigned int crowd = TWHEEL_CROWD + 10;
	unsigned int first, i;
	u64 next;

	for (first = 0; first < crowd; first += 20) {
		u64 now = 4096 * (first + 1);

		advance(test, now);
		arm(test, &f->timer[0], (now + 640) * 1000);
		advance(test, now + 638);
		for (i = 1; i < crowd; i++)
			arm(test, &f->timer[i], (now + 702 + i % 2) * 1000);
		KUNIT_ASSERT_TRUE(test, twheel_next(w, &next));
		KUNIT_EXPECT_LE(test, next, now + 638);
		/* All but ten, or fewer: it is crowded no more. */
		for (i = 0; i < crowd; i++) {
			if (i - first >= 10)
				twheel_cancel(w, &f->timer[i]);
		}
		advance(test, now + 704);
		expect_expired(test, min(10U, crowd - first));
		expect_nothing_pending(test);
	}
}

/* Ahead of its time the bucket finds that it is crowded no more, again and again. */
static void crowd_has_gone_when_it_is_opened(struct kunit *test)
{
	struct twheel *w = start(test, 1000, 64, 0);
	struct fixture *f = test->priv;
	unsigned int i;
	u64 early;

	for (i = 0; i < TWHEEL_CROWD - 1; i++)
		arm(test, &f->timer[i], (640 + i % 64) * 1000);
	expect_next(test, 640);
	for (early = 636; early < 640; early++) {
		arm(test, &f->timer[i], 703000);
		expect_next(test, 636);
		twheel_cancel(w, &f->timer[i]);
		advance(test, early);
		KUNIT_EXPECT_EQ(test, w->cascaded, 0);
		expect_next(test, 640);
	}
	advance(test, 703);
	expect_expired(test, TWHEEL_CROWD - 1);
	expect_nothing_pending(test);
}

static void half_done_then_added(struct kunit *test)
{
	/* Within the bucket, at its end, after it, its next round, far away. */
	static const u64 later[] = { 51, 55, 59, 60, 69, 149, 150, 155, 12345 };
	struct twheel *w = start_half_done(test);
	struct fixture *f = test->priv;
	struct twheel_timer *t = &f->timer[HALF_DONE];
	unsigned int i;

	arm(test, &t[0], 49);
	arm(test, &t[1], 50);
	KUNIT_EXPECT_TRUE(test, twheel_expired(w, &t[0]));
	KUNIT_EXPECT_FALSE(test, twheel_expired(w, &t[1]));
	twheel_cancel(w, &t[0]);
	for (i = 0; i < ARRAY_SIZE(later); i++) {
		arm(test, &t[2 + i], later[i]);
		KUNIT_EXPECT_FALSE(test, twheel_expired(w, &t[2 + i]));
	}
	advance(test, 70);
	expect_expired(test, HALF_DONE + 1 + 5);
	for (i = 5; i < ARRAY_SIZE(later); i++) {
		advance(test, later[i] - 1);
		expect_expired(test, 0);
		advance(test, later[i]);
		expect_expired(test, 1);
	}
	expect_nothing_pending(test);
}

/* All of them, wherever they are by now, get a deadline one round later. */
static void half_done_then_modified(struct kunit *test)
{
	struct twheel *w = start_half_done(test);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < HALF_DONE; i++) {
		twheel_cancel(w, &f->timer[i]);
		arm(test, &f->timer[i], 150 + i % 10);
	}
	advance(test, 149);
	expect_expired(test, 0);
	KUNIT_EXPECT_EQ(test, w->nr_pending, HALF_DONE);
	for (i = 150; i < 160; i++) {
		advance(test, i);
		expect_expired(test, HALF_DONE / 10);
	}
	expect_nothing_pending(test);
}

static void half_done_then_popped(struct kunit *test)
{
	struct twheel *w = start_half_done(test);
	struct twheel_timer *timer;
	unsigned int popped = 0;
	u64 last = 0;
	bool more;

	do {
		more = twheel_advance(w, 70, 1);
		while ((timer = twheel_pop(w))) {
			KUNIT_ASSERT_GE(test, timer->deadline, last);
			last = timer->deadline;
			popped++;
		}
	} while (more);
	KUNIT_EXPECT_EQ(test, popped, HALF_DONE);
}

static void half_done_then_jump(struct kunit *test)
{
	start_half_done(test);
	advance(test, TIME_END);
	expect_expired(test, HALF_DONE);
	expect_nothing_pending(test);
}

/* Buckets of two levels are due at the same tick, and the budget ends between. */
static void half_done_with_two_levels_due(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < HALF_DONE; i++)
		arm(test, &f->timer[i], 100 + i % 10);
	advance(test, 85);
	for (; i < 2 * HALF_DONE; i++)
		arm(test, &f->timer[i], 100 + i % 10);
	KUNIT_EXPECT_EQ(test, f->timer[0].level, 2);
	KUNIT_EXPECT_EQ(test, f->timer[2 * HALF_DONE - 1].level, 1);

	for (i = 0; twheel_advance(w, 100, 1); i++) {
		KUNIT_ASSERT_LE(test, w->now, 100);
		KUNIT_ASSERT_LT(test, i, 1000);
	}
	KUNIT_EXPECT_EQ(test, w->now, 100);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 2 * HALF_DONE / 10);
	advance(test, 109);
	expect_expired(test, 2 * HALF_DONE);
	expect_nothing_pending(test);
}

/* The same, and a time comes in between that is earlier than the one before. */
static void half_done_then_earlier_time(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;

	arm(test, &f->timer[0], 100);
	arm(test, &f->timer[1], 101);
	advance(test, 85);
	arm(test, &f->timer[2], 105);
	arm(test, &f->timer[3], 100);
	arm(test, &f->timer[4], 106);
	KUNIT_EXPECT_EQ(test, f->timer[0].level, 2);
	KUNIT_EXPECT_EQ(test, f->timer[3].level, 1);
	KUNIT_ASSERT_TRUE(test, twheel_advance(w, 100, 1));
	advance(test, 3);
	KUNIT_EXPECT_EQ(test, w->now, 99);
	advance(test, 100);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 2);
	advance(test, 106);
	expect_expired(test, 5);
	expect_nothing_pending(test);
}

/*
 * Buckets of the levels 0, 1 and 2 are due at the same tick, 9400, and level 0 was the
 * last to be filled.
 */
#define TIED	12

static struct twheel *start_tied(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	static const u64 clocks[] = { 9395, 9320, 9300 };
	unsigned int level, i;

	for (level = 3; level--;) {
		advance(test, clocks[level]);
		for (i = level; i < TIED; i += 3) {
			arm(test, &f->timer[i], 9400 + i / 9);
			KUNIT_ASSERT_EQ(test, f->timer[i].level, level);
		}
	}
	expect_next(test, 9400);
	return w;
}

/* What says that it has expired waits to be popped, and nothing else does. */
static void expect_expired_to_be_known(struct kunit *test, unsigned int count)
{
	struct fixture *f = test->priv;
	unsigned int i, expired = 0;

	for (i = 0; i < count; i++)
		expired += twheel_expired(&f->wheel, &f->timer[i]);
	KUNIT_ASSERT_EQ(test, f->wheel.nr_expired, expired);
	KUNIT_ASSERT_EQ(test, f->wheel.nr_pending, count - expired);
}

static void levels_tied_step_by_step(struct kunit *test)
{
	struct twheel *w = start_tied(test);
	unsigned int steps = 0;

	while (twheel_advance(w, 9401, 1)) {
		expect_expired_to_be_known(test, TIED);
		/* All of a tick is there before the clock goes on. */
		if (w->now > 9400)
			KUNIT_ASSERT_GE(test, w->nr_expired, 9);
		KUNIT_ASSERT_LT(test, ++steps, 10 * TIED);
	}
	expect_expired(test, TIED);
	expect_nothing_pending(test);
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
		expect_expired_to_be_known(test, ARRAY_SIZE(clocks));
	expect_expired(test, ARRAY_SIZE(clocks));
}

static void levels_tied_then_cancelled(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int steps, i;
	bool more = true;

	for (steps = 0; more; steps++) {
		struct twheel *w = start_tied(test);

		for (i = 0; i < steps; i++)
			more = twheel_advance(w, 9401, 1);
		for (i = 0; i < TIED; i++) {
			twheel_cancel(w, &f->timer[i]);
			KUNIT_ASSERT_EQ(test, w->nr_expired + w->nr_pending, TIED - 1 - i);
		}
		expect_expired(test, 0);
		expect_nothing_pending(test);
		arm(test, &f->timer[0], 9499);
		expect_expiry_at(test, 9499);
		KUNIT_ASSERT_LT(test, steps, 10 * TIED);
	}
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
		expect_expired_to_be_known(test, 2);
	expect_expired(test, 2);
}

static struct kunit_case budget_cases[] = {
	KUNIT_CASE(lowest_bucket_costs_one_step),
	KUNIT_CASE(no_budget_no_step),
	KUNIT_CASE_PARAM(work_is_bounded_by_budget, size_gen_params),
	KUNIT_CASE(half_done_then_finished),
	KUNIT_CASE(half_done_then_cancelled),
	KUNIT_CASE(half_done_then_half_cancelled),
	KUNIT_CASE(half_done_then_rest_cancelled),
	KUNIT_CASE(half_done_then_added),
	KUNIT_CASE_PARAM(crowded_bucket_is_thinned, thinned_gen_params),
	KUNIT_CASE(crowded_too_late),
	KUNIT_CASE(crowd_has_gone_when_it_is_opened),
	KUNIT_CASE(half_done_then_modified),
	KUNIT_CASE(half_done_then_popped),
	KUNIT_CASE(half_done_then_jump),
	KUNIT_CASE(half_done_with_two_levels_due),
	KUNIT_CASE(half_done_then_earlier_time),
	KUNIT_CASE(levels_tied_step_by_step),
	KUNIT_CASE(levels_tied_behind_another),
	KUNIT_CASE(levels_tied_then_cancelled),
	KUNIT_CASE_PARAM(last_tick_of_overdue_bucket_tied, size_gen_params),
	{}
};

/*
 * Cascading ahead of time. Timers are spread over the bucket of level @level that
 * begins at its @length, with the first of them: crowd enough to open it early.
 */
#define CROWD	(3 * TWHEEL_CROWD)

struct crowd {
	u32 size;
	u8 level;
	u64 length;
};

static const struct crowd crowds[] = {
	{ 2, 5, 32 }, { 3, 4, 81 }, { 10, 3, 1000 }, { 20, 1, 20 }, { 20, 2, 400 },
	{ 60, 2, 3600 }, { 256, 1, 256 }, { 256, 2, 65536 }, { 65536, 1, 65536 },
};

static void crowd_desc(const struct crowd *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "size %u, level %u", c->size, c->level);
}

KUNIT_ARRAY_PARAM(crowd, crowds, crowd_desc);

static u64 crowd_tick(const struct crowd *c, unsigned int i)
{
	return c->length + c->length * i / CROWD;
}

/* How many ticks ahead of its first timer the crowd's bucket is opened. */
static u64 crowd_lead(const struct crowd *c)
{
	return c->length / 16;
}

static struct twheel *start_crowd(struct kunit *test, u64 *early)
{
	const struct crowd *c = test->param_value;
	struct twheel *w = start(test, 1, c->size, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < CROWD; i++) {
		arm(test, &f->timer[i], crowd_tick(c, i));
		KUNIT_ASSERT_EQ(test, f->timer[i].level, c->level);
	}
	*early = c->length - crowd_lead(c);
	expect_next(test, *early);
	return w;
}

/* Wake up as twheel_next() asks: each timer expires at its very tick. */
static void expect_crowd_on_time(struct kunit *test, unsigned int count)
{
	KUNIT_EXPECT_EQ(test, sleep_through(test).expired, count);
}

/* Advance, and see whether what is left to do is ahead of its time, all of it. */
static bool only_ahead(struct kunit *test, u64 now, unsigned int budget)
{
	struct fixture *f = test->priv;
	bool more = twheel_advance(&f->wheel, now, budget);
	u64 next;

	return more && twheel_next(&f->wheel, &next) && next > now;
}

static void few_timers_open_on_time(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct fixture *f = test->priv;
	unsigned int i;

	start(test, 1, c->size, 0);
	for (i = 0; i < 30; i++)
		arm(test, &f->timer[i], crowd_tick(c, i));
	expect_next(test, c->length);
	expect_crowd_on_time(test, 30);
}

static void crowd_expires_on_time(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	u64 early;
	struct twheel *w = start_crowd(test, &early);

	expect_crowd_on_time(test, CROWD);
	/* Those that the level below does not cover yet have not moved twice. */
	KUNIT_EXPECT_LE(test, w->cascaded, CROWD * c->level);
}

/* The clock moves on while the early cascade is under way, and nothing expires. */
static void crowd_is_never_early(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	u64 early, now;
	struct twheel *w = start_crowd(test, &early);

	KUNIT_EXPECT_TRUE(test, twheel_advance(w, early, 3));
	KUNIT_EXPECT_EQ(test, w->now, early);
	for (now = early; now < c->length; now++) {
		u64 cascaded = w->cascaded;

		twheel_advance(w, now, 2);
		KUNIT_ASSERT_EQ(test, w->now, now);
		KUNIT_ASSERT_EQ(test, w->nr_expired, 0);
		KUNIT_ASSERT_LE(test, w->cascaded - cascaded, 2);
	}
	KUNIT_EXPECT_EQ(test, w->nr_pending, CROWD);
	KUNIT_EXPECT_GT(test, w->cascaded, 0);
	expect_crowd_on_time(test, CROWD);
}

/* What is due while the crowd cascades goes first: one step is enough for it. */
static void crowd_gives_way_to_due(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct fixture *f = test->priv;
	struct twheel_timer *t = &f->timer[CROWD];
	u64 early, now, armed = 0;
	struct twheel *w = start_crowd(test, &early);

	/* Two steps open the bucket; the rest of it remains. */
	KUNIT_ASSERT_TRUE(test, twheel_advance(w, early, 2));
	for (now = early + 1; now < c->length && armed < 50; now++) {
		if (now - early < c->size && place_of(c->size, early, now).level == 0)
			arm(test, &t[armed++], now);
	}
	for (now = early + 1; armed--; now++) {
		twheel_advance(w, now, 1);
		KUNIT_ASSERT_EQ(test, w->nr_expired, 1);
		expect_expired(test, 1);
	}
	expect_crowd_on_time(test, CROWD);
}

/* Timers come and go in the bucket while it cascades ahead of time. */
static void crowd_changes_meanwhile(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct fixture *f = test->priv;
	u64 early;
	struct twheel *w = start_crowd(test, &early);
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, twheel_advance(w, early, CROWD / 2));
	for (i = 0; i < CROWD; i += 2)
		twheel_cancel(w, &f->timer[i]);
	/* the same ticks again, in the bucket or where it has cascaded to */
	for (i = 0; i < CROWD; i += 4)
		arm(test, &f->timer[i], crowd_tick(c, i));
	/* new deadlines for others, in the bucket after it */
	for (i = 1; i < CROWD; i += 4) {
		twheel_cancel(w, &f->timer[i]);
		arm(test, &f->timer[i], 2 * c->length + i);
	}
	twheel_advance(w, early, 1);
	KUNIT_EXPECT_EQ(test, w->nr_pending, CROWD * 3 / 4);
	expect_crowd_on_time(test, CROWD * 3 / 4);
}

static void crowd_is_cancelled_meanwhile(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct fixture *f = test->priv;
	u64 early;
	struct twheel *w = start_crowd(test, &early);
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, twheel_advance(w, early, CROWD / 2));
	for (i = 0; i < CROWD; i++)
		twheel_cancel(w, &f->timer[CROWD - 1 - i]);
	expect_nothing_pending(test);

	/* The bucket is in use again before its cascade knows that it is over. */
	for (i = 0; i < CROWD; i++)
		arm(test, &f->timer[i], crowd_tick(c, i));
	expect_crowd_on_time(test, CROWD);
}

/* The crowd is cancelled before any of it cascades, and another one comes. */
static void crowd_comes_again(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct fixture *f = test->priv;
	u64 early;
	struct twheel *w = start_crowd(test, &early);
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		twheel_cancel(w, &f->timer[i]);
	expect_nothing_pending(test);

	arm(test, &f->timer[0], crowd_tick(c, 0));
	expect_next(test, c->length);
	for (i = 1; i < CROWD; i++)
		arm(test, &f->timer[i], crowd_tick(c, i));
	expect_next(test, early);
	expect_crowd_on_time(test, CROWD);
}

/* The clock jumps past all of it: what is left of the cascade is late work. */
static void crowd_is_overtaken(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	u64 early;
	struct twheel *w = start_crowd(test, &early);
	unsigned int calls = 0;

	KUNIT_ASSERT_TRUE(test, twheel_advance(w, early, 10));
	while (twheel_advance(w, 5 * c->length, 7))
		KUNIT_ASSERT_LT(test, ++calls, 100 * CROWD);
	KUNIT_EXPECT_EQ(test, w->now, 5 * c->length);
	expect_expired(test, CROWD);
	expect_nothing_pending(test);
}

/* A caller that spreads the early cascade over time knows that it may, and how long. */
static void early_work_is_told(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	u64 early;

	start_crowd(test, &early);
	KUNIT_EXPECT_FALSE(test, only_ahead(test, early - 1, 10));
	expect_next(test, early);
	KUNIT_EXPECT_TRUE(test, only_ahead(test, early, 10));
	expect_next(test, c->length);
	advance(test, early);
	KUNIT_EXPECT_FALSE(test, only_ahead(test, early, 10));
	expect_crowd_on_time(test, CROWD);
}

/* All of the crowd is cancelled: nothing is left that could be spread over time. */
static void early_work_vanishes(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 early;
	struct twheel *w = start_crowd(test, &early);
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, only_ahead(test, early, 10));
	for (i = 0; i < CROWD; i++)
		twheel_cancel(w, &f->timer[i]);
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, early, 1));
	expect_nothing_pending(test);
}

/* Of a crowd that has half moved few are left when the clock jumps past all of it. */
static void crowd_dwindles_and_is_overdue(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct fixture *f = test->priv;
	u64 early;
	struct twheel *w = start_crowd(test, &early);
	unsigned int i, left = 0;

	KUNIT_ASSERT_TRUE(test, twheel_advance(w, early, CROWD / 2));
	for (i = 0; i < CROWD; i++) {
		if (i % 4)
			twheel_cancel(w, &f->timer[i]);
		else
			left++;
	}
	advance(test, 3 * c->length);
	expect_expired(test, left);
	expect_nothing_pending(test);
}

/*
 * While a crowd of level 4 cascades ahead of time, buckets of level 0, 1 and 2
 * are due at the same tick: work is early work only once all of them are done.
 */
static void early_work_is_not_what_is_due(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	struct twheel_timer *t = &f->timer[CROWD];
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		arm(test, &f->timer[i], 10000 + i);
	advance(test, 9300);
	arm(test, &t[2], 9400);
	advance(test, 9320);
	arm(test, &t[1], 9400);
	KUNIT_ASSERT_TRUE(test, only_ahead(test, 9395, 2));
	arm(test, &t[0], 9400);
	KUNIT_ASSERT_EQ(test, f->timer[CROWD / 2].level, 4);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, t[i].level, i);

	for (i = 0; !only_ahead(test, 9400, 1); i++)
		KUNIT_ASSERT_LT(test, i, 10);
	KUNIT_EXPECT_EQ(test, w->now, 9400);
	KUNIT_EXPECT_EQ(test, f->timer[CROWD / 2].level, 4);
	expect_expired(test, 3);
	expect_crowd_on_time(test, CROWD);
}

/* The clock has jumped past what is due: that cannot wait, so nothing is early work. */
static void early_work_is_not_what_is_overdue(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 early;
	struct twheel *w = start_crowd(test, &early);
	unsigned int i;
	bool ahead;

	KUNIT_ASSERT_TRUE(test, twheel_advance(w, early, 2));
	arm(test, &f->timer[CROWD], early + 1);
	arm(test, &f->timer[CROWD + 1], early + 2);
	for (i = 0; w->nr_expired < 2; i++) {
		ahead = only_ahead(test, early + 2, 1);
		if (w->nr_expired < 2)
			KUNIT_EXPECT_FALSE(test, ahead);
		KUNIT_ASSERT_LT(test, i, 10 * CROWD);
	}
}

/*
 * The bucket before the crowd's has one timer, at its very end, and the clock is in it:
 * the crowd is opened its lead ahead, not only when that timer has been.
 */
static void crowd_does_not_wait_for_the_bucket_before(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct twheel *w = start(test, 1, c->size, 0);
	struct fixture *f = test->priv;
	const u64 last = 2 * c->length - 1, early = 2 * c->length - crowd_lead(c);
	unsigned int i;

	arm(test, &f->timer[CROWD], last);
	advance(test, c->length);
	KUNIT_ASSERT_EQ(test, f->timer[CROWD].level, c->level);
	for (i = 0; i < CROWD; i++) {
		arm(test, &f->timer[i], c->length + crowd_tick(c, i));
		KUNIT_ASSERT_EQ(test, f->timer[i].level, c->level);
	}
	expect_next(test, early);
	advance(test, early);
	KUNIT_EXPECT_GE(test, w->cascaded, CROWD / 2);
	expect_expired(test, early == last ? 1 : 0);
	expect_crowd_on_time(test, early == last ? CROWD : CROWD + 1);
}

/* A crowd has been opened ahead of its time, and a timer comes that is due before it. */
struct newcomer {
	u64 tick;
	u64 now;
};

static const struct newcomer newcomers[] = {
	{ 12000, 14945 }, { 14937, 14945 }, { 14970, 14945 }, { 14970, 14972 },
	{ 14999, 14945 }, { 14999, 15001 }, { 15000, 14945 }, { 15000, 15002 },
};

static void newcomer_desc(const struct newcomer *n, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "at %llu, advanced to %llu", n->tick, n->now);
}

KUNIT_ARRAY_PARAM(newcomer, newcomers, newcomer_desc);

static void crowd_is_not_first_any_more(struct kunit *test)
{
	const struct newcomer *n = test->param_value;
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	struct twheel_timer *t = &f->timer[CROWD];
	const unsigned int due = n->tick <= n->now ? 2 : 1;
	unsigned int i;

	arm(test, &t[0], 14942);
	advance(test, 11000);
	for (i = 0; i < CROWD; i++)
		arm(test, &f->timer[i], 15003 + i);
	KUNIT_ASSERT_EQ(test, t[0].level, 4);
	KUNIT_ASSERT_EQ(test, f->timer[0].level, 3);
	KUNIT_ASSERT_TRUE(test, twheel_advance(w, 14945, 1));
	KUNIT_ASSERT_TRUE(test, w->opened);

	arm(test, &t[1], n->tick);
	for (i = 0; twheel_advance(w, n->now, 1); i++) {
		KUNIT_ASSERT_TRUE(test, w->now <= n->tick || twheel_expired(w, &t[1]));
		KUNIT_ASSERT_LT(test, i, 10 * CROWD);
	}
	expect_expired(test, due);
	expect_crowd_on_time(test, CROWD + 2 - due);
}

/* The crowd comes when the time to open early has passed already. */
static void crowd_comes_late(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct twheel *w = start(test, 1, c->size, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	arm(test, &f->timer[0], crowd_tick(c, CROWD - 1));
	advance(test, c->length - 1);
	expect_expired(test, 0);
	for (i = 1; i < CROWD; i++)
		arm(test, &f->timer[i], crowd_tick(c, CROWD - 1));
	KUNIT_EXPECT_EQ(test, w->nr_pending, CROWD);
	expect_crowd_on_time(test, CROWD);
}

/* A crowd at each level: every one is opened early, and the order holds. */
static void crowds_on_every_level(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct fixture *f = test->priv;
	s64 center = 1;
	unsigned int i;

	start(test, 1, *size, 0);
	for (i = 0; i < NR_TIMERS; i++) {
		if (i % 100 == 0 && check_mul_overflow(center, (s64)*size + 1, &center))
			break;
		arm(test, &f->timer[i], add_saturated(center, i % 100 * div_s64(center, 1000)));
	}
	expect_crowd_on_time(test, i);
}

static struct kunit_case cascading_cases[] = {
	KUNIT_CASE_PARAM(few_timers_open_on_time, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_expires_on_time, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_is_never_early, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_gives_way_to_due, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_changes_meanwhile, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_is_cancelled_meanwhile, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_comes_again, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_is_overtaken, crowd_gen_params),
	KUNIT_CASE_PARAM(early_work_is_told, crowd_gen_params),
	KUNIT_CASE_PARAM(early_work_vanishes, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_dwindles_and_is_overdue, crowd_gen_params),
	KUNIT_CASE(early_work_is_not_what_is_due),
	KUNIT_CASE_PARAM(early_work_is_not_what_is_overdue, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_does_not_wait_for_the_bucket_before, crowd_gen_params),
	KUNIT_CASE_PARAM(crowd_is_not_first_any_more, newcomer_gen_params),
	KUNIT_CASE_PARAM(crowd_comes_late, crowd_gen_params),
	KUNIT_CASE_PARAM(crowds_on_every_level, size_gen_params),
	{}
};

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
	{ 2, TWHEEL_CROWD - 1, 1800000000 }, { 2, NR_TIMERS, 0 },
	{ 3, TWHEEL_CROWD - 1, 1800000000 }, { 3, NR_TIMERS, 0 },
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
				TWHEEL_CROWD);
	/* Which are cancelled later on. */
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
static void sparse_wheel_never_wakes_in_vain(struct kunit *test)
{
	const struct spread *s = test->param_value;
	struct sleeper sleeper;

	start_sparse(test);
	sleeper = sleep_through(test);
	KUNIT_EXPECT_EQ(test, sleeper.expired, s->count);
	KUNIT_EXPECT_LE(test, sleeper.fires, s->count);
	KUNIT_EXPECT_EQ(test, sleeper.in_vain, 0);
}

static const struct spread live[] = {
	{ 2, TWHEEL_CROWD - 1, 1800000000 }, { 3, TWHEEL_CROWD - 1, 1800000000 },
	{ 60, 250, 12000000000 }, { 256, 250, 1800000000 },
	{ 65536, 250, 1800000000 },
};

KUNIT_ARRAY_PARAM(live, live, spread_desc);

/* The same while every timer that expires is armed again. */
static void live_wheel_never_wakes_in_vain(struct kunit *test)
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
	KUNIT_EXPECT_EQ(test, sleeper.in_vain, 0);
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

/* Whatever was cancelled and when: in vain only at the tick of one that was. */
static void sparse_wheel_wakes_in_vain_for_cancelled(struct kunit *test)
{
	const struct spread *s = test->param_value;
	struct twheel *w = start_sparse(test);
	struct fixture *f = test->priv;
	struct sleeper sleeper = { };
	unsigned int in_vain, i, cancelled = 0;

	do {
		for (i = 0; i < s->count; i++) {
			if (f->timer[i].tag || f->timer[i].deadline <= w->time ||
			    prandom_u32_state(&f->rnd) % (s->count / 4))
				continue;
			twheel_cancel(w, &f->timer[i]);
			f->timer[i].tag = 1;
			cancelled++;
		}
		in_vain = sleeper.in_vain;
		if (!sleep_once(test, &sleeper))
			break;
		if (sleeper.in_vain > in_vain)
			KUNIT_ASSERT_TRUE(test, was_cancelled(test, w->now));
	} while (w->nr_pending);
	KUNIT_EXPECT_EQ(test, sleeper.expired + cancelled, s->count);
	KUNIT_EXPECT_LE(test, sleeper.in_vain, cancelled);
	expect_nothing_pending(test);
}

static const struct spread crowded[] = {
	{ 2, NR_TIMERS, 500000 }, { 2, NR_TIMERS, 30000000 }, { 2, NR_TIMERS, 1800000000 },
	{ 3, NR_TIMERS, 500000 }, { 3, NR_TIMERS, 30000000 }, { 3, NR_TIMERS, 1800000000 },
	{ 60, NR_TIMERS, 500000 }, { 60, NR_TIMERS, 30000000 }, { 60, NR_TIMERS, 1800000000 },
	{ 256, NR_TIMERS, 500000 }, { 256, NR_TIMERS, 30000000 },
	{ 65536, NR_TIMERS, 500000 }, { 65536, NR_TIMERS, 200000000 },
};

KUNIT_ARRAY_PARAM(crowded, crowded, spread_desc);

/* How many buckets of @length ticks, other than the clock's own, become crowded. */
static unsigned int nr_crowded(struct fixture *f, u64 length, unsigned int count)
{
	struct twheel *w = &f->wheel;
	u64 clock = div64_u64(w->now, length), number = clock;
	unsigned int i, n = 0, timers = 0;

	/* The timers are in the order of their deadlines. */
	for (i = 0; i < count; i++) {
		u64 bucket = div64_u64(plain_ceil(f->timer[i].deadline, 1000), length);

		timers = bucket == number ? timers + 1 : 1;
		number = bucket;
		n += number != clock && timers == TWHEEL_CROWD;
	}
	return n;
}

/*
 * How often a wheel may wake up ahead of time at most. A crowded bucket is opened when
 * the level below, of which a bucket is over, reaches past the first timer by all of its
 * own length but the lead. What is beyond that stays for another time, if it is crowded.
 */
static unsigned int most_ahead(struct fixture *f, unsigned int count)
{
	u64 size = f->wheel.size.divisor, below = 1;
	unsigned int level, most = 0;

	for (level = 1; level < f->wheel.nr_levels; level++) {
		u64 length = below * size, lead = length / 16;
		u64 reach = length - below + 1 - lead;

		if (lead)
			most += nr_crowded(f, length, count) *
				(1 + div64_u64(length - 1, reach));
		below = length;
	}
	return most;
}

static void crowds_wake_once_an_opening_at_most(struct kunit *test)
{
	const struct spread *s = test->param_value;
	struct fixture *f = test->priv;
	struct twheel *w = start(test, 1000, s->size, 1000);
	struct sleeper sleeper;
	unsigned int i, most;

	for (i = 0; i < s->count; i++)
		arm(test, &f->timer[i], w->time + 1 + div64_u64(s->span * i, s->count));
	most = most_ahead(f, s->count);
	sleeper = sleep_through(test);
	KUNIT_EXPECT_EQ(test, sleeper.expired, s->count);
	KUNIT_EXPECT_LE(test, sleeper.in_vain, most);
}

static struct kunit_case waking_cases[] = {
	KUNIT_CASE_PARAM(sparse_wheel_never_wakes_in_vain, sparse_gen_params),
	KUNIT_CASE_PARAM(live_wheel_never_wakes_in_vain, live_gen_params),
	KUNIT_CASE_PARAM(sparse_wheel_wakes_in_vain_for_cancelled, sparse_gen_params),
	KUNIT_CASE_PARAM(crowds_wake_once_an_opening_at_most, crowded_gen_params),
	{}
};

/* Clock */

static void clock_never_goes_back(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 1000);
	struct fixture *f = test->priv;

	arm(test, &f->timer[0], 1500);
	advance(test, 999);
	advance(test, 0);
	twheel_forward(w, 999);
	KUNIT_EXPECT_EQ(test, w->now, 1000);
	advance(test, 1499);
	advance(test, 1000);
	expect_expired(test, 0);
	advance(test, 1500);
	advance(test, 1499);
	expect_expired(test, 1);
}

/* With one loop turn for each tick these jumps would not end. */
static void empty_wheel_jumps_at_no_cost(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	unsigned int i;

	for (i = 0; i < 63; i++) {
		KUNIT_EXPECT_FALSE(test, twheel_advance(w, BIT_ULL(i), 0));
		KUNIT_EXPECT_EQ(test, w->now, BIT_ULL(i));
	}
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, TIME_END, 0));
	KUNIT_EXPECT_EQ(test, w->now, TIME_END);
	KUNIT_EXPECT_EQ(test, w->nr_levels, 0);
}

/* A timer far away costs a step for each level, however long the way is. */
static void idle_time_costs_no_steps(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;

	arm(test, &f->timer[0], TIME_END - 1);
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, TIME_END, 4 * w->nr_levels));
	expect_expired(test, 1);
}

static void clock_follows_between_buckets(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	const u64 tick = (u64)*size * *size;
	u64 now;

	arm(test, &f->timer[0], tick);
	for (now = 1; now < tick; now = now * 3 + 1) {
		KUNIT_EXPECT_FALSE(test, twheel_advance(w, now, 0));
		KUNIT_EXPECT_EQ(test, w->now, now);
	}
	expect_expiry_at(test, tick);
}

/* twheel_forward() goes as far as it can without opening a bucket. */
static void forward_stops_before_what_is_due(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	const u64 tick = 17 + (u64)*size * *size;

	twheel_forward(w, 17);
	KUNIT_EXPECT_EQ(test, w->now, 17);
	arm(test, &f->timer[0], tick);
	twheel_forward(w, TIME_END);
	KUNIT_EXPECT_EQ(test, w->now, tick - 1);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 0);
	KUNIT_EXPECT_EQ(test, w->cascaded, 0);

	/* A near timer is near, however long the wheel was idle. */
	arm(test, &f->timer[1], w->now + 1);
	KUNIT_EXPECT_EQ(test, f->timer[1].level, 0);
	advance(test, tick);
	expect_expired(test, 2);
}

static void forward_waits_for_half_done(struct kunit *test)
{
	struct twheel *w = start_half_done(test);

	twheel_forward(w, 70);
	KUNIT_EXPECT_EQ(test, w->now, 49);
	advance(test, 70);
	expect_expired(test, HALF_DONE);
}

/* A crowd moves ahead of its time, also if something else expires each time. */
static void crowd_moves_while_others_expire(struct kunit *test)
{
	struct twheel *w = start(test, 1, 256, 0);
	struct fixture *f = test->priv;
	u64 next, most = 0;
	unsigned int i;

	for (i = 0; i < 900; i++)
		arm(test, &f->timer[i], 2 * 65536 + 1 + i * 7);
	for (; i < NR_TIMERS; i++)
		arm(test, &f->timer[i], 2 * 65536 - 3000 + (i - 900) * 25);
	while (twheel_next(w, &next)) {
		u64 cascaded = w->cascaded, later;

		while (twheel_advance(w, next, 64) && twheel_next(w, &later) && later <= next)
			;
		while (twheel_pop(w))
			;
		most = max(most, w->cascaded - cascaded);
	}
	KUNIT_EXPECT_LE(test, most, 128);
}

/* Whoever wakes up when twheel_after() says does not do so in vain. */
static void after_is_not_too_early(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	unsigned int i, guesses = 0;
	u64 next;

	for (i = 0; i < NR_TIMERS; i++)
		arm(test, &f->timer[i], 1 + prandom_u32_state(&f->rnd) % 1000000);
	while (twheel_next(w, &next)) {
		u64 after = twheel_after(w);

		advance(test, next);
		while (twheel_pop(w))
			;
		if (after <= next)
			continue;
		guesses++;
		KUNIT_ASSERT_TRUE(test, twheel_next(w, &next));
		KUNIT_ASSERT_GE(test, after, next);
	}
	KUNIT_EXPECT_GT(test, guesses, NR_TIMERS / 4);
}

/* A timer a year, in microseconds, and a clock that is read once in 150 years. */
static void six_hundred_years(struct kunit *test)
{
	const u64 year = 31557600000000ULL;
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 1; i <= 600; i++)
		arm(test, &f->timer[i], i * year);
	for (i = 150; i <= 600; i += 150) {
		advance(test, i * year - 1);
		expect_expired(test, 149);
		advance(test, i * year);
		expect_expired(test, 1);
	}
	expect_nothing_pending(test);
	KUNIT_EXPECT_LE(test, w->cascaded, 600 * (w->nr_levels - 1));
}

static struct kunit_case clock_cases[] = {
	KUNIT_CASE_PARAM(clock_never_goes_back, size_gen_params),
	KUNIT_CASE_PARAM(empty_wheel_jumps_at_no_cost, size_gen_params),
	KUNIT_CASE_PARAM(idle_time_costs_no_steps, size_gen_params),
	KUNIT_CASE_PARAM(clock_follows_between_buckets, size_gen_params),
	KUNIT_CASE_PARAM(forward_stops_before_what_is_due, size_gen_params),
	KUNIT_CASE(forward_waits_for_half_done),
	KUNIT_CASE(crowd_moves_while_others_expire),
	KUNIT_CASE_PARAM(after_is_not_too_early, size_gen_params),
	KUNIT_CASE_PARAM(six_hundred_years, size_gen_params),
	{}
};

static int core_test_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	twheel_init(&f->wheel, 1, 2, 0);
	prandom_seed_state(&f->rnd, 1);
	test->priv = f;
	return 0;
}

static void core_test_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	if (f)
		twheel_destroy(&f->wheel);
}

#define CORE_SUITE(what)				\
	static struct kunit_suite what##_suite = {	\
		.name = "twheel_" #what,		\
		.init = core_test_init,			\
		.exit = core_test_exit,			\
		.test_cases = what##_cases,		\
	}

CORE_SUITE(placing);
CORE_SUITE(ordering);
CORE_SUITE(cancelling);
CORE_SUITE(budget);
CORE_SUITE(cascading);
CORE_SUITE(waking);
CORE_SUITE(clock);

kunit_test_suites(&placing_suite, &ordering_suite, &cancelling_suite,
		  &budget_suite, &cascading_suite, &waking_suite, &clock_suite);

MODULE_DESCRIPTION("KUnit tests of the timing wheel");
MODULE_LICENSE("GPL");
