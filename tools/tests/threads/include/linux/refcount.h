/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_REFCOUNT_H
#define _DRIVER_LINUX_REFCOUNT_H

#include <linux/mutex.h>

typedef struct {
	int count;
} refcount_t;

static inline void refcount_set(refcount_t *r, int n)
{
	WRITE_ONCE(r->count, n);
}

static inline void refcount_inc(refcount_t *r)
{
	if (__atomic_fetch_add(&r->count, 1, __ATOMIC_RELAXED) <= 0)
		broken("a reference to what has gone");
}

/* The last reference is dropped with the mutex held, which the caller has to unlock then. */
static inline bool refcount_dec_and_mutex_lock(refcount_t *r, struct mutex *lock)
{
	int n = READ_ONCE(r->count);

	while (n != 1) {
		if (__atomic_compare_exchange_n(&r->count, &n, n - 1, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return false;
	}
	mutex_lock(lock);
	if (__atomic_sub_fetch(&r->count, 1, __ATOMIC_ACQ_REL)) {
		mutex_unlock(lock);
		return false;
	}
	return true;
}

#endif /* _DRIVER_LINUX_REFCOUNT_H */
