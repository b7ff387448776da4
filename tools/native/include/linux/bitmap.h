/* SPDX-License-Identifier: MIT */
#ifndef _NATIVE_LINUX_BITMAP_H
#define _NATIVE_LINUX_BITMAP_H

#include <linux/bitops.h>
#include <linux/kernel.h>

#define BITMAP_FIRST_WORD_MASK(bit)	(~0UL << (bit) % BITS_PER_LONG)

/* The first set bit from @from on; @size or more if there is none. */
static inline unsigned long find_next_bit(const unsigned long *map, unsigned long size,
					  unsigned long from)
{
	unsigned long word = from / BITS_PER_LONG;
	unsigned long bits;

	if (from >= size)
		return size;
	bits = map[word] & BITMAP_FIRST_WORD_MASK(from);
	while (!bits) {
		if (++word * BITS_PER_LONG >= size)
			return size;
		bits = map[word];
	}
	return word * BITS_PER_LONG + __ffs(bits);
}

static inline unsigned long find_first_bit(const unsigned long *map, unsigned long size)
{
	return find_next_bit(map, size, 0);
}

#endif /* _NATIVE_LINUX_BITMAP_H */
