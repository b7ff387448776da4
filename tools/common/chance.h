/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that depend on a seed only, and are the same on every machine
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A stream of random numbers; its state must not be 0. */
struct chance {
	uint64_t state;
};

void chance_init(struct chance *chance, uint64_t seed, uint64_t stream);
uint64_t chance_next(struct chance *chance);
uint64_t chance_below(struct chance *chance, uint64_t bound);
bool chance_hit(struct chance *chance, unsigned int percent);
uint64_t chance_any_size(struct chance *chance);
