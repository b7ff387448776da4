/* SPDX-License-Identifier: MIT */
/*
 * The kernel's types, for the core of the wheel in user space
 *
 * The headers in this directory have the parts of the kernel's that the core, the store and
 * their tests need. They are written for this project, so that the library contains nothing
 * that is GPL only.
 */
#pragma once

#include_next <linux/types.h>

#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef unsigned int gfp_t;

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

struct list_head {
	struct list_head *next;
	struct list_head *prev;
};
