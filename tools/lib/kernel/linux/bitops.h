/* SPDX-License-Identifier: MIT */
#pragma once

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/limits.h>

#define BITS_PER_LONG		((unsigned int)(sizeof(long) * CHAR_BIT))
#define BITS_TO_LONGS(bits)	(((bits) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define BIT_WORD(bit)		((bit) / BITS_PER_LONG)

/* The last bit that is set, counted from 1; 0 if there is none. */
static __always_inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

/* The last bit that is set, counted from 0; there has to be one. */
static __always_inline unsigned long __fls(unsigned long x)
{
	return BITS_PER_LONG - 1 - __builtin_clzl(x);
}

/* The first bit that is set, counted from 0; there has to be one. */
static __always_inline unsigned long __ffs(unsigned long x)
{
	return __builtin_ctzl(x);
}

static __always_inline unsigned long __ffs64(u64 x)
{
	return __builtin_ctzll(x);
}

static __always_inline bool test_bit(unsigned long bit, const unsigned long *map)
{
	return map[BIT_WORD(bit)] >> bit % BITS_PER_LONG & 1;
}

static __always_inline void __set_bit(unsigned long bit, unsigned long *map)
{
	map[BIT_WORD(bit)] |= 1UL << bit % BITS_PER_LONG;
}

static __always_inline void __clear_bit(unsigned long bit, unsigned long *map)
{
	map[BIT_WORD(bit)] &= ~(1UL << bit % BITS_PER_LONG);
}
