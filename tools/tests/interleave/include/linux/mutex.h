/* SPDX-License-Identifier: MIT */
#ifndef _INTERLEAVE_LINUX_MUTEX_H
#define _INTERLEAVE_LINUX_MUTEX_H

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

static inline void mutex_unlock(struct mutex *mutex)
{
	may_sleep();
	lockdep_assert_held(mutex);
	POINT("mutex_unlock");
	current->mutexes--;
	mutex->owner = NULL;
}

#endif /* _INTERLEAVE_LINUX_MUTEX_H */
