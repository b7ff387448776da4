/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_BITS_H
#define _LIBTWHEEL_LINUX_BITS_H

#define BIT(bit)		(1UL << (bit))
#define BIT_ULL(bit)		(1ULL << (bit))
#define GENMASK(high, low)	((2UL << (high)) - BIT(low))

#endif /* _LIBTWHEEL_LINUX_BITS_H */
