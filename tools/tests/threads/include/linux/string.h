/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_STRING_H
#define _DRIVER_LINUX_STRING_H

#include <string.h>

/* The first byte that is not @c, or NULL. */
static inline const void *memchr_inv(const void *start, int c, size_t bytes)
{
	const unsigned char *p = start;

	for (; bytes--; p++) {
		if (*p != (unsigned char)c)
			return p;
	}
	return NULL;
}

#endif /* _DRIVER_LINUX_STRING_H */
