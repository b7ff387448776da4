// SPDX-License-Identifier: GPL-2.0-only
/*
 * A randomised KUnit test of the wheel against a model
 *
 * Random inputs, which depend on the seed only: see fuzz.c. The fuzzers run others, for longer.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/sched.h>

#include "fuzz.h"

#define INPUTS		100
#define MAX_LENGTH	4096

static const u64 seeds[] = { 1, 2, 3, 4 };
static struct kunit *running;

static void wrong(const struct model *m, const char *file, int line, const char *what)
{
	KUNIT_ASSERT_TRUE_MSG(running, false,
			      "%s:%d: not so: %s\n"
			      "operation %llu: size %u, tick %llu, clock %llu, advanced to %llu",
			      file, line, what, fuzz_operations, m->size, m->tick, m->wheel.now,
			      m->now);
}

static void wheel_agrees_with_model(struct kunit *test)
{
	u8 *data = kunit_kzalloc(test, MAX_LENGTH, GFP_KERNEL);
	const u64 *seed = test->param_value;
	unsigned int input, i, length;
	struct rnd_state rnd;

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

static void seed_desc(const u64 *seed, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "seed %llu", *seed);
}

KUNIT_ARRAY_PARAM(seed, seeds, seed_desc);

static struct kunit_case model_cases[] = {
	KUNIT_CASE_PARAM(wheel_agrees_with_model, seed_gen_params),
	{}
};

static struct kunit_suite model_suite = {
	.name = "twheel_model",
	.test_cases = model_cases,
};

kunit_test_suite(model_suite);
