// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: work in steps, and changes between them
 */
#include "core.h"

KUNIT_ARRAY_PARAM(size, sizes, size_desc);

/* However many timers are due at one tick, a step expires a few of them. */
static void a_tick_expires_in_steps(struct kunit *test)
{
	struct twheel *w = start(test, 1, 256, 0);
	struct fixture *f = test->priv;
	u64 expired = 0;
	unsigned int i;

	for (i = 0; i < NR_TIMERS - 1; i++)
		arm(test, &f->timer[i], 7 + i % 2);
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

/* The clock is in a tick that has expired in part. */
static void a_tick_that_has_half_expired(struct kunit *test)
{
	struct twheel *w = start(test, 1, 256, 0);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < 100; i++)
		arm(test, &f->timer[i], 7);
	KUNIT_EXPECT_TRUE(test, twheel_advance(w, 20, 5));
	KUNIT_EXPECT_EQ(test, w->now, 7);
	/* Timers are added as always: due at once, or a whole ring later. */
	arm(test, &f->timer[100], 7);
	KUNIT_EXPECT_TRUE(test, twheel_expired(&f->timer[100]));
	arm(test, &f->timer[101], 7 + 256);
	KUNIT_EXPECT_EQ(test, f->timer[101].level, 1);
	for (i = 0; i < 100; i += 2)
		twheel_cancel(w, &f->timer[i]);
	KUNIT_EXPECT_EQ(test, w->nr_expired + w->nr_pending, 52);
	expect_next(test, 7);
	advance(test, 7);
	expect_expired(test, 51);
	expect_expiry_at(test, 7 + 256);
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

/* Every other timer, in bins or not. */
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

/* All timers that are in no bin yet. */
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
 * All timers of a crowded bucket from @first to @last are cancelled, except every @keep-th:
 * before it is opened (@when 0), when some of them have moved ahead of time (1), or when
 * the first is due (2); or they are all overdue at once (3).
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
		if (i % param->keep == param->keep - 1 || twheel_expired(&f->timer[i]))
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
	const unsigned int crowd = TWHEEL_EARLY_CASCADE_MIN + 10;
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
		/* Cancel all but ten, or fewer: it is not crowded any more. */
		for (i = 0; i < crowd; i++) {
			if (i - first >= 10)
				twheel_cancel(w, &f->timer[i]);
		}
		advance(test, now + 704);
		expect_expired(test, min(10U, crowd - first));
		expect_nothing_pending(test);
	}
}

/* The bucket is opened ahead of time, and is not crowded any more, several times. */
static void crowd_has_gone_when_it_is_opened(struct kunit *test)
{
	struct twheel *w = start(test, 1000, 64, 0);
	struct fixture *f = test->priv;
	unsigned int i;
	u64 early;

	for (i = 0; i < TWHEEL_EARLY_CASCADE_MIN - 1; i++)
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
	expect_expired(test, TWHEEL_EARLY_CASCADE_MIN - 1);
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
	KUNIT_EXPECT_TRUE(test, twheel_expired(&t[0]));
	KUNIT_EXPECT_FALSE(test, twheel_expired(&t[1]));
	twheel_cancel(w, &t[0]);
	for (i = 0; i < ARRAY_SIZE(later); i++) {
		arm(test, &t[2 + i], later[i]);
		KUNIT_EXPECT_FALSE(test, twheel_expired(&t[2 + i]));
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

/* All of them, wherever they are, get a deadline one round later. */
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

/* The same, with an advance to an earlier time in between. */
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

/* twheel_expired() is true of exactly the timers that wait to be popped. */
static void expect_expired_to_be_known(struct kunit *test, unsigned int count)
{
	struct fixture *f = test->priv;
	unsigned int i, expired = 0;

	for (i = 0; i < count; i++)
		expired += twheel_expired(&f->timer[i]);
	KUNIT_ASSERT_EQ(test, f->wheel.nr_expired, expired);
	KUNIT_ASSERT_EQ(test, f->wheel.nr_pending, count - expired);
}

static void levels_tied_step_by_step(struct kunit *test)
{
	struct twheel *w = start_tied(test);
	unsigned int steps = 0;

	while (twheel_advance(w, 9401, 1)) {
		expect_expired_to_be_known(test, TIED);
		/* All timers of a tick have expired before the clock moves on. */
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
	KUNIT_CASE(a_tick_expires_in_steps),
	KUNIT_CASE(a_tick_that_has_half_expired),
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

CORE_SUITE(budget);
