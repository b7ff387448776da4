/* SPDX-License-Identifier: MIT */
/*
 * What the parts of twheel-bench have in common
 *
 * A facility is a way to have many timers. Each gets the same work and does it
 * in its cheapest form. In the counting VM a nanosecond is an instruction, and
 * what is measured here is time.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "helpers.h"

/* Deadlines are uniform over this time; afterwards all timers are due. */
#define BENCH_SPAN_NS	(30 * MINUTE)
#define BENCH_BATCH_MAX	1024

/* Timers that are due soon have this many ticks at most. */
#define BENCH_NEAR_TICKS	16

enum deadlines {
	DEADLINES_UNIFORM,	/* over the span */
	DEADLINES_PERIODIC,	/* the same, and an interval */
	DEADLINES_PAST,		/* absolute, and over */
	DEADLINES_NEAR,		/* in some ticks */
};

/**
 * struct shape - the wheel, and what is put into it; only twheel has a choice
 * @name: how the command line calls it, or NULL for the usual one.
 * @wheel_size: buckets per level.
 * @tick_ns: length of a tick.
 * @deadlines: of the timers.
 */
struct shape {
	const char *name;
	uint32_t wheel_size;
	uint64_t tick_ns;
	enum deadlines deadlines;
};

/**
 * struct work - what to do with a facility
 * @shape: of the wheel.
 * @pending: number of timers, which are numbered from 0.
 * @batch: how many to pass at once; 1 for single calls.
 * @delay_ns: of each timer, from when it is added; but see DEADLINES_PAST.
 * @timeout_ns: how far deadlines are pushed back; usually the whole span.
 * @order: all numbers, in a random order.
 */
struct work {
	const struct shape *shape;
	size_t pending;
	size_t batch;
	uint64_t *delay_ns;
	uint64_t timeout_ns;
	uint32_t *order;
};

/**
 * struct facility - a way to have many timers
 * @name: its name.
 * @kernel: the number the bench module has for it; the rest is then unused. Or
 *	NOT_IN_KERNEL.
 * @batches: it can do more than one timer at a call. All can deliver so.
 * @loop: its clock is that of a loop in user space: it sees what is due when it
 *	looks. The others have to be on CLOCK_BOOTTIME.
 * @handle: bytes that the program keeps for each timer to name it.
 * @open: get ready for the work, whose arrays stay.
 * @add: arm the timers numbered @first to @first + @n - 1.
 * @modify: push the deadlines of @n timers back to @timeout_ns from now.
 * @cancel: drop @n timers, some of which may have expired, but not been
 *	delivered.
 * @deliver: take at most @max expired timers, and add the numbers they were
 *	armed with to *@sum. Returns how many; waits until there is one.
 * @churn: arm and cancel each of @n timers, one after the other; or NULL, and @add and
 *	@cancel do it.
 * @turn: once around a server's loop: like @deliver, but without waiting; or NULL.
 * @close: drop everything.
 */
struct facility {
	const char *name;
	int kernel;
	bool batches;
	bool loop;
	size_t handle;
	void (*open)(const struct work *work);
	void (*add)(size_t first, size_t n);
	void (*modify)(const uint32_t *which, size_t n);
	void (*cancel)(const uint32_t *which, size_t n);
	size_t (*deliver)(size_t max, uint64_t *sum);
	void (*churn)(size_t first, size_t n);
	size_t (*turn)(uint64_t *sum);
	void (*close)(void);
};

#define NOT_IN_KERNEL	(-1)

extern const struct facility twheel_facility;
extern const struct facility timerfd_facility;
extern const struct facility posix_facility;
extern const struct facility io_uring_facility;
extern const struct facility libevent_facility;
extern const struct facility libev_facility;
extern const struct facility libtwheel_facility;
extern const struct facility libtwheel_user_facility;
extern const struct facility libtwheel_woken_facility;

/**
 * struct run - what the command line asks for
 * @facility: who does it.
 * @pending: number of timers.
 * @batch: how many at a call.
 * @limit_ns: when to stop.
 * @shape: of the wheel.
 */
struct run {
	const struct facility *facility;
	size_t pending;
	size_t batch;
	uint64_t limit_ns;
	struct shape shape;
};

/* What the work on @done timers took. */
struct cost {
	uint64_t ns;
	size_t done;
};

enum bench_op { BENCH_ADD, BENCH_MODIFY, BENCH_CANCEL };

/* measure.c */

/* Prints a result; with @done less than what was asked for, it was stopped. */
void bench_say(const struct run *run, const char *op, double value,
	       const char *unit, size_t done);

/* Does @op with @n timers, but stops at the limit. */
struct cost bench_measure(const struct run *run, const struct work *work,
			  enum bench_op op, size_t n);

/* Arms all timers; false, and says so for @op, when that takes too long. */
bool bench_fill(const struct run *run, const struct work *work, const char *op,
		struct cost *cost);

/*
 * Everything is due at once: what does it take until all @n are delivered? Like
 * bench_measure(), it stops at the limit.
 */
struct cost bench_expire(const struct run *run, const struct work *work, size_t n);

/* Memory for @n elements of @size that are there, not only promised. */
void *bench_array(size_t n, size_t size);

/* scene/ */

/*
 * What is measured of a run besides. They open the facility themselves, and are
 * a process of their own.
 */
void bench_bytes(const struct run *run, struct work *work);
void bench_live(const struct run *run, struct work *work);
void bench_lateness(const struct run *run, struct work *work);
void bench_fires(const struct run *run, struct work *work);
void bench_lock_hold(const struct run *run, struct work *work);
void bench_wakeups(const struct run *run, struct work *work);
void bench_threads(const struct run *run, struct work *work);
void bench_idle(const struct run *run, struct work *work);
void bench_null(const struct run *run, struct work *work);

#endif /* BENCH_H */
