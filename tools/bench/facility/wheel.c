// SPDX-License-Identifier: MIT
/*
 * A wheel, and the arguments of one call; see wheel.h
 */
#include <string.h>

#include "wheel.h"

struct wheel wheel;

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
