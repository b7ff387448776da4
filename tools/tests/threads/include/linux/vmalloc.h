/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_VMALLOC_H
#define _DRIVER_LINUX_VMALLOC_H

#include_next <linux/vmalloc.h>

#include <linux/slab.h>

static inline void *vmalloc_quietly(size_t size, gfp_t gfp)
{
	if (!(gfp & __GFP_NOWARN))
		broken("a large allocation that fails is logged");
	return out_of_memory() ? NULL : __vmalloc(size, gfp);
}

#define __vmalloc(size, gfp)	vmalloc_quietly(size, gfp)

#endif /* _DRIVER_LINUX_VMALLOC_H */
