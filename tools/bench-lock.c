// SPDX-License-Identifier: MIT
/*
 * What could keep bottom halves off for long, for twheel-bench: every operation
 * on a wheel that holds many timers, few buckets with many, and many with few
 */
#include <err.h>
#include <stdio.h>

#include "bench.h"
#include "bench-kernel.h"

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

static const struct {
	const char *name;
	void (*run)(const struct run *run, struct work *work);
} scenes[] = {
	{ "cancel", cancel_half },
	{ "catch up", catch_up },
	{ "cascade", in_time },
	{ "close", close_full },
};

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
}
