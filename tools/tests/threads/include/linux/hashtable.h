/* SPDX-License-Identifier: MIT */
/*
 * Tables of a fixed size
 */
#ifndef _DRIVER_LINUX_HASHTABLE_H
#define _DRIVER_LINUX_HASHTABLE_H

#include "../../kernel.h"

struct hlist_head {
	struct hlist_node *first;
};

#define DEFINE_HASHTABLE(name, bits)	struct hlist_head name[1 << (bits)] WORLD

#define hash_add(table, node, key)	hash_put(&(table)[(key) % ARRAY_SIZE(table)].first, node)

static inline void hash_put(struct hlist_node **place, struct hlist_node *node)
{
	*node = (struct hlist_node) { .next = *place, .place = place };
	if (node->next)
		node->next->place = &node->next;
	*place = node;
}

static inline void hash_del(struct hlist_node *node)
{
	*node->place = node->next;
	if (node->next)
		node->next->place = node->place;
}

#define hash_for_each_possible(table, entry, member, key)			\
	for (struct hlist_node *__node = (table)[(key) % ARRAY_SIZE(table)].first; \
	     __node && ((entry) = container_of(__node, typeof(*(entry)), member), true); \
	     __node = __node->next)

#endif /* _DRIVER_LINUX_HASHTABLE_H */
