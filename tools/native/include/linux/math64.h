/* SPDX-License-Identifier: MIT */
#ifndef _NATIVE_LINUX_MATH64_H
#define _NATIVE_LINUX_MATH64_H

#include <linux/types.h>

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (__uint128_t)a * b >> shift;
}

#endif /* _NATIVE_LINUX_MATH64_H */
