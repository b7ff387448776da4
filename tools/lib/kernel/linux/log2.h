/* SPDX-License-Identifier: MIT */
#pragma once

#include <linux/bitops.h>

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n > 1 ? 2UL << __fls(n - 1) : 1;
}
