/* SPDX-License-Identifier: MIT */
/*
 * Two macros that the kernel's sources have, for the programs here
 */
#ifndef HELPERS_H
#define HELPERS_H

/* Number of elements of an array; wrong for a pointer. */
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* The function takes a format like printf(); let the compiler check it. */
#define __printf(fmt, args)	__attribute((__format__(printf, fmt, args)))

#endif /* HELPERS_H */
