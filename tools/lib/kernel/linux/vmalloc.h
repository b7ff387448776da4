/* SPDX-License-Identifier: MIT */
#pragma once

#include <linux/slab.h>

static inline void *__vmalloc(size_t bytes, gfp_t gfp)
{
	return kmalloc(bytes, gfp);
}
