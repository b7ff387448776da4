/* SPDX-License-Identifier: MIT */
/*
 * A queue of nodes ordered by time, on the kernel's red-black tree
 */
#ifndef _NATIVE_LINUX_TIMERQUEUE_H
#define _NATIVE_LINUX_TIMERQUEUE_H

#include <linux/compiler.h>
#include <linux/rbtree.h>
#include <linux/types.h>

typedef s64 ktime_t;

struct timerqueue_node {
	struct rb_node node;
	ktime_t expires;
};

struct timerqueue_head {
	struct rb_root_cached rb_root;
};

/* As in the kernel, these are calls. */
bool timerqueue_add(struct timerqueue_head *head, struct timerqueue_node *node);
bool timerqueue_del(struct timerqueue_head *head, struct timerqueue_node *node);

static inline void timerqueue_init_head(struct timerqueue_head *head)
{
	head->rb_root = RB_ROOT_CACHED;
}

static inline void timerqueue_init(struct timerqueue_node *node)
{
	RB_CLEAR_NODE(&node->node);
}

static inline bool timerqueue_node_queued(struct timerqueue_node *node)
{
	return !RB_EMPTY_NODE(&node->node);
}

static inline struct timerqueue_node *timerqueue_getnext(struct timerqueue_head *head)
{
	return rb_entry_safe(rb_first_cached(&head->rb_root), struct timerqueue_node, node);
}

static inline struct timerqueue_node *timerqueue_iterate_next(struct timerqueue_node *node)
{
	return rb_entry_safe(rb_next(&node->node), struct timerqueue_node, node);
}

#endif /* _NATIVE_LINUX_TIMERQUEUE_H */
