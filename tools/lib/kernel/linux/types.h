/* SPDX-License-Identifier: MIT */
/*
 * The kernel's types, for the core of the wheel in user space
 *
 * The headers beside this one have what twheel_core.c needs of the kernel's, and no more.
 * They are written for this library, so that it contains nothing that is GPL only.
 */
#ifndef _LIBTWHEEL_LINUX_TYPES_H
#define _LIBTWHEEL_LINUX_TYPES_H

#include_next <linux/types.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef s64 ktime_t;
typedef unsigned int gfp_t;

#define U64_MAX		UINT64_MAX
#define S64_MAX		INT64_MAX

struct list_head {
	struct list_head *next;
	struct list_head *prev;
};

#endif /* _LIBTWHEEL_LINUX_TYPES_H */
