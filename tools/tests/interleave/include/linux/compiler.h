/* SPDX-License-Identifier: MIT */
/*
 * A point before each marked access: another coroutine may run there
 */
#pragma once

#include_next <linux/compiler.h>

struct list_head;
struct task_struct;

void schedule_point(const char *function, const char *operation);
void schedule_check_store(const char *function);
/* The core knows no other thread. */
#define IN_DRIVER	(__builtin_strstr(__FILE__, "/twheel_") && \
			 !__builtin_strstr(__FILE__, "/twheel_level"))
#define POINT(operation)	schedule_point(__func__, operation)
/* Each schedule begins with the same contents: see schedule.h. */
#define WORLD			__attribute__((section("world")))
/* All tasks use one wheel. */
#define OF_TASK
/* The owner of a lock is enough. */
struct native_lock {};
#define NATIVE_LOCK_INIT	{}

/*
 * Lists and the owners of locks have no points: they change in the same step as the lock that
 * protects them. A read of a list without its lock is waitqueue_active(), which has a point of
 * its own.
 */
#define ACCESS_POINT(x, operation)					\
do {									\
	if (!__builtin_types_compatible_p(typeof(x), struct list_head *) && \
	    !__builtin_types_compatible_p(typeof(x), struct task_struct *)) \
		POINT(operation);					\
} while (0)

#undef READ_ONCE
#undef WRITE_ONCE
#undef smp_load_acquire
#undef smp_store_release

#define READ_ONCE(x)							\
({									\
	ACCESS_POINT(x, "READ_ONCE(" #x ")");				\
	__atomic_load_n(&(x), __ATOMIC_RELAXED);			\
})

#define WRITE_ONCE(x, val)						\
do {									\
	typeof(x) __value = (val);					\
									\
	ACCESS_POINT(x, "WRITE_ONCE(" #x ")");				\
	if (IN_DRIVER)							\
		schedule_check_store(__func__);				\
	__atomic_store_n(&(x), __value, __ATOMIC_RELAXED);		\
} while (0)

#define smp_load_acquire(p)		READ_ONCE(*(p))
/* Later accesses must not be meant to come before it. */
#define smp_store_release(p, v)						\
do {									\
	WRITE_ONCE(*(p), v);						\
	POINT("after smp_store_release(" #p ")");			\
} while (0)
