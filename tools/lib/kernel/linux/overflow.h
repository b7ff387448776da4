/* SPDX-License-Identifier: MIT */
#pragma once

#include <linux/types.h>

#define check_mul_overflow(a, b, product)	__builtin_mul_overflow(a, b, product)
#define check_add_overflow(a, b, sum)		__builtin_add_overflow(a, b, sum)

/* Bytes of a structure that ends in an array of so many members. */
#define struct_size(pointer, member, count) \
	(sizeof(*(pointer)) + sizeof(*(pointer)->member) * (count))
