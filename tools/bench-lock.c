// SPDX-License-Identifier: MIT
/*
 * What could keep bottom halves off for long, for twheel-bench: every operation
 * on a wheel that holds many timers, few buckets with many, and many with few; what
 * costs most to check; and many wheels at once
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "bench-kernel.h"
#include "libtwheel.h"

#define CHUNK		32
#define WHEELS		1000
#define WHEEL_TIMERS	70
/* With a tick of a millisecond and 256 buckets, one bucket of level 2. */
#define BUCKET_NS	(65536 * NS_PER_MSEC)

/* Every timer in one bucket, which cascades when its time comes. */
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
		done += run->facility->deliver(run->batch, &sum);
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

/* Time goes on as usual, until everything in the one bucket is due. */
static void in_time(const struct run *run, struct work *work)
{
	fill_one_bucket(run, work);
	deliver(run, work->pending);
	run->facility->close();
}

/* All timers are dropped at once. */
static void close_full(const struct run *run, struct work *work)
{
	bench_measure(run, work, BENCH_ADD, work->pending);
	run->facility->close();
}

static int open_wheel(uint64_t tick_ns, uint32_t size)
{
	struct twheel_setup setup = {
		.tick_ns = tick_ns,
		.wheel_size = size,
		.clock_id = CLOCK_MONOTONIC,
	};
	int wheel = twheel_open(NULL, O_CLOEXEC | O_NONBLOCK);

	if (wheel < 0)
		err(1, "%s", TWHEEL_DEVICE);
	if (twheel_setup(wheel, &setup))
		err(1, "TWHEEL_SETUP");
	return wheel;
}

static void add_all(int wheel, struct twheel_add *adds, uint32_t n)
{
	if (twheel_add_batch(wheel, adds, n) != (int)n)
		err(1, "TWHEEL_ADD_BATCH");
}

/* Timers that are due when they are added, while a crowd cascades ahead of time. */
static void due_at_once(const struct run *run, struct work *work)
{
	uint64_t expiry = (bench_now() / BUCKET_NS + 3) * BUCKET_NS;
	static struct twheel_event events[CHUNK];
	int wheel = open_wheel(NS_PER_MSEC, 256);
	size_t i;

	run->facility->close();
	for (i = 0; i < work->pending; i++) {
		struct twheel_add add = {
			.time_ns = expiry + i % 60000 * NS_PER_MSEC,
			.flags = TWHEEL_ABSTIME,
		};

		add_all(wheel, &add, 1);
	}
	bench_sleep(expiry - BUCKET_NS / 16 - bench_now() + NS_PER_MSEC);
	for (i = 0; i < 100; i++) {
		struct twheel_add adds[CHUNK] = { };

		add_all(wheel, adds, CHUNK);
		if (twheel_read(wheel, events, CHUNK) != CHUNK)
			err(1, "read");
	}
	close(wheel);
}

/* The most levels, and periods that may need them all. */
static void long_periods(const struct run *run, struct work *work)
{
	int wheel = open_wheel(TWHEEL_TICK_MIN_NS, TWHEEL_SIZE_MIN);
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
		add_all(wheel, adds, CHUNK);
	}
	close(wheel);
}

static const struct {
	const char *name;
	void (*run)(const struct run *run, struct work *work);
} scenes[] = {
	{ "cancel", cancel_half },
	{ "catch up", catch_up },
	{ "cascade", in_time },
	{ "close", close_full },
	{ "due at once", due_at_once },
	{ "long periods", long_periods },
};

static void allow_files(rlim_t n)
{
	struct rlimit limit = { .rlim_cur = n, .rlim_max = n };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		err(1, "RLIMIT_NOFILE");
}

/* Many wheels are due at the same time, one bottom half for all: the cost of each. */
static uint64_t burst(void)
{
	uint64_t due = bench_now() + 60 * NS_PER_SEC;
	struct twheel_bench_watch watch;
	static int wheel[WHEELS];
	unsigned int i, k;

	allow_files(WHEELS + 100);
	for (i = 0; i < WHEELS; i++) {
		struct twheel_add adds[WHEEL_TIMERS] = { };

		wheel[i] = open_wheel(TWHEEL_TICK_MIN_NS, 256);
		for (k = 0; k < WHEEL_TIMERS; k++) {
			adds[k].time_ns = due + k * 2 * TWHEEL_TICK_MIN_NS;
			adds[k].flags = TWHEEL_ABSTIME;
		}
		add_all(wheel[i], adds, WHEEL_TIMERS);
	}
	if (bench_now() > due)
		errx(1, "it took too long to fill %d wheels", WHEELS);
	kernel_watch();
	bench_sleep(due + NS_PER_SEC - bench_now());
	kernel_watched(&watch);
	if (!watch.softirqs)
		errx(1, "the watch on bottom halves saw nothing");
	for (i = 0; i < WHEELS; i++)
		close(wheel[i]);
	return watch.softirq_ns / WHEELS;
}

/**
 * bench_lock_hold() - the longest time with a lock held or bottom halves off
 * @run: the run.
 * @work: its work.
 */
void bench_lock_hold(const struct run *run, struct work *work)
{
	uint64_t lock = 0, softirq = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(scenes); i++) {
		struct twheel_bench_watch watch;

		kernel_watch();
		run->facility->open(work);
		scenes[i].run(run, work);
		kernel_watched(&watch);
		if (!watch.lock_holds)
			errx(1, "the watch on locks saw nothing");
		printf("# %s: lock %llu of %llu, bottom half %llu of %llu\n",
		       scenes[i].name, watch.lock_ns, watch.lock_holds,
		       watch.softirq_ns, watch.softirqs);
		lock = lock > watch.lock_ns ? lock : watch.lock_ns;
		softirq = softirq > watch.softirq_ns ? softirq : watch.softirq_ns;
	}
	bench_say(run, "lock_hold", lock, "insn", run->pending);
	bench_say(run, "bottom_half", softirq, "insn", run->pending);
	bench_say(run, "burst", burst(), "insn", run->pending);
}
