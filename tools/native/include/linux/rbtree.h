/* SPDX-License-Identifier: MIT */
/*
 * Ordered trees with the kernel's interface: treaps, whose random heaps keep them flat
 */
#pragma once

#include <linux/kernel.h>
#include <linux/types.h>

struct rb_node {
	struct rb_node *parent, *child[2];
	u32 priority;
};

struct rb_root_cached {
	struct rb_node *top;
};

#define RB_ROOT_CACHED			((struct rb_root_cached) { NULL })
#define RB_CLEAR_NODE(node)		((node)->parent = (node))
#define RB_EMPTY_NODE(node)		((node)->parent == (node))
#define rb_entry(node, type, member)	container_of(node, type, member)
#define rb_entry_safe(node, type, member)				\
({									\
	struct rb_node *__node = (node);				\
									\
	__node ? rb_entry(__node, type, member) : NULL;			\
})

/* Return the last node below this one in a direction. */
static inline struct rb_node *rb_outermost(struct rb_node *node, bool right)
{
	while (node && node->child[right])
		node = node->child[right];
	return node;
}

static inline struct rb_node *rb_first_cached(const struct rb_root_cached *root)
{
	return rb_outermost(root->top, false);
}

/* Return the nearest node in a direction, or NULL. */
static inline struct rb_node *rb_neighbour(const struct rb_node *node, bool right)
{
	if (node->child[right])
		return rb_outermost(node->child[right], !right);
	while (node->parent && node->parent->child[right] == node)
		node = node->parent;
	return node->parent;
}

static inline struct rb_node *rb_next(const struct rb_node *node)
{
	return rb_neighbour(node, true);
}

static inline struct rb_node *rb_prev(const struct rb_node *node)
{
	return rb_neighbour(node, false);
}

/* Put another node, or NULL, into the place of this one. */
static inline void rb_put(struct rb_root_cached *root, struct rb_node *node, struct rb_node *other)
{
	struct rb_node *parent = node->parent;

	*(parent ? &parent->child[parent->child[1] == node] : &root->top) = other;
	if (other)
		other->parent = parent;
}

/* Put a node into the place of its parent, which becomes its child. */
static inline void rb_raise(struct rb_root_cached *root, struct rb_node *node)
{
	struct rb_node *parent = node->parent;
	bool right = parent->child[1] == node;

	rb_put(root, parent, node);
	parent->child[right] = node->child[!right];
	if (parent->child[right])
		parent->child[right]->parent = parent;
	node->child[!right] = parent;
	parent->parent = node;
}

/* Add a node after its equals. */
static inline void rb_add_cached(struct rb_node *node, struct rb_root_cached *root,
				 bool (*less)(struct rb_node *a, const struct rb_node *b))
{
	static __thread u32 random = 1;
	struct rb_node **place = &root->top;

	random = random * 1664525 + 1013904223;
	*node = (struct rb_node) { .priority = random };
	while (*place) {
		node->parent = *place;
		place = &node->parent->child[!less(node, node->parent)];
	}
	*place = node;
	while (node->parent && node->parent->priority < node->priority)
		rb_raise(root, node);
}

static inline void rb_erase_cached(struct rb_node *node, struct rb_root_cached *root)
{
	while (node->child[0] && node->child[1])
		rb_raise(root, node->child[node->child[0]->priority < node->child[1]->priority]);
	rb_put(root, node, node->child[0] ?: node->child[1]);
}
