// SPDX-License-Identifier: MIT
/*
 * The cost of timers that expire one by one for half an hour, for twheel-bench
 */
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "kernel.h"

/* When the first timer whose lateness is measured is due. */
#define LEAD_NS		(10 * SEC)
/* The time between two cancels: of a million orders, most are paid within half an hour. */
#define PAID_NS		(2 * MSEC)
/* How often each timer of bench_tail() expires, and the time between two expiries. */
#define ROUNDS		1000
#define TURN_NS		(10037 * USEC)
#define NULL_CALLS	10000
/* Not an ioctl of twheel: the call only returns an error. */
#define UNKNOWN		_IO(TWHEEL_IOC_MAGIC, 0xff)

/* The CPU's other work in half an hour, which differs from one to the next. */
static double background(void)
{
	uint64_t began = kernel_busy();

	sleep_for(BENCH_SPAN_NS);
	return kernel_busy() - began;
}

/**
 * bench_live() - the CPU's work for a timer that expires alone
 * @run: the run.
 * @work: its work: are timers rearmed when they have expired?
 *
 * The time between the last add and the last delivery, without the CPU's idle time and
 * without its other work in half an hour.
 */
void bench_live(const struct run *run, struct work *work)
{
	const char *op = work->rearm ? "rearm" : "live";
	double idle = background();
	uint64_t began, sum = 0;
	struct cost cost;

	work->clock = CLOCK_MONOTONIC;
	run->facility->open(work);
	if (!bench_fill(run, work, op, &cost))
		return;
	began = kernel_busy();
	for (cost.done = 0; cost.done < work->pending;)
		cost.done += run->facility->deliver(work->batch, true, &sum);
	bench_say(run, op, (kernel_busy() - began - idle) / cost.done, "insn", cost.done);
}

/**
 * bench_tail() - how many expiries are late by more than a tick and 1 ms
 * @run: the run.
 * @work: its work; the timers expire in turn.
 */
void bench_tail(const struct run *run, struct work *work)
{
	uint64_t *due = bench_array(work->pending, sizeof(*due)), sum = 0, now, longest = 0;
	size_t i, done = 0, tail = 0, got;
	struct cost cost;

	work->clock = CLOCK_MONOTONIC;
	work->timeout_ns = work->pending * TURN_NS;
	for (i = 0; i < work->pending; i++)
		work->delay_ns[i] = LEAD_NS + i * TURN_NS;
	run->facility->open(work);
	if (!bench_fill(run, work, "tail", &cost))
		return;
	for (i = 0, now = now_ns(); i < work->pending; i++)
		due[i] = now + work->delay_ns[i];
	for (i = 0; done < ROUNDS * work->pending; done += got) {
		size_t n = got = run->facility->deliver(work->batch, true, &sum);

		for (now = now_ns(); n; n--, i = (i + 1) % work->pending) {
			uint64_t late = now > due[i] ? now - due[i] : 0;

			tail += late > work->shape->tick_ns + MSEC;
			longest = late > longest ? late : longest;
			due[i] = now + work->timeout_ns;
		}
	}
	bench_say(run, "tail", tail, "timers", work->pending);
	bench_say(run, "tail_max", longest, "insn", work->pending);
}

static int new_wheel(const struct shape *shape)
{
	return bench_wheel(shape->tick_ns, shape->wheel_size, 0);
}

static uint64_t fires(int wheel)
{
	struct twheel_info info;

	if (twheel_get_info(wheel, &info))
		err(1, "TWHEEL_INFO");
	return info.fires;
}

/* Arm timers whose deadlines are uniform over the span, which begins at @base. */
static struct twheel_add *arm(int wheel, const struct work *work, uint64_t base)
{
	struct twheel_add *adds = bench_array(work->pending, sizeof(*adds));
	size_t i;

	for (i = 0; i < work->pending; i++)
		adds[i] = (struct twheel_add) {
			.time_ns = base + work->delay_ns[i],
			.flags = TWHEEL_ABSTIME,
		};
	bench_add_all(wheel, adds, work->pending);
	return adds;
}

/* When a reader gets an event, and the tick boundary at which it was due. */
struct arrival {
	uint64_t due;
	uint64_t late;
};

/* Return @n events or some more, in the order in which they come. */
static struct arrival *wait_for(int wheel, const struct work *work, size_t n)
{
	struct arrival *arrivals = bench_array(n + BENCH_BATCH_MAX, sizeof(*arrivals));
	static struct twheel_event events[BENCH_BATCH_MAX];
	const uint64_t tick = work->shape->tick_ns;
	struct pollfd poll_fd = { .fd = wheel, .events = POLLIN };
	size_t done = 0;

	while (done < n) {
		uint64_t now, due;
		ssize_t i, got;

		if (poll(&poll_fd, 1, -1) != 1)
			err(1, "poll");
		got = twheel_read(wheel, events, BENCH_BATCH_MAX);
		now = now_ns();
		if (got < 0)
			err(1, "read");
		for (i = 0; i < got; i++) {
			due = (events[i].deadline_ns + tick - 1) / tick * tick;
			if (now < due)
				errx(1, "an event %ju ns early", (uintmax_t)(due - now));
			arrivals[done++] = (struct arrival){ .due = due, .late = now - due };
		}
	}
	return arrivals;
}

static int by_lateness(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	return (x->late > y->late) - (x->late < y->late);
}

static int new_quiet_wheel(const struct work *work)
{
	/* Otherwise khugepaged stops the reader now and then, to make a huge page. */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		err(1, "PR_SET_THP_DISABLE");
	return new_wheel(work->shape);
}

/* Report how late the next @n events of a wheel are read. */
static void report_lateness(const struct run *run, const struct work *work, int wheel,
			    const char *op, size_t n)
{
	struct arrival *sorted = wait_for(wheel, work, n);
	const struct {
		const char *name;
		size_t event;
	} of[] = {
		{ "p50", n / 2 },
		{ "p99", n / 100 * 99 },
		{ "p999", n / 1000 * 999 },
		{ "max", n - 1 },
	};
	char name[32];
	size_t i;

	qsort(sorted, n, sizeof(*sorted), by_lateness);
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		snprintf(name, sizeof(name), "%s_%s", op, of[i].name);
		bench_say(run, name, sorted[of[i].event].late, "insn", run->pending);
	}
}

/**
 * bench_lateness() - how late a reader gets the events of a wheel
 * @run: the run.
 * @work: its work.
 *
 * The first quarter of them, while the wheel is at its fullest.
 */
void bench_lateness(const struct run *run, struct work *work)
{
	int wheel = new_quiet_wheel(work);

	arm(wheel, work, now_ns() + LEAD_NS);
	report_lateness(run, work, wheel, "lateness", work->pending / 4 + 1);
}

/**
 * bench_lateness_cancel() - the same after a pause in which only cancels visited the wheel
 * @run: the run.
 * @work: its work.
 *
 * A bucket with many timers, of level 2, is due as a whole. Orders are paid until then.
 */
void bench_lateness_cancel(const struct run *run, struct work *work)
{
	uint64_t base = (now_ns() / BUCKET_NS + 3) * BUCKET_NS;
	int wheel = new_quiet_wheel(work);
	struct twheel_add *adds = arm(wheel, work, base);
	size_t i, cancels = BUCKET_NS / PAID_NS;

	for (i = 0; i < cancels && i < work->pending / 2; i++) {
		sleep_until(base - (cancels - i) * PAID_NS);
		if (twheel_cancel_timer(wheel, adds[i].id))
			err(1, "TWHEEL_CANCEL");
	}
	report_lateness(run, work, wheel, "lateness_cancel", work->pending / 10 + 1);
}

/**
 * bench_fires() - how often the hrtimer of a wheel fires, and how often it has to
 * @run: the run.
 * @work: its work.
 */
void bench_fires(const struct run *run, struct work *work)
{
	size_t i, n = work->pending, ticks = 1;
	int wheel = new_wheel(work->shape);
	struct arrival *arrivals;

	arm(wheel, work, now_ns() + LEAD_NS);
	arrivals = wait_for(wheel, work, n);
	for (i = 1; i < n; i++)
		ticks += arrivals[i].due != arrivals[i - 1].due;
	bench_say(run, "fires", fires(wheel), "fires", n);
	bench_say(run, "ticks", ticks, "ticks", n);
}

/**
 * bench_wakeups() - how often a wheel without timers wakes the CPU in an hour
 * @run: the run.
 * @work: only its shape counts: the wheel has held a timer, but no longer does.
 */
void bench_wakeups(const struct run *run, struct work *work)
{
	struct twheel_add add = { .time_ns = HOUR / 2 };
	int wheel = new_wheel(work->shape);
	uint64_t before;

	if (twheel_add_timer(wheel, &add) || twheel_cancel_timer(wheel, add.id))
		err(1, "adding and cancelling a timer");
	before = fires(wheel);
	sleep_for(HOUR);
	bench_say(run, "wakeups", fires(wheel) - before, "per hour", run->pending);
}

/* The wheel of bench_null(). */
static int null_wheel;

static void call_for_nothing(size_t first, size_t n)
{
	(void)n;
	if (!ioctl(null_wheel, UNKNOWN, &first))
		errx(1, "twheel knows an ioctl that does not exist");
}

/**
 * bench_null() - the cost of a system call that does nothing
 * @run: the run.
 * @work: only its shape counts, and that not much.
 *
 * The loop is the same as for ioctls that do something.
 */
void bench_null(const struct run *run, struct work *work)
{
	const struct facility nothing = { .add = call_for_nothing };
	const struct run calls = { .facility = &nothing, .limit_ns = run->limit_ns };
	const struct work single = { .batch = 1 };
	struct cost cost;
	uint64_t began;
	size_t i;

	null_wheel = new_wheel(work->shape);
	began = now_ns();
	for (i = 0; i < NULL_CALLS; i++)
		syscall(SYS_getppid);
	bench_say(run, "null_syscall", (now_ns() - began) / (double)NULL_CALLS, "insn",
		  run->pending);
	cost = bench_measure(&calls, &single, BENCH_ADD, NULL_CALLS);
	bench_say(run, "null_ioctl", (double)cost.ns / cost.done, "insn", run->pending);
}
