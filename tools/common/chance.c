// SPDX-License-Identifier: MIT
/*
 * Random numbers that depend on a seed only; see chance.h
 */
#include "chance.h"

/* SplitMix64 turns neighbouring seeds into different streams. */
static uint64_t mix(uint64_t n)
{
	n += 0x9e3779b97f4a7c15ULL;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ULL;
	n = (n ^ n >> 27) * 0x94d049bb133111ebULL;
	return n ^ n >> 31;
}

void chance_init(struct chance *chance, uint64_t seed, uint64_t stream)
{
	chance->state = mix(mix(seed) + stream) | 1;
}

/* xorshift64* */
uint64_t chance_next(struct chance *chance)
{
	uint64_t n = chance->state;

	n ^= n >> 12;
	n ^= n << 25;
	n ^= n >> 27;
	chance->state = n;
	return n * 0x2545f4914f6cdd1dULL;
}

/* Return a number below @bound, which is not 0. */
uint64_t chance_below(struct chance *chance, uint64_t bound)
{
	return chance_next(chance) % bound;
}

bool chance_hit(struct chance *chance, unsigned int percent)
{
	return chance_below(chance, 100) < percent;
}

/* Return a number of any length, short ones as often as long ones. */
uint64_t chance_any_size(struct chance *chance)
{
	return chance_next(chance) >> chance_below(chance, 64);
}
