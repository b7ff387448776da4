// SPDX-License-Identifier: MIT
/*
 * Operations that could hold a lock or keep interrupts off for long, for twheel-bench:
 * all of them on a wheel with many timers, in few buckets and in many; the most expensive
 * checks; new levels; and waking waiters, in read() or in epoll
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "facility/wheel.h"

/* At least as many as twheel adds, or reads, in one hold of its lock. */
#define CHUNK		96
/* How many times a waiter waits, or a chunk is added. */
#define ROUNDS		100

/* Every timer in one bucket, which cascades when it is opened. */
static void fill_one_bucket(void)
{
	wheel_open(0);
	bench_measure(BENCH_ADD, work.pending);
	bench_measure(BENCH_MODIFY, work.pending);
}

static void deliver_all(void)
{
	uint64_t sum = 0;
	size_t done = 0;

	while (done < work.pending)
		done += work.facility->deliver(work.batch, true, &sum);
	close(wheel.fd);
}

static void cancel_half(void)
{
	fill_one_bucket();
	bench_measure(BENCH_CANCEL, work.pending / 2);
	close(wheel.fd);
}

/* The wheel falls behind by half an hour, and has to catch up. */
static void catch_up(void)
{
	work.clock = CLOCK_BOOTTIME;
	wheel_open(0);
	work.clock = CLOCK_MONOTONIC;
	bench_measure(BENCH_ADD, work.pending);
	kernel_jump(BENCH_SPAN_NS);
	deliver_all();
}

/* Time passes as usual, until everything in the one bucket is due. */
static void in_time(void)
{
	fill_one_bucket();
	deliver_all();
}

/* Timers that are due when they are added, while a crowd cascades ahead of time. */
static void due_at_once(void)
{
	uint64_t expiry = (now_ns() / BUCKET_NS + 3) * BUCKET_NS;
	static struct twheel_event events[CHUNK];
	int fd = bench_wheel(MSEC, 256, O_NONBLOCK);
	size_t i;

	for (i = 0; i < work.pending; i++) {
		struct twheel_add add = {
			.time_ns = expiry + i % 60000 * MSEC,
			.flags = TWHEEL_ABSTIME,
		};

		bench_add_all(fd, &add, 1);
	}
	sleep_until(expiry - BUCKET_NS / 16 + MSEC);
	for (i = 0; i < ROUNDS; i++) {
		struct twheel_add adds[CHUNK] = { };

		bench_add_all(fd, adds, CHUNK);
		if (twheel_read(fd, events, CHUNK) != CHUNK)
			err(1, "read");
	}
	close(fd);
}

/* The most levels, and periods that may need them all. */
static void long_periods(void)
{
	int fd = bench_wheel(TWHEEL_TICK_MIN_NS, TWHEEL_SIZE_MIN, O_NONBLOCK);
	unsigned int i, k;

	for (i = 0; i < ROUNDS; i++) {
		struct twheel_add adds[CHUNK];

		for (k = 0; k < CHUNK; k++)
			adds[k] = (struct twheel_add){
				.time_ns = TWHEEL_TIME_MAX_NS,
				.interval_ns = TWHEEL_TIME_MAX_NS,
			};
		bench_add_all(fd, adds, CHUNK);
	}
	close(fd);
}

/* The first timer needs all levels at once, of the usual size and of two megabytes each. */
static void new_levels(void)
{
	static const uint32_t sizes[] = { 256, TWHEEL_SIZE_MAX };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct twheel_add add = { .time_ns = TWHEEL_TIME_MAX_NS };
		int fd = bench_wheel(TWHEEL_TICK_MIN_NS, sizes[i], O_NONBLOCK);

		bench_add_all(fd, &add, 1);
		close(fd);
	}
}

/* List all timers; then cancel all but one in each page, and list the rest. */
static void list_all(void)
{
	int fd = bench_wheel(MSEC, 256, O_NONBLOCK);
	struct twheel_add *adds = bench_arm(fd, now_ns() + HOUR);

	bench_list_all(fd, CHUNK);
	bench_thin_out(fd, adds);
	bench_list_all(fd, CHUNK);
	close(fd);
	free(adds);
}

static int open_epoll(int watched)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, watched, &event))
		err(1, "epoll");
	return epoll;
}

/* Wait until the only timer is due, repeatedly: in read(), or in an epoll if there is one. */
static void wait_for_one(int fd, int epoll)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		struct twheel_add add = { .time_ns = 10 * MSEC };
		struct twheel_event event;
		struct epoll_event ready;

		bench_add_all(fd, &add, 1);
		if (epoll >= 0 && epoll_wait(epoll, &ready, 1, -1) != 1)
			err(1, "epoll_wait");
		if (twheel_read(fd, &event, 1) != 1)
			err(1, "read");
	}
	close(fd);
}

static void wait_in_read(void)
{
	wait_for_one(bench_wheel(MSEC, 256, 0), -1);
}

/* The wheel is in an epoll, and that in another one. */
static void wait_in_epoll(void)
{
	int fd = bench_wheel(MSEC, 256, O_NONBLOCK);
	int inner = open_epoll(fd), outer = open_epoll(inner);

	wait_for_one(fd, outer);
	close(outer);
	close(inner);
}

static const struct {
	const char *name;
	void (*run)(void);
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

/* The longest time with a lock held, and with interrupts off. */
static void run(void)
{
	uint64_t lock = 0, irqs_off = 0;
	bool slept = false, fired = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(scenes); i++) {
		struct twheel_bench_watch watch;

		kernel_request(TWHEEL_BENCH_WATCH, NULL);
		scenes[i].run();
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
	bench_say("lock_hold", lock, "insn");
	bench_say("irqs_off", irqs_off, "insn");
}

OPERATION(lock_hold) = { "lock_hold", run, .opens = true };
