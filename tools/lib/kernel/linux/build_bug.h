/* SPDX-License-Identifier: MIT */
#pragma once

/* The C library's macro requires a message. */
#include <assert.h>
#undef static_assert
#define static_assert(condition, ...)	_Static_assert(condition, #condition)
#define BUILD_BUG_ON_INVALID(condition)	((void)sizeof((long)(condition)))
