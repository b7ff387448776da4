// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: a readable case for each promise, and random inputs against a model
 *
 * Most cases run for a table: of wheel sizes, of ticks, or of inputs with the expected results.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/prandom.h>
#include <linux/sched.h>

#include "model.h"

#define NR_TIMERS	1000

static struct twheel wheel, *w = &wheel;
static struct twheel_timer timers[NR_TIMERS];
static struct rnd_state rnd;

/* The parameters of cases are those of the array @what##s. The text describes one of them, *p. */
#define PARAMS(what, format, ...)						\
static void what##_desc(typeof(*what##s) *p, char *desc)			\
{										\
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, format, __VA_ARGS__);		\
}										\
KUNIT_ARRAY_PARAM(what, what##s, what##_desc)

static const u32 sizes[] = { 2, 3, 10, 20, 60, 256, 65536 };

PARAMS(size, "size %u", *p);

/* Make a new, empty wheel, in memory that was used before. */
static void start(u64 tick, u32 size, u64 now)
{
	twheel_destroy(w);
	memset(w, 0x5a, sizeof(*w));
	twheel_init(w, tick, size, now);
}

static void add_level(struct kunit *test)
{
	struct twheel_level *level = twheel_level_alloc(w, w->nr_levels, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, level);
	twheel_level_install(w, level);
}

/* Add a timer, and the levels that its deadline needs. */
static void arm(struct kunit *test, struct twheel_timer *timer, u64 deadline)
{
	timer->deadline = deadline;
	while (!model_covers(w, deadline))
		add_level(test);
	twheel_advance(w, w->now, 0);
	KUNIT_ASSERT_TRUE(test, twheel_add(w, timer));
}

/* Advance until nothing more is due at @now, and check that this ends. */
static void advance(struct kunit *test, u64 now)
{
	unsigned int calls = 0;

	while (twheel_advance(w, now, 100))
		KUNIT_ASSERT_LT(test, ++calls, 100 * NR_TIMERS);
	KUNIT_ASSERT_EQ(test, w->now, now);
}

/* Take all expired timers: @count of them, in the order of their ticks. */
static void expect_expired(struct kunit *test, unsigned int count)
{
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
	u64 tick;

	KUNIT_ASSERT_TRUE(test, twheel_next(w, &tick));
	KUNIT_EXPECT_EQ(test, tick, expected);
}

/*
 * Sleep until twheel_next() again and again. @count timers expire, each at exactly its tick.
 * Return how many wake-ups found no timer due.
 */
static unsigned int sleep_through(struct kunit *test, unsigned int count)
{
	unsigned int expired = 0, spurious = 0, fires = 0;
	struct twheel_timer *timer;
	u64 tick;

	while (twheel_next(w, &tick)) {
		KUNIT_ASSERT_GT(test, tick, w->now);
		KUNIT_ASSERT_LT(test, ++fires, 100 * NR_TIMERS);
		advance(test, tick);
		spurious += !w->nr_expired;
		for (; (timer = twheel_pop(w)); expired++)
			KUNIT_ASSERT_EQ(test, twheel_tick(w, timer->deadline), w->now);
	}
	KUNIT_EXPECT_EQ(test, expired, count);
	KUNIT_EXPECT_EQ(test, w->nr_pending, 0);
	return spurious;
}

static u64 random64(void)
{
	u64 high = prandom_u32_state(&rnd);

	return high << 32 | prandom_u32_state(&rnd);
}

/* Return a tick after @now, at a distance of any order of magnitude. */
static u64 random_tick(u64 now)
{
	u64 delay = random64() >> (1 + prandom_u32_state(&rnd) % 63);

	return min(now + max(delay, 1ULL), MODEL_TIME_END);
}

static int core_test_init(struct kunit *test)
{
	prandom_seed_state(&rnd, 1);
	return 0;
}

static void core_test_exit(struct kunit *test)
{
	twheel_destroy(w);
}

/* ---- On which level a timer is placed ---- */

/* A timer that is due at @tick belongs in @bucket of @level when the clock is at @now. */
static const struct place {
	u32 size;
	u64 now;
	u64 tick;
	u8 level;
	u16 bucket;
} places[] = {
	{ 10, 0, 1, 0, 1 }, { 10, 0, 9, 0, 9 }, { 10, 0, 10, 1, 1 }, { 10, 0, 99, 1, 9 },
	{ 10, 0, 100, 2, 1 },
	/* The range of a level begins with the bucket that the clock is in. */
	{ 10, 15, 24, 0, 4 }, { 10, 15, 25, 1, 2 }, { 10, 15, 109, 1, 0 }, { 10, 15, 110, 2, 1 },
	{ 10, 999, 1008, 0, 8 }, { 10, 999, 1009, 1, 0 }, { 10, 999, 1089, 1, 8 },
	{ 10, 999, 1090, 2, 0 },
	/* At 0, the levels cover ticks up to 2, 8 and 26; at 1, to 3, 8, 26; at 3, to 5, 11, 26. */
	{ 3, 0, 2, 0, 2 }, { 3, 0, 3, 1, 1 }, { 3, 0, 8, 1, 2 }, { 3, 0, 9, 2, 1 },
	{ 3, 1, 3, 0, 0 }, { 3, 1, 4, 1, 1 }, { 3, 1, 8, 1, 2 }, { 3, 1, 9, 2, 1 },
	{ 3, 3, 5, 0, 2 }, { 3, 3, 6, 1, 2 }, { 3, 3, 11, 1, 0 }, { 3, 3, 12, 2, 1 },
	{ 3, 0, 26, 2, 2 }, { 3, 1, 26, 2, 2 }, { 3, 3, 26, 2, 2 }, { 3, 3, 27, 3, 1 },
};

PARAMS(place, "size %u, tick %llu at %llu", p->size, p->tick, p->now);

/* Random inputs check the same for all sizes and ticks: see fuzz.c. */
static void placed_at_lowest_level_that_covers(struct kunit *test)
{
	const struct place *p = test->param_value;

	start(1, p->size, p->now);
	arm(test, &timers[0], p->tick);
	KUNIT_EXPECT_EQ(test, timers[0].level, p->level);
	KUNIT_EXPECT_EQ(test, timers[0].bucket, p->bucket);
	expect_next(test, p->tick);
}

/* It fits at any time in any tick, and one unit more does not always. */
static void longest_delay_fits_anywhere(struct kunit *test)
{
	const u32 *size = test->param_value;
	u64 length = 1, longest;

	start(1000, *size, 0);
	KUNIT_EXPECT_EQ(test, twheel_max_delay(w), 0);
	for (add_level(test); twheel_max_delay(w) < S64_MAX / 4; add_level(test)) {
		longest = twheel_max_delay(w);
		/* In the last tick of a bucket, the least of the level is left. */
		advance(test, 2 * length - 1);
		KUNIT_EXPECT_TRUE(test, model_covers(w, w->time + 999 + longest));
		KUNIT_EXPECT_FALSE(test, model_covers(w, w->time + 1000 + longest));
		length *= *size;
	}
	while (twheel_max_delay(w) < S64_MAX)
		add_level(test);
	KUNIT_EXPECT_TRUE(test, model_covers(w, S64_MAX));
}

/* ---- The clock ---- */

/* To take a timer out of the wheel is a move, and so is to place it again. */
static void rewind_keeps_to_its_budget(struct kunit *test)
{
	unsigned int i, placed = 0;

	start(1, 256, 1000);
	while (twheel_max_delay(w) < S64_MAX)
		add_level(test);
	for (i = 0; i < 100; i++)
		arm(test, &timers[i], 2000 + i);
	KUNIT_EXPECT_TRUE(test, twheel_rewind(w, 500, 150));
	for (i = 0; i < 100; i++)
		placed += twheel_in_bucket(&timers[i]);
	KUNIT_EXPECT_EQ(test, placed, 50);
	KUNIT_EXPECT_FALSE(test, twheel_rewind(w, 500, 51));
	advance(test, 2099);
	expect_expired(test, 100);
}

/* ---- Work in steps ---- */

/*
 * Too many timers to be sorted in one step are due at 50 to 59, eight at each tick; a wheel of 10
 * has them in one bucket of level 1.
 */
static void half_sorted_bucket_costs_few_steps(struct kunit *test)
{
	unsigned int i;

	start(1, 10, 0);
	for (i = 0; i < 80; i++)
		arm(test, &timers[i], 50 + i % 10);
	/* The sort looks at 60 of them: those due at 50 expire, the others go to bins. */
	KUNIT_EXPECT_TRUE(test, twheel_advance(w, 53, 60 / TWHEEL_TIMERS_PER_STEP));
	KUNIT_EXPECT_EQ(test, w->now, 50);
	KUNIT_EXPECT_EQ(test, w->nr_expired, 6);
	/* The other 20 timers and all bins take 22 steps, to expire 72 timers takes 18. */
	KUNIT_EXPECT_TRUE(test, twheel_advance(w, 59, 39));
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, 59, 1));
	expect_expired(test, 80);
}

/* ---- Crowds cascade ahead of their time ---- */

/*
 * A crowd: more than enough timers to cascade ahead of their time are spread over the bucket of
 * level @level that begins at its @length, which is where the first one is due.
 */
#define CROWD	(3 * TWHEEL_EARLY_CASCADE_MIN)

static const struct crowd {
	u32 size;
	u8 level;
	u64 length;
} crowds[] = {
	{ 2, 5, 32 }, { 3, 4, 81 }, { 10, 3, 1000 }, { 20, 1, 20 }, { 20, 2, 400 },
	{ 60, 2, 3600 }, { 256, 1, 256 }, { 256, 2, 65536 }, { 65536, 1, 65536 },
};

PARAMS(crowd, "size %u, level %u", p->size, p->level);

/* Not before its lead, and not with fewer timers. */
static void bucket_becomes_a_crowd(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	/* The first tick at which the crowd may cascade. */
	const u64 lead = c->length - c->length / TWHEEL_LEAD_DIVISOR;
	const unsigned int last = TWHEEL_EARLY_CASCADE_MIN - 1;
	unsigned int i;

	start(1, c->size, 0);
	/* In no order, except that the first timer is due first. */
	for (i = 0; i < last; i++)
		arm(test, &timers[i], c->length + c->length * (i * 5 % CROWD) / CROWD);
	arm(test, &timers[last], 2 * c->length - 1);
	advance(test, lead - 1);
	twheel_cancel(w, &timers[last]);
	advance(test, lead);
	KUNIT_EXPECT_EQ(test, w->cascaded, 0);
	arm(test, &timers[last], 2 * c->length - 1);
	for (i = 0; !w->cascaded && i < CROWD; i++)
		twheel_advance(w, lead, 1);
	KUNIT_EXPECT_EQ(test, w->cascaded, 1);
	expect_next(test, c->length);
	/* The level below covers all but the latest: for these, the bucket is opened later. */
	for (i = 0; w->cascading_levels && i < CROWD; i++)
		twheel_advance(w, lead, 10);
	KUNIT_EXPECT_GT(test, w->level[c->level]->node.expires, c->length);
	expect_next(test, c->length);
	KUNIT_EXPECT_EQ(test, sleep_through(test, TWHEEL_EARLY_CASCADE_MIN), 0);
}

/* An advance of @budget steps, in which @due timers expire, cascades @cascaded. */
static const struct visit {
	unsigned int budget;
	unsigned int due;
	unsigned int cascaded;
} visits[] = {
	{ 0, 0, 0 }, { 10, 0, 10 }, { TWHEEL_AHEAD_MIN, 0, TWHEEL_AHEAD_MIN },
	{ 1000, 0, TWHEEL_AHEAD_MIN }, { 1000, 1, TWHEEL_AHEAD_MIN + TWHEEL_LEAD_DIVISOR },
	{ 1000, 4, TWHEEL_AHEAD_MIN + 4 * TWHEEL_LEAD_DIVISOR },
	/* To sort four timers takes five steps, to expire them two. */
	{ 50, 4, 43 }, { 8, 4, 1 }, { 7, 4, 0 },
};

PARAMS(visit, "budget %u, %u due", p->budget, p->due);

static void visit_cascades_more_when_timers_expire(struct kunit *test)
{
	const struct visit *v = test->param_value;
	unsigned int i;

	start(1, 256, 0);
	for (i = 0; i < CROWD; i++)
		arm(test, &timers[i], 65536 + i);
	for (i = 0; i < v->due; i++)
		arm(test, &timers[CROWD + i], 65000);
	/* It has expired before, and counts no more. */
	arm(test, &timers[CROWD + i], 10);
	advance(test, 10);
	KUNIT_EXPECT_FALSE(test, twheel_advance(w, 65000, v->budget));
	KUNIT_EXPECT_EQ(test, w->cascaded, v->cascaded);
	expect_expired(test, v->due + 1);
	KUNIT_EXPECT_EQ(test, sleep_through(test, CROWD), 0);
}

/* ---- Waking up for timers alone ---- */

/*
 * Timers with deadlines all over the next @span units of time, of which a tick has 1,000; or,
 * with @span 0, at distances of every magnitude. The shortest span makes crowds.
 */
static const struct spread {
	u32 size;
	u64 span;
} spreads[] = {
	{ 2, 500000 }, { 2, 1800000000 }, { 2, 0 }, { 3, 500000 }, { 3, 1800000000 }, { 3, 0 },
	{ 60, 500000 }, { 60, 12000000000 }, { 60, 0 }, { 256, 500000 }, { 256, 1800000000 },
	{ 256, 0 }, { 65536, 500000 }, { 65536, 1800000000 }, { 65536, 0 },
};

PARAMS(spread, "size %u, span %llu", p->size, p->span);

static void no_wake_up_is_spurious(struct kunit *test)
{
	const struct spread *s = test->param_value;
	unsigned int i;
	u64 delay;

	start(1000, s->size, 1000);
	for (i = 0; i < NR_TIMERS; i++) {
		div64_u64_rem(random64(), s->span ?: 1, &delay);
		arm(test, &timers[i], s->span ? w->time + 1 + delay : random_tick(w->time));
	}
	KUNIT_EXPECT_EQ(test, sleep_through(test, NR_TIMERS), 0);
}

/* Cancelling the first timer of a bucket costs one spurious wake-up; any other, none. */
static void cancelling_causes_one_spurious_wake_up(struct kunit *test)
{
	const u32 *size = test->param_value;
	const u64 tick = (u64)*size * *size;
	unsigned int i;

	start(1, *size, 0);
	for (i = 0; i < 4; i++)
		arm(test, &timers[i], tick + i);
	twheel_cancel(w, &timers[3]);
	KUNIT_EXPECT_EQ(test, sleep_through(test, 3), 0);

	for (i = 0; i < 4; i++)
		arm(test, &timers[i], 2 * tick + i);
	twheel_cancel(w, &timers[0]);
	twheel_cancel(w, &timers[1]);
	KUNIT_EXPECT_LE(test, sleep_through(test, 2), 1);
}

/* ---- Random inputs against a model ---- */

#define INPUTS		100
#define MAX_LENGTH	4096

static struct kunit *running;

static void wrong(const struct model *m, const char *file, int line, const char *what)
{
	KUNIT_ASSERT_TRUE_MSG(running, false,
			      "%s:%d: not so: %s\n"
			      "operation %llu: size %u, tick %llu, clock %llu, advanced to %llu",
			      file, line, what, fuzz_operations, m->size, m->tick, m->wheel.now,
			      m->now);
}

static const u64 seeds[] = { 1, 2, 3, 4 };

PARAMS(seed, "seed %llu", *p);

/* The inputs depend on the seed only. The fuzzers run others, for longer. */
static void wheel_agrees_with_model(struct kunit *test)
{
	u8 *data = kunit_kzalloc(test, MAX_LENGTH, GFP_KERNEL);
	const u64 *seed = test->param_value;
	unsigned int input, i, length;

	KUNIT_ASSERT_NOT_NULL(test, data);
	running = test;
	fuzz_operations = 0;
	prandom_seed_state(&rnd, *seed);
	for (input = 0; input < INPUTS; input++) {
		length = prandom_u32_state(&rnd) % MAX_LENGTH;
		for (i = 0; i < length; i++)
			data[i] = prandom_u32_state(&rnd);
		fuzz_one(data, length, wrong);
		cond_resched();
	}
}

static struct kunit_case core_cases[] = {
	KUNIT_CASE_PARAM(placed_at_lowest_level_that_covers, place_gen_params),
	KUNIT_CASE_PARAM(longest_delay_fits_anywhere, size_gen_params),
	KUNIT_CASE(rewind_keeps_to_its_budget),
	KUNIT_CASE(half_sorted_bucket_costs_few_steps),
	KUNIT_CASE_PARAM(bucket_becomes_a_crowd, crowd_gen_params),
	KUNIT_CASE_PARAM(visit_cascades_more_when_timers_expire, visit_gen_params),
	KUNIT_CASE_PARAM(no_wake_up_is_spurious, spread_gen_params),
	KUNIT_CASE_PARAM(cancelling_causes_one_spurious_wake_up, size_gen_params),
	KUNIT_CASE_PARAM(wheel_agrees_with_model, seed_gen_params),
	{}
};

static struct kunit_suite core_suite = {
	.name = "twheel_core",
	.init = core_test_init,
	.exit = core_test_exit,
	.test_cases = core_cases,
};

kunit_test_suite(core_suite);
