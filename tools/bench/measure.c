// SPDX-License-Identifier: MIT
/*
 * Helpers of every measurement: loops over the timers, memory, a line of output, and requests to
 * the bench module
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "bench.h"

void *bench_array(size_t n, size_t size)
{
	void *array = malloc(n * size);

	if (!array)
		err(1, "%zu bytes", n * size);
	memset(array, 0, n * size);
	return array;
}

int bench_epoll(int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (epoll < 0 || (fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)))
		err(1, "epoll");
	return epoll;
}

int bench_wheel(uint64_t tick_ns, uint32_t size, int flags)
{
	struct twheel_setup setup = {
		.tick_ns = tick_ns,
		.wheel_size = size,
		.clock_id = work.clock,
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

struct twheel_add *bench_arm(int wheel, uint64_t base)
{
	struct twheel_add *adds = bench_array(work.pending, sizeof(*adds));
	size_t i;

	for (i = 0; i < work.pending; i++)
		adds[i] = (struct twheel_add) {
			.time_ns = base + work.delay_ns[i],
			.flags = TWHEEL_ABSTIME,
			.data = i,
		};
	bench_add_all(wheel, adds, work.pending);
	return adds;
}

static void say(const char *op)
{
	printf("%s %s", work.facility->name, op);
	if (work.shape)
		printf(":%s", work.shape);
	printf(" %zu %zu ", work.pending, work.batch);
}

void bench_say(const char *op, double value, const char *unit)
{
	say(op);
	printf("%.2f %s\n", value, unit);
	fflush(stdout);
}

void bench_report(const char *op, struct cost cost)
{
	say(op);
	if (cost.done)
		printf("%.2f insn", (double)cost.ns / cost.done);
	else
		printf("- insn");
	if (cost.done < work.pending)
		printf(" %zu", cost.done);
	printf("\n");
	fflush(stdout);
}

/* Does @n timers in batches: the loop around everything but deliveries. */
static void step(const struct facility *f, enum bench_op op, size_t first, size_t n)
{
	void (*change)(const uint32_t *, size_t) = op == BENCH_MODIFY ? f->modify : f->cancel;
	size_t batch = work.batch, end = first + n;
	const uint32_t *order = work.order;

	if (op == BENCH_ADD)
		for (; first < end; first += batch)
			f->add(first, batch < end - first ? batch : end - first);
	else
		for (; first < end; first += batch)
			change(order + first, batch < end - first ? batch : end - first);
}

struct cost bench_measure(enum bench_op op, size_t n)
{
	uint64_t began = now_ns();
	struct cost cost = { };

	while (cost.done < n && cost.ns < work.limit_ns) {
		size_t some = n - cost.done < STRIDE ? n - cost.done : STRIDE;

		step(work.facility, op, cost.done, some);
		cost.done += some;
		cost.ns = now_ns() - began;
	}
	return cost;
}

bool bench_fill(const char *op, struct cost *cost)
{
	*cost = bench_measure(BENCH_ADD, work.pending);
	if (cost->done == work.pending)
		return true;
	bench_report(op, (struct cost){ });
	return false;
}

void kernel_request(unsigned long number, void *arg)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/" TWHEEL_BENCH_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, number, arg))
		err(1, "/dev/" TWHEEL_BENCH_DEVICE);
}

void kernel_jump(uint64_t ns)
{
	__u64 arg = ns;

	kernel_request(TWHEEL_BENCH_JUMP, &arg);
}

uint64_t kernel_busy(void)
{
	__u64 busy;

	kernel_request(TWHEEL_BENCH_BUSY, &busy);
	return busy;
}
