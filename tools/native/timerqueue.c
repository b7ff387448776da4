// SPDX-License-Identifier: MIT
/*
 * A queue of nodes ordered by time, on the kernel's red-black tree
 */
#include <linux/timerqueue.h>

static bool earlier(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct timerqueue_node, node)->expires <
	       rb_entry(b, struct timerqueue_node, node)->expires;
}

/* Returns true if the node is the first one now. */
bool timerqueue_add(struct timerqueue_head *head, struct timerqueue_node *node)
{
	rb_add_cached(&node->node, &head->rb_root, earlier);
	return rb_first_cached(&head->rb_root) == &node->node;
}

/* Returns true if there are other nodes. */
bool timerqueue_del(struct timerqueue_head *head, struct timerqueue_node *node)
{
	rb_erase_cached(&node->node, &head->rb_root);
	RB_CLEAR_NODE(&node->node);
	return !RB_EMPTY_ROOT(&head->rb_root.rb_root);
}
