/* SPDX-License-Identifier: MIT */
/*
 * The declarations that the parts of twheel-bench share
 *
 * A facility is a way to have many timers. Each gets the same work and does it in its
 * cheapest way. The benchmark measures time; in the icount VM a nanosecond is an
 * instruction.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "clock.h"
#include "helpers.h"
#include "libtwheel-device.h"

/* Deadlines are uniform over this time; after it, all timers are due. */
#define BENCH_SPAN_NS	(30 * MINUTE)
#define BENCH_BATCH_MAX	1024
/* With a tick of a millisecond and 256 buckets, one bucket of level 2. */
#define BUCKET_NS	(65536 * MSEC)

/* Timers that are due soon are due within this many ticks. */
#define BENCH_NEAR_TICKS	16

enum deadlines {
	DEADLINES_UNIFORM,	/* over the span */
	DEADLINES_PERIODIC,	/* the same, and an interval */
	DEADLINES_PAST,		/* absolute, and over */
	DEADLINES_NEAR,		/* in some ticks */
	DEADLINES_FALLING,	/* over the span, each earlier than the previous one */
	DEADLINES_ABSOLUTE,	/* over the span; when modified, absolute */
};

/**
 * struct shape - the wheel and its deadlines; only twheel has a choice
 * @name: its name on the command line, or NULL for the default.
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
 * @timeout_ns: how far deadlines are postponed; usually the whole span.
 * @order: all numbers, in a random order.
 * @clock: the clock of the timers, in facilities that have a choice.
 * @rearm: @deliver rearms every timer that it takes, for @timeout_ns from then.
 */
struct work {
	const struct shape *shape;
	size_t pending;
	size_t batch;
	uint64_t *delay_ns;
	uint64_t timeout_ns;
	uint32_t *order;
	clockid_t clock;
	bool rearm;
};

/**
 * struct facility - a way to have many timers
 * @name: its name.
 * @kernel: its number in the bench module, with the other members unused; or
 *	NOT_IN_KERNEL.
 * @batches: a call can handle several timers. All facilities can deliver so.
 * @loop: its clock is that of a loop in user space, which finds due timers when it looks.
 *	The others have to be on CLOCK_BOOTTIME.
 * @handle: bytes that the program keeps for each timer to name it.
 * @open: prepare for the work, whose arrays stay allocated.
 * @add: arm the timers numbered @first to @first + @n - 1.
 * @modify: postpone the deadlines of @n timers to @timeout_ns from now.
 * @cancel: drop @n timers, some of which may have expired, but have not been delivered.
 * @deliver: take at most @max expired timers, and add their numbers to *@sum. Returns how
 *	many. Waits until there is one; facilities with idle timeouts only if @waits.
 * @churn: arm and cancel each of @n timers, one after the other; or NULL, to use @add and
 *	@cancel.
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
	size_t (*deliver)(size_t max, bool waits, uint64_t *sum);
	void (*churn)(size_t first, size_t n);
	void (*close)(void);
};

#define NOT_IN_KERNEL	(-1)

extern const struct facility twheel_facility;
extern const struct facility twheel_epoll_facility;
extern const struct facility twheel_ring_facility;
extern const struct facility twheel_uring_facility;
extern const struct facility twheel_uring_quiet_facility;
extern const struct facility twheel_uring_batch_facility;
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
 * @facility: the facility to measure.
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

/* The cost of the work on @done timers. */
struct cost {
	uint64_t ns;
	size_t done;
};

enum bench_op { BENCH_ADD, BENCH_MODIFY, BENCH_CANCEL };

/* measure.c */

/* Print a result; a @done below the number that was asked for shows that it was stopped. */
void bench_say(const struct run *run, const char *op, double value,
	       const char *unit, size_t done);

/* Do @op with @n timers, but stop at the limit. */
struct cost bench_measure(const struct run *run, const struct work *work,
			  enum bench_op op, size_t n);

/* Arm all timers; if that takes too long, print that for @op and return false. */
bool bench_fill(const struct run *run, const struct work *work, const char *op,
		struct cost *cost);

/*
 * Measure delivering @n timers that are all due at once. Like bench_measure(), it stops
 * at the limit.
 */
struct cost bench_expire(const struct run *run, const struct work *work, size_t n);

/* Memory for @n elements of @size, with its pages present. */
void *bench_array(size_t n, size_t size);

/* A wheel on CLOCK_MONOTONIC; and adding @n timers to it, which has to succeed. */
int bench_wheel(uint64_t tick_ns, uint32_t size, int flags);
void bench_add_all(int wheel, struct twheel_add *adds, size_t n);

/* scene/ */

/*
 * Other measurements of a run. Each opens the facility itself, in its own process.
 */
void bench_bytes(const struct run *run, struct work *work);
void bench_live(const struct run *run, struct work *work);
void bench_tail(const struct run *run, struct work *work);
void bench_lateness(const struct run *run, struct work *work);
void bench_lateness_cancel(const struct run *run, struct work *work);
void bench_fires(const struct run *run, struct work *work);
void bench_lock_hold(const struct run *run, struct work *work);
void bench_wakeups(const struct run *run, struct work *work);
void bench_threads(const struct run *run, struct work *work);
void bench_idle(const struct run *run, struct work *work);
void bench_list(const struct run *run, struct work *work);
void bench_shared(const struct run *run, struct work *work);
void bench_null(const struct run *run, struct work *work);

#endif /* BENCH_H */
