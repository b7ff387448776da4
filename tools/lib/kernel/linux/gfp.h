/* SPDX-License-Identifier: MIT */
#pragma once

#include <linux/types.h>

#define GFP_KERNEL		1U
#define GFP_KERNEL_ACCOUNT	GFP_KERNEL
#define GFP_ATOMIC		4U
#define __GFP_ZERO		2U
#define __GFP_NOWARN		0U
#define __GFP_RETRY_MAYFAIL	0U
