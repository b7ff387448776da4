/* SPDX-License-Identifier: MIT */
/*
 * Lists that go round, with a head that holds nothing
 */
#ifndef _LIBTWHEEL_LINUX_LIST_H
#define _LIBTWHEEL_LINUX_LIST_H

#include <linux/compiler.h>
#include <linux/types.h>

#define LIST_HEAD(name)	struct list_head name = { &(name), &(name) }

#define list_entry(node, type, member)	container_of(node, type, member)

#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)

#define list_last_entry(head, type, member) \
	list_entry((head)->prev, type, member)

#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))

#define list_next_entry(entry, member) \
	list_entry((entry)->member.next, __typeof__(*(entry)), member)

#define list_prev_entry(entry, member) \
	list_entry((entry)->member.prev, __typeof__(*(entry)), member)

#define list_for_each_entry(entry, head, member) \
	for (entry = list_first_entry(head, __typeof__(*entry), member); \
	     &entry->member != (head); entry = list_next_entry(entry, member))

/* The entry may leave the list meanwhile. */
#define list_for_each_entry_safe(entry, after, head, member) \
	for (entry = list_first_entry(head, __typeof__(*entry), member), \
	     after = list_next_entry(entry, member); \
	     &entry->member != (head); \
	     entry = after, after = list_next_entry(after, member))

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void __list_add(struct list_head *node, struct list_head *prev,
			      struct list_head *next)
{
	node->next = next;
	node->prev = prev;
	next->prev = node;
	prev->next = node;
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
	prev->next = next;
}

static inline void list_del(struct list_head *node)
{
	__list_del(node->prev, node->next);
}

static inline void __list_splice(const struct list_head *list, struct list_head *prev,
				 struct list_head *next)
{
	if (list_empty(list))
		return;
	list->next->prev = prev;
	prev->next = list->next;
	list->prev->next = next;
	next->prev = list->prev;
}

/* Move what is in @list, which does not know of it, to the beginning of @head. */
static inline void list_splice(const struct list_head *list, struct list_head *head)
{
	__list_splice(list, head, head->next);
}

/* ... to the end of @head. */
static inline void list_splice_tail(struct list_head *list, struct list_head *head)
{
	__list_splice(list, head->prev, head);
}

static inline void list_splice_init(struct list_head *list, struct list_head *head)
{
	list_splice(list, head);
	INIT_LIST_HEAD(list);
}

static inline void list_splice_tail_init(struct list_head *list, struct list_head *head)
{
	list_splice_tail(list, head);
	INIT_LIST_HEAD(list);
}

/* Put @node into @old's place, which may be a head, and empty then. */
static inline void list_replace_init(struct list_head *old, struct list_head *node)
{
	__list_add(node, old, old->next);
	list_del(old);
	INIT_LIST_HEAD(old);
}

/* Move @first to @last, which are one after the other, to the end of @head. */
static inline void list_bulk_move_tail(struct list_head *head, struct list_head *first,
				       struct list_head *last)
{
	__list_del(first->prev, last->next);
	head->prev->next = first;
	first->prev = head->prev;
	last->next = head;
	head->prev = last;
}

#endif /* _LIBTWHEEL_LINUX_LIST_H */
