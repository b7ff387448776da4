/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_LOCKDEP_H
#define _DRIVER_LINUX_LOCKDEP_H

#include "../../kernel.h"

/* Of a mutex or of a spin lock. */
#define lockdep_assert_held(lock)					\
do {									\
	if (READ_ONCE((lock)->owner) != current)			\
		broken("not held: " #lock);				\
} while (0)

#endif /* _DRIVER_LINUX_LOCKDEP_H */
