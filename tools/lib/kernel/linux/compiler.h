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

#define smp_store_release(pointer, value) \
	__atomic_store_n(pointer, value, __ATOMIC_RELEASE)

/* The compiler forgets where the value comes from. */
#define OPTIMIZER_HIDE_VAR(var)	__asm__ ("" : "=r" (var) : "0" (var))

#define container_of(pointer, type, member) \
	((type *)((char *)(pointer) - offsetof(type, member)))

#endif /* _LIBTWHEEL_LINUX_COMPILER_H */
