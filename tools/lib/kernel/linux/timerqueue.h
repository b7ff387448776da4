/* SPDX-License-Identifier: MIT */
/*
 * A queue of nodes ordered by time
 *
 * The wheel queues its levels, a handful of them: a sorted list instead of the kernel's tree.
 */
#pragma once

#include <linux/list.h>
#include <linux/types.h>

typedef s64 ktime_t;

/* A node that is not queued is its own neighbour. */
struct rb_node {
	struct rb_node *prev, *next;
};

struct timerqueue_node {
	struct rb_node node;
	ktime_t expires;
};

struct timerqueue_head {
	struct rb_node *first;
};

#define rb_entry(ptr, type, member)	container_of(ptr, type, member)

static inline struct rb_node *rb_prev(const struct rb_node *node)
{
	return node->prev;
}

static inline struct rb_node *rb_next(const struct rb_node *node)
{
	return node->next;
}

static inline void timerqueue_init_head(struct timerqueue_head *head)
{
	head->first = NULL;
}

static inline void timerqueue_init(struct timerqueue_node *node)
{
	node->node.next = &node->node;
}

static inline bool timerqueue_node_queued(struct timerqueue_node *node)
{
	return node->node.next != &node->node;
}

static inline struct timerqueue_node *timerqueue_getnext(struct timerqueue_head *head)
{
	return head->first ? rb_entry(head->first, struct timerqueue_node, node) : NULL;
}

static inline struct timerqueue_node *timerqueue_iterate_next(struct timerqueue_node *node)
{
	return node->node.next ? rb_entry(node->node.next, struct timerqueue_node, node) : NULL;
}

/* Return true if the node is the first one now. */
static inline bool timerqueue_add(struct timerqueue_head *head, struct timerqueue_node *node)
{
	struct rb_node *prev = NULL, *next = head->first;

	for (; next && rb_entry(next, struct timerqueue_node, node)->expires <= node->expires;
	     next = next->next)
		prev = next;
	node->node = (struct rb_node) { prev, next };
	*(prev ? &prev->next : &head->first) = &node->node;
	if (next)
		next->prev = &node->node;
	return !prev;
}

/* Return true if other nodes are queued. */
static inline bool timerqueue_del(struct timerqueue_head *head, struct timerqueue_node *node)
{
	struct rb_node *prev = node->node.prev, *next = node->node.next;

	*(prev ? &prev->next : &head->first) = next;
	if (next)
		next->prev = prev;
	timerqueue_init(node);
	return head->first;
}
