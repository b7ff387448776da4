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

/* As far as one goes here, interrupts are off as long as the lock is held. */
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

/* The end of this one turns interrupts on, whatever they were before. */
static inline void spin_lock_irq(spinlock_t *lock)
{
	if (current->in_irq || current->spins)
		broken("interrupts are turned off twice, and on once");
	spin_lock(lock);
}

#define spin_unlock_irq(lock)			spin_unlock(lock)
#define spin_lock_irqsave(lock, flags)		({ (flags) = 0; spin_lock(lock); })
#define spin_unlock_irqrestore(lock, flags)	({ (void)(flags); spin_unlock(lock); })

#endif /* _DRIVER_LINUX_SPINLOCK_H */
