/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_LOG2_H
#define _LIBTWHEEL_LINUX_LOG2_H

#include <linux/bitops.h>

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n > 1 ? 2UL << __fls(n - 1) : 1;
}

#endif /* _LIBTWHEEL_LINUX_LOG2_H */
