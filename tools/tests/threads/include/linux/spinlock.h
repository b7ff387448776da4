/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_SPINLOCK_H
#define _DRIVER_LINUX_SPINLOCK_H

#include <lock.h>

#include <linux/lockdep.h>

typedef struct mutex spinlock_t;

static inline void spin_lock_init(spinlock_t *lock)
{
	lock_init(lock);
}

/* For these tests, interrupts are off as long as the lock is held. */
static inline void spin_lock(spinlock_t *lock)
{
	may_call();
	if (current && READ_ONCE(lock->owner) == current)
		broken("a spin lock is taken twice");
	POINT("spin_lock");
	lock_take(lock);
	current->spins++;
}

static inline void spin_unlock(spinlock_t *lock)
{
	may_call();
	lockdep_assert_held(lock);
	POINT("spin_unlock");
	current->spins--;
	lock_drop(lock);
	breathing_space();
}

/* The end of this one turns interrupts on, whatever they were before. */
static inline void spin_lock_irq(spinlock_t *lock)
{
	if (current->in_irq || current->irqs_off)
		broken("interrupts are turned off twice, and on once");
	current->irqs_off = true;
	spin_lock(lock);
}

static inline void spin_unlock_irq(spinlock_t *lock)
{
	spin_unlock(lock);
	current->irqs_off = false;
}

#define spin_lock_irqsave(lock, flags)		({ (flags) = 0; spin_lock(lock); })
#define spin_unlock_irqrestore(lock, flags)	({ (void)(flags); spin_unlock(lock); })

#endif /* _DRIVER_LINUX_SPINLOCK_H */
