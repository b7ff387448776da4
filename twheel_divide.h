/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Division by an invariant
 *
 * Multiplying by the rounded-up reciprocal and keeping the high part gives the quotient in a few
 * instructions (T. Granlund and P. Montgomery, "Division by Invariant Integers using
 * Multiplication", PLDI 1994). With 2^(l-1) < d <= 2^l the multiplier floor(2^(63+l) / d) + 1 has
 * 64 bits and is exact for dividends below 2^63. For d = 2^l it is exact without the 1.
 */
#ifndef _TWHEEL_DIVIDE_H
#define _TWHEEL_DIVIDE_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/types.h>

/**
 * struct twheel_divisor - a number to divide by
 * @magic: what to multiply twice the dividend by.
 * @value: the number, 1 to 2^63.
 * @shift: what to shift the upper half of the product by.
 */
struct twheel_divisor {
	u64 magic;
	u64 value;
	u8 shift;
};

/**
 * twheel_divisor_init() - prepare to divide by a number
 * @d: the divisor to set
 * @n: the number, 1 to 2^63
 */
static inline void twheel_divisor_init(struct twheel_divisor *d, u64 n)
{
	unsigned int l = fls64(n - 1);
	u64 quotient = n == 1, rest = n > 1;
	unsigned int i;

	for (i = 0; i < 63 + l; i++) {
		bool carry = rest >> 63;

		rest <<= 1;
		quotient <<= 1;
		if (carry || rest >= n) {
			rest -= n;
			quotient |= 1;
		}
	}
	d->magic = quotient + !is_power_of_2(n);
	d->value = n;
	d->shift = l;
}

/**
 * twheel_divide() - divide
 * @d: the divisor
 * @n: the dividend, below 2^63
 *
 * Return: the quotient, rounded down.
 */
static __always_inline u64 twheel_divide(const struct twheel_divisor *d, u64 n)
{
	return mul_u64_u64_shr(2 * n, d->magic, 64) >> d->shift;
}

#endif /* _TWHEEL_DIVIDE_H */
