// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the wheel: crowds cascade ahead of their time
 */
#include "core.h"

KUNIT_ARRAY_PARAM(size, sizes, size_desc);

/*
 * Cascading ahead of time. Enough timers to open it early are spread over the bucket of
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

/* Wake up at the ticks of twheel_next(): each timer expires at exactly its tick. */
static void expect_crowd_on_time(struct kunit *test, unsigned int count)
{
	KUNIT_EXPECT_EQ(test, sleep_through(test).expired, count);
}

/* Advance, and return whether all work that is left is ahead of its time. */
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
	/* Timers that the level below does not cover yet have not moved twice. */
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

/* A timer that is due while the crowd cascades goes first: one step is enough for it. */
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

	/* The bucket is in use again before its cascade has ended. */
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

/* The clock jumps past all of it: the rest of the cascade is late work. */
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

/* A caller can spread the early cascade over time: twheel_next() shows the end. */
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

/* Few timers are left of a half-moved crowd when the clock jumps past all of it. */
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

/* The clock has jumped past due timers, which cannot wait: nothing is early work. */
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

/* A crowd has been opened ahead of its time, and a timer is added that is due before it. */
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
	KUNIT_ASSERT_TRUE(test, w->cascading_levels);

	arm(test, &t[1], n->tick);
	for (i = 0; twheel_advance(w, n->now, 1); i++) {
		KUNIT_ASSERT_TRUE(test, w->now <= n->tick || twheel_expired(&t[1]));
		KUNIT_ASSERT_LT(test, i, 10 * CROWD);
	}
	expect_expired(test, due);
	expect_crowd_on_time(test, CROWD + 2 - due);
}

/* The crowd is added after the time to open it early. */
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

CORE_SUITE(cascading);
