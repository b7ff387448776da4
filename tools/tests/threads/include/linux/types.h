/* SPDX-License-Identifier: MIT */
/*
 * The kernel's, where a u64 is what the interface calls __u64
 */
#ifndef _DRIVER_LINUX_TYPES_H
#define _DRIVER_LINUX_TYPES_H

#include <sys/types.h>
#include <time.h>

/* For its own programs it is another type of the same size, of which pointers differ. */
#define u64	tools_u64
#define s64	tools_s64
#include_next <linux/types.h>
#undef u64
#undef s64

typedef __u64 u64;
typedef __s64 s64;
typedef unsigned int __poll_t;

typedef struct {
	s64 counter;
} atomic64_t;

#endif /* _DRIVER_LINUX_TYPES_H */
