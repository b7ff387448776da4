/* SPDX-License-Identifier: MIT */
/*
 * Pages, and how many the machine has
 */
#ifndef _DRIVER_LINUX_MM_H
#define _DRIVER_LINUX_MM_H

#include <linux/slab.h>

#include_next <linux/mm.h>

#define get_zeroed_page(gfp)	(out_of_memory() ? 0 : get_zeroed_page(gfp))

struct sysinfo {
	unsigned long totalram;
	unsigned long totalhigh;
};

static inline void si_meminfo(struct sysinfo *si)
{
	*si = (struct sysinfo) { .totalram = 1UL << (30 - PAGE_SHIFT) };
}

#endif /* _DRIVER_LINUX_MM_H */
