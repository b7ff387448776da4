// SPDX-License-Identifier: GPL-2.0-only
/*
 * A randomised KUnit test of the wheel against a model.
 *
 * The model is a tree of pending timers sorted by tick and a list of expired
 * ones. The same random operations are done on the wheel and on the model:
 * both must agree on what is pending and what has expired after every single
 * operation, and on the order in which timers expire.
 *
 * A run is cut into episodes, each with a wheel of its own: another size, tick,
 * time of start, number of timers, and scale of time. It depends on its seed
 * only. To replay one, or to try others:
 *
 *	insmod twheel_kunit.ko seed=7 ops=5000000
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/prandom.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../twheel.h"

#define EPISODE_OPS	20000
#define MAX_TIMERS	2048

/* The last time there is: those of a ktime_t. */
#define TIME_END	((u64)S64_MAX)

static unsigned long long seed[] = { 1, 2, 3, 4 };
static unsigned int nr_seeds = ARRAY_SIZE(seed);
module_param_array(seed, ullong, &nr_seeds, 0444);
MODULE_PARM_DESC(seed, "seeds of the model test's runs, at most 4");

static unsigned int ops = 1000000;
module_param(ops, uint, 0444);
MODULE_PARM_DESC(ops, "number of operations in each run of the model test");

enum state {
	IDLE,
	PENDING,
	EXPIRED,
};

/**
 * struct model_timer - a timer of the wheel and what the model knows of it
 * @timer: the wheel's.
 * @node: its place among the pending timers of the model.
 * @expired: its place among the expired timers of the model.
 * @tick: when it is due.
 * @turn: when it expired. Timers of one tick that expire in the wheel have the
 *	same turn, for among them any order is right.
 * @state: what it is doing.
 */
struct model_timer {
	struct twheel_timer timer;
	struct rb_node node;
	struct list_head expired;
	u64 tick;
	u64 turn;
	enum state state;
};

/**
 * struct model - one run
 * @test: the KUnit test.
 * @seed: what the run depends on.
 * @op: number of operations so far.
 * @rnd: the source of chance.
 * @wheel: the wheel under test.
 * @size: its size.
 * @tick: the length of its tick.
 * @end: its last tick. A deadline after that never comes.
 * @now: the time, in ticks: where the wheel's clock was last told to go.
 * @more: the wheel said that it has not got there yet, or has other work.
 * @focus: a tick near which many timers are due.
 * @reach: timers are due within this many bits of ticks...
 * @stride: ... and the clock is moved by this many bits of ticks at most.
 * @pending: the pending timers, ordered by tick.
 * @nr_pending: number of them.
 * @expired: the expired timers, oldest first.
 * @nr_expired: number of them.
 * @turn: the last turn that was given to an expired timer.
 * @last: the last tick that expired in the wheel.
 * @turn_open: the next timer that expires at @last has turn @turn too.
 * @nr_timers: number of timers that the episode uses.
 * @timer: all timers.
 */
struct model {
	struct kunit *test;
	u64 seed;
	unsigned int op;
	struct rnd_state rnd;

	struct twheel wheel;
	u32 size;
	u64 tick;
	u64 end;
	u64 now;
	bool more;
	u64 focus;
	unsigned int reach;
	unsigned int stride;

	struct rb_root_cached pending;
	u64 nr_pending;
	struct list_head expired;
	u64 nr_expired;
	u64 turn;
	u64 last;
	bool turn_open;

	unsigned int nr_timers;
	struct model_timer timer[MAX_TIMERS];
};

/* An assertion that says where in which run it failed. */
#define MODEL_ASSERT(m, left, op_, right)					\
do {										\
	const struct model *__m = (m);						\
										\
	KUNIT_ASSERT_##op_##_MSG(__m->test, left, right,			\
				 "seed %llu, operation %u: size %u, tick %llu, clock %llu", \
				 __m->seed, __m->op, __m->size, __m->tick,	\
				 __m->wheel.now);				\
} while (0)

/* Chance */

static u32 below(struct model *m, u32 limit)
{
	return prandom_u32_state(&m->rnd) % limit;
}

static bool one_in(struct model *m, u32 n)
{
	return !below(m, n);
}

static u64 random64(struct model *m)
{
	u64 high = prandom_u32_state(&m->rnd);

	return high << 32 | prandom_u32_state(&m->rnd);
}

/* A number of any order of magnitude, of at most @bits (63) bits. */
static u64 magnitude(struct model *m, unsigned int bits)
{
	return random64(m) >> (63 - below(m, bits));
}

static u64 after(const struct model *m, u64 tick, u64 delay)
{
	u64 sum;

	return check_add_overflow(tick, delay, &sum) ? m->end : min(sum, m->end);
}

/* The model's timers */

static bool earlier(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct model_timer, node)->tick <
	       rb_entry(b, struct model_timer, node)->tick;
}

static struct model_timer *first_pending(const struct model *m)
{
	return rb_entry_safe(rb_first_cached(&m->pending), struct model_timer, node);
}

static struct model_timer *next_pending(struct model_timer *t)
{
	return rb_entry_safe(rb_next(&t->node), struct model_timer, node);
}

static void model_expire(struct model *m, struct model_timer *t)
{
	t->state = EXPIRED;
	t->turn = m->turn;
	list_add_tail(&t->expired, &m->expired);
	m->nr_expired++;
}

/* Expired on the spot: its turn is its own. */
static void model_expire_at_once(struct model *m, struct model_timer *t)
{
	m->turn++;
	m->turn_open = false;
	model_expire(m, t);
}

/* Expired in the wheel: never after a later tick. */
static void model_expire_in_wheel(struct model *m, struct model_timer *t)
{
	MODEL_ASSERT(m, t->tick, GE, m->last);
	if (t->tick != m->last || !m->turn_open)
		m->turn++;
	m->turn_open = true;
	m->last = t->tick;
	rb_erase_cached(&t->node, &m->pending);
	m->nr_pending--;
	model_expire(m, t);
}

static void model_add(struct model *m, struct model_timer *t)
{
	if (t->tick <= m->wheel.now) {
		model_expire_at_once(m, t);
		return;
	}
	t->state = PENDING;
	rb_add_cached(&t->node, &m->pending, earlier);
	m->nr_pending++;
}

static void model_remove(struct model *m, struct model_timer *t)
{
	if (t->state == PENDING) {
		rb_erase_cached(&t->node, &m->pending);
		m->nr_pending--;
	} else {
		list_del(&t->expired);
		m->nr_expired--;
	}
	t->state = IDLE;
}

/*
 * Follow the wheel's clock. Whatever it has passed has expired; only as long as
 * there is more work may timers that are due at this very tick be waiting.
 */
static void model_follow(struct model *m)
{
	u64 clock = m->wheel.now;
	struct model_timer *t, *next;

	for (t = first_pending(m); t && t->tick <= clock; t = next) {
		next = next_pending(t);
		if (m->more && t->tick == clock && !twheel_expired(&m->wheel, &t->timer))
			continue;
		MODEL_ASSERT(m, twheel_expired(&m->wheel, &t->timer), EQ, true);
		model_expire_in_wheel(m, t);
	}
}

/* What both must agree on at any time. */
static void compare(struct model *m)
{
	struct model_timer *first = first_pending(m);
	u64 tick;

	MODEL_ASSERT(m, m->wheel.nr_pending, EQ, m->nr_pending);
	MODEL_ASSERT(m, m->wheel.nr_expired, EQ, m->nr_expired);
	if (!first) {
		MODEL_ASSERT(m, twheel_next(&m->wheel, &tick), EQ, false);
	} else {
		MODEL_ASSERT(m, twheel_next(&m->wheel, &tick), EQ, true);
		MODEL_ASSERT(m, tick, LE, first->tick);
	}
}

/* Operations, on the wheel and on the model */

static void grow(struct model *m, u64 deadline)
{
	struct twheel *w = &m->wheel;

	while (w->nr_levels < twheel_levels_for(w, w->now, deadline)) {
		struct twheel_level *level;

		level = twheel_level_alloc(w, w->nr_levels, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(m->test, level);
		twheel_level_install(w, level);
	}
}

/* A deadline near or far, in the past, or amid a crowd of others. */
static u64 random_deadline(struct model *m)
{
	u64 tick, part;

	if (one_in(m, 500))
		m->focus = after(m, m->now, magnitude(m, m->reach));
	if (one_in(m, 200))
		return TIME_END;
	if (one_in(m, 20))
		tick = m->now - min(m->now, magnitude(m, 10));
	else if (one_in(m, 2))
		tick = after(m, m->focus, magnitude(m, 10));
	else
		tick = after(m, m->now, magnitude(m, m->reach));
	if (!tick || one_in(m, 2))
		return tick * m->tick;
	/* Any time after the tick before. */
	div64_u64_rem(random64(m), m->tick, &part);
	return (tick - 1) * m->tick + 1 + part;
}

static void do_add(struct model *m, struct model_timer *t)
{
	u64 deadline = random_deadline(m), rest;

	t->timer.deadline = deadline;
	t->tick = div64_u64_rem(deadline, m->tick, &rest);
	t->tick += !!rest;
	if (one_in(m, 4))
		twheel_forward(&m->wheel, m->now);
	grow(m, deadline);
	MODEL_ASSERT(m, twheel_add(&m->wheel, &t->timer), EQ, true);
	model_add(m, t);
	MODEL_ASSERT(m, twheel_expired(&m->wheel, &t->timer), EQ, t->state == EXPIRED);
}

static void do_cancel(struct model *m, struct model_timer *t)
{
	MODEL_ASSERT(m, twheel_expired(&m->wheel, &t->timer), EQ, t->state == EXPIRED);
	twheel_cancel(&m->wheel, &t->timer);
	model_remove(m, t);
}

static void do_expire(struct model *m, struct model_timer *t)
{
	twheel_expire(&m->wheel, &t->timer);
	model_expire_at_once(m, t);
}

static void do_pop(struct model *m)
{
	struct model_timer *first, *t;
	struct twheel_timer *popped = twheel_pop(&m->wheel);

	first = list_first_entry_or_null(&m->expired, struct model_timer, expired);
	MODEL_ASSERT(m, !popped, EQ, !first);
	if (!popped)
		return;
	t = container_of(popped, struct model_timer, timer);
	MODEL_ASSERT(m, t->state, EQ, EXPIRED);
	MODEL_ASSERT(m, t->turn, EQ, first->turn);
	model_remove(m, t);
}

/*
 * What the wheel says is left to do at @now, and when to come again, is so. Work ahead of
 * its time gives way to the clock and to what is due.
 */
static void compare_next(struct model *m, u64 now)
{
	struct model_timer *first = first_pending(m);
	bool due = first && first->tick <= now;
	u64 tick;

	if (!twheel_next(&m->wheel, &tick))
		MODEL_ASSERT(m, m->more, EQ, false);
	else if (!m->more)
		MODEL_ASSERT(m, tick, GT, now);
	else if (tick > now)
		MODEL_ASSERT(m, m->wheel.now, EQ, now);
	else
		return;
	MODEL_ASSERT(m, due, EQ, false);
}

static void advance(struct model *m, u64 now, unsigned int budget)
{
	u64 before = m->wheel.now;

	m->now = max(m->now, now);
	m->more = twheel_advance(&m->wheel, now, budget);
	MODEL_ASSERT(m, m->wheel.now, GE, before);
	MODEL_ASSERT(m, m->wheel.now, LE, m->now);
	if (!m->more)
		MODEL_ASSERT(m, m->wheel.now, EQ, max(before, now));
	model_follow(m);
	compare_next(m, max(before, now));
}

/* A step of the clock; or to where a bucket opens, or just before or after. */
static void do_advance(struct model *m)
{
	static const unsigned int budgets[] = { 0, 1, 2, 10, 100, 100000 };
	unsigned int budget = budgets[below(m, ARRAY_SIZE(budgets))];
	u64 tick, now = m->now;

	if (one_in(m, 20))
		now = m->wheel.now - min(m->wheel.now, magnitude(m, 10));
	else if (!m->more && one_in(m, 3) && twheel_next(&m->wheel, &tick))
		now = max(now, after(m, tick - 1, below(m, 3)));
	else if (!m->more || one_in(m, 4))
		now = after(m, now, magnitude(m, m->stride));
	advance(m, now, budget);
}

static void one_operation(struct model *m)
{
	struct model_timer *t = &m->timer[below(m, m->nr_timers)];
	u32 what = below(m, 100);

	if (what < 20) {
		do_advance(m);
	} else if (what < 40) {
		do_pop(m);
	} else if (what < 50) {
		if (t->state != IDLE)
			do_cancel(m, t);
	} else if (what < 51) {
		if (t->state != IDLE)
			do_cancel(m, t);
		do_expire(m, t);
	} else {
		/* A new deadline, whatever the timer was doing. */
		if (t->state != IDLE)
			do_cancel(m, t);
		do_add(m, t);
	}
	m->op++;
}

/* Episodes */

static void start_episode(struct model *m)
{
	static const u32 sizes[] = { 2, 3, 10, 20, 60, 256, 65536 };
	static const u64 ticks[] = {
		1, 1, 2, 3, 7, 1000, 1000000, BIT_ULL(20), 3600000000000ULL,
	};
	u64 start;

	m->size = one_in(m, 4) ? 2 + below(m, 1000) : sizes[below(m, ARRAY_SIZE(sizes))];
	m->tick = ticks[below(m, ARRAY_SIZE(ticks))];
	m->end = div64_u64(TIME_END, m->tick);
	start = min(magnitude(m, 63), m->end);
	m->now = one_in(m, 3) ? 0 : start;
	m->reach = 1 + below(m, 63);
	m->stride = 1 + below(m, m->reach);
	m->focus = m->now;
	m->nr_timers = MAX_TIMERS >> below(m, 10);
	m->more = false;
	m->last = 0;
	m->turn_open = false;
	twheel_init(&m->wheel, m->tick, m->size, m->now);
}

/* Let everything expire that the wheel holds and that ever will, in a last jump. */
static void drain(struct model *m)
{
	unsigned int calls = 0;

	do {
		advance(m, m->end, 1 + below(m, 100));
		if (one_in(m, 2))
			do_pop(m);
		compare(m);
		MODEL_ASSERT(m, ++calls, LT, 100 * MAX_TIMERS);
	} while (m->more);
	while (m->nr_expired)
		do_pop(m);
	if (m->nr_pending)
		MODEL_ASSERT(m, first_pending(m)->tick, EQ, m->end + 1);
}

static void cancel_all(struct model *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_timers; i++) {
		if (m->timer[i].state != IDLE)
			do_cancel(m, &m->timer[i]);
	}
}

static void end_episode(struct model *m)
{
	if (one_in(m, 2))
		drain(m);
	cancel_all(m);
	compare(m);
	MODEL_ASSERT(m, m->wheel.nr_pending, EQ, 0);
	MODEL_ASSERT(m, m->wheel.nr_expired, EQ, 0);
	MODEL_ASSERT(m, !twheel_pop(&m->wheel), EQ, true);
	twheel_destroy(&m->wheel);
}

static void wheel_agrees_with_model(struct kunit *test)
{
	const unsigned long long *param = test->param_value;
	struct model *m = test->priv;
	unsigned int end;

	if (param >= seed + nr_seeds)
		kunit_skip(test, "no seed");
	m->seed = *param;
	prandom_seed_state(&m->rnd, m->seed);
	kunit_info(test, "replay: twheel_kunit.ko seed=%llu ops=%u", m->seed, ops);

	while (m->op < ops) {
		end = min(ops - m->op, (unsigned int)EPISODE_OPS) + m->op;
		start_episode(m);
		while (m->op < end) {
			one_operation(m);
			compare(m);
		}
		end_episode(m);
	}
}

static void seed_desc(unsigned long long *param, char *desc)
{
	if (param < seed + nr_seeds)
		snprintf(desc, KUNIT_PARAM_DESC_SIZE, "seed %llu", *param);
	else
		snprintf(desc, KUNIT_PARAM_DESC_SIZE, "no seed");
}

KUNIT_ARRAY_PARAM(seed, seed, seed_desc);

static struct kunit_case model_cases[] = {
	KUNIT_CASE_PARAM(wheel_agrees_with_model, seed_gen_params),
	{}
};

#ifdef MODULE
static int set_parameter(const char *name, const char *value)
{
	unsigned int i;

	for (i = 0; i < THIS_MODULE->num_kp; i++) {
		const struct kernel_param *kp = &THIS_MODULE->kp[i];

		if (!strcmp(kp->name, name))
			return value ? kp->ops->set(value, kp) : -EINVAL;
	}
	/* What is unknown the module loader will report. */
	return 0;
}

/*
 * Before 6.6 KUnit runs the suites of a module that is still coming, whose
 * parameters have not been set yet: see to it here.
 */
static int model_suite_init(struct kunit_suite *suite)
{
	char *copy, *args, *name, *value;
	int err = 0;

	if (THIS_MODULE->state != MODULE_STATE_COMING)
		return 0;
	copy = kstrdup(THIS_MODULE->args, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	args = skip_spaces(copy);
	kernel_param_lock(THIS_MODULE);
	while (*args && !err) {
		args = next_arg(args, &name, &value);
		err = set_parameter(name, value);
	}
	kernel_param_unlock(THIS_MODULE);
	kfree(copy);
	return err;
}
#else
#define model_suite_init	NULL
#endif

static int model_test_init(struct kunit *test)
{
	struct model *m = kvzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return -ENOMEM;
	m->test = test;
	m->pending = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&m->expired);
	twheel_init(&m->wheel, 1, 2, 0);
	test->priv = m;
	return 0;
}

static void model_test_exit(struct kunit *test)
{
	struct model *m = test->priv;

	if (m)
		twheel_destroy(&m->wheel);
	kvfree(m);
}

static struct kunit_suite model_suite = {
	.name = "twheel_model",
	.suite_init = model_suite_init,
	.init = model_test_init,
	.exit = model_test_exit,
	.test_cases = model_cases,
};

kunit_test_suite(model_suite);
