// SPDX-License-Identifier: MIT
/*
 * twheel, for twheel-bench
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "libtwheel.h"

static const struct work *work;
static int wheel;
static uint64_t *ids;
/* What is passed in one call. */
static struct twheel_add *adds;
static struct twheel_modify *mods;
static struct twheel_event *events;
static uint64_t *cancels;

static void open_wheel(const struct work *w)
{
	enum deadlines deadlines = w->shape->deadlines;
	struct twheel_setup setup = {
		.tick_ns = w->shape->tick_ns,
		.wheel_size = w->shape->wheel_size,
		.clock_id = CLOCK_BOOTTIME,
	};
	size_t i;

	work = w;
	ids = bench_array(w->pending, sizeof(*ids));
	adds = bench_array(BENCH_BATCH_MAX, sizeof(*adds));
	for (i = 0; i < BENCH_BATCH_MAX; i++) {
		adds[i].flags = deadlines == DEADLINES_PAST ? TWHEEL_ABSTIME : 0;
		/* Long enough that each expires once here. */
		adds[i].interval_ns = deadlines == DEADLINES_PERIODIC ? 2 * BENCH_SPAN_NS : 0;
	}
	mods = bench_array(BENCH_BATCH_MAX, sizeof(*mods));
	events = bench_array(BENCH_BATCH_MAX, sizeof(*events));
	cancels = bench_array(BENCH_BATCH_MAX, sizeof(*cancels));
	wheel = twheel_open(NULL, O_CLOEXEC);
	if (wheel < 0)
		err(1, "%s", TWHEEL_DEVICE);
	if (twheel_set_up(wheel, &setup))
		err(1, "TWHEEL_SETUP");
}

static void add_one(size_t which)
{
	adds->time_ns = work->delay_ns[which];
	adds->data = which;
	if (twheel_add_timer(wheel, adds))
		err(1, "TWHEEL_ADD");
	ids[which] = adds->id;
}

static void add(size_t first, size_t n)
{
	size_t i;

	if (n == 1) {
		add_one(first);
		return;
	}
	for (i = 0; i < n; i++) {
		adds[i].time_ns = work->delay_ns[first + i];
		adds[i].data = first + i;
	}
	if (twheel_add_batch(wheel, adds, n) != (int)n)
		err(1, "TWHEEL_ADD_BATCH");
	for (i = 0; i < n; i++)
		ids[first + i] = adds[i].id;
}

static void modify(const uint32_t *which, size_t n)
{
	size_t i;

	if (n == 1) {
		if (twheel_modify_timer(wheel, ids[*which], work->timeout_ns, 0))
			err(1, "TWHEEL_MODIFY");
		return;
	}
	for (i = 0; i < n; i++) {
		mods[i].id = ids[which[i]];
		mods[i].time_ns = work->timeout_ns;
	}
	if (twheel_modify_batch(wheel, mods, NULL, n) != (int)n)
		err(1, "TWHEEL_MODIFY_BATCH");
}

static void cancel(const uint32_t *which, size_t n)
{
	size_t i;

	if (n == 1) {
		if (twheel_cancel_timer(wheel, ids[*which]))
			err(1, "TWHEEL_CANCEL");
		return;
	}
	for (i = 0; i < n; i++)
		cancels[i] = ids[which[i]];
	if (twheel_cancel_batch(wheel, cancels, NULL, n) != (int)n)
		err(1, "TWHEEL_CANCEL_BATCH");
}

static size_t deliver(size_t max, uint64_t *sum)
{
	ssize_t n = twheel_read(wheel, events, max);
	ssize_t i;

	if (n < 0)
		err(1, "read");
	for (i = 0; i < n; i++)
		*sum += events[i].data;
	return n;
}

static size_t turn(uint64_t *sum)
{
	struct pollfd pollfd = { .fd = wheel, .events = POLLIN };

	return poll(&pollfd, 1, 0) ? deliver(BENCH_BATCH_MAX, sum) : 0;
}

static void close_wheel(void)
{
	close(wheel);
	free(ids);
	free(adds);
	free(mods);
	free(events);
	free(cancels);
}

const struct facility twheel_facility = {
	.name = "twheel",
	.kernel = NOT_IN_KERNEL,
	.batches = true,
	.handle = sizeof(*ids),
	.open = open_wheel,
	.add = add,
	.modify = modify,
	.cancel = cancel,
	.deliver = deliver,
	.turn = turn,
	.close = close_wheel,
};
