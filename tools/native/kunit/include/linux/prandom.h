/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random numbers from a seed; the kernel's are others for the same seed
 */
#pragma once

#include <linux/types.h>

struct rnd_state {
	u64 state;
};

static inline void prandom_seed_state(struct rnd_state *rnd, u64 seed)
{
	rnd->state = seed * 2 + 1;
}

/* xorshift64*: G. Marsaglia, "Xorshift RNGs"; S. Vigna, "An experimental exploration ...". */
static inline u32 prandom_u32_state(struct rnd_state *rnd)
{
	rnd->state ^= rnd->state >> 12;
	rnd->state ^= rnd->state << 25;
	rnd->state ^= rnd->state >> 27;
	return (rnd->state * 0x2545f4914f6cdd1dULL) >> 32;
}
