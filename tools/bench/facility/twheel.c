// SPDX-License-Identifier: MIT
/*
 * twheel, for twheel-bench: a program that is blocked in read(2), one that waits in epoll and
 * reads, and one that waits in epoll and takes events from the ring
 */
#include <err.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include "wheel.h"

struct wheel wheel;
static int epoll;
static struct twheel_ring_view ring;

void wheel_open(int flags)
{
	bool absolute = work.deadlines == DEADLINES_ABSOLUTE;
	size_t i;

	/* All of its pages are present before a cost is measured. */
	memset(&wheel, 0, sizeof(wheel));
	wheel.timeout_ns = work.timeout_ns + (absolute ? now_on(work.clock) : 0);
	wheel.ids = bench_array(work.pending, sizeof(*wheel.ids));
	for (i = 0; i < BENCH_BATCH_MAX; i++) {
		wheel.adds[i].flags = work.deadlines == DEADLINES_PAST ? TWHEEL_ABSTIME : 0;
		/* Long enough that each timer expires only once here. */
		if (work.deadlines == DEADLINES_PERIODIC)
			wheel.adds[i].interval_ns = 2 * BENCH_SPAN_NS;
		wheel.mods[i].flags = absolute ? TWHEEL_ABSTIME : 0;
	}
	wheel.fd = bench_wheel(work.tick_ns, work.wheel_size, flags);
}

static void open_wheel(void)
{
	wheel_open(0);
}

static void open_epoll(void)
{
	open_wheel();
	/* Edge-triggered, so epoll does not poll a wheel again that was read. */
	epoll = bench_epoll(wheel.fd, EPOLLIN | EPOLLET);
}

static void open_ring(void)
{
	open_epoll();
	if (twheel_ring_map(wheel.fd, BENCH_BATCH_MAX, &ring))
		err(1, "twheel_ring_map");
}

static void add_one(size_t which, uint64_t delay_ns)
{
	wheel.adds->time_ns = delay_ns;
	wheel.adds->data = which;
	if (twheel_add_timer(wheel.fd, wheel.adds))
		err(1, "TWHEEL_ADD");
	wheel.ids[which] = wheel.adds->id;
}

static void add(size_t first, size_t n)
{
	if (n == 1) {
		add_one(first, work.delay_ns[first]);
		return;
	}
	fill_adds(first, n);
	if (twheel_add_batch(wheel.fd, wheel.adds, n) != (int)n)
		err(1, "TWHEEL_ADD_BATCH");
	take_ids(first, n);
}

static void modify(const uint32_t *which, size_t n)
{
	if (n == 1) {
		if (twheel_modify_timer(wheel.fd, wheel.ids[*which], wheel.timeout_ns,
					wheel.mods->flags))
			err(1, "TWHEEL_MODIFY");
		return;
	}
	fill_mods(which, n);
	if (twheel_modify_batch(wheel.fd, wheel.mods, NULL, n) != (int)n)
		err(1, "TWHEEL_MODIFY_BATCH");
}

static void cancel(const uint32_t *which, size_t n)
{
	if (n == 1) {
		if (twheel_cancel_timer(wheel.fd, wheel.ids[*which]))
			err(1, "TWHEEL_CANCEL");
		return;
	}
	fill_cancels(which, n);
	if (twheel_cancel_batch(wheel.fd, wheel.cancels, NULL, n) != (int)n)
		err(1, "TWHEEL_CANCEL_BATCH");
}

static void take(const struct twheel_event *taken, size_t n, uint64_t *sum)
{
	size_t i;

	for (i = 0; i < n; i++)
		*sum += taken[i].data;
	for (i = 0; work.rearm && i < n; i++)
		add_one(taken[i].data, work.timeout_ns);
}

static bool is_readable(void)
{
	return poll(&(struct pollfd){ .fd = wheel.fd, .events = POLLIN }, 1, 0);
}

static size_t deliver(size_t max, bool waits, uint64_t *sum)
{
	ssize_t n;

	if (!waits && !is_readable())
		return 0;
	n = twheel_read(wheel.fd, wheel.events, max);
	if (n < 0)
		err(1, "read");
	take(wheel.events, n, sum);
	return n;
}

static void wait_for_some(void)
{
	struct epoll_event event;

	if (epoll_wait(epoll, &event, 1, -1) != 1)
		err(1, "epoll_wait");
}

/* After an edge, read until nothing is left. */
static size_t deliver_in_epoll(size_t max, bool waits, uint64_t *sum)
{
	size_t n, done;

	if (waits)
		wait_for_some();
	n = deliver(max, waits, sum);
	for (done = n; n == max; done += n)
		n = deliver(max, false, sum);
	return done;
}

static size_t deliver_by_ring(size_t max, bool waits, uint64_t *sum)
{
	const struct twheel_event *taken;
	size_t n, done = 0;

	if (waits)
		wait_for_some();
	else if (!is_readable())
		return 0;
	do {
		while ((taken = twheel_ring_peek(&ring, &n))) {
			take(taken, n, sum);
			twheel_ring_consume(&ring, n);
			done += n;
		}
	} while (twheel_ring_more(&ring) && is_readable());
	return done;
}

FACILITY(blocked, "twheel", open_wheel, deliver, BENCH_CHANGES, WHEEL_HANDLE);
FACILITY(in_epoll, "twheel-epoll", open_epoll, deliver_in_epoll, BENCH_CHANGES, WHEEL_HANDLE);
FACILITY(by_ring, "twheel-ring", open_ring, deliver_by_ring, BENCH_CHANGES, WHEEL_HANDLE);
