/* SPDX-License-Identifier: MIT */
/*
 * A warning ends the program
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define WARN_ON_ONCE(condition)							\
do {										\
	if (condition) {							\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);	\
		abort();							\
	}									\
} while (0)
