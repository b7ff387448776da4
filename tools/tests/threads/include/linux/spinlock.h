/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_SPINLOCK_H
#define _DRIVER_LINUX_SPINLOCK_H

#include <linux/lockdep.h>

typedef struct {
	pthread_mutex_t lock;
	struct task_struct *owner;
} spinlock_t;

static inline void spin_lock_init(spinlock_t *lock)
{
	pthread_mutex_init(&lock->lock, NULL);
	lock->owner = NULL;
}

/* For these tests, interrupts are off as long as the lock is held. */
static inline void spin_lock(spinlock_t *lock)
{
	may_call();
	breathing_space();
	pthread_mutex_lock(&lock->lock);
	WRITE_ONCE(lock->owner, current);
	current->spins++;
}

static inline void spin_unlock(spinlock_t *lock)
{
	may_call();
	lockdep_assert_held(lock);
	current->spins--;
	WRITE_ONCE(lock->owner, NULL);
	pthread_mutex_unlock(&lock->lock);
	breathing_space();
}

#include <linux/spinlock_irq.h>

#endif /* _DRIVER_LINUX_SPINLOCK_H */
