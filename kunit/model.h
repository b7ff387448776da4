/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a wheel must do: the model that the tests of the core compare it with
 *
 * The model is a tree of pending timers sorted by tick and a list of expired
 * ones. What is called here is done with the wheel and with the model, and both must
 * agree on what is pending, what has expired and in which order. What to do, and with
 * which timers, is the caller's: a KUnit suite asks a seed, a fuzzer its input.
 *
 * Compiled in the kernel, and in user space with the headers of tools/native.
 */
#ifndef _MODEL_H
#define _MODEL_H

#include <linux/limits.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#include "../twheel.h"

/* The last time there is: those of a ktime_t. */
#define MODEL_TIME_END	((u64)S64_MAX)

enum model_state {
	MODEL_IDLE,
	MODEL_PENDING,
	MODEL_EXPIRED,
};

/**
 * struct model_timer - a timer of the wheel and what the model knows of it
 * @node: its place among the pending timers of the model.
 * @expired: its place among the expired timers of the model.
 * @tick: when it is due.
 * @turn: when it expired. Timers of one tick that expire in the wheel have the
 *	same turn, for among them any order is right.
 * @state: what it is doing; set to MODEL_IDLE by the caller, before the first call.
 * @timer: the wheel's; the last, so that what is behind it is nobody's.
 */
struct model_timer {
	struct rb_node node;
	struct list_head expired;
	u64 tick;
	u64 turn;
	enum model_state state;
	struct twheel_timer timer;
};

struct model;

/* Says what is wrong, and where, and does not return. */
typedef void model_wrong_fn(const struct model *m, const char *file, int line,
			    const char *what);

/**
 * struct model - a wheel, and what is known of it
 * @wrong: what to call when they do not agree.
 * @wheel: the wheel under test; its levels are the caller's.
 * @size: its size.
 * @tick: the length of its tick.
 * @end: its last tick. A deadline after that never comes.
 * @now: the time, in ticks: where the wheel's clock was last told to go.
 * @more: the wheel said that it has not got there yet, or has other work.
 * @pending: the pending timers, ordered by tick.
 * @nr_pending: number of them.
 * @expired: the expired timers, oldest first.
 * @nr_expired: number of them.
 * @turn: the last turn that was given to an expired timer.
 * @last: the last tick that expired in the wheel.
 * @turn_open: the next timer that expires at @last has turn @turn too.
 */
struct model {
	model_wrong_fn *wrong;
	struct twheel wheel;
	u32 size;
	u64 tick;
	u64 end;
	u64 now;
	bool more;

	struct rb_root_cached pending;
	u64 nr_pending;
	struct list_head expired;
	u64 nr_expired;
	u64 turn;
	u64 last;
	bool turn_open;
};

#define MODEL_CHECK(m, condition)						\
do {										\
	const struct model *__m = (m);						\
										\
	if (!(condition))							\
		__m->wrong(__m, __FILE__, __LINE__, #condition);		\
} while (0)

void model_init(struct model *m, u64 tick, u32 size, u64 now, model_wrong_fn *wrong);

void model_add(struct model *m, struct model_timer *t, u64 deadline);
void model_cancel(struct model *m, struct model_timer *t);
void model_expire(struct model *m, struct model_timer *t);
struct model_timer *model_pop(struct model *m);
void model_advance(struct model *m, u64 now, unsigned int budget);
void model_forward(struct model *m, u64 now);

/* Checks what both must agree on at any time. */
void model_compare(const struct model *m);

/* The pending timers, in the order of their ticks. */
struct model_timer *model_first(const struct model *m);
struct model_timer *model_next(struct model_timer *t);

/* So many ticks later; but not after the last tick. */
u64 model_after(const struct model *m, u64 tick, u64 delay);

#endif /* _MODEL_H */
