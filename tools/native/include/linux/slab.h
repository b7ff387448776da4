/* SPDX-License-Identifier: MIT */
#ifndef _NATIVE_LINUX_SLAB_H
#define _NATIVE_LINUX_SLAB_H

#include <linux/types.h>
#include <stdlib.h>

static inline void *kvzalloc(size_t size, gfp_t gfp)
{
	(void)gfp;
	return calloc(1, size);
}

static inline void *kzalloc(size_t size, gfp_t gfp)
{
	return kvzalloc(size, gfp);
}

static inline void *kmalloc(size_t size, gfp_t gfp)
{
	(void)gfp;
	return malloc(size);
}

static inline void *krealloc(void *p, size_t size, gfp_t gfp)
{
	(void)gfp;
	return realloc(p, size);
}

static inline void kfree(const void *p)
{
	free((void *)p);
}

static inline void kvfree(const void *p)
{
	free((void *)p);
}

#endif /* _NATIVE_LINUX_SLAB_H */
