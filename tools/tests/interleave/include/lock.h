/* SPDX-License-Identifier: MIT */
/*
 * A mutex or a spin lock is its owner. An owner can be preempted, which stands for a
 * CPU that is slower than others.
 */
#pragma once

#include "../schedule.h"

struct mutex {
	struct task_struct *owner;
};

#define LOCK_INIT	{}

static inline void lock_init(struct mutex *lock)
{
	lock->owner = NULL;
}

static inline bool lock_is_free(const void *lock)
{
	return !((const struct mutex *)lock)->owner;
}

static inline void lock_take(struct mutex *lock)
{
	schedule_until(lock_is_free, lock);
	lock->owner = current;
}

static inline void lock_drop(struct mutex *lock)
{
	lock->owner = NULL;
}
