/* SPDX-License-Identifier: MIT */
/*
 * A wheel, and the arguments of one call, for the facilities that use the device
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bench.h"

/* Inline below: filling the array is part of a timer's cost. */
extern struct wheel {
	int fd;
	uint64_t *ids;
	struct twheel_add adds[BENCH_BATCH_MAX];
	struct twheel_modify mods[BENCH_BATCH_MAX];
	struct twheel_event events[BENCH_BATCH_MAX];
	uint64_t cancels[BENCH_BATCH_MAX];
	uint64_t timeout_ns;	/* the time that timers are postponed to: a delay, or a deadline */
} wheel;

/* The program keeps the id of each timer. */
#define WHEEL_HANDLE	.handle = sizeof(*wheel.ids)

void wheel_open(int flags);

static inline void fill_adds(size_t first, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		wheel.adds[i].time_ns = work.delay_ns[first + i];
		wheel.adds[i].data = first + i;
	}
}

static inline void take_ids(size_t first, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		wheel.ids[first + i] = wheel.adds[i].id;
}

static inline void fill_mods(const uint32_t *which, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		wheel.mods[i].id = wheel.ids[which[i]];
		wheel.mods[i].time_ns = wheel.timeout_ns;
	}
}

static inline void fill_cancels(const uint32_t *which, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		wheel.cancels[i] = wheel.ids[which[i]];
}
