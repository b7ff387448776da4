// SPDX-License-Identifier: MIT
/*
 * The cost of listing the timers of a wheel, for twheel-bench, with full pages and with one
 * timer left in each; and the cost of adopting them
 */
#include <err.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "chance.h"

/* Timers of a new wheel lie side by side, this many in a page. */
#define PAGE_TIMERS	84

static struct twheel_listed listed[BENCH_BATCH_MAX];

static void list(const struct run *run, int wheel, const char *op, size_t timers)
{
	uint64_t cursor = 0, began = now_ns();
	size_t done = 0;
	ssize_t n;

	while ((n = twheel_list_timers(wheel, &cursor, listed, run->batch)) > 0)
		done += n;
	if (n || done != timers)
		err(1, "TWHEEL_LIST: %zu of %zu timers", done, timers);
	bench_say(run, op, (double)(now_ns() - began) / done, "insn", run->pending);
}

/* Cancel all timers except one of each page, at a random place. */
static size_t thin_out(int wheel, const struct twheel_add *adds, size_t n)
{
	uint64_t *cancels = bench_array(n, sizeof(*cancels));
	struct chance chance = { .state = 88172645463325252ULL };
	size_t i, stays = 0, count = 0;

	for (i = 0; i < n; i++) {
		if (i % PAGE_TIMERS == 0)
			stays = i + chance_below(&chance, PAGE_TIMERS);
		if (i != stays)
			cancels[count++] = adds[i].id;
	}
	if (twheel_cancel_batch(wheel, cancels, NULL, count) != (int)count)
		err(1, "TWHEEL_CANCEL_BATCH");
	free(cancels);
	return n - count;
}

static struct twheel_handle *handles;

static void never_called(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	(void)handle;
}

static struct twheel_handle *find_handle(struct twheel_loop *loop, uint64_t data)
{
	(void)loop;
	return &handles[data];
}

/* A loop takes all timers over; the wheel is closed with it. */
static void adopt(const struct run *run, int wheel)
{
	const struct twheel_loop_config config = { .resolve = find_handle };
	struct twheel_loop *loop;
	uint64_t began;
	size_t i;

	handles = bench_array(run->pending, sizeof(*handles));
	for (i = 0; i < run->pending; i++)
		twheel_handle_init(&handles[i], never_called, NULL);
	began = now_ns();
	loop = twheel_loop_adopt(wheel, &config);
	if (!loop || twheel_loop_count(loop) != (int64_t)run->pending)
		err(1, "twheel_loop_adopt");
	bench_say(run, "adopt", (double)(now_ns() - began) / run->pending, "insn", run->pending);
	twheel_loop_free(loop);
	free(handles);
}

static int fill(const struct work *work, struct twheel_add *adds)
{
	int wheel = bench_wheel(MSEC, 256, 0);
	size_t i;

	for (i = 0; i < work->pending; i++)
		adds[i] = (struct twheel_add) { .time_ns = HOUR + work->delay_ns[i], .data = i };
	bench_add_all(wheel, adds, work->pending);
	return wheel;
}

/**
 * bench_list() - the cost of listing a timer, and of adopting one
 * @run: the run.
 * @work: its work.
 */
void bench_list(const struct run *run, struct work *work)
{
	struct twheel_add *adds = bench_array(work->pending, sizeof(*adds));
	int wheel = fill(work, adds);

	list(run, wheel, "list", work->pending);
	list(run, wheel, "list_sparse", thin_out(wheel, adds, work->pending));
	close(wheel);
	adopt(run, fill(work, adds));
	free(adds);
}
