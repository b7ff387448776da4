/* SPDX-License-Identifier: MIT */
#pragma once

#include <linux/build_bug.h>
#include <linux/types.h>

#undef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define noinline		__attribute__((__noinline__))
#define __aligned(bytes)	__attribute__((__aligned__(bytes)))
#define __must_check		__attribute__((__warn_unused_result__))
#define __force
#define __user

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)

#define data_race(x)		(x) /* there is only one thread */

/* Hide from the compiler where the value comes from. */
#define OPTIMIZER_HIDE_VAR(var)	__asm__ ("" : "=r" (var) : "0" (var))

#define container_of(pointer, type, member) \
	((type *)((char *)(pointer) - offsetof(type, member)))

#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

#define __acquires(lock)
#define __releases(lock)
