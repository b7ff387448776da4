/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_COMPILER_H
#define _LIBTWHEEL_LINUX_COMPILER_H

#include <linux/types.h>

#undef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define noinline		__attribute__((__noinline__))

#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value)	(*(volatile __typeof__(x) *)&(x) = (value))

/* The compiler forgets where the value comes from. */
#define OPTIMIZER_HIDE_VAR(var)	__asm__ ("" : "=r" (var) : "0" (var))

#define container_of(pointer, type, member) \
	((type *)((char *)(pointer) - offsetof(type, member)))

#define static_assert		_Static_assert

#endif /* _LIBTWHEEL_LINUX_COMPILER_H */
