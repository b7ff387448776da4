/* SPDX-License-Identifier: MIT */
/*
 * A queue of nodes ordered by time
 *
 * The wheel queues its levels, a handful of them: a sorted list is all it takes.
 */
#ifndef _LIBTWHEEL_LINUX_TIMERQUEUE_H
#define _LIBTWHEEL_LINUX_TIMERQUEUE_H

#include <linux/types.h>

/* @link is what points to the node; NULL when it is not queued. */
struct timerqueue_node {
	struct timerqueue_node *next;
	struct timerqueue_node **link;
	ktime_t expires;
};

struct timerqueue_head {
	struct timerqueue_node *first;
};

static inline void timerqueue_init_head(struct timerqueue_head *head)
{
	head->first = NULL;
}

static inline void timerqueue_init(struct timerqueue_node *node)
{
	node->link = NULL;
}

static inline bool timerqueue_node_queued(const struct timerqueue_node *node)
{
	return node->link;
}

static inline struct timerqueue_node *timerqueue_getnext(struct timerqueue_head *head)
{
	return head->first;
}

static inline struct timerqueue_node *timerqueue_iterate_next(struct timerqueue_node *node)
{
	return node->next;
}

/* Returns true if the node is the first one now. */
static inline bool timerqueue_add(struct timerqueue_head *head, struct timerqueue_node *node)
{
	struct timerqueue_node **link = &head->first;

	while (*link && (*link)->expires <= node->expires)
		link = &(*link)->next;
	node->next = *link;
	node->link = link;
	if (node->next)
		node->next->link = &node->next;
	*link = node;
	return link == &head->first;
}

/* Returns true if there are others. */
static inline bool timerqueue_del(struct timerqueue_head *head, struct timerqueue_node *node)
{
	*node->link = node->next;
	if (node->next)
		node->next->link = node->link;
	node->link = NULL;
	return head->first;
}

#endif /* _LIBTWHEEL_LINUX_TIMERQUEUE_H */
