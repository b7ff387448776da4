// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: placing, ordering, cancelling, budget, cascading
 * ahead of time, clock.
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

/* Give the wheel the levels that @deadline needs. */
static void grow(struct kunit *test, u64 deadline)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;

	while (w->nr_levels < twheel_levels_for(w, w->now, deadline)) {
		struct twheel_level *level;

		level = twheel_level_alloc(w, w->nr_levels, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, level);
		twheel_level_install(w, level);
	}
}

static void arm(struct kunit *test, struct twheel_timer *timer, u64 deadline)
{
	struct fixture *f = test->priv;

	timer->deadline = deadline;
	grow(test, deadline);
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

static u64 random64(struct fixture *f)
{
	u64 high = prandom_u32_state(&f->rnd);

	return high << 32 | prandom_u32_state(&f->rnd);
}

static u64 add_saturated(u64 a, u64 b)
{
	u64 sum;

	return check_add_overflow(a, b, &sum) ? U64_MAX : sum;
}

/* A tick after @now, at a distance of any order of magnitude up to @bits bits. */
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

		/* Below zero these wrap to the end of the range. */
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
		u64 deadline = random64(f) >> (i % 64);
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
	u64 expiry;
};

/* Where a timer belongs that is due at @tick, when the clock is at @now. */
static struct place place_of(u32 size, u64 now, u64 tick)
{
	struct place p = { };
	u64 length = 1, index, bucket;

	while (div64_u64(tick, length) - div64_u64(now, length) >= size) {
		length *= size;
		p.level++;
	}
	bucket = div64_u64(tick, length);
	div64_u64_rem(bucket, size, &index);
	p.index = index;
	p.expiry = bucket * length;
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
	u64 deadline;

	if (check_mul_overflow(tick, w->tick.divisor, &deadline))
		return;
	KUNIT_ASSERT_EQ_MSG(test, twheel_levels_for(w, w->now, deadline), p.level + 1,
			    "tick %llu at %llu", tick, w->now);
	KUNIT_ASSERT_EQ_MSG(test, twheel_covers(w, deadline), w->nr_levels > p.level,
			    "tick %llu at %llu", tick, w->now);
	arm(test, timer, deadline);
	KUNIT_ASSERT_EQ_MSG(test, timer->level, p.level, "tick %llu at %llu",
			    tick, w->now);
	KUNIT_ASSERT_TRUE_MSG(test, in_bucket(w, timer, &p), "tick %llu at %llu",
			      tick, w->now);
	expect_next(test, p.expiry);
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
		if (check_add_overflow(div64_u64(now, length) * length, range, &end))
			return;
		expect_place(test, end - 1);
		expect_place(test, end);
		if (end < U64_MAX)
			expect_place(test, end + 1);
	}
}

static void expect_places(struct kunit *test, u64 tick)
{
	const u32 *size = test->param_value;
	const u64 end = div64_u64(U64_MAX, tick);
	const u64 clocks[] = {
		0, 1, *size - 1, *size, (u64)*size * *size - 1,
		10000000000000001ULL, BIT_ULL(62) + 1, BIT_ULL(63) - 1,
		BIT_ULL(63), U64_MAX - *size - 1, U64_MAX - 1,
	};
	struct fixture *f = test->priv;
	unsigned int i, j;

	start(test, tick, *size, 0);
	for (i = 0; i < ARRAY_SIZE(clocks) && clocks[i] < end; i++) {
		advance(test, clocks[i]);
		expect_places_at_edges(test);
		expect_place(test, end);
		for (j = 0; j < 200; j++)
			expect_place(test, random_tick(f, clocks[i], 64));
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
		const u64 end = div64_u64(U64_MAX, lengths[i]);

		start(test, lengths[i], *size, 0);
		grow(test, end * lengths[i]);
		for (shift = 0; shift < 64; shift++) {
			const u64 now = min(end, U64_MAX >> (63 - shift));
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

/* Only where that needs no call: an empty bucket is one that does. */
static void added_quickly_or_not_at_all(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct fixture *f = test->priv;
	struct twheel_timer *timer = f->timer;
	u64 tick = 1000, n = 0;

	start(test, tick, *size, 77);
	timer[0].deadline = 78 * tick;
	KUNIT_EXPECT_FALSE(test, twheel_add_quickly(&f->wheel, &timer[0]));
	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending, 0);
	arm(test, &timer[0], 78 * tick);

	for (n = 1; n < TWHEEL_CROWD; n++) {
		timer[n].deadline = 77 * tick + n;
		if (!twheel_add_quickly(&f->wheel, &timer[n]))
			break;
	}
	KUNIT_EXPECT_EQ(test, n, is_power_of_2(*size) ? TWHEEL_CROWD : 1);
	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending, n);
	KUNIT_EXPECT_EQ(test, f->wheel.level[0]->bucket[timer[0].bucket].count, n);
	/* Due, and too far ahead. */
	timer[n].deadline = 77 * tick;
	KUNIT_EXPECT_FALSE(test, twheel_add_quickly(&f->wheel, &timer[n]));
	timer[n].deadline = U64_MAX;
	KUNIT_EXPECT_FALSE(test, twheel_add_quickly(&f->wheel, &timer[n]));
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
	u64 index;

	for (p.level = 0; p.level < 2; p.level++) {
		for (i = 0; i < 3; i++) {
			if (tick - e->bucket[p.level][i] < lengths[p.level])
				goto found;
		}
	}
	i = tick / 9;
found:
	p.expiry = c + e->bucket[p.level][i];
	div64_u64_rem(div64_u64(p.expiry, lengths[p.level]), 3, &index);
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
	expect_next(test, p.expiry);
	twheel_cancel(&f->wheel, timer);
}

static void example_buckets(struct kunit *test)
{
	/* Multiples of the longest bucket: there the table's buckets line up. */
	static const u64 starts[] = {
		0, 9, 27000000, BIT_ULL(63) / 9 * 9, U64_MAX / 9 * 9 - 27,
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

/* Only [c+3..c+5] cascades, and does so at c+3. */
static u8 example_level(unsigned int step, unsigned int tick)
{
	if (tick < (step < 3 ? 3 : 6))
		return 0;
	return tick < 9 ? 1 : 2;
}

/* Where the timers of the whole example are while the clock walks over them. */
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
		for (i = step + 1; i < 27; i++)
			KUNIT_EXPECT_EQ_MSG(test, f->timer[i].level,
					    example_level(step, i),
					    "c+%u at c+%u", i, step);
	}
	KUNIT_EXPECT_EQ(test, w->cascaded, 3);
	for (; step < 27; step++) {
		advance(test, 27 + step);
		expect_expired(test, 1);
	}
	expect_nothing_pending(test);
}

/* Delays of m intervals: the end of a level's range, where off by one shows. */
static void expect_delays_of_intervals(struct kunit *test, u64 interval)
{
	const u32 *size = test->param_value;
	const u64 multiples[] = { 1, 2, *size - 1, *size };
	struct fixture *f = test->priv;
	u64 delay, deadline;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(multiples); i++) {
		if (check_mul_overflow(interval, multiples[i], &delay) ||
		    check_add_overflow(f->wheel.now, delay, &deadline))
			continue;
		arm(test, &f->timer[0], deadline);
		expect_expiry_at(test, deadline);
	}
}

static void delay_of_exact_intervals(struct kunit *test)
{
	const u32 *size = test->param_value;
	u64 interval = 1;
	unsigned int i;

	while (!check_mul_overflow(interval, (u64)*size, &interval)) {
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

/* With the levels for a delay, a timer within it fits wherever the clock is. */
static void levels_within_suffice(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < 2000; i++) {
		u64 delay = random64(f) >> (i % 64);
		u64 now = random64(f) >> (i % 61);
		u8 levels = twheel_levels_within(w, delay);

		KUNIT_ASSERT_GE(test, levels, twheel_levels_for(w, now,
								add_saturated(now, delay)));
		/* One level more than the best case at most. */
		KUNIT_ASSERT_LE(test, levels, place_of(*size, 0, delay).level + 2);
	}
}

/* The quick answer for the levels that there are is what the search comes to. */
static void serves_what_its_levels_suffice_for(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	u64 length = 1;
	unsigned int i;

	KUNIT_EXPECT_FALSE(test, twheel_serves(w, 0));
	do {
		grow(test, add_saturated(length, length));
		for (i = 0; i < 1000; i++) {
			/* All sizes, and all around where the highest level ends. */
			u64 ticks = i % 2 ? random64(f) >> (i % 64) :
				    length * (*size - 1) + i / 2 - 250;

			KUNIT_ASSERT_EQ(test, twheel_serves(w, ticks),
					twheel_levels_within(w, ticks) <= w->nr_levels);
		}
	} while (!check_mul_overflow(length, (u64)*size, &length));
}

static void deadline_at_the_end_of_time(struct kunit *test)
{
	const u64 *tick = test->param_value;
	const u64 deadlines[] = {
		S64_MAX - 1, S64_MAX, BIT_ULL(63), BIT_ULL(63) + 1,
		U64_MAX - *tick, div64_u64(U64_MAX, *tick) * *tick,
		U64_MAX - 1, U64_MAX,
	};
	struct fixture *f = test->priv;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct twheel *w = start(test, *tick, sizes[i], 0);

		for (j = 0; j < ARRAY_SIZE(deadlines); j++)
			arm(test, &f->timer[j], deadlines[j]);
		for (j = 0; j < ARRAY_SIZE(deadlines); j++) {
			u64 expiry = plain_ceil(deadlines[j], *tick);

			if (expiry > w->now) {
				advance(test, expiry - 1);
				KUNIT_EXPECT_FALSE(test, twheel_expired(w, &f->timer[j]));
				advance(test, expiry);
			}
			KUNIT_EXPECT_TRUE(test, twheel_expired(w, &f->timer[j]));
		}
		expect_expired(test, ARRAY_SIZE(deadlines));
		expect_nothing_pending(test);
	}
}

static void clock_at_the_end_of_time(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, U64_MAX - 100);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i <= 100; i++)
		arm(test, &f->timer[i], U64_MAX - 100 + i);
	expect_expired(test, 1);
	for (i = 1; i <= 100; i++) {
		advance(test, U64_MAX - 100 + i);
		expect_expired(test, 1);
	}
	expect_nothing_pending(test);

	arm(test, &f->timer[0], U64_MAX);
	expect_expired(test, 1);
	KUNIT_EXPECT_EQ(test, w->now, U64_MAX);
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
	KUNIT_CASE_PARAM(levels_within_suffice, size_gen_params),
	KUNIT_CASE_PARAM(serves_what_its_levels_suffice_for, size_gen_params),
	KUNIT_CASE_PARAM(deadline_at_the_end_of_time, tick_gen_params),
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
	arm_random(test, NR_TIMERS, 64);
	advance(test, U64_MAX);
	expect_expired(test, NR_TIMERS);
	expect_nothing_pending(test);
}

static void jumps_of_every_length(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;
	u64 expired = 0;

	arm_random(test, NR_TIMERS, 64);
	while (w->now < U64_MAX) {
		u64 before = w->now;
		struct twheel_timer *timer;
		u64 last = before;

		advance(test, random_tick(f, before, 64));
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
	struct twheel *w = start(test, 1, *size, 99);
	unsigned int wakeups = 0, expired = 0;
	u64 tick;

	arm_random(test, NR_TIMERS, 64);
	while (twheel_next(w, &tick)) {
		struct twheel_timer *timer;

		KUNIT_ASSERT_GT(test, tick, w->now);
		advance(test, tick);
		while ((timer = twheel_pop(w))) {
			KUNIT_ASSERT_EQ(test, timer->deadline, w->now);
			expired++;
		}
		wakeups++;
	}
	KUNIT_EXPECT_EQ(test, expired, NR_TIMERS);
	KUNIT_EXPECT_EQ(test, w->nr_pending, 0);
	/* At worst each bucket on its way wakes for each timer: early and due. */
	KUNIT_EXPECT_LE(test, wakeups, 2 * NR_TIMERS * w->nr_levels);
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
	static const unsigned int counts[] = { 1, 2, 20, 32, 33, 63, 64, 65, 500 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		u64 length = arm_overdue(test, counts[i]);

		advance(test, 2 * length - 1);
		expect_expired(test, counts[i]);
		expect_nothing_pending(test);
	}
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
		arm(test, &f->timer[i], U64_MAX - i * 7 % 20);
	advance(test, U64_MAX - 1);
	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending, 1);
	advance(test, U64_MAX);
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

	arm_random(test, NR_TIMERS, 64);
	/* 7 and the number of timers have no factor in common: each comes once. */
	for (i = 0; i < NR_TIMERS; i++) {
		KUNIT_EXPECT_EQ(test, w->nr_pending, NR_TIMERS - i);
		twheel_cancel(w, &f->timer[i * 7 % NR_TIMERS]);
	}
	expect_nothing_pending(test);
	advance(test, U64_MAX);
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

	arm_random(test, NR_TIMERS, 64);
	while (more) {
		u64 cascaded = w->cascaded;
		u64 now = w->now;

		budget = calls % 5;
		more = twheel_advance(w, U64_MAX, budget);
		KUNIT_ASSERT_LE(test, w->cascaded - cascaded, budget);
		KUNIT_ASSERT_GE(test, w->now, now);
		KUNIT_ASSERT_LT(test, ++calls, 200 * NR_TIMERS);
	}
	KUNIT_EXPECT_EQ(test, w->now, U64_MAX);
	KUNIT_EXPECT_LE(test, w->cascaded, NR_TIMERS * (w->nr_levels - 1));
	expect_expired(test, NR_TIMERS);
	expect_nothing_pending(test);
}

/*
 * A cascade that is half done. 40 timers, too few to start ahead of time, are
 * due at 50 to 59, four at each; a wheel of 10 has them in one bucket of level 1.
 */
#define HALF_DONE	40

static struct twheel *start_half_done(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < HALF_DONE; i++)
		arm(test, &f->timer[i], 50 + i % 10);
	expect_next(test, 50);
	KUNIT_ASSERT_TRUE(test, twheel_advance(w, 70, 15));
	KUNIT_ASSERT_EQ(test, w->now, 50);
	KUNIT_ASSERT_GT(test, w->cascaded, 0);
	KUNIT_ASSERT_LT(test, w->cascaded, HALF_DONE);
	return w;
}

static void half_done_then_finished(struct kunit *test)
{
	struct twheel *w = start_half_done(test);

	while (w->cascaded < HALF_DONE) {
		KUNIT_ASSERT_TRUE(test, twheel_advance(w, 70, 1));
		/* Until all are placed none of a later tick may expire. */
		KUNIT_ASSERT_EQ(test, w->now, 50);
		KUNIT_ASSERT_LE(test, w->nr_expired, 4);
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
	expect_next(test, 150);
	expect_expiry_at(test, 155);
}

/* Every other timer, from those that were placed and those that were not. */
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

static void half_done_then_last_cancelled(struct kunit *test)
{
	struct twheel *w = start_half_done(test);
	struct list_head *waiting = &w->level[1]->cascade[0];
	unsigned int placed = w->cascaded;

	while (!list_empty(waiting))
		twheel_cancel(w, list_last_entry(waiting, struct twheel_timer, node));
	KUNIT_EXPECT_EQ(test, w->nr_pending + w->nr_expired, placed);
	advance(test, 70);
	expect_expired(test, placed);
	expect_nothing_pending(test);
}

/*
 * A crowded bucket has two lists. All of its timers are cancelled but every @keep-th,
 * from @first to @last, before it is opened (@when 0), when some of them have moved
 * ahead of time (1), or at its expiry (2); or it is all overdue at once (3).
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
	unsigned int first, i;

	for (first = 0; first < 100; first += 10) {
		u64 now = 4096 * (first + 1);

		advance(test, now + 638);
		for (i = 0; i < 100; i++)
			arm(test, &f->timer[i], (now + 702 + i % 2) * 1000);
		expect_next(test, now + 640);
		/* All but ten, of which those aside are none, some or all. */
		for (i = 0; i < 100; i++) {
			if (i - first >= 10)
				twheel_cancel(w, &f->timer[i]);
		}
		advance(test, now + 704);
		expect_expired(test, 10);
		expect_nothing_pending(test);
	}
}

/* To and fro across the number at which the bucket goes on with its other list. */
static void bucket_swaps_lists_again_and_again(struct kunit *test)
{
	struct twheel *w = start(test, 1000, 64, 0);
	struct fixture *f = test->priv;
	unsigned int i, j;

	for (i = 0; i < NR_TIMERS; i++) {
		arm(test, &f->timer[i], (640 + i % 64) * 1000);
		for (j = 0; i && j < 3; j++) {
			twheel_cancel(w, &f->timer[i - 1]);
			arm(test, &f->timer[i - 1], 640000);
		}
	}
	for (i = 0; i < NR_TIMERS; i += 2)
		twheel_cancel(w, &f->timer[i]);
	advance(test, 704);
	expect_expired(test, NR_TIMERS / 2);
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
	KUNIT_EXPECT_TRUE(test, twheel_expired(w, &t[1]));
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
		expect_expired(test, 4);
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
	advance(test, U64_MAX);
	expect_expired(test, HALF_DONE);
	expect_nothing_pending(test);
}

/* Buckets of two levels have the same expiry, and the budget ends between. */
static void half_done_with_two_levels_due(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < 30; i++)
		arm(test, &f->timer[i], 100 + i % 10);
	advance(test, 85);
	for (; i < 60; i++)
		arm(test, &f->timer[i], 100 + i % 10);
	KUNIT_EXPECT_EQ(test, f->timer[0].level, 2);
	KUNIT_EXPECT_EQ(test, f->timer[59].level, 1);

	for (i = 0; twheel_advance(w, 100, 1); i++) {
		KUNIT_ASSERT_LE(test, w->now, 100);
		KUNIT_ASSERT_LT(test, i, 1000);
	}
	KUNIT_EXPECT_EQ(test, w->now, 100);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 6);
	advance(test, 109);
	expect_expired(test, 60);
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
	KUNIT_EXPECT_EQ(test, w->now, 100);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 2);
	advance(test, 106);
	expect_expired(test, 5);
	expect_nothing_pending(test);
}

static struct kunit_case budget_cases[] = {
	KUNIT_CASE(lowest_bucket_costs_one_step),
	KUNIT_CASE(no_budget_no_step),
	KUNIT_CASE_PARAM(work_is_bounded_by_budget, size_gen_params),
	KUNIT_CASE(half_done_then_finished),
	KUNIT_CASE(half_done_then_cancelled),
	KUNIT_CASE(half_done_then_half_cancelled),
	KUNIT_CASE(half_done_then_last_cancelled),
	KUNIT_CASE(half_done_then_added),
	KUNIT_CASE_PARAM(crowded_bucket_is_thinned, thinned_gen_params),
	KUNIT_CASE(crowded_too_late),
	KUNIT_CASE(bucket_swaps_lists_again_and_again),
	KUNIT_CASE(half_done_then_modified),
	KUNIT_CASE(half_done_then_popped),
	KUNIT_CASE(half_done_then_jump),
	KUNIT_CASE(half_done_with_two_levels_due),
	KUNIT_CASE(half_done_then_earlier_time),
	{}
};

/*
 * Cascading ahead of time. 200 timers are spread over one bucket of level
 * @level, whose expiry is its length: crowd enough to open it early.
 */
#define CROWD	200

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
	KUNIT_ASSERT_TRUE(test, twheel_next(w, early));
	KUNIT_ASSERT_GE(test, *early, c->length - c->length / 16);
	KUNIT_ASSERT_LT(test, *early, c->length);
	return w;
}

/* Wake up as twheel_next() asks: each timer expires at its very tick. */
static void expect_crowd_on_time(struct kunit *test, unsigned int count)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	struct twheel_timer *timer;
	unsigned int expired = 0;
	u64 tick;

	while (twheel_next(w, &tick)) {
		KUNIT_ASSERT_GT(test, tick, w->now);
		advance(test, tick);
		while ((timer = twheel_pop(w))) {
			KUNIT_ASSERT_EQ(test, timer->deadline, w->now);
			expired++;
		}
	}
	KUNIT_EXPECT_EQ(test, expired, count);
	expect_nothing_pending(test);
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

/* The clock jumps past the expiry: what is left of the cascade is late work. */
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

/* What a caller that spreads the early cascade over time is told. */
static void early_work_is_told(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	u64 early, timers = 0, ticks = 0;
	struct twheel *w = start_crowd(test, &early);

	KUNIT_EXPECT_FALSE(test, twheel_early(w, w->now, &timers, &ticks));
	advance(test, early - 1);
	KUNIT_EXPECT_FALSE(test, twheel_early(w, w->now, &timers, &ticks));

	KUNIT_ASSERT_TRUE(test, twheel_advance(w, early, 10));
	KUNIT_ASSERT_TRUE(test, twheel_early(w, w->now, &timers, &ticks));
	KUNIT_EXPECT_GE(test, timers, CROWD - 10);
	KUNIT_EXPECT_LE(test, timers, CROWD);
	KUNIT_EXPECT_EQ(test, ticks, c->length - early);

	advance(test, early);
	KUNIT_EXPECT_FALSE(test, twheel_early(w, w->now, &timers, &ticks));
	expect_crowd_on_time(test, CROWD);
}

/* All of the crowd is cancelled: nothing that could be spread over time. */
static void early_work_vanishes(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 early, timers, ticks;
	struct twheel *w = start_crowd(test, &early);
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, twheel_advance(w, early, 10));
	for (i = 0; i < CROWD; i++)
		twheel_cancel(w, &f->timer[i]);
	if (twheel_early(w, w->now, &timers, &ticks))
		KUNIT_EXPECT_EQ(test, timers, 0);
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, early, 1));
	KUNIT_EXPECT_FALSE(test, twheel_early(w, w->now, &timers, &ticks));
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
	u64 timers, ticks;
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		arm(test, &f->timer[i], 10000 + i);
	advance(test, 9300);
	arm(test, &t[2], 9450);
	advance(test, 9320);
	arm(test, &t[1], 9400);
	KUNIT_ASSERT_TRUE(test, twheel_advance(w, 9395, 2));
	KUNIT_ASSERT_TRUE(test, twheel_early(w, w->now, &timers, &ticks));
	arm(test, &t[0], 9400);
	KUNIT_ASSERT_EQ(test, f->timer[CROWD / 2].level, 4);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, t[i].level, i);

	do {
		KUNIT_ASSERT_TRUE(test, twheel_advance(w, 9400, 1));
	} while (w->now < 9400 || !twheel_early(w, w->now, &timers, &ticks));
	KUNIT_EXPECT_TRUE(test, twheel_expired(w, &t[0]));
	KUNIT_EXPECT_TRUE(test, twheel_expired(w, &t[1]));
	KUNIT_EXPECT_FALSE(test, twheel_expired(w, &t[2]));
	KUNIT_EXPECT_LT(test, t[2].level, 2);
}

/* The clock has jumped past what is due: that cannot wait, so nothing is early work. */
static void early_work_is_not_what_is_overdue(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 early, timers, ticks;
	struct twheel *w = start_crowd(test, &early);

	KUNIT_ASSERT_TRUE(test, twheel_advance(w, early, 2));
	arm(test, &f->timer[CROWD], early + 1);
	arm(test, &f->timer[CROWD + 1], early + 2);
	do {
		KUNIT_ASSERT_TRUE(test, twheel_advance(w, early + 2, 1));
		if (w->nr_expired < 2)
			KUNIT_EXPECT_FALSE(test, twheel_early(w, early + 2, &timers, &ticks));
	} while (w->nr_expired < 2);
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
	u64 center = 1;
	unsigned int i;

	start(test, 1, *size, 0);
	for (i = 0; i < NR_TIMERS; i++) {
		if (i % 100 == 0 && check_mul_overflow(center, (u64)*size + 1, &center))
			break;
		arm(test, &f->timer[i], add_saturated(center, i % 100 * (center / 1000)));
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
	KUNIT_CASE_PARAM(crowd_comes_late, crowd_gen_params),
	KUNIT_CASE_PARAM(crowds_on_every_level, size_gen_params),
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

	for (i = 0; i < 64; i++) {
		KUNIT_EXPECT_FALSE(test, twheel_advance(w, BIT_ULL(i), 0));
		KUNIT_EXPECT_EQ(test, w->now, BIT_ULL(i));
	}
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, U64_MAX, 0));
	KUNIT_EXPECT_EQ(test, w->now, U64_MAX);
	KUNIT_EXPECT_EQ(test, w->nr_levels, 0);
}

/* A timer far away costs a step for each level, however long the way is. */
static void idle_time_costs_no_steps(struct kunit *test)
{
	const u32 *size = test->param_value;
	struct twheel *w = start(test, 1, *size, 0);
	struct fixture *f = test->priv;

	arm(test, &f->timer[0], U64_MAX - 1);
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, U64_MAX, 4 * w->nr_levels));
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
	twheel_forward(w, U64_MAX);
	KUNIT_EXPECT_EQ(test, w->now, place_of(*size, 17, tick).expiry - 1);
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
	KUNIT_EXPECT_EQ(test, w->now, 50);
	advance(test, 70);
	expect_expired(test, HALF_DONE);
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
CORE_SUITE(clock);

kunit_test_suites(&placing_suite, &ordering_suite, &cancelling_suite,
		  &budget_suite, &cascading_suite, &clock_suite);

MODULE_DESCRIPTION("KUnit tests of the timing wheel");
MODULE_LICENSE("GPL");
