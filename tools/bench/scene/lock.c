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
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "facility/wheel.h"

/* At least as many as twheel adds, or reads, in one hold of its lock. */
#define CHUNK		96
/* How many times a waiter waits, or a chunk is added. */
#define ROUNDS		100

/* Every timer in one bucket, which cascades when it is opened. */
static void fill_one_bucket(void)
{
	work.facility->open();
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

static void cancel_half(int unused)
{
	fill_one_bucket();
	bench_measure(BENCH_CANCEL, work.pending / 2);
	close(wheel.fd);
}

/* The wheel falls behind by half an hour, and has to catch up. */
static void catch_up(int unused)
{
	work.clock = CLOCK_BOOTTIME;
	work.facility->open();
	work.clock = CLOCK_MONOTONIC;
	bench_measure(BENCH_ADD, work.pending);
	kernel_jump(BENCH_SPAN_NS);
	deliver_all();
}

/* Time passes as usual, until everything in the one bucket is due. */
static void in_time(int unused)
{
	fill_one_bucket();
	deliver_all();
}

/* Timers that are due when they are added, while a crowd cascades ahead of time. */
static void due_at_once(int fd)
{
	uint64_t expiry = (now_ns() / BUCKET_NS + 3) * BUCKET_NS;
	static struct twheel_event events[CHUNK];
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
}

/* The most levels, and periods that may need them all. */
static void long_periods(int fd)
{
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
}

/* The first timer needs all levels at once. */
static void new_levels(int fd)
{
	struct twheel_add add = { .time_ns = TWHEEL_TIME_MAX_NS };

	bench_add_all(fd, &add, 1);
}

/* List all timers; then cancel all but one in each page, and list the rest. */
static void list_all(int fd)
{
	struct twheel_add *adds = bench_arm(fd, now_ns() + HOUR);

	bench_list_all(fd, CHUNK);
	bench_thin_out(fd, adds);
	bench_list_all(fd, CHUNK);
	free(adds);
}

/* A read to segments of a byte, whose copies must not take place under the lock. */
static void read_segments(int fd)
{
	static char bytes[2 * CHUNK * sizeof(struct twheel_event)];
	static struct iovec to[1024];
	struct twheel_add adds[CHUNK] = { };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(to); i++)
		to[i] = (struct iovec) { &bytes[2 * i], 1 };
	bench_add_all(fd, adds, CHUNK);
	for (i = 0; i < CHUNK; i += ARRAY_SIZE(to) / sizeof(struct twheel_event))
		if (readv(fd, to, ARRAY_SIZE(to)) != ARRAY_SIZE(to))
			err(1, "readv");
}

/* Each modify lets a timer expire again, while epolls watch by edges. */
static void modify_watched(int fd)
{
	struct twheel_add adds[CHUNK] = { };
	struct twheel_modify mods[CHUNK];
	size_t i;

	for (i = 0; i < 10; i++)
		bench_epoll(fd, EPOLLIN | EPOLLET);
	bench_add_all(fd, adds, CHUNK);
	for (i = 0; i < CHUNK; i++)
		mods[i] = (struct twheel_modify) { .id = adds[i].id };
	for (i = 0; i < ROUNDS; i++)
		if (twheel_modify_batch(fd, mods, NULL, CHUNK) != CHUNK)
			err(1, "TWHEEL_MODIFY_BATCH");
}

static void poll_all(int fd, struct twheel_ring *ring)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	while (poll(&pfd, 1, 0) > 0)
		ring->head = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
}

/* Everything in one bucket, half of it periodic with many levels, moved to a ring. */
static void fill_ring(int fd)
{
	struct twheel_ring_setup setup = { .slots = TWHEEL_RING_SLOTS_MAX };
	uint64_t due = now_ns() + SEC;
	struct twheel_ring *ring;
	unsigned int i, k;

	if (ioctl(fd, TWHEEL_RING, &setup))
		err(1, "TWHEEL_RING");
	ring = mmap(NULL, setup.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		err(1, "mmap");
	for (i = 0; i < ROUNDS; i++) {
		struct twheel_add adds[CHUNK] = { };

		for (k = 0; k < CHUNK; k++) {
			adds[k].time_ns = due + (i * CHUNK + k) * 7919 % SEC;
			adds[k].flags = TWHEEL_ABSTIME;
			adds[k].interval_ns = k % 2 ? HOUR << k % 16 : 0;
		}
		bench_add_all(fd, adds, CHUNK);
	}
	sleep_until(due + SEC);
	poll_all(fd, ring);
	munmap(ring, setup.size);
}

/* Three levels have each a bucket that is sorted by insertion, in the worst order. */
static void falling(int fd)
{
	uint64_t due = (now_ns() / (4096 * MSEC) + 3) * 4096 * MSEC + MSEC;
	static const uint64_t before[] = { 8 * SEC, 2 * SEC, 100 * MSEC };
	struct twheel_event events[CHUNK];
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(before); i++) {
		struct twheel_add adds[64] = { };

		sleep_until(due - before[i]);
		for (k = 0; k < 64; k++) {
			adds[k].time_ns = due + 63 - k;
			adds[k].flags = TWHEEL_ABSTIME;
		}
		bench_add_all(fd, adds, 64);
	}
	sleep_until(due + 2 * MSEC);
	while (twheel_read(fd, events, CHUNK) > 0)
		;
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
}

static void wait_in_read(int fd)
{
	fcntl(fd, F_SETFL, O_RDWR);
	wait_for_one(fd, -1);
}

/* The wheel is in an epoll, and that in another one. */
static void wait_in_epoll(int fd)
{
	wait_for_one(fd, bench_epoll(bench_epoll(fd, EPOLLIN), EPOLLIN));
}

/* The scenes, and the wheel that each gets: the first three have that of the facility. */
static const struct {
	const char *name;
	void (*run)(int wheel);
	uint64_t tick_ns;
	uint32_t size;
} scenes[] = {
	{ "cancel", cancel_half, MSEC, 256 },
	{ "catch up", catch_up, MSEC, 256 },
	{ "cascade", in_time, MSEC, 256 },
	{ "due at once", due_at_once, MSEC, 256 },
	{ "long periods", long_periods, TWHEEL_TICK_MIN_NS, TWHEEL_SIZE_MIN },
	{ "new levels", new_levels, TWHEEL_TICK_MIN_NS, 256 },
	{ "new levels of two megabytes", new_levels, TWHEEL_TICK_MIN_NS, TWHEEL_SIZE_MAX },
	{ "list", list_all, MSEC, 256 },
	{ "segments", read_segments, MSEC, 256 },
	{ "modify, watched", modify_watched, MSEC, 256 },
	{ "ring", fill_ring, TWHEEL_TICK_MIN_NS, TWHEEL_SIZE_MIN },
	{ "falling", falling, MSEC, 16 },
	{ "wait in read", wait_in_read, MSEC, 256 },
	{ "wait in epoll", wait_in_epoll, MSEC, 256 },
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
		int fd;

		kernel_request(TWHEEL_BENCH_WATCH, NULL);
		fd = bench_wheel(scenes[i].tick_ns, scenes[i].size, O_NONBLOCK);
		scenes[i].run(fd);
		close(fd);
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
