/* SPDX-License-Identifier: MIT */
/*
 * What the kernel's header for user space leaves out
 */
#ifndef _NATIVE_LINUX_COMPILER_H
#define _NATIVE_LINUX_COMPILER_H

#include_next <linux/compiler.h>

#define OPTIMIZER_HIDE_VAR(var)	({ __asm__ ("" : "+r" (var)); })

#endif /* _NATIVE_LINUX_COMPILER_H */
