/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_TYPES_H
#define _DRIVER_LINUX_TYPES_H

#include <sys/types.h>
#include <time.h>

#include_next <linux/types.h>

typedef unsigned int __poll_t;

typedef struct {
	s64 counter;
} atomic64_t;

struct hlist_node {
	struct hlist_node *next;
	struct hlist_node **place;
};

#endif /* _DRIVER_LINUX_TYPES_H */
