/* SPDX-License-Identifier: MIT */
/*
 * Pages, which are of 4 KiB here on every machine
 */
#ifndef _NATIVE_LINUX_MM_H
#define _NATIVE_LINUX_MM_H

#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_SHIFT	12
#define PAGE_SIZE	BIT(PAGE_SHIFT)
#define PAGE_MASK	(~(PAGE_SIZE - 1))
#define PAGE_ALIGN(n)	(((n) + PAGE_SIZE - 1) & PAGE_MASK)

static inline unsigned long get_zeroed_page(gfp_t gfp)
{
	void *page = aligned_alloc(PAGE_SIZE, PAGE_SIZE);

	(void)gfp;
	return (unsigned long)(page ? memset(page, 0, PAGE_SIZE) : NULL);
}

static inline void free_page(unsigned long page)
{
	free((void *)page);
}

#endif /* _NATIVE_LINUX_MM_H */
