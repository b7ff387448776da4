/* SPDX-License-Identifier: MIT */
/*
 * Circular doubly linked lists; the head is not an entry. As in the kernel, list_empty() may
 * be called without the lock.
 */
#pragma once

#include <linux/compiler.h>
#include <linux/types.h>

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

#define list_entry(node, type, member)	container_of(node, type, member)

#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)

#define list_last_entry(head, type, member) \
	list_entry((head)->prev, type, member)

#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))

#define list_next_entry(entry, member) \
	list_entry((entry)->member.next, __typeof__(*(entry)), member)

#define list_entry_is_head(entry, head, member)	(&(entry)->member == (head))

#define list_for_each_entry(entry, head, member) \
	for (entry = list_first_entry(head, __typeof__(*entry), member); \
	     &entry->member != (head); entry = list_next_entry(entry, member))

/* The body of the loop may remove the entry from the list. */
#define list_for_each_entry_safe(entry, after, head, member) \
	for (entry = list_first_entry(head, __typeof__(*entry), member), \
	     after = list_next_entry(entry, member); \
	     &entry->member != (head); \
	     entry = after, after = list_next_entry(after, member))

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	WRITE_ONCE(head->next, head);
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return READ_ONCE(head->next) == head;
}

static inline void __list_add(struct list_head *node, struct list_head *prev,
			      struct list_head *next)
{
	node->next = next;
	node->prev = prev;
	next->prev = node;
	WRITE_ONCE(prev->next, node);
}

static inline void list_add(struct list_head *node, struct list_head *head)
{
	__list_add(node, head, head->next);
}

static inline void list_add_tail(struct list_head *node, struct list_head *head)
{
	__list_add(node, head->prev, head);
}

static inline void __list_del(struct list_head *prev, struct list_head *next)
{
	next->prev = prev;
	WRITE_ONCE(prev->next, next);
}

static inline void list_del(struct list_head *node)
{
	__list_del(node->prev, node->next);
}

static inline void list_del_init(struct list_head *node)
{
	list_del(node);
	INIT_LIST_HEAD(node);
}

static inline void list_move_tail(struct list_head *node, struct list_head *head)
{
	list_del(node);
	list_add_tail(node, head);
}

/* Move the entries of @list to the end of @head. */
static inline void list_splice_tail_init(struct list_head *list, struct list_head *head)
{
	if (list_empty(list))
		return;
	list->next->prev = head->prev;
	head->prev->next = list->next;
	list->prev->next = head;
	head->prev = list->prev;
	INIT_LIST_HEAD(list);
}

/* Move the consecutive entries from @first to @last to the end of @head. */
static inline void list_bulk_move_tail(struct list_head *head, struct list_head *first,
				       struct list_head *last)
{
	__list_del(first->prev, last->next);
	head->prev->next = first;
	first->prev = head->prev;
	last->next = head;
	head->prev = last;
}
