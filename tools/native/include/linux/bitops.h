/* SPDX-License-Identifier: MIT */
/*
 * Bits, by the compiler's built-in functions: the kernel's header for user space
 * has loops where the kernel has an instruction
 */
#ifndef _NATIVE_LINUX_BITOPS_H
#define _NATIVE_LINUX_BITOPS_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

#define BITS_TO_LONGS(bits)	(((bits) + BITS_PER_LONG - 1) / BITS_PER_LONG)

/* The last set bit, counted from 1; 0 if there is none. */
static __always_inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static __always_inline int fls(unsigned int x)
{
	return fls64(x);
}

static __always_inline int fls_long(unsigned long x)
{
	return fls64(x);
}

/* The last set bit, counted from 0; there must be one. */
static __always_inline unsigned long __fls(unsigned long x)
{
	return fls64(x) - 1;
}

/* The first set bit, counted from 0; there must be one. */
static __always_inline unsigned long __ffs(unsigned long x)
{
	return __builtin_ctzl(x);
}

static __always_inline unsigned long __ffs64(u64 x)
{
	return __builtin_ctzll(x);
}

static inline bool test_bit(unsigned long nr, const unsigned long *map)
{
	return map[nr / BITS_PER_LONG] >> nr % BITS_PER_LONG & 1;
}

static inline void __set_bit(unsigned long nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] |= 1UL << nr % BITS_PER_LONG;
}

static inline void __clear_bit(unsigned long nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] &= ~(1UL << nr % BITS_PER_LONG);
}

#endif /* _NATIVE_LINUX_BITOPS_H */
