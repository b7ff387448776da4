// SPDX-License-Identifier: MIT
/*
 * Operations that could hold a lock or keep interrupts off for long, for twheel-bench:
 * all of them on a wheel with many timers, in few buckets and in many; the most expensive
 * checks; new levels; and waking waiters, in read() or in epoll
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bench.h"
#include "kernel.h"

/* At least as many as twheel adds, or reads, in one hold of its lock. */
#define CHUNK		96
/* How many times a waiter waits. */
#define WAITS		100

/* Every timer in one bucket, which cascades when it is opened. */
static void fill_one_bucket(const struct run *run, struct work *work)
{
	bench_measure(run, work, BENCH_ADD, work->pending);
	bench_measure(run, work, BENCH_MODIFY, work->pending);
}

static void deliver(const struct run *run, size_t n)
{
	uint64_t sum = 0;
	size_t done = 0;

	while (done < n)
		done += run->facility->deliver(run->batch, true, &sum);
}

static void cancel_half(const struct run *run, struct work *work)
{
	fill_one_bucket(run, work);
	bench_measure(run, work, BENCH_CANCEL, work->pending / 2);
	run->facility->close();
}

/* The wheel falls behind by half an hour, and has to catch up. */
static void catch_up(const struct run *run, struct work *work)
{
	bench_measure(run, work, BENCH_ADD, work->pending);
	kernel_jump(BENCH_SPAN_NS);
	deliver(run, work->pending);
	run->facility->close();
}

/* Time passes as usual, until everything in the one bucket is due. */
static void in_time(const struct run *run, struct work *work)
{
	fill_one_bucket(run, work);
	deliver(run, work->pending);
	run->facility->close();
}

/* Timers that are due when they are added, while a crowd cascades ahead of time. */
static void due_at_once(const struct run *run, struct work *work)
{
	uint64_t expiry = (now_ns() / BUCKET_NS + 3) * BUCKET_NS;
	static struct twheel_event events[CHUNK];
	int wheel = bench_wheel(MSEC, 256, O_NONBLOCK);
	size_t i;

	run->facility->close();
	for (i = 0; i < work->pending; i++) {
		struct twheel_add add = {
			.time_ns = expiry + i % 60000 * MSEC,
			.flags = TWHEEL_ABSTIME,
		};

		bench_add_all(wheel, &add, 1);
	}
	sleep_until(expiry - BUCKET_NS / 16 + MSEC);
	for (i = 0; i < 100; i++) {
		struct twheel_add adds[CHUNK] = { };

		bench_add_all(wheel, adds, CHUNK);
		if (twheel_read(wheel, events, CHUNK) != CHUNK)
			err(1, "read");
	}
	close(wheel);
}

/* The most levels, and periods that may need them all. */
static void long_periods(const struct run *run, struct work *work)
{
	int wheel = bench_wheel(TWHEEL_TICK_MIN_NS, TWHEEL_SIZE_MIN, O_NONBLOCK);
	unsigned int i, k;

	(void)work;
	run->facility->close();
	for (i = 0; i < 100; i++) {
		struct twheel_add adds[CHUNK];

		for (k = 0; k < CHUNK; k++)
			adds[k] = (struct twheel_add){
				.time_ns = TWHEEL_TIME_MAX_NS,
				.interval_ns = TWHEEL_TIME_MAX_NS,
			};
		bench_add_all(wheel, adds, CHUNK);
	}
	close(wheel);
}

/* The first timer needs all levels at once, of the usual size and of two megabytes each. */
static void new_levels(const struct run *run, struct work *work)
{
	static const uint32_t sizes[] = { 256, TWHEEL_SIZE_MAX };
	size_t i;

	(void)work;
	run->facility->close();
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct twheel_add add = { .time_ns = TWHEEL_TIME_MAX_NS };
		int wheel = bench_wheel(TWHEEL_TICK_MIN_NS, sizes[i], O_NONBLOCK);

		bench_add_all(wheel, &add, 1);
		close(wheel);
	}
}

static void read_one(int wheel)
{
	struct twheel_event event;

	if (twheel_read(wheel, &event, 1) != 1)
		err(1, "read");
}

/* List all timers; then cancel all but one in a hundred, and list the rest. */
static void list_all(const struct run *run, struct work *work)
{
	struct twheel_add *adds = bench_array(work->pending, sizeof(*adds));
	uint64_t *cancels = bench_array(work->pending, sizeof(*cancels));
	static struct twheel_listed listed[CHUNK];
	int wheel = bench_wheel(MSEC, 256, O_NONBLOCK), round;
	size_t i, count = 0;
	uint64_t cursor;

	run->facility->close();
	for (i = 0; i < work->pending; i++)
		adds[i] = (struct twheel_add) { .time_ns = BENCH_SPAN_NS };
	bench_add_all(wheel, adds, work->pending);
	for (i = 0; i < work->pending; i++)
		if (i % 100)
			cancels[count++] = adds[i].id;
	for (round = 0; round < 2; round++) {
		cursor = 0;
		while (twheel_list_timers(wheel, &cursor, listed, CHUNK) > 0)
			;
		if (!round && twheel_cancel_batch(wheel, cancels, NULL, count) != (int)count)
			err(1, "TWHEEL_CANCEL_BATCH");
	}
	close(wheel);
	free(cancels);
	free(adds);
}

/* A reader sleeps in read() until the only timer is due, repeatedly. */
static void wait_in_read(const struct run *run, struct work *work)
{
	int wheel = bench_wheel(MSEC, 256, 0);
	unsigned int i;

	(void)work;
	run->facility->close();
	for (i = 0; i < WAITS; i++) {
		struct twheel_add add = { .time_ns = 10 * MSEC };

		bench_add_all(wheel, &add, 1);
		read_one(wheel);
	}
	close(wheel);
}

static int open_epoll(int watched)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, watched, &event))
		err(1, "epoll");
	return epoll;
}

/* The same, with the wheel in an epoll, and that in another one. */
static void wait_in_epoll(const struct run *run, struct work *work)
{
	int wheel = bench_wheel(MSEC, 256, O_NONBLOCK);
	int inner = open_epoll(wheel), outer = open_epoll(inner);
	unsigned int i;

	(void)work;
	run->facility->close();
	for (i = 0; i < WAITS; i++) {
		struct twheel_add add = { .time_ns = 10 * MSEC };
		struct epoll_event event;

		bench_add_all(wheel, &add, 1);
		if (epoll_wait(outer, &event, 1, -1) != 1)
			err(1, "epoll_wait");
		read_one(wheel);
	}
	close(outer);
	close(inner);
	close(wheel);
}

static const struct {
	const char *name;
	void (*run)(const struct run *run, struct work *work);
} scenes[] = {
	{ "cancel", cancel_half },
	{ "catch up", catch_up },
	{ "cascade", in_time },
	{ "due at once", due_at_once },
	{ "long periods", long_periods },
	{ "new levels", new_levels },
	{ "list", list_all },
	{ "wait in read", wait_in_read },
	{ "wait in epoll", wait_in_epoll },
};

static uint64_t longest(uint64_t a, struct twheel_bench_span b)
{
	return a > b.longest_ns ? a : b.longest_ns;
}

/**
 * bench_lock_hold() - the longest time with a lock held, and with interrupts off
 * @run: the run.
 * @work: its work.
 */
void bench_lock_hold(const struct run *run, struct work *work)
{
	uint64_t lock = 0, irqs_off = 0;
	bool slept = false, fired = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(scenes); i++) {
		struct twheel_bench_watch watch;

		kernel_request(TWHEEL_BENCH_WATCH, NULL);
		run->facility->open(work);
		scenes[i].run(run, work);
		kernel_request(TWHEEL_BENCH_WATCHED, &watch);
		if (!watch.lock.count)
			errx(1, "the watch on locks saw nothing");
		printf("# %s: lock %llu of %llu, waiters %llu of %llu, hrtimer %llu of %llu\n",
		       scenes[i].name, watch.lock.longest_ns, watch.lock.count,
		       watch.wait.longest_ns, watch.wait.count,
		       watch.fire.longest_ns, watch.fire.count);
		lock = longest(lock, watch.lock);
		irqs_off = longest(longest(irqs_off, watch.wait), watch.fire);
		slept |= watch.wait.count;
		fired |= watch.fire.count;
	}
	if (!slept || !fired)
		errx(1, "the watch on interrupts saw nothing");
	bench_say(run, "lock_hold", lock, "insn", run->pending);
	bench_say(run, "irqs_off", irqs_off, "insn", run->pending);
}
