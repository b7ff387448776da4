// SPDX-License-Identifier: MIT
/*
 * Helpers of every measurement: loops over the timers, memory, a line of output
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "kernel.h"

/* How many timers to work on between two checks of the limit. */
#define STRIDE		1024

void *bench_array(size_t n, size_t size)
{
	void *array = malloc(n * size);

	if (!array)
		err(1, "%zu bytes", n * size);
	memset(array, 0, n * size);
	return array;
}

int bench_wheel(uint64_t tick_ns, uint32_t size, int flags)
{
	struct twheel_setup setup = {
		.tick_ns = tick_ns,
		.wheel_size = size,
		.clock_id = CLOCK_MONOTONIC,
	};
	int wheel = twheel_open(NULL, O_CLOEXEC | flags);

	if (wheel < 0 || twheel_set_up(wheel, &setup))
		err(1, "%s", TWHEEL_DEVICE);
	return wheel;
}

void bench_add_all(int wheel, struct twheel_add *adds, size_t n)
{
	if (twheel_add_batch(wheel, adds, n) != (int)n)
		err(1, "TWHEEL_ADD_BATCH");
}

void bench_say(const struct run *run, const char *op, double value,
	       const char *unit, size_t done)
{
	printf("%s %s", run->facility->name, op);
	if (run->shape.name)
		printf(":%s", run->shape.name);
	printf(" %zu %zu ", run->pending, run->batch);
	if (done || !run->pending)
		printf("%.2f %s", value, unit);
	else
		printf("- %s", unit);
	if (done < run->pending)
		printf(" %zu", done);
	printf("\n");
	fflush(stdout);
}

/* Does @n timers in batches: the loop around everything but deliveries. */
static void step(const struct facility *f, const struct work *work, enum bench_op op,
		 size_t first, size_t n)
{
	const uint32_t *order = work->order;
	size_t batch = work->batch;
	size_t end = first + n;

	switch (op) {
	case BENCH_ADD:
		for (; first < end; first += batch)
			f->add(first, batch < end - first ? batch : end - first);
		break;
	case BENCH_MODIFY:
		for (; first < end; first += batch)
			f->modify(order + first, batch < end - first ? batch : end - first);
		break;
	case BENCH_CANCEL:
		for (; first < end; first += batch)
			f->cancel(order + first, batch < end - first ? batch : end - first);
		break;
	}
}

struct cost bench_measure(const struct run *run, const struct work *work,
			  enum bench_op op, size_t n)
{
	uint64_t began = now_ns();
	struct cost cost = { };

	while (cost.done < n && cost.ns < run->limit_ns) {
		size_t some = n - cost.done < STRIDE ? n - cost.done : STRIDE;

		step(run->facility, work, op, cost.done, some);
		cost.done += some;
		cost.ns = now_ns() - began;
	}
	return cost;
}

struct cost bench_expire(const struct run *run, const struct work *work, size_t n)
{
	const struct facility *f = run->facility;
	struct cost cost = { };
	uint64_t began, sum = 0;

	if (f->loop) {
		sleep_for(BENCH_SPAN_NS);
		began = now_ns();
	} else {
		began = now_ns();
		kernel_jump(BENCH_SPAN_NS);
	}
	while (cost.done < n && cost.ns < run->limit_ns) {
		size_t target = n - cost.done < STRIDE ? n : cost.done + STRIDE;

		while (cost.done < target)
			cost.done += f->deliver(work->batch, true, &sum);
		cost.ns = now_ns() - began;
	}
	if (cost.done == work->pending && sum != cost.done * (cost.done - 1) / 2)
		errx(1, "%s: delivered %zu timers, but not the right ones",
		     f->name, cost.done);
	return cost;
}

bool bench_fill(const struct run *run, const struct work *work, const char *op,
		struct cost *cost)
{
	*cost = bench_measure(run, work, BENCH_ADD, work->pending);
	if (cost->done == work->pending)
		return true;
	bench_say(run, op, 0, "insn", 0);
	return false;
}
