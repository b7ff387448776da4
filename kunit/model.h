/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A model of the wheel, with which the tests of the core compare it, and random operations
 *
 * The model is a tree of pending timers sorted by tick and a list of expired
 * ones. Each function here acts on the wheel and on the model, and both must agree on
 * which timers are pending, which have expired and in which order. fuzz_one() chooses
 * operations and timers by its input: random bytes in a KUnit suite, or a fuzzer's.
 *
 * Compiled in the kernel, and in user space with the headers of tools/lib/kernel.
 */
#ifndef _MODEL_H
#define _MODEL_H

#include <linux/limits.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#include "../twheel.h"

/* The end of time, that of a ktime_t. */
#define MODEL_TIME_END	((u64)S64_MAX)

enum model_state {
	MODEL_IDLE,
	MODEL_PENDING,
	MODEL_EXPIRED,
};

/**
 * struct model_timer - a timer of the wheel and of the model
 * @nr: its number.
 * @node: its place among the pending timers of the model.
 * @expired: its place among the expired timers of the model.
 * @tick: when it is due.
 * @group: counts up as timers expire. Those of one tick that expire in the wheel are
 *	one group, in any order.
 * @level: that of the wheel which it was in before the wheel was advanced.
 * @lowest: the level it was last seen at: it must never rise, except by a rewind.
 * @state: its state; the caller sets it to MODEL_IDLE before the first call.
 * @timer: the wheel's; the last, so that nothing follows it.
 */
struct model_timer {
	u16 nr;
	struct rb_node node;
	struct list_head expired;
	u64 tick;
	u64 group;
	u8 level;
	u8 lowest;
	enum model_state state;
	struct twheel_timer timer;
};

struct model;

/* Reports a difference, and does not return. */
typedef void model_wrong_fn(const struct model *m, const char *file, int line,
			    const char *what);

/**
 * struct model - a wheel and its model
 * @wrong: called if they differ.
 * @wheel: the wheel under test; its levels are the caller's.
 * @size: its size.
 * @tick: the length of its tick.
 * @end: its last tick. A deadline after that never comes.
 * @now: the time, in ticks, that the wheel was last advanced to.
 * @more: timers are due that have not expired yet.
 * @pending: the pending timers, ordered by tick.
 * @nr_pending: number of them.
 * @expired: the expired timers, oldest first.
 * @nr_expired: number of them.
 * @group: the last group of an expired timer.
 * @last: the last tick that expired in the wheel.
 * @group_open: the next timer that expires at @last is in @group, too.
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
	u64 group;
	u64 last;
	bool group_open;
};

#define MODEL_CHECK(m, condition)						\
do {										\
	const struct model *__m = (m);						\
										\
	if (!(condition))							\
		__m->wrong(__m, __FILE__, __LINE__, #condition);		\
} while (0)

/* Return true if twheel_add() is to succeed. */
static inline bool model_covers(const struct twheel *w, u64 deadline)
{
	return deadline <= w->time || twheel_levels_until(w, deadline) <= w->nr_levels;
}

void model_init(struct model *m, u64 tick, u32 size, u64 now, model_wrong_fn *wrong);

void model_add(struct model *m, struct model_timer *t, u64 deadline);
void model_cancel(struct model *m, struct model_timer *t);
void model_expire(struct model *m, struct model_timer *t);
struct model_timer *model_pop(struct model *m);
void model_advance(struct model *m, u64 now, unsigned int budget);
/* Set the clock back by calls of twheel_rewind(); give up after @calls of them. */
void model_rewind(struct model *m, u64 now, unsigned int budget, unsigned int calls);

/* Check that both agree, at any time. */
void model_compare(const struct model *m);
/*
 * Check that all timers of the model are in their buckets, that buckets hold nothing else, and
 * that the fields of levels and buckets are right.
 */
void model_check_structure(struct model *m);

/* The pending timers, in the order of their ticks. */
struct model_timer *model_first(const struct model *m);
struct model_timer *model_next(struct model_timer *t);

/* @delay ticks later, but not after the last tick. */
u64 model_after(const struct model *m, u64 tick, u64 delay);

/* Prints an operation, which @format and what follows describe. */
typedef void fuzz_trace_fn(const struct model *m, const char *format, ...);

/* Operations so far, those of all inputs. */
extern u64 fuzz_operations;
/* Called for every operation, unless it is NULL. */
extern fuzz_trace_fn *fuzz_trace;

/* Run one input; it returns only if all checks held. */
void fuzz_one(const u8 *data, size_t length, model_wrong_fn *wrong);

#endif /* _MODEL_H */
