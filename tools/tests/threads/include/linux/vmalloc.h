/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_VMALLOC_H
#define _DRIVER_LINUX_VMALLOC_H

#include_next <linux/vmalloc.h>

#include <linux/slab.h>

#define __vmalloc(size, gfp)	(out_of_memory() ? NULL : __vmalloc(size, gfp))

#endif /* _DRIVER_LINUX_VMALLOC_H */
