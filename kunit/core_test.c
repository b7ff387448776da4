// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: a readable case for each promise
 *
 * Most cases run for a table of wheel sizes or of ticks. Expected results come from
 * plain divisions here, not from the functions under test.
 */
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

/* Put a new, empty wheel into the fixture, in memory that was used before. */
static struct twheel *start(struct kunit *test, u64 tick, u32 size, u64 now)
{
	struct fixture *f = test->priv;

	twheel_destroy(&f->wheel);
	memset(&f->wheel, 0x5a, sizeof(f->wheel));
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
	twheel_advance(&f->wheel, f->wheel.now, 0);
	KUNIT_ASSERT_TRUE(test, twheel_add(&f->wheel, timer));
}

/* Advance until nothing more is due at @now, and check that this ends. */
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

/* Take all expired timers: @count of them, in the order of their ticks. */
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

/* No timer is pending, and there is nothing to wake up for. */
static void expect_nothing_pending(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 tick;

	KUNIT_EXPECT_EQ(test, f->wheel.nr_pending, 0);
	KUNIT_EXPECT_FALSE(test, twheel_next(&f->wheel, &tick));
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
static bool sleep_once(struct kunit *test, struct sleeper *s)
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

static struct sleeper sleep_through(struct kunit *test)
{
	struct sleeper s = { };

	while (sleep_once(test, &s))
		;
	expect_nothing_pending(test);
	return s;
}

/* All @count timers expire at exactly their ticks, and no wake-up is spurious. */
static void expect_all_on_time(struct kunit *test, unsigned int count)
{
	struct sleeper s = sleep_through(test);

	KUNIT_EXPECT_EQ(test, s.expired, count);
	KUNIT_EXPECT_EQ(test, s.spurious, 0);
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

/* Return a tick after @now, at a distance of any order of magnitude up to @bits (63) bits. */
static u64 random_tick(struct fixture *f, u64 now, unsigned int bits)
{
	u64 delay = random64(f) >> (64 - 1 - prandom_u32_state(&f->rnd) % bits);

	return add_saturated(now, max(delay, 1ULL));
}

static u64 plain_ceil(u64 n, u64 divisor)
{
	u64 rest, quotient = div64_u64_rem(n, divisor, &rest);

	return quotient + !!rest;
}

struct place {
	u8 level;
	u32 index;
};

/* Return where a timer that is due at @tick belongs when the clock is at @now. */
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

static void arm_random(struct kunit *test, unsigned int count, unsigned int bits)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < count; i++)
		arm(test, &f->timer[i], random_tick(f, f->wheel.now, bits));
}

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

/* ---- On which level a timer is placed ---- */

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

/*
 * For several ticks, as twheel_add() divides by the tick. With a loop over all ticks, the jumps
 * of the clock would not end.
 */
static void placed_at_lowest_level_that_covers(struct kunit *test)
{
	u64 tick;

	for (tick = 1; tick <= 5; tick++)
		expect_places(test, tick);
	expect_places(test, 1000);
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

/* ---- The clock ---- */

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

/* ---- Work in steps, and changes between them ---- */

/* However many timers are due at one tick, a step expires a few of them. */
static void a_tick_expires_in_steps(struct kunit *test)
{
	struct twheel *w = start(test, 1, 256, 0);
	struct fixture *f = test->priv;
	u64 expired = 0;
	unsigned int i;

	for (i = 0; i < NR_TIMERS - 1; i++)
		arm(test, &f->timer[i], 7 + i % 2);
	KUNIT_EXPECT_TRUE(test, twheel_advance(w, 100, 0));
	KUNIT_EXPECT_EQ(test, w->nr_expired, 0);
	while (twheel_advance(w, 100, 1)) {
		KUNIT_ASSERT_GT(test, w->nr_expired, expired);
		KUNIT_ASSERT_LE(test, w->nr_expired, expired + 2 * TWHEEL_TIMERS_PER_STEP);
		KUNIT_ASSERT_EQ(test, w->nr_expired + w->nr_pending, NR_TIMERS - 1);
		KUNIT_ASSERT_EQ(test, w->now, w->nr_expired <= NR_TIMERS / 2 ? 7 : 8);
		expired = w->nr_expired;
	}
	KUNIT_EXPECT_EQ(test, w->now, 100);
	expect_expired(test, NR_TIMERS - 1);
	expect_nothing_pending(test);
}

/* However small the budget: no call does more, and the outcome is the same. */
static void work_is_bounded_by_budget(struct kunit *test) /* SECURITY: expiry */
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
 * A bucket that is half sorted: 80 timers, too many to be sorted in one step, are due at 50 to
 * 59, eight at each tick; a wheel of 10 has them in one bucket of level 1. The sort has looked at
 * 60 of them: those due at 50 have expired, the others are in bins.
 */
#define HALF_SORTED	80
#define LOOKED_AT	60

static struct twheel *start_half_sorted(struct kunit *test)
{
	struct twheel *w = start(test, 1, 10, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < HALF_SORTED; i++)
		arm(test, &f->timer[i], 50 + i % 10);
	expect_next(test, 50);
	KUNIT_ASSERT_TRUE(test, twheel_advance(w, 53, LOOKED_AT / TWHEEL_TIMERS_PER_STEP));
	KUNIT_ASSERT_EQ(test, w->now, 50);
	KUNIT_ASSERT_EQ(test, w->nr_expired, LOOKED_AT / 10);
	KUNIT_ASSERT_PTR_EQ(test, w->sort->level, w->level[1]);
	return w;
}

/* The other 20 timers and all bins take 22 steps, to expire 72 timers takes 18. */
static void half_sorted_bucket_costs_few_steps(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, twheel_advance(start_half_sorted(test), 59, 39));
	KUNIT_EXPECT_FALSE(test, twheel_advance(start_half_sorted(test), 59, 40));
	expect_expired(test, HALF_SORTED);
}

/* ---- Crowds cascade ahead of their time ---- */

/*
 * A crowd: more than enough timers to cascade ahead of their time are spread over the bucket of
 * level @level that begins at its @length, which is where the first one is due.
 */
#define CROWD	(3 * TWHEEL_EARLY_CASCADE_MIN)

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

/* In no order, except that the first timer is due first. */
static u64 crowd_tick(const struct crowd *c, unsigned int i)
{
	return c->length + c->length * (i * 5 % CROWD) / CROWD;
}

/* The first tick at which the crowd may cascade. */
static u64 crowd_lead(const struct crowd *c)
{
	return c->length - c->length / TWHEEL_LEAD_DIVISOR;
}

/* Advance to @now again and again, until @count timers have cascaded ahead of their time. */
static void cascade(struct kunit *test, u64 now, u64 count)
{
	struct fixture *f = test->priv;
	struct twheel *w = &f->wheel;
	u64 end = w->cascaded + count;
	unsigned int calls = 0;

	while (w->cascaded < end) {
		KUNIT_ASSERT_FALSE(test, twheel_advance(w, now, end - w->cascaded));
		KUNIT_ASSERT_LT(test, ++calls, CROWD);
	}
}

/* Not before its lead, and not with fewer timers. */
static void bucket_becomes_a_crowd(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct twheel *w = start(test, 1, c->size, 0);
	const unsigned int last = TWHEEL_EARLY_CASCADE_MIN - 1;
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < last; i++)
		arm(test, &f->timer[i], crowd_tick(c, i));
	arm(test, &f->timer[last], 2 * c->length - 1);
	advance(test, crowd_lead(c) - 1);
	twheel_cancel(w, &f->timer[last]);
	advance(test, crowd_lead(c));
	KUNIT_EXPECT_EQ(test, w->cascaded, 0);
	arm(test, &f->timer[last], 2 * c->length - 1);
	cascade(test, crowd_lead(c), 1);
	expect_next(test, c->length);
	/* The level below covers all but the latest: for these, the bucket is opened later. */
	for (i = 0; w->cascading_levels && i < CROWD; i++)
		twheel_advance(w, crowd_lead(c), 10);
	KUNIT_EXPECT_GT(test, w->level[c->level]->node.expires, c->length);
	expect_next(test, c->length);
	expect_all_on_time(test, TWHEEL_EARLY_CASCADE_MIN);
}

/* An advance of @budget steps, in which @due timers expire, cascades @cascaded. */
struct visit {
	unsigned int budget;
	unsigned int due;
	unsigned int cascaded;
};

static const struct visit visits[] = {
	{ 0, 0, 0 }, { 10, 0, 10 }, { TWHEEL_AHEAD_MIN, 0, TWHEEL_AHEAD_MIN },
	{ 1000, 0, TWHEEL_AHEAD_MIN }, { 1000, 1, TWHEEL_AHEAD_MIN + TWHEEL_LEAD_DIVISOR },
	{ 1000, 4, TWHEEL_AHEAD_MIN + 4 * TWHEEL_LEAD_DIVISOR },
	/* To sort four timers takes five steps, to expire them two. */
	{ 50, 4, 43 }, { 8, 4, 1 }, { 7, 4, 0 },
};

static void visit_desc(const struct visit *v, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "budget %u, %u due", v->budget, v->due);
}

KUNIT_ARRAY_PARAM(visit, visits, visit_desc);

static void visit_cascades_more_when_timers_expire(struct kunit *test)
{
	const struct visit *v = test->param_value;
	struct twheel *w = start(test, 1, 256, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		arm(test, &f->timer[i], 65536 + i);
	for (i = 0; i < v->due; i++)
		arm(test, &f->timer[CROWD + i], 65000);
	/* It has expired before, and counts no more. */
	arm(test, &f->timer[CROWD + i], 10);
	advance(test, 10);
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, 65000, v->budget));
	KUNIT_EXPECT_EQ(test, w->cascaded, v->cascaded);
	expect_expired(test, v->due + 1);
	expect_all_on_time(test, CROWD);
}

/* ---- Waking up for timers alone ---- */

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

static struct kunit_case core_cases[] = {
	KUNIT_CASE_PARAM(placed_at_lowest_level_that_covers, size_gen_params),
	KUNIT_CASE_PARAM(longest_delay_fits_anywhere, size_gen_params),
	KUNIT_CASE_PARAM(deadline_at_the_end_of_time, tick_gen_params),
	KUNIT_CASE(rewind_keeps_to_its_budget),
	KUNIT_CASE(a_tick_expires_in_steps),
	KUNIT_CASE_PARAM(work_is_bounded_by_budget, size_gen_params),
	KUNIT_CASE(half_sorted_bucket_costs_few_steps),
	KUNIT_CASE_PARAM(bucket_becomes_a_crowd, crowd_gen_params),
	KUNIT_CASE_PARAM(visit_cascades_more_when_timers_expire, visit_gen_params),
	KUNIT_CASE_PARAM(no_wake_up_is_spurious, spread_gen_params),
	KUNIT_CASE_PARAM(cancelling_causes_one_spurious_wake_up, size_gen_params),
	{}
};

static struct kunit_suite core_suite = {
	.name = "twheel_core",
	.init = core_test_init,
	.exit = core_test_exit,
	.test_cases = core_cases,
};

kunit_test_suite(core_suite);
