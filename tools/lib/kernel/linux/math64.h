/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_MATH64_H
#define _LIBTWHEEL_LINUX_MATH64_H

#include <linux/compiler.h>
#include <linux/types.h>

#ifdef __SIZEOF_INT128__
static __always_inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (__uint128_t)a * b >> shift;
}
#else
/* Multiply in halves; all callers shift by 64 or more. */
static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	u64 low = (u64)(u32)a * (u32)b;
	u64 left = (a >> 32) * (u32)b + (low >> 32);
	u64 right = (u64)(u32)a * (b >> 32) + (u32)left;

	return ((a >> 32) * (b >> 32) + (left >> 32) + (right >> 32)) >> (shift - 64);
}
#endif

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

static inline u64 div64_u64_rem(u64 dividend, u64 divisor, u64 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}

#endif /* _LIBTWHEEL_LINUX_MATH64_H */
