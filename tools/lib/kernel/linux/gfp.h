/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_GFP_H
#define _LIBTWHEEL_LINUX_GFP_H

#include <linux/types.h>

#define GFP_KERNEL	0U

static inline bool gfpflags_allow_blocking(gfp_t gfp)
{
	return gfp == GFP_KERNEL;
}

#endif /* _LIBTWHEEL_LINUX_GFP_H */
