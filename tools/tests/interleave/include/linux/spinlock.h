/* SPDX-License-Identifier: MIT */
#ifndef _INTERLEAVE_LINUX_SPINLOCK_H
#define _INTERLEAVE_LINUX_SPINLOCK_H

#include <linux/lockdep.h>

#include "../../schedule.h"

typedef struct {
	struct task_struct *owner;
} spinlock_t;

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->owner = NULL;
}

static inline bool spin_is_free(const void *lock)
{
	return !((const spinlock_t *)lock)->owner;
}

/* The owner can be preempted, which stands for a processor that is slower than others. */
static inline void spin_lock(spinlock_t *lock)
{
	may_call();
	if (lock->owner && lock->owner == current)
		broken("a spin lock is taken twice");
	POINT("spin_lock");
	schedule_until(spin_is_free, lock);
	lock->owner = current;
	current->spins++;
}

static inline void spin_unlock(spinlock_t *lock)
{
	may_call();
	lockdep_assert_held(lock);
	POINT("spin_unlock");
	current->spins--;
	lock->owner = NULL;
}

#include <linux/spinlock_irq.h>

#endif /* _INTERLEAVE_LINUX_SPINLOCK_H */
