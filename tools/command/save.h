/* SPDX-License-Identifier: MIT */
/*
 * Deadlines on two clocks, for `twheel save` and `twheel load`
 */
#ifndef SAVE_H
#define SAVE_H

#include <stdint.h>

/**
 * struct moment - one moment on two clocks
 * @before_ns: the wheel's clock, just before.
 * @wall_ns: CLOCK_REALTIME.
 * @after_ns: the wheel's clock, just after.
 */
struct moment {
	uint64_t before_ns;
	uint64_t wall_ns;
	uint64_t after_ns;
};

uint64_t to_wall(const struct moment *now, uint64_t deadline_ns);
uint64_t to_wheel(const struct moment *now, uint64_t wall_ns, uint64_t interval_ns);

#endif /* SAVE_H */
