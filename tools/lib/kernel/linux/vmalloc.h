/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_VMALLOC_H
#define _LIBTWHEEL_LINUX_VMALLOC_H

#include <linux/slab.h>

static inline void *__vmalloc(size_t bytes, gfp_t gfp)
{
	return kmalloc(bytes, gfp);
}

#endif /* _LIBTWHEEL_LINUX_VMALLOC_H */
