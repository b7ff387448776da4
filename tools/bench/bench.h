/* SPDX-License-Identifier: MIT */
/*
 * The declarations that the parts of twheel-bench share
 *
 * A facility is a way to have many timers. Each gets the same work and does it in its
 * cheapest way. The benchmark measures time; in the icount VM a nanosecond is an
 * instruction.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "clock.h"
#include "helpers.h"
#include "libtwheel-device.h"
#include "module/twheel_bench.h"

/* How many timers to work on between two checks of the limit. */
#define STRIDE		1024
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
 * struct facility - a way to have many timers
 * @name: its name.
 * @kernel: its number in the bench module, with the other members unused; or 0.
 * @loop: its clock is that of a loop in user space, which finds due timers when it looks.
 * @handle: bytes that the program keeps for each timer to name it.
 * @open: prepare for the work.
 * @add: arm the timers numbered @first to @first + @n - 1.
 * @modify: postpone the deadlines of @n timers to the work's timeout from now.
 * @cancel: drop @n timers, some of which may have expired, but have not been delivered.
 * @deliver: take at most @max expired timers, and add their numbers to *@sum. Returns how
 *	many. Waits until there is one; facilities with idle timeouts only if @waits.
 * @churn: arm and cancel each of @n timers, one after the other; or NULL, to use @add and
 *	@cancel.
 */
struct facility {
	const char *name;
	int kernel;
	bool loop;
	size_t handle;
	void (*open)(void);
	void (*add)(size_t first, size_t n);
	void (*modify)(const uint32_t *which, size_t n);
	void (*cancel)(const uint32_t *which, size_t n);
	size_t (*deliver)(size_t max, bool waits, uint64_t *sum);
	void (*churn)(size_t first, size_t n);
};

/**
 * struct operation - something to measure
 * @name: its name.
 * @run: measure it, in a process of its own.
 * @opens: @run opens the facility; otherwise it is open.
 * @boottime: timers are on CLOCK_BOOTTIME, which can jump, instead of CLOCK_MONOTONIC.
 * @rearm: see &struct work.
 * @kernel: its number in the bench module, for facilities inside the kernel; or 0.
 */
struct operation {
	const char *name;
	void (*run)(void);
	bool opens;
	bool boottime;
	bool rearm;
	int kernel;
};

/* The functions of most facilities have these names. */
#define BENCH_CHANGES	.add = add, .modify = modify, .cancel = cancel

/* Each file defines its own; the linker makes an array of them, which main.c searches. */
#define IN_SECTION(name)	__attribute__((__used__, __section__(name), __aligned__(8)))
#define OPERATION(id)		static const struct operation id IN_SECTION("operations")
#define FACILITY(id, name_, open_, deliver_, ...)				\
	static const struct facility id IN_SECTION("facilities") = {		\
		.name = name_, .open = open_, .deliver = deliver_, __VA_ARGS__	\
	}

extern const struct facility __start_facilities[], __stop_facilities[];
extern const struct operation __start_operations[], __stop_operations[];

/**
 * struct work - what the command line asks for
 * @facility: the facility to measure.
 * @pending: number of timers, which are numbered from 0.
 * @batch: how many to pass at once; 1 for single calls.
 * @limit_ns: when to stop.
 * @shape: its name on the command line, or NULL for the default. Only twheel has a choice.
 * @wheel_size: buckets per level.
 * @tick_ns: length of a tick.
 * @deadlines: of the timers.
 * @delay_ns: of each timer, from when it is added; but see DEADLINES_PAST.
 * @timeout_ns: how far deadlines are postponed; usually the whole span.
 * @order: all numbers, in a random order.
 * @clock: the clock of the timers, in facilities that have a choice.
 * @rearm: @deliver rearms every timer that it takes, for @timeout_ns from then.
 */
struct work {
	const struct facility *facility;
	size_t pending;
	size_t batch;
	uint64_t limit_ns;
	const char *shape;
	uint32_t wheel_size;
	uint64_t tick_ns;
	enum deadlines deadlines;
	uint64_t *delay_ns;
	uint64_t timeout_ns;
	uint32_t *order;
	clockid_t clock;
	bool rearm;
};

/* The only one of this process. */
extern struct work work;

/* The cost of the work on @done timers. */
struct cost {
	uint64_t ns;
	size_t done;
};

enum bench_op { BENCH_ADD, BENCH_MODIFY, BENCH_CANCEL };

/* Print a result. */
void bench_say(const char *op, double value, const char *unit);

/* Print the cost of a timer, and how many were done if that was stopped. */
void bench_report(const char *op, struct cost cost);

/* Do @op with @n timers, but stop at the limit. */
struct cost bench_measure(enum bench_op op, size_t n);

/* Arm all timers; if that takes too long, print that for @op and return false. */
bool bench_fill(const char *op, struct cost *cost);

/* Memory for @n elements of @size, with its pages present. */
void *bench_array(size_t n, size_t size);

/* An epoll that watches @fd for @events; or nothing, if it is -1. */
int bench_epoll(int fd, uint32_t events);

/* A wheel on the work's clock; and adding @n timers to it, which has to succeed. */
int bench_wheel(uint64_t tick_ns, uint32_t size, int flags);
void bench_add_all(int wheel, struct twheel_add *adds, size_t n);

/* Add all timers, whose delays count from @base, and return them. */
struct twheel_add *bench_arm(int wheel, uint64_t base);

/* Requests to the bench module: move CLOCK_BOOTTIME forward; the time that the CPU was busy. */
void kernel_jump(uint64_t ns);
uint64_t kernel_busy(void);
/* Any of the requests, which has to succeed. */
void kernel_request(unsigned long number, void *arg);

/* scene/list.c */

/* List the timers of a wheel, @batch at a time, and return their number. */
size_t bench_list_all(int wheel, size_t batch);

/* Cancel all but one of each page, at a random place, and return how many are left. */
size_t bench_thin_out(int wheel, const struct twheel_add *adds);
