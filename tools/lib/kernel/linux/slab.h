/* SPDX-License-Identifier: MIT */
#pragma once

#include <linux/gfp.h>
#include <stdlib.h>

static inline void *kmalloc(size_t bytes, gfp_t gfp)
{
	return malloc(bytes);
}

static inline void *kzalloc(size_t bytes, gfp_t gfp)
{
	return calloc(1, bytes);
}

static inline void *krealloc(void *memory, size_t bytes, gfp_t gfp)
{
	return realloc(memory, bytes);
}

static inline void kfree(const void *memory)
{
	free((void *)memory);
}

static inline void kvfree(const void *memory)
{
	free((void *)memory);
}
