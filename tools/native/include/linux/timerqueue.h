/* SPDX-License-Identifier: MIT */
/*
 * A queue of nodes ordered by time, on a tree
 */
#pragma once

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

static inline bool timerqueue_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct timerqueue_node, node)->expires <
	       rb_entry(b, struct timerqueue_node, node)->expires;
}

/* Return true if the node is the first one now. */
static inline bool timerqueue_add(struct timerqueue_head *head, struct timerqueue_node *node)
{
	rb_add_cached(&node->node, &head->rb_root, timerqueue_less);
	return rb_first_cached(&head->rb_root) == &node->node;
}

/* Return true if other nodes are queued. */
static inline bool timerqueue_del(struct timerqueue_head *head, struct timerqueue_node *node)
{
	rb_erase_cached(&node->node, &head->rb_root);
	RB_CLEAR_NODE(&node->node);
	return rb_first_cached(&head->rb_root);
}
