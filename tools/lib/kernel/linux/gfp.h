/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_GFP_H
#define _LIBTWHEEL_LINUX_GFP_H

#include <linux/types.h>

#define GFP_KERNEL		1U
#define GFP_KERNEL_ACCOUNT	GFP_KERNEL
#define GFP_ATOMIC		4U
#define __GFP_ZERO		2U
#define __GFP_NOWARN		0U
#define __GFP_RETRY_MAYFAIL	0U

#endif /* _LIBTWHEEL_LINUX_GFP_H */
