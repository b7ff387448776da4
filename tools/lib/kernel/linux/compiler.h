/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_COMPILER_H
#define _LIBTWHEEL_LINUX_COMPILER_H

#include <assert.h>
#include <linux/types.h>

#undef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define noinline		__attribute__((__noinline__))

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)

/* The compiler forgets where the value comes from. */
#define OPTIMIZER_HIDE_VAR(var)	__asm__ ("" : "=r" (var) : "0" (var))

#define container_of(pointer, type, member) \
	((type *)((char *)(pointer) - offsetof(type, member)))

#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE) /* the same */

#endif /* _LIBTWHEEL_LINUX_COMPILER_H */
