/* SPDX-License-Identifier: MIT */
#ifndef _NATIVE_LINUX_VMALLOC_H
#define _NATIVE_LINUX_VMALLOC_H

#include <linux/slab.h>

static inline void *__vmalloc(size_t size, gfp_t gfp)
{
	return kvzalloc(size, gfp);
}

#endif /* _NATIVE_LINUX_VMALLOC_H */
