// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random operations on the wheel and on its model
 *
 * The bytes of an input are decoded into a wheel (size, tick, time of start) and
 * operations on it. After every operation the wheel must agree with the model; and
 * its levels, buckets and keys must be sound.
 * Every timer is a separate allocation that is freed when the timer has left the wheel,
 * so that KASAN or AddressSanitizer detects a wheel that still accesses it.
 *
 * Compiled in the kernel, and in user space for libFuzzer: see tools/tests/fuzz-core.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "model.h"

#define MAX_TIMERS	512

/**
 * struct input - an input that is running
 * @data: the rest of it.
 * @left: how many bytes are left.
 * @model: the wheel and its model.
 * @focus: a tick near which many timers are due.
 * @timer: the timers by their numbers, or NULL.
 */
struct input {
	const u8 *data;
	size_t left;
	struct model model;
	u64 focus;
	struct model_timer *timer[MAX_TIMERS];
};

u64 fuzz_operations;
fuzz_trace_fn *fuzz_trace;

/* Count an operation, and trace it. */
#define tell(in, format, ...)							\
do {										\
	fuzz_operations++;							\
	if (fuzz_trace)								\
		fuzz_trace(&(in)->model, format, ##__VA_ARGS__);		\
} while (0)

/* Numbers from the input; zero after its end. */

static u8 byte(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->data++;
}

static u32 below(struct input *in, u32 limit)
{
	u32 high = limit > 256 ? byte(in) : 0;

	return (high << 8 | byte(in)) % limit;
}

static u64 word(struct input *in)
{
	u64 n = 0;
	int i;

	for (i = 0; i < 8; i++)
		n = n << 8 | byte(in);
	return n;
}

/* A number of any order of magnitude, most often near a power of two. */
static u64 magnitude(struct input *in)
{
	u8 kind = byte(in);
	u64 n = BIT_ULL(kind & 63);

	switch (kind >> 6) {
	case 0:
		return n - 1;
	case 1:
		return n + below(in, 4);
	case 2:
		return n + (n >> 8) * byte(in);
	default:
		return word(in) >> (kind & 63);
	}
}

static u64 minus(u64 tick, u64 delay)
{
	return tick - min(tick, delay);
}

/* The edge of a bucket of any level, some buckets ahead, or a tick next to that. */
static u64 edge(struct input *in)
{
	const struct model *m = &in->model;
	unsigned int nr = m->wheel.nr_levels ? below(in, m->wheel.nr_levels) : 0;
	u64 length = 1;
	u64 tick;

	while (nr-- && length <= div64_u64(m->end, m->size))
		length *= m->size;
	tick = model_after(m, div64_u64(m->now, length) * length,
			   min(below(in, 2 * m->size) * length, m->end));
	return minus(model_after(m, tick, below(in, 3)), 1);
}

/* The tick at which the next bucket is opened, or one next to that. */
static u64 next_opening(struct input *in)
{
	const struct model *m = &in->model;
	u64 tick = m->now;

	twheel_next(&m->wheel, &tick);
	return minus(model_after(m, tick, below(in, 3)), 1);
}

static u64 some_tick(struct input *in)
{
	const struct model *m = &in->model;

	switch (byte(in) % 9) {
	case 0:
		return minus(m->now, magnitude(in));
	case 1:
		return minus(m->end, magnitude(in));
	case 2:
		in->focus = model_after(m, m->now, magnitude(in));
		return in->focus;
	case 3:
	case 4:
		return model_after(m, in->focus, byte(in));
	case 5:
		return edge(in);
	case 6:
		return model_after(m, m->now, byte(in));
	case 7:
		return next_opening(in);
	default:
		return model_after(m, m->now, magnitude(in));
	}
}

/* A deadline that expires at @tick: on it, or anywhere after the tick before; or never. */
static u64 some_deadline(struct input *in, u64 tick)
{
	u64 unit = in->model.tick;
	u64 deadline = tick * unit, part;

	if (!tick)
		return 0;
	switch (byte(in) % 4) {
	case 0:
		return deadline - (unit - 1);
	case 1:
		div64_u64_rem(word(in), unit, &part);
		return deadline - part;
	case 2:
		return tick == in->model.end ? MODEL_TIME_END : deadline;
	default:
		return deadline;
	}
}

/* Operations, on the wheel and on the model */

static void install_level(struct input *in)
{
	struct twheel *w = &in->model.wheel;
	struct twheel_level *level = twheel_level_alloc(w, w->nr_levels, GFP_KERNEL);

	MODEL_CHECK(&in->model, level);
	twheel_level_install(w, level);
}

/* Without its levels, an add fails first, unless some are ahead of the clock in an open bucket. */
static void make_levels(struct input *in, struct model_timer *t, u64 deadline)
{
	struct model *m = &in->model;
	struct twheel *w = &m->wheel;
	bool ahead = w->nr_levels && w->level[0]->next_edge > w->time + w->tick;

	t->timer.deadline = deadline;
	while (!model_covers(w, deadline)) {
		MODEL_CHECK(m, w->nr_levels < twheel_levels_for(w, deadline - w->time));
		MODEL_CHECK(m, ahead || !twheel_add(w, &t->timer));
		install_level(in);
	}
}

static struct model_timer *new_timer(struct input *in, u16 nr)
{
	struct model_timer *t = kmalloc(sizeof(*t), GFP_KERNEL);

	MODEL_CHECK(&in->model, t);
	/* The old contents of the memory must not matter. */
	memset(t, 0xa5, sizeof(*t));
	t->nr = nr;
	t->lowest = U8_MAX;
	t->state = MODEL_IDLE;
	in->timer[nr] = t;
	return t;
}

static void free_timer(struct input *in, struct model_timer *t)
{
	in->timer[t->nr] = NULL;
	kfree(t);
}

static void cancel_timer(struct input *in, struct model_timer *t)
{
	model_cancel(&in->model, t);
	free_timer(in, t);
}

/* Cancel the timer, if it exists. */
static void cancel(struct input *in, u16 nr)
{
	if (in->timer[nr])
		cancel_timer(in, in->timer[nr]);
}

/* Check that no lower level has the tick in its range, which begins with the clock's bucket. */
static void check_lowest(struct model *m, const struct model_timer *t)
{
	const struct twheel *w = &m->wheel;
	u64 span;

	if (!t->timer.level || !twheel_in_bucket(&t->timer))
		return;
	span = w->level[t->timer.level - 1]->span;
	MODEL_CHECK(m, div64_u64(t->tick * m->tick, span) - div64_u64(w->time, span) >= m->size);
}

/* Add a timer, or give a pending one a new deadline. */
static void add(struct input *in, u16 nr, u64 tick)
{
	u64 deadline = some_deadline(in, tick);
	struct model_timer *t;

	tell(in, "%s %u: deadline %llu, tick %llu",
	     in->timer[nr] ? "modify" : "add", nr, deadline, tick);
	cancel(in, nr);
	t = new_timer(in, nr);
	make_levels(in, t, deadline);
	model_add(&in->model, t, deadline);
	check_lowest(&in->model, t);
}

static void do_add(struct input *in)
{
	u16 nr = below(in, MAX_TIMERS);

	add(in, nr, some_tick(in));
}

/* Many timers near each other: if there are enough, their bucket is opened early. */
static void do_add_crowd(struct input *in)
{
	u16 nr = below(in, MAX_TIMERS);
	unsigned int n = byte(in);
	u64 tick = some_tick(in);
	u64 stride = magnitude(in);

	in->focus = tick;
	while (n--) {
		add(in, nr++ % MAX_TIMERS, tick);
		tick = n % 8 ? tick : model_after(&in->model, tick, stride);
	}
}

/* Cancel some timers, or many. */
static void do_cancel(struct input *in)
{
	unsigned int nr = below(in, MAX_TIMERS), step = 1 + below(in, 8), n = byte(in);

	n >>= byte(in) % 8;
	tell(in, "cancel %u from %u, every %u", n, nr, step);
	for (; n--; nr += step) {
		fuzz_operations++;
		cancel(in, nr % MAX_TIMERS);
	}
}

/* The first, the last or any pending timer, so that counts reach zero. */
static void do_cancel_pending(struct input *in)
{
	u8 which = byte(in);
	struct model *m = &in->model;
	struct model_timer *t = model_first(m);
	unsigned int place;

	tell(in, "cancel pending, %u", which);
	if (!t)
		return;
	place = which < 64 ? 0 : which < 128 ? m->nr_pending - 1 : which % m->nr_pending;
	while (place--)
		t = model_next(t);
	cancel_timer(in, t);
}

static void do_expire(struct input *in)
{
	u16 nr = below(in, MAX_TIMERS);
	struct model_timer *t;

	tell(in, "expire %u", nr);
	cancel(in, nr);
	t = new_timer(in, nr);
	/* For the wheel, its deadline means nothing until it is rewound. */
	t->timer.deadline = min(word(in) >> 1, in->model.end * in->model.tick);
	model_expire(&in->model, t);
}

static void pop(struct input *in)
{
	struct model_timer *t = model_pop(&in->model);

	if (t)
		free_timer(in, t);
}

static void do_pop(struct input *in)
{
	unsigned int n = byte(in);

	tell(in, "pop %u", n + 1);
	do {
		fuzz_operations++;
		pop(in);
	} while (n--);
}

static void move_clock(struct input *in, u64 now, unsigned int budget)
{
	tell(in, "advance to %llu, budget %u", now, budget);
	model_advance(&in->model, now, budget);
}

static void do_advance(struct input *in)
{
	static const unsigned int budgets[] = { 0, 1, 2, 3, 10, 64, 1000, UINT_MAX };
	unsigned int budget = budgets[below(in, ARRAY_SIZE(budgets))];

	move_clock(in, byte(in) % 2 ? some_tick(in) : next_opening(in), budget);
}

/* Advance until nothing is left. A timer is sorted by every digit, and cascades, on every level. */
static void do_continue(struct input *in)
{
	const struct model *m = &in->model;
	unsigned int budget = 1 + byte(in);
	unsigned int most = (m->nr_pending + 2) * (m->wheel.nr_levels + 1) *
			    (2 + 64 / TWHEEL_DIGIT_BITS);
	unsigned int calls = 0;

	while (m->more) {
		move_clock(in, m->now, budget);
		MODEL_CHECK(m, calls++ < most);
	}
}

/* Set the clock back, and sometimes forward again before the wheel has followed. */
static void do_rewind(struct input *in)
{
	struct model *m = &in->model;
	unsigned int budget = 1 + byte(in), calls = byte(in) % 4 ? UINT_MAX : byte(in);
	u64 now = minus(m->wheel.now, magnitude(in));
	unsigned int nr;

	tell(in, "rewind to %llu, budget %u, calls %u", now, budget, calls);
	/* Levels for all of time would take too much memory. */
	if (m->size > 1000)
		return;
	while (twheel_max_delay(&m->wheel) < S64_MAX)
		install_level(in);
	for (nr = 0; nr < MAX_TIMERS; nr++)
		if (in->timer[nr])
			in->timer[nr]->lowest = U8_MAX;
	model_rewind(m, now, budget, calls);
}

/* Check functions without side effects: divisions, and levels. */
static void do_ask(struct input *in)
{
	const struct model *m = &in->model;
	const struct twheel *w = &m->wheel;
	u64 time = magnitude(in), delay, floor, part;

	time = byte(in) & 1 ? time / 2 : S64_MAX - time / 2;
	tell(in, "ask about %llu", time);
	floor = div64_u64_rem(time, m->tick, &part);
	MODEL_CHECK(m, twheel_floor(w, time) == floor);
	MODEL_CHECK(m, twheel_tick(w, time) == floor + !!part);

	delay = magnitude(in) / 2;
	if (w->nr_levels && delay <= twheel_max_delay(w))
		MODEL_CHECK(m, model_covers(w, min(w->time + m->tick - 1 + delay,
						   MODEL_TIME_END)));
}

static void one_operation(struct input *in)
{
	static void (* const operation[])(struct input *in) = {
		do_add, do_add, do_add, do_add, do_add_crowd, do_cancel, do_cancel,
		do_cancel_pending, do_expire, do_pop, do_advance, do_advance, do_advance,
		do_advance, do_continue, do_ask, do_rewind,
	};

	operation[below(in, ARRAY_SIZE(operation))](in);
}

/* Running an input */

static void begin(struct input *in, model_wrong_fn *wrong)
{
	static const u32 sizes[] = { 2, 3, 4, 10, 20, 60, 256, 65536 };
	static const u64 ticks[] = { 1, 2, 3, 7, 1000, 1000000, 3600000000000ULL };
	u8 what_size = byte(in), what_tick = byte(in);
	u64 tick, last;
	u32 size;

	size = what_size < 128 ? sizes[what_size % ARRAY_SIZE(sizes)] : 2 + below(in, 1000);
	tick = what_tick < 192 ? ticks[what_tick % ARRAY_SIZE(ticks)] :
				 max_t(u64, magnitude(in) / 2, 1);
	last = div64_u64(MODEL_TIME_END, tick);
	in->focus = byte(in) & 1 ? minus(last, magnitude(in)) : min(magnitude(in), last);
	model_init(&in->model, tick, size, in->focus, wrong);
	tell(in, "wheel of size %u, tick %llu", size, tick);
}

/* Nothing may be lost: a last jump lets all timers of the wheel expire that ever can. */
static void drain(struct input *in)
{
	struct model *m = &in->model;
	struct model_timer *t;

	move_clock(in, m->end, UINT_MAX);
	MODEL_CHECK(m, !m->more);
	while ((t = model_first(m))) {
		MODEL_CHECK(m, t->tick > m->end);
		cancel_timer(in, t);
	}
	while (m->nr_expired)
		pop(in);
	MODEL_CHECK(m, !twheel_pop(&m->wheel));
	model_compare(m);
	model_check_structure(&in->model);
}

void fuzz_one(const u8 *data, size_t length, model_wrong_fn *wrong)
{
	static struct input input;
	struct input *in = &input;
	unsigned int n = 0;

	memset(in, 0, sizeof(*in));
	in->data = data;
	in->left = length;
	begin(in, wrong);
	while (in->left) {
		one_operation(in);
		model_compare(&in->model);
		/* The more there is to check, the less often. */
		if (n++ % (1 + in->model.nr_pending / 32) == 0)
			model_check_structure(&in->model);
	}
	drain(in);
	twheel_destroy(&in->model.wheel);
}
