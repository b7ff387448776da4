/* SPDX-License-Identifier: MIT */
#pragma once

#include <limits.h>
#include <linux/bits.h>
#include <linux/slab.h>
#include <string.h>

/* 4 KiB on every machine, unless the build defines another size. */
#ifndef PAGE_SHIFT
#define PAGE_SHIFT		12
#endif
/* The C library may have its own. */
#undef PAGE_SIZE
#define PAGE_SIZE		BIT(PAGE_SHIFT)
#define PAGE_MASK		(~(PAGE_SIZE - 1))
#define PAGE_ALIGN(bytes)	(((bytes) + PAGE_SIZE - 1) & PAGE_MASK)

static inline unsigned long get_zeroed_page(gfp_t gfp)
{
	void *page = aligned_alloc(PAGE_SIZE, PAGE_SIZE);

	return (unsigned long)(page ? memset(page, 0, PAGE_SIZE) : NULL);
}

static inline void free_page(unsigned long page)
{
	free((void *)page);
}
