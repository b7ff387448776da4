// SPDX-License-Identifier: MIT
/*
 * A wheel, and the arguments of one call; see wheel.h
 */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "wheel.h"

struct wheel wheel;

void wheel_open(const struct work *w, int flags)
{
	enum deadlines deadlines = w->shape->deadlines;
	struct twheel_setup setup = {
		.tick_ns = w->shape->tick_ns,
		.wheel_size = w->shape->wheel_size,
		.clock_id = w->clock,
	};
	bool absolute = deadlines == DEADLINES_ABSOLUTE;
	size_t i;

	wheel.work = w;
	wheel.timeout_ns = w->timeout_ns + (absolute ? now_on(w->clock) : 0);
	wheel.ids = bench_array(w->pending, sizeof(*wheel.ids));
	wheel.adds = bench_array(BENCH_BATCH_MAX, sizeof(*wheel.adds));
	for (i = 0; i < BENCH_BATCH_MAX; i++) {
		wheel.adds[i].flags = deadlines == DEADLINES_PAST ? TWHEEL_ABSTIME : 0;
		/* Long enough that each timer expires only once here. */
		if (deadlines == DEADLINES_PERIODIC)
			wheel.adds[i].interval_ns = 2 * BENCH_SPAN_NS;
	}
	wheel.mods = bench_array(BENCH_BATCH_MAX, sizeof(*wheel.mods));
	for (i = 0; i < BENCH_BATCH_MAX; i++)
		wheel.mods[i].flags = absolute ? TWHEEL_ABSTIME : 0;
	wheel.events = bench_array(BENCH_BATCH_MAX, sizeof(*wheel.events));
	wheel.cancels = bench_array(BENCH_BATCH_MAX, sizeof(*wheel.cancels));
	wheel.fd = twheel_open(NULL, flags | O_CLOEXEC);
	if (wheel.fd < 0 || twheel_set_up(wheel.fd, &setup))
		err(1, "%s", TWHEEL_DEVICE);
}

void wheel_close(void)
{
	close(wheel.fd);
	free(wheel.ids);
	free(wheel.adds);
	free(wheel.mods);
	free(wheel.events);
	free(wheel.cancels);
}
