/* SPDX-License-Identifier: MIT */
/*
 * Lists: the kernel's, and what its header for user space leaves out
 */
#ifndef _NATIVE_LINUX_LIST_H
#define _NATIVE_LINUX_LIST_H

#include_next <linux/list.h>

/* By names of their own, in case a later header has them. */
#define list_bulk_move_tail native_list_bulk_move_tail
#define list_entry_is_head(pos, head, member)				\
({									\
	typeof(pos) __pos = (pos);					\
									\
	(void *)__pos + offsetof(typeof(*__pos), member) == (void *)(head); \
})

/* Move the entries from @first to @last, wherever they are, to the end of @head. */
static inline void native_list_bulk_move_tail(struct list_head *head,
					      struct list_head *first,
					      struct list_head *last)
{
	struct list_head *tail;

	first->prev->next = last->next;
	last->next->prev = first->prev;
	tail = head->prev;
	tail->next = first;
	first->prev = tail;
	last->next = head;
	head->prev = last;
}

#endif /* _NATIVE_LINUX_LIST_H */
