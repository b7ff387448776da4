/* SPDX-License-Identifier: MIT */
/*
 * A kernel that panics on warnings
 */
#ifndef _DRIVER_LINUX_BUG_H
#define _DRIVER_LINUX_BUG_H

#include "../../kernel.h"

#define WARN_ON_ONCE(condition)						\
({									\
	bool __warn = (condition);					\
									\
	if (__warn)							\
		broken("WARN_ON_ONCE(" #condition ")");			\
	__warn;								\
})

#endif /* _DRIVER_LINUX_BUG_H */
