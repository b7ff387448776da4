// SPDX-License-Identifier: GPL-2.0-only
/*
 * A randomised KUnit test of the wheel against a model.
 *
 * Random operations are done on both, which must agree after every single one of
 * them: see model.h.
 *
 * A run is cut into episodes, each with a wheel of its own: another size, tick,
 * time of start, number of timers, and scale of time. It depends on its seed
 * only. The fuzzers do the same for longer, and with other seeds.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "model.h"

#define EPISODE_OPS	20000
#define EPISODES	10
#define MAX_TIMERS	2048

static const u64 seeds[] = { 1, 2, 3, 4 };

/**
 * struct run - a run of the test
 * @test: the KUnit test.
 * @seed: of the random numbers.
 * @op: number of operations so far.
 * @rnd: the source of chance.
 * @model: the wheel and its model.
 * @focus: a tick near which many timers are due.
 * @reach: timers are due within this many bits of ticks...
 * @stride: ... and the clock is moved by this many bits of ticks at most.
 * @nr_timers: number of timers that the episode uses.
 * @timer: all timers.
 */
struct run {
	struct kunit *test;
	u64 seed;
	unsigned int op;
	struct rnd_state rnd;

	struct model model;
	u64 focus;
	unsigned int reach;
	unsigned int stride;

	unsigned int nr_timers;
	struct model_timer timer[MAX_TIMERS];
};

static void wrong(const struct model *m, const char *file, int line, const char *what)
{
	const struct run *r = container_of(m, struct run, model);

	KUNIT_ASSERT_TRUE_MSG(r->test, false,
			      "%s:%d: not so: %s\n"
			      "seed %llu, operation %u: size %u, tick %llu, clock %llu, advanced to %llu",
			      file, line, what, r->seed, r->op, m->size, m->tick, m->wheel.now,
			      m->now);
}

/* Chance */

static u32 below(struct run *r, u32 limit)
{
	return prandom_u32_state(&r->rnd) % limit;
}

static bool one_in(struct run *r, u32 n)
{
	return !below(r, n);
}

static u64 random64(struct run *r)
{
	u64 high = prandom_u32_state(&r->rnd);

	return high << 32 | prandom_u32_state(&r->rnd);
}

/* A number of any order of magnitude, of at most @bits (63) bits. */
static u64 magnitude(struct run *r, unsigned int bits)
{
	return random64(r) >> (63 - below(r, bits));
}

/* Operations */

static void add_level(struct run *r)
{
	struct twheel *w = &r->model.wheel;
	struct twheel_level *level = twheel_level_alloc(w, w->nr_levels, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(r->test, level);
	twheel_level_install(w, level);
}

static void grow(struct run *r, u64 deadline)
{
	while (!twheel_covers(&r->model.wheel, deadline))
		add_level(r);
}

/* A deadline near or far, in the past, or amid a crowd of others. */
static u64 random_deadline(struct run *r)
{
	const struct model *m = &r->model;
	u64 tick, part;

	if (one_in(r, 500))
		r->focus = model_after(m, m->now, magnitude(r, r->reach));
	if (one_in(r, 200))
		return MODEL_TIME_END;
	if (one_in(r, 20))
		tick = m->now - min(m->now, magnitude(r, 10));
	else if (one_in(r, 2))
		tick = model_after(m, r->focus, magnitude(r, 10));
	else
		tick = model_after(m, m->now, magnitude(r, r->reach));
	if (!tick || one_in(r, 2))
		return tick * m->tick;
	/* Any time after the tick before. */
	div64_u64_rem(random64(r), m->tick, &part);
	return (tick - 1) * m->tick + 1 + part;
}

static void do_add(struct run *r, struct model_timer *t)
{
	u64 deadline = random_deadline(r);

	if (one_in(r, 4))
		model_forward(&r->model, r->model.now);
	grow(r, deadline);
	model_add(&r->model, t, deadline);
}

/* A step of the clock; or to where a bucket opens, or just before or after. */
static void do_advance(struct run *r)
{
	static const unsigned int budgets[] = { 0, 1, 2, 10, 100, 100000 };
	unsigned int budget = budgets[below(r, ARRAY_SIZE(budgets))];
	struct model *m = &r->model;
	u64 tick, now = m->now;

	if (one_in(r, 20))
		now = m->wheel.now - min(m->wheel.now, magnitude(r, 10));
	else if (!m->more && one_in(r, 3) && twheel_next(&m->wheel, &tick))
		now = max(now, model_after(m, tick - 1, below(r, 3)));
	else if (!m->more || one_in(r, 4))
		now = model_after(m, now, magnitude(r, r->stride));
	model_advance(m, now, budget);
}

static void cancel(struct run *r, struct model_timer *t)
{
	if (t->state != MODEL_IDLE)
		model_cancel(&r->model, t);
}

/* Set the clock back; sometimes forward again before the wheel has followed. */
static void do_rewind(struct run *r)
{
	struct twheel *w = &r->model.wheel;
	unsigned int calls = one_in(r, 3) ? below(r, 10) : UINT_MAX;

	/* Levels for all of time would take too much memory. */
	if (r->model.size > 1000 || !one_in(r, 10))
		return;
	while (twheel_max_delay(w) < S64_MAX)
		add_level(r);
	model_rewind(&r->model, w->now - min(w->now, magnitude(r, r->reach)), 1 + below(r, 200),
		     calls);
}

static void one_operation(struct run *r)
{
	struct model_timer *t = &r->timer[below(r, r->nr_timers)];
	u32 what = below(r, 100);

	if (what < 20) {
		do_advance(r);
	} else if (what < 40) {
		model_pop(&r->model);
	} else if (what < 50) {
		cancel(r, t);
	} else if (what < 51) {
		cancel(r, t);
		model_expire(&r->model, t);
	} else if (what < 52) {
		do_rewind(r);
	} else {
		/* A new deadline, in any state. */
		cancel(r, t);
		do_add(r, t);
	}
	r->op++;
}

/* Episodes */

static void start_episode(struct run *r)
{
	static const u32 sizes[] = { 2, 3, 10, 20, 60, 256, 65536 };
	static const u64 ticks[] = {
		1, 1, 2, 3, 7, 1000, 1000000, BIT_ULL(20), 3600000000000ULL,
	};
	u32 size = one_in(r, 4) ? 2 + below(r, 1000) : sizes[below(r, ARRAY_SIZE(sizes))];
	u64 tick = ticks[below(r, ARRAY_SIZE(ticks))];
	u64 start = min(magnitude(r, 63), div64_u64(MODEL_TIME_END - (tick - 1), tick));

	if (one_in(r, 3))
		start = 0;
	r->reach = 1 + below(r, 63);
	r->stride = 1 + below(r, r->reach);
	r->focus = start;
	r->nr_timers = MAX_TIMERS >> below(r, 10);
	model_init(&r->model, tick, size, start, wrong);
}

/* Expire everything in the wheel that ever can, in a last jump. */
static void drain(struct run *r)
{
	struct model *m = &r->model;
	unsigned int calls = 0;

	do {
		model_advance(m, m->end, 1 + below(r, 100));
		if (one_in(r, 2))
			model_pop(m);
		model_compare(m);
		MODEL_CHECK(m, ++calls < 100 * MAX_TIMERS);
	} while (m->more);
	while (model_pop(m))
		;
	if (m->nr_pending)
		MODEL_CHECK(m, model_first(m)->tick > m->end);
}

static void cancel_all(struct run *r)
{
	unsigned int i;

	for (i = 0; i < r->nr_timers; i++)
		cancel(r, &r->timer[i]);
}

static void end_episode(struct run *r)
{
	struct model *m = &r->model;

	if (one_in(r, 2))
		drain(r);
	cancel_all(r);
	model_compare(m);
	MODEL_CHECK(m, !m->nr_pending && !m->nr_expired);
	MODEL_CHECK(m, !model_pop(m));
	twheel_destroy(&m->wheel);
}

static void wheel_agrees_with_model(struct kunit *test)
{
	const u64 *seed = test->param_value;
	struct run *r = test->priv;
	unsigned int i, episode;

	r->seed = *seed;
	prandom_seed_state(&r->rnd, r->seed);
	for (episode = 0; episode < EPISODES; episode++) {
		start_episode(r);
		for (i = 0; i < EPISODE_OPS; i++) {
			one_operation(r);
			model_compare(&r->model);
		}
		end_episode(r);
	}
}

static void seed_desc(const u64 *seed, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "seed %llu", *seed);
}

KUNIT_ARRAY_PARAM(seed, seeds, seed_desc);

static struct kunit_case model_cases[] = {
	KUNIT_CASE_PARAM(wheel_agrees_with_model, seed_gen_params),
	{}
};

static int model_test_init(struct kunit *test)
{
	struct run *r = kvzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return -ENOMEM;
	r->test = test;
	model_init(&r->model, 1, 2, 0, wrong);
	test->priv = r;
	return 0;
}

static void model_test_exit(struct kunit *test)
{
	struct run *r = test->priv;

	if (r)
		twheel_destroy(&r->model.wheel);
	kvfree(r);
}

static struct kunit_suite model_suite = {
	.name = "twheel_model",
	.init = model_test_init,
	.exit = model_test_exit,
	.test_cases = model_cases,
};

kunit_test_suite(model_suite);
