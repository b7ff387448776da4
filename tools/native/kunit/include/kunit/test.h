/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of <kunit/test.h> that the suites of kunit/ use, for user space; run.c runs them
 *
 * A failed expectation is printed where it stands; a failed assertion also ends its case.
 */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/types.h>

#define KUNIT_PARAM_DESC_SIZE	128
#define KUNIT_MEMORY_MAX	64

struct kunit {
	void *priv;
	const void *param_value;
	jmp_buf end;
	unsigned int failures;
	unsigned int nr_memory;
	void *memory[KUNIT_MEMORY_MAX];
};

struct kunit_case {
	void (*run)(struct kunit *test);
	const char *name;
	const void *(*params)(const void *last, char *desc);
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

void kunit_register(struct kunit_suite *suite);
void kunit_failed(struct kunit *test, const char *file, int line, const char *what);
void *kunit_kcalloc(struct kunit *test, size_t n, size_t size, gfp_t gfp);

static inline void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	return kunit_kcalloc(test, 1, size, gfp);
}

#define KUNIT_CASE(function)		{ .run = (function), .name = #function }
#define KUNIT_CASE_PARAM(function, generate)	\
	{ .run = (function), .name = #function, .params = (generate) }

#define KUNIT_ARRAY_PARAM(id, array, describe)					\
static const void *id##_gen_params(const void *last, char *desc)		\
{										\
	typeof(&(array)[0]) next = last ? (typeof(&(array)[0]))last + 1 : (array);	\
	void (*to_desc)(typeof(next), char *) = describe;			\
										\
	if (next == (array) + ARRAY_SIZE(array))				\
		return NULL;							\
	if (to_desc)								\
		to_desc(next, desc);						\
	return next;								\
}

/* Register the only suite of a file. */
#define kunit_test_suites(suite)						\
static void __attribute__((__constructor__)) register_suite(void)		\
{										\
	kunit_register(suite);							\
}

#define kunit_test_suite(suite)		kunit_test_suites(&(suite))

#define __KUNIT_EXPECT(test, condition, what)					\
do {										\
	if (!(condition))							\
		kunit_failed(test, __FILE__, __LINE__, what);			\
} while (0)

#define __KUNIT_ASSERT(test, condition, what)					\
do {										\
	if (!(condition)) {							\
		kunit_failed(test, __FILE__, __LINE__, what);			\
		longjmp((test)->end, 1);					\
	}									\
} while (0)

#define __KUNIT_BINARY(kind, test, a, op, b)	kind(test, (a) op (b), #a " " #op " " #b)

#define KUNIT_EXPECT_EQ(test, a, b)	__KUNIT_BINARY(__KUNIT_EXPECT, test, a, ==, b)
#define KUNIT_EXPECT_NE(test, a, b)	__KUNIT_BINARY(__KUNIT_EXPECT, test, a, !=, b)
#define KUNIT_EXPECT_LE(test, a, b)	__KUNIT_BINARY(__KUNIT_EXPECT, test, a, <=, b)
#define KUNIT_EXPECT_GT(test, a, b)	__KUNIT_BINARY(__KUNIT_EXPECT, test, a, >, b)
#define KUNIT_EXPECT_GE(test, a, b)	__KUNIT_BINARY(__KUNIT_EXPECT, test, a, >=, b)
#define KUNIT_EXPECT_TRUE(test, a)	__KUNIT_EXPECT(test, a, #a)
#define KUNIT_EXPECT_FALSE(test, a)	__KUNIT_EXPECT(test, !(a), "not " #a)
#define KUNIT_EXPECT_NULL(test, a)	__KUNIT_EXPECT(test, !(a), #a " is NULL")
#define KUNIT_EXPECT_NOT_NULL(test, a)	__KUNIT_EXPECT(test, a, #a " is not NULL")
#define KUNIT_EXPECT_PTR_EQ		KUNIT_EXPECT_EQ
#define KUNIT_EXPECT_NULL_MSG(test, a, ...)	KUNIT_EXPECT_NULL(test, a)

#define KUNIT_ASSERT_EQ(test, a, b)	__KUNIT_BINARY(__KUNIT_ASSERT, test, a, ==, b)
#define KUNIT_ASSERT_LT(test, a, b)	__KUNIT_BINARY(__KUNIT_ASSERT, test, a, <, b)
#define KUNIT_ASSERT_LE(test, a, b)	__KUNIT_BINARY(__KUNIT_ASSERT, test, a, <=, b)
#define KUNIT_ASSERT_GT(test, a, b)	__KUNIT_BINARY(__KUNIT_ASSERT, test, a, >, b)
#define KUNIT_ASSERT_GE(test, a, b)	__KUNIT_BINARY(__KUNIT_ASSERT, test, a, >=, b)
#define KUNIT_ASSERT_TRUE(test, a)	__KUNIT_ASSERT(test, a, #a)
#define KUNIT_ASSERT_NOT_NULL(test, a)	__KUNIT_ASSERT(test, a, #a " is not NULL")
#define KUNIT_ASSERT_PTR_EQ		KUNIT_ASSERT_EQ

/* Its message has the line in the model, and the command to repeat it. */
#define KUNIT_ASSERT_TRUE_MSG(test, a, ...)					\
do {										\
	if (!(a)) {								\
		printf("# " __VA_ARGS__);					\
		putchar('\n');							\
		__KUNIT_ASSERT(test, false, #a);				\
	}									\
} while (0)
