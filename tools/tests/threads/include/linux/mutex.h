/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_MUTEX_H
#define _DRIVER_LINUX_MUTEX_H

#include <linux/lockdep.h>

struct mutex {
	pthread_mutex_t lock;
	struct task_struct *owner;
};

#define DEFINE_MUTEX(name)	struct mutex name = { .lock = PTHREAD_MUTEX_INITIALIZER }

static inline void mutex_init(struct mutex *mutex)
{
	pthread_mutex_init(&mutex->lock, NULL);
	mutex->owner = NULL;
}

static inline void mutex_taken(struct mutex *mutex)
{
	WRITE_ONCE(mutex->owner, current);
	current->mutexes++;
	breathing_space();
}

static inline void mutex_lock(struct mutex *mutex)
{
	may_sleep();
	breathing_space();
	pthread_mutex_lock(&mutex->lock);
	mutex_taken(mutex);
}

static inline void mutex_unlock(struct mutex *mutex)
{
	may_sleep();
	lockdep_assert_held(mutex);
	current->mutexes--;
	WRITE_ONCE(mutex->owner, NULL);
	pthread_mutex_unlock(&mutex->lock);
	breathing_space();
}

#endif /* _DRIVER_LINUX_MUTEX_H */
