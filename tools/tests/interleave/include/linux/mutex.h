/* SPDX-License-Identifier: MIT */
#ifndef _INTERLEAVE_LINUX_MUTEX_H
#define _INTERLEAVE_LINUX_MUTEX_H

#include <errno.h>

#include <linux/lockdep.h>

#include "../../schedule.h"

struct mutex {
	struct task_struct *owner;
};

#define DEFINE_MUTEX(name)	struct mutex name WORLD

static inline void mutex_init(struct mutex *mutex)
{
	mutex->owner = NULL;
}

static inline void mutex_taken(struct mutex *mutex)
{
	mutex->owner = current;
	current->mutexes++;
}

static inline bool mutex_is_free(const void *mutex)
{
	return !((const struct mutex *)mutex)->owner;
}

static inline void mutex_lock(struct mutex *mutex)
{
	may_sleep();
	POINT("mutex_lock");
	schedule_until(mutex_is_free, mutex);
	mutex_taken(mutex);
}

static inline int mutex_trylock(struct mutex *mutex)
{
	may_call();
	POINT("mutex_trylock");
	if (mutex->owner)
		return 0;
	mutex_taken(mutex);
	return 1;
}

/* The condition that a killable task waits for. */
struct mutex_waiter {
	const struct mutex *mutex;
	const struct task_struct *task;
};

static inline bool mutex_is_free_or_killed(const void *arg)
{
	const struct mutex_waiter *waiter = arg;

	return !waiter->mutex->owner || waiter->task->killed;
}

/* A killed task gets the mutex only without waiting. */
static inline int __must_check mutex_lock_killable(struct mutex *mutex)
{
	const struct mutex_waiter waiter = { mutex, current };

	may_sleep();
	if (current->never_waits)
		broken("a poll, a mapping, or a read that must not wait, waits for a mutex");
	POINT("mutex_lock_killable");
	schedule_until(mutex_is_free_or_killed, &waiter);
	if (mutex->owner)
		return -EINTR;
	mutex_taken(mutex);
	return 0;
}

static inline void mutex_unlock(struct mutex *mutex)
{
	may_sleep();
	lockdep_assert_held(mutex);
	POINT("mutex_unlock");
	current->mutexes--;
	mutex->owner = NULL;
}

#endif /* _INTERLEAVE_LINUX_MUTEX_H */
