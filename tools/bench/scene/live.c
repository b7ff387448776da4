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

#include "bench.h"

/* When the first timer whose lateness is measured is due. */
#define LEAD_NS		(10 * SEC)
/* The time between two cancels: of a million orders, most are paid within half an hour. */
#define PAID_NS		(2 * MSEC)
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

/*
 * The CPU's work for a timer that expires alone, and is rearmed or not: the time between the last
 * add and the last delivery, without the CPU's idle time and without its other work in half an hour
 */
static void live(void)
{
	const char *op = work.rearm ? "rearm" : "live";
	double idle = background();
	uint64_t began, sum = 0;
	struct cost cost;

	work.facility->open();
	if (!bench_fill(op, &cost))
		return;
	began = kernel_busy();
	for (cost.done = 0; cost.done < work.pending;)
		cost.done += work.facility->deliver(work.batch, true, &sum);
	bench_say(op, (kernel_busy() - began - idle) / cost.done, "insn");
}

static int new_wheel(void)
{
	return bench_wheel(work.tick_ns, work.wheel_size, 0);
}

static uint64_t fires(int wheel)
{
	struct twheel_info info;

	if (twheel_get_info(wheel, &info))
		err(1, "TWHEEL_INFO");
	return info.fires;
}

/* When a reader gets an event, and the tick boundary at which it was due. */
struct arrival {
	uint64_t due;
	uint64_t late;
};

/* Return @n events or some more, in the order in which they come. */
static struct arrival *wait_for(int wheel, size_t n)
{
	struct arrival *arrivals = bench_array(n + BENCH_BATCH_MAX, sizeof(*arrivals));
	static struct twheel_event events[BENCH_BATCH_MAX];
	const uint64_t tick = work.tick_ns;
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

static int new_quiet_wheel(void)
{
	/* Otherwise khugepaged stops the reader now and then, to make a huge page. */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		err(1, "PR_SET_THP_DISABLE");
	return new_wheel();
}

/* Report how late the next @n events of a wheel are read. */
static void report_lateness(int wheel, const char *op, size_t n)
{
	struct arrival *sorted = wait_for(wheel, n);
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
		bench_say(name, sorted[of[i].event].late, "insn");
	}
}

/* How late a reader gets the events of a wheel: the first quarter, while it is at its fullest. */
static void lateness(void)
{
	int wheel = new_quiet_wheel();

	bench_arm(wheel, now_ns() + LEAD_NS);
	report_lateness(wheel, "lateness", work.pending / 4 + 1);
}

/*
 * The same after a pause in which only cancels visited the wheel: a bucket with many timers, of
 * level 2, is due as a whole. Orders are paid until then.
 */
static void lateness_cancel(void)
{
	uint64_t base = (now_ns() / BUCKET_NS + 3) * BUCKET_NS;
	int wheel = new_quiet_wheel();
	struct twheel_add *adds = bench_arm(wheel, base);
	size_t i, cancels = BUCKET_NS / PAID_NS;

	for (i = 0; i < cancels && i < work.pending / 2; i++) {
		sleep_until(base - (cancels - i) * PAID_NS);
		if (twheel_cancel_timer(wheel, adds[i].id))
			err(1, "TWHEEL_CANCEL");
	}
	report_lateness(wheel, "lateness_cancel", work.pending / 10 + 1);
}

/* How often the hrtimer of a wheel fires, and how often it has to. */
static void run_fires(void)
{
	size_t i, n = work.pending, ticks = 1;
	struct arrival *arrivals;
	int wheel = new_wheel();

	bench_arm(wheel, now_ns() + LEAD_NS);
	arrivals = wait_for(wheel, n);
	for (i = 1; i < n; i++)
		ticks += arrivals[i].due != arrivals[i - 1].due;
	bench_say("fires", fires(wheel), "fires");
	bench_say("ticks", ticks, "ticks");
}

/* How often a wheel that has held a timer, but no longer does, wakes the CPU in an hour. */
static void wakeups(void)
{
	struct twheel_add add = { .time_ns = HOUR / 2 };
	int wheel = new_wheel();
	uint64_t before;

	if (twheel_add_timer(wheel, &add) || twheel_cancel_timer(wheel, add.id))
		err(1, "adding and cancelling a timer");
	before = fires(wheel);
	sleep_for(HOUR);
	bench_say("wakeups", fires(wheel) - before, "per hour");
}

static int null_wheel;

static void call_for_nothing(size_t first, size_t n)
{
	if (!ioctl(null_wheel, UNKNOWN, &first))
		errx(1, "twheel knows an ioctl that does not exist");
}

/* The cost of an ioctl that does nothing, in the same loop as for those that do something. */
static void null(void)
{
	const struct facility nothing = { work.facility->name, .add = call_for_nothing };
	struct cost cost;

	null_wheel = new_wheel();
	work.facility = &nothing;
	cost = bench_measure(BENCH_ADD, NULL_CALLS);
	bench_say("null_ioctl", (double)cost.ns / cost.done, "insn");
}

OPERATION(op_live) = { "live", live, .opens = true };
OPERATION(op_rearm) = { "rearm", live, .opens = true, .rearm = true };
OPERATION(op_lateness) = { "lateness", lateness, .opens = true };
OPERATION(op_lateness_cancel) = { "lateness_cancel", lateness_cancel, .opens = true };
OPERATION(op_fires) = { "fires", run_fires, .opens = true };
OPERATION(op_wakeups) = { "wakeups", wakeups, .opens = true };
OPERATION(op_null) = { "null", null, .opens = true };
