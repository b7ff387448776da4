/* SPDX-License-Identifier: MIT */
/*
 * What the kernel's header for user space leaves out
 */
#ifndef _NATIVE_LINUX_COMPILER_H
#define _NATIVE_LINUX_COMPILER_H

#include_next <linux/compiler.h>

#define data_race(x)		(x) /* only one thread is here */
#define OPTIMIZER_HIDE_VAR(var)	({ __asm__ ("" : "+r" (var)); })

/* Those that the core and the driver use, in the compiler's words. */
#define smp_rmb()		__sync_synchronize() /* more than enough */
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE) /* the same */
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE) /* the same */

#endif /* _NATIVE_LINUX_COMPILER_H */
