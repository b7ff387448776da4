/* SPDX-License-Identifier: MIT */
/*
 * Locks, atomics, and what a task can ask about itself
 */
#pragma once

#include <linux/bits.h>

#include "../kernel.h"

/* A mutex or a spin lock: a lock that the suite implements, and its owner */
struct mutex {
	struct native_lock lock;
	struct task_struct *owner;
};

#define LOCK_INIT	{ .lock = NATIVE_LOCK_INIT }

void native_lock(struct mutex *lock);
void native_unlock(struct mutex *lock);

/* A kernel that panics on warnings. */
#define WARN_ON_ONCE(condition)						\
({									\
	bool __warn = (condition);					\
									\
	if (__warn)							\
		broken("WARN_ON_ONCE(" #condition ")");			\
	__warn;								\
})

/* Of a mutex or of a spin lock. */
#define lockdep_assert_held(lock)					\
do {									\
	if (READ_ONCE((lock)->owner) != current)			\
		broken("not held: " #lock);				\
} while (0)

typedef struct mutex spinlock_t;

#define spin_lock_init(lock)	(*(lock) = (spinlock_t)LOCK_INIT)

/* For these tests, interrupts are off as long as the lock is held. */
static inline void spin_lock(spinlock_t *lock)
{
	may_call();
	if (current && READ_ONCE(lock->owner) == current)
		broken("a spin lock is taken twice");
	if (current->alone && ++current->holds > MAX_HOLDS)
		broken("a call takes locks again and again without cond_resched()");
	POINT("spin_lock");
	native_lock(lock);
	WRITE_ONCE(lock->owner, current);
	current->spins++;
}

static inline void spin_unlock(spinlock_t *lock)
{
	may_call();
	lockdep_assert_held(lock);
	POINT("spin_unlock");
	if (!--current->spins)
		current->has_woken = false;
	WRITE_ONCE(lock->owner, NULL);
	native_unlock(lock);
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

#define DEFINE_MUTEX(name)	struct mutex name WORLD = LOCK_INIT

static inline void mutex_lock(struct mutex *mutex)
{
	may_sleep();
	POINT("mutex_lock");
	native_lock(mutex);
	WRITE_ONCE(mutex->owner, current);
	current->mutexes++;
	breathing_space();
}

static inline void mutex_unlock(struct mutex *mutex)
{
	may_sleep();
	lockdep_assert_held(mutex);
	POINT("mutex_unlock");
	current->mutexes--;
	WRITE_ONCE(mutex->owner, NULL);
	native_unlock(mutex);
	breathing_space();
}

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
	mutex_lock(lock);
	if (!__atomic_sub_fetch(&r->count, 1, __ATOMIC_ACQ_REL))
		return true;
	mutex_unlock(lock);
	return false;
}

typedef struct {
	s64 counter;
} atomic64_t;

/* Before each operation, another thread may run. */
#define ATOMIC(operation, v, ...)					\
({									\
	POINT(#operation);						\
	__atomic_##operation(&(v)->counter, ##__VA_ARGS__);		\
})

#define atomic64_inc_return(v)	ATOMIC(add_fetch, v, 1, __ATOMIC_SEQ_CST)
#define atomic_long_read(v)	READ_ONCE((v)->counter)
#define atomic_long_sub(n, v)	ATOMIC(sub_fetch, v, n, __ATOMIC_RELAXED)
#define atomic_long_try_cmpxchg(v, old, new)				\
	ATOMIC(compare_exchange_n, v, old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)

/* No task has task work here, so the first two are the same. */
#define signal_pending(task)		READ_ONCE((task)->signalled)
#define task_sigpending(task)		READ_ONCE((task)->signalled)
#define fatal_signal_pending(task)	READ_ONCE((task)->killed)

static inline void cond_resched(void)
{
	may_sleep();
	current->holds = 0;
	breathing_space();
}
