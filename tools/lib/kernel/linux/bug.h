/* SPDX-License-Identifier: MIT */
/*
 * A warning ends the program
 */
#ifndef _LIBTWHEEL_LINUX_BUG_H
#define _LIBTWHEEL_LINUX_BUG_H

#include <stdio.h>
#include <stdlib.h>

#define WARN_ON_ONCE(condition)							\
do {										\
	if (condition) {							\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);	\
		abort();							\
	}									\
} while (0)

#endif /* _LIBTWHEEL_LINUX_BUG_H */
