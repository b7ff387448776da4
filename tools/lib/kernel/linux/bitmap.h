/* SPDX-License-Identifier: MIT */
#pragma once

#include <linux/bitops.h>

/* Return the first bit that is set from @from on; @size if there is none. */
static inline unsigned long find_next_bit(const unsigned long *map, unsigned long size,
					  unsigned long from)
{
	unsigned long word = BIT_WORD(from);
	unsigned long bits, found;

	if (from >= size)
		return size;
	for (bits = map[word] & (~0UL << from % BITS_PER_LONG); !bits; bits = map[word])
		if (++word >= BITS_TO_LONGS(size))
			return size;
	found = word * BITS_PER_LONG + __ffs(bits);
	return found < size ? found : size;
}

static inline unsigned long find_first_bit(const unsigned long *map, unsigned long size)
{
	return find_next_bit(map, size, 0);
}
