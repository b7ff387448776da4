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

static struct twheel_handle *handles;

size_t bench_list_all(int wheel, size_t batch)
{
	static struct twheel_listed listed[BENCH_BATCH_MAX];
	uint64_t cursor = 0;
	size_t done = 0;
	ssize_t n;

	while ((n = twheel_list_timers(wheel, &cursor, listed, batch)) > 0)
		done += n;
	if (n)
		err(1, "TWHEEL_LIST");
	return done;
}

size_t bench_thin_out(int wheel, const struct twheel_add *adds)
{
	uint64_t *cancels = bench_array(work.pending, sizeof(*cancels));
	struct chance chance = { .state = 88172645463325252ULL };
	size_t i, stays = 0, count = 0;

	for (i = 0; i < work.pending; i++) {
		if (i % PAGE_TIMERS == 0)
			stays = i + chance_below(&chance, PAGE_TIMERS);
		if (i != stays)
			cancels[count++] = adds[i].id;
	}
	if (twheel_cancel_batch(wheel, cancels, NULL, count) != (int)count)
		err(1, "TWHEEL_CANCEL_BATCH");
	free(cancels);
	return work.pending - count;
}

static void measure_list(int wheel, const char *op, size_t timers)
{
	uint64_t began = now_ns();

	if (bench_list_all(wheel, work.batch) != timers)
		errx(1, "TWHEEL_LIST lost timers");
	bench_say(op, (double)(now_ns() - began) / timers, "insn");
}

static void never_called(struct twheel_loop *loop, struct twheel_handle *handle)
{
}

static struct twheel_handle *find_handle(struct twheel_loop *loop, uint64_t data)
{
	return &handles[data];
}

/* A loop takes all timers over. */
static void measure_adopt(int wheel)
{
	const struct twheel_loop_config config = { .resolve = find_handle };
	struct twheel_loop *loop;
	uint64_t began;
	size_t i;

	handles = bench_array(work.pending, sizeof(*handles));
	for (i = 0; i < work.pending; i++)
		twheel_handle_init(&handles[i], never_called, NULL);
	began = now_ns();
	loop = twheel_loop_adopt(wheel, &config);
	if (!loop || twheel_loop_count(loop) != (int64_t)work.pending)
		err(1, "twheel_loop_adopt");
	bench_say("adopt", (double)(now_ns() - began) / work.pending, "insn");
}

static void run(void)
{
	int wheel = bench_wheel(work.tick_ns, work.wheel_size, 0);
	struct twheel_add *adds = bench_arm(wheel, now_ns() + HOUR);

	measure_list(wheel, "list", work.pending);
	measure_list(wheel, "list_sparse", bench_thin_out(wheel, adds));
	close(wheel);
	free(adds);
	wheel = bench_wheel(work.tick_ns, work.wheel_size, 0);
	bench_arm(wheel, now_ns() + HOUR);
	measure_adopt(wheel);
}

OPERATION(list) = { "list", run, .opens = true };
