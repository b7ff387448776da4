/* SPDX-License-Identifier: MIT */
/*
 * Two macros that the kernel's sources have, for the programs here
 */
#pragma once

/* Number of elements of an array; wrong for a pointer. */
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* Let the compiler check the arguments against the format, as of printf(). */
#define __printf(fmt, args)	__attribute((__format__(printf, fmt, args)))
