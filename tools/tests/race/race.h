/* SPDX-License-Identifier: MIT */
/*
 * The races of twheel-race, and their options
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct race_options {
	uint64_t ops;	/* number of operations, roughly */
	uint64_t seed;	/* the seed of random numbers */
	const char *module;	/* the module's file, or NULL */
	/* The wheels that have a clock of their own have CLOCK_REALTIME or CLOCK_TAI. */
	bool wall;
};

void race_mayhem(const struct race_options *options);
void race_suspend(const struct race_options *options);
void race_set_clock(const struct race_options *options);
void race_unload(const struct race_options *options);
