/* SPDX-License-Identifier: MIT */
#pragma once

#include <linux/compiler.h>
#include <linux/types.h>

#define min(a, b) __extension__ ({ \
	__typeof__(a) __a = (a); \
	__typeof__(b) __b = (b); \
	__a < __b ? __a : __b; \
})

#define max(a, b) __extension__ ({ \
	__typeof__(a) __a = (a); \
	__typeof__(b) __b = (b); \
	__a > __b ? __a : __b; \
})

#define min3(a, b, c)		min(min(a, b), c)

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
