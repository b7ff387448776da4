/* SPDX-License-Identifier: MIT */
/*
 * A mutex or a spin lock: a lock of pthread, which ThreadSanitizer knows, and its owner
 */
#pragma once

#include "../kernel.h"

struct mutex {
	pthread_mutex_t lock;
	struct task_struct *owner;
};

#define LOCK_INIT	{ .lock = PTHREAD_MUTEX_INITIALIZER }

static inline void lock_init(struct mutex *lock)
{
	*lock = (struct mutex)LOCK_INIT;
}

static inline void lock_take(struct mutex *lock)
{
	pthread_mutex_lock(&lock->lock);
	WRITE_ONCE(lock->owner, current);
}

static inline void lock_drop(struct mutex *lock)
{
	WRITE_ONCE(lock->owner, NULL);
	pthread_mutex_unlock(&lock->lock);
}
