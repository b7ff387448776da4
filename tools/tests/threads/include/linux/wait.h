/* SPDX-License-Identifier: MIT */
/*
 * Wait queues, step by step as the kernel has them
 */
#pragma once

#include <linux/list.h>
#include <locks.h>

#define ERESTARTSYS		512
#define WQ_FLAG_EXCLUSIVE	1

typedef struct wait_queue_entry wait_queue_entry_t;
typedef int (*wait_queue_func_t)(wait_queue_entry_t *entry, __poll_t key);

struct wait_queue_entry {
	unsigned int flags;
	void *private;
	wait_queue_func_t func;
	struct list_head entry;
};

typedef struct {
	/* Protects the list. */
	spinlock_t lock;
	struct list_head head;
} wait_queue_head_t;

static inline void init_waitqueue_head(wait_queue_head_t *wq)
{
	spin_lock_init(&wq->lock);
	INIT_LIST_HEAD(&wq->head);
}

/* May be called without the lock. */
static inline bool waitqueue_active(wait_queue_head_t *wq)
{
	if (READ_ONCE(wq->lock.owner) != current)
		POINT("waitqueue_active");
	return !list_empty(&wq->head);
}

static inline bool wq_has_sleeper(wait_queue_head_t *wq)
{
	/* As in the kernel: a waiter that queues sees earlier writes. */
	smp_mb();
	return waitqueue_active(wq);
}

static inline void wait_queue_remove(wait_queue_entry_t *entry)
{
	list_del_init(&entry->entry);
}

static inline void add_wait_queue(wait_queue_head_t *wq, wait_queue_entry_t *entry)
{
	spin_lock_irq(&wq->lock);
	if (entry->flags & WQ_FLAG_EXCLUSIVE)
		list_add_tail(&entry->entry, &wq->head);
	else
		list_add(&entry->entry, &wq->head);
	spin_unlock_irq(&wq->lock);
}

static inline void remove_wait_queue(wait_queue_head_t *wq, wait_queue_entry_t *entry)
{
	spin_lock_irq(&wq->lock);
	wait_queue_remove(entry);
	spin_unlock_irq(&wq->lock);
}

/* Wake all waiters that are not exclusive, and up to @max exclusive ones that were asleep. */
static inline void wake_up_locked(wait_queue_head_t *wq, __poll_t key, unsigned int max)
{
	wait_queue_entry_t *entry, *next;

	lockdep_assert_held(&wq->lock);
	/* Waiters cost the one who wakes them, who has interrupts off. */
	if (current->has_woken)
		broken("waiters are woken twice in one hold of a lock");
	current->has_woken = true;
	list_for_each_entry_safe(entry, next, &wq->head, entry) {
		bool exclusive = entry->flags & WQ_FLAG_EXCLUSIVE;

		if (entry->func(entry, key) && exclusive && !--max)
			break;
	}
}

static inline void wake_up(wait_queue_head_t *wq, __poll_t key, unsigned int max)
{
	spin_lock(&wq->lock);
	wake_up_locked(wq, key, max);
	spin_unlock(&wq->lock);
}

#define wake_up_locked_poll(wq, key)		wake_up_locked(wq, key, 1)
#define wake_up_interruptible_poll(wq, key)	wake_up(wq, key, 1)
#define wake_up_interruptible_all(wq)		wake_up(wq, 0, UINT_MAX)

/* A waiter leaves the queue when it is woken. */
static inline int autoremove_wake_function(wait_queue_entry_t *entry, __poll_t key)
{
	if (!task_wake(entry->private))
		return 0;
	wait_queue_remove(entry);
	return 1;
}

/* Sleep once; the caller holds the queue's lock, which is dropped during that. */
static inline int do_wait_intr_irq(wait_queue_head_t *wq, wait_queue_entry_t *entry)
{
	if (list_empty(&entry->entry))
		list_add_tail(&entry->entry, &wq->head);
	task_about_to_sleep();
	if (signal_pending(current)) {
		task_wake(current);
		return -ERESTARTSYS;
	}
	spin_unlock_irq(&wq->lock);
	task_sleep();
	spin_lock_irq(&wq->lock);
	return 0;
}

#define wait_event_interruptible_exclusive_locked_irq(wq, condition)	\
	__extension__({							\
		wait_queue_entry_t __entry = {				\
			WQ_FLAG_EXCLUSIVE, current, autoremove_wake_function, \
			LIST_HEAD_INIT(__entry.entry),			\
		};							\
		int __err = 0;						\
									\
		lockdep_assert_held(&(wq).lock);			\
		while (!(condition)) {					\
			__err = do_wait_intr_irq(&(wq), &__entry);	\
			if (__err)					\
				break;					\
		}							\
		wait_queue_remove(&__entry);				\
		__err;							\
	})
