/* SPDX-License-Identifier: MIT */
#ifndef _NATIVE_LINUX_BUILD_BUG_H
#define _NATIVE_LINUX_BUILD_BUG_H

/* Here the C library's static_assert would win, which insists on a message. */
#include <assert.h>
#undef static_assert

#include_next <linux/build_bug.h>

#endif /* _NATIVE_LINUX_BUILD_BUG_H */
