/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_MUTEX_H
#define _DRIVER_LINUX_MUTEX_H

#include <lock.h>

#include <linux/lockdep.h>

#define DEFINE_MUTEX(name)	struct mutex name WORLD = LOCK_INIT

static inline void mutex_lock(struct mutex *mutex)
{
	may_sleep();
	POINT("mutex_lock");
	lock_take(mutex);
	current->mutexes++;
	breathing_space();
}

static inline void mutex_unlock(struct mutex *mutex)
{
	may_sleep();
	lockdep_assert_held(mutex);
	POINT("mutex_unlock");
	current->mutexes--;
	lock_drop(mutex);
	breathing_space();
}

#endif /* _DRIVER_LINUX_MUTEX_H */
