/* SPDX-License-Identifier: MIT */
/*
 * harness.h - fixtures and checks, with the names of the kernel's kselftest_harness.h
 *
 * Each test is a child process with a time limit. A failed EXPECT is printed, and the test
 * continues; a failed ASSERT ends the process that it is in. Either may be followed by a statement
 * that explains the failure.
 */
#ifndef _TWHEEL_HARNESS_H
#define _TWHEEL_HARNESS_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_SECONDS	90
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
/* The exit status of a test that is skipped. */
#define SKIPPED		4

/* Each variant of a fixture has all of its tests. */
struct variant {
	const char *fixture;
	const char *name;
	const void *data;
	struct variant *next;
};

struct __test_metadata {
	const char *fixture;
	const char *name;
	void (*run)(struct __test_metadata *test, const void *variant);
	struct __test_metadata *next;
	bool failed;
};

static struct variant *variants;
static struct __test_metadata *tests;
/* Memory that is shared with a test: why it is skipped. */
static char *skip_reason;

/* Append an item to a list before main(): in the order of the source, as .init_array does. */
#define APPEND_AT_START(list, item)				\
static void __attribute__((constructor)) append_##item(void)	\
{								\
	__typeof__(list) *end = &(list);			\
								\
	while (*end)						\
		end = &(*end)->next;				\
	*end = &(item);						\
}

#define FIXTURE_VARIANT(name)	struct variant_of_##name

#define FIXTURE(name)						\
FIXTURE_VARIANT(name);						\
struct data_of_##name

#define FIXTURE_VARIANT_ADD(of, title)				\
static const FIXTURE_VARIANT(of) of##_##title;			\
static struct variant variant_##of##_##title = {		\
	#of, #title, &of##_##title				\
};								\
								\
APPEND_AT_START(variants, variant_##of##_##title)		\
								\
static const FIXTURE_VARIANT(of) of##_##title =

#define FIXTURE_FUNCTION(name, fixture)				\
static void name(struct __test_metadata *_metadata __attribute__((unused)), \
		 struct data_of_##fixture *self __attribute__((unused)), \
		 const struct variant_of_##fixture *variant __attribute__((unused)))

#define FIXTURE_SETUP(name)	FIXTURE_FUNCTION(set_up_##name, name)
/* Not after an ASSERT that has failed. */
#define FIXTURE_TEARDOWN(name)	FIXTURE_FUNCTION(tear_down_##name, name)

#define TEST_F(of, title)					\
FIXTURE_FUNCTION(of##_##title, of);				\
								\
static void run_##of##_##title(struct __test_metadata *test, const void *variant) \
{								\
	static struct data_of_##of self;			\
								\
	set_up_##of(test, &self, variant);			\
	if (test->failed)					\
		return;						\
	of##_##title(test, &self, variant);			\
	tear_down_##of(test, &self, variant);			\
}								\
								\
static struct __test_metadata test_##of##_##title = {		\
	#of, #title, run_##of##_##title				\
};								\
								\
APPEND_AT_START(tests, test_##of##_##title)			\
								\
FIXTURE_FUNCTION(of##_##title, of)

#define TH_LOG(format, ...)					\
	fprintf(stderr, "# %s:%d:%s: " format "\n", __FILE__,	\
		__LINE__, _metadata->name, ##__VA_ARGS__)

/* End the test, which is skipped for this reason. The statement is for the kernel's harness. */
#define SKIP(statement, ...)					\
do {								\
	snprintf(skip_reason, 256, __VA_ARGS__);		\
	_exit(SKIPPED);						\
} while (0)

/* After the statement that explains a failure; return false. */
static inline bool end_of_check(bool must_end)
{
	if (must_end)
		_exit(1);
	return false;
}

#define CHECK(must_end, failed)					\
	for (bool __failed = (failed); __failed; __failed = end_of_check(must_end))

#define CHECK_VALUE(expected, op, seen, must_end)		\
	CHECK(must_end, ({					\
		__typeof__(expected) __expected = (expected);	\
		__typeof__(seen) __seen = (seen);		\
		bool __wrong = !(__expected op __seen);		\
								\
		if (__wrong)					\
			TH_LOG("Expected %s (%jd) %s %s (%jd)", #expected, \
			       (intmax_t)__expected, #op, #seen, (intmax_t)__seen); \
		_metadata->failed |= __wrong;			\
		__wrong;					\
	}))

#define EXPECT_EQ(expected, seen)	CHECK_VALUE(expected, ==, seen, false)
#define EXPECT_NE(expected, seen)	CHECK_VALUE(expected, !=, seen, false)
#define EXPECT_LT(expected, seen)	CHECK_VALUE(expected, <, seen, false)
#define EXPECT_LE(expected, seen)	CHECK_VALUE(expected, <=, seen, false)
#define EXPECT_GT(expected, seen)	CHECK_VALUE(expected, >, seen, false)
#define EXPECT_GE(expected, seen)	CHECK_VALUE(expected, >=, seen, false)
#define EXPECT_TRUE(seen)		CHECK_VALUE(0, !=, seen, false)
#define EXPECT_FALSE(seen)		CHECK_VALUE(0, ==, seen, false)
#define ASSERT_EQ(expected, seen)	CHECK_VALUE(expected, ==, seen, true)
#define ASSERT_NE(expected, seen)	CHECK_VALUE(expected, !=, seen, true)
#define ASSERT_LT(expected, seen)	CHECK_VALUE(expected, <, seen, true)
#define ASSERT_LE(expected, seen)	CHECK_VALUE(expected, <=, seen, true)
#define ASSERT_GT(expected, seen)	CHECK_VALUE(expected, >, seen, true)
#define ASSERT_GE(expected, seen)	CHECK_VALUE(expected, >=, seen, true)
#define ASSERT_TRUE(seen)		CHECK_VALUE(0, !=, seen, true)
#define ASSERT_FALSE(seen)		CHECK_VALUE(0, ==, seen, true)

/* Wait for the child; return its exit status, or -1. */
static inline int wait_for_test(const struct __test_metadata *test, pid_t pid)
{
	struct pollfd end = { .fd = syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status;

	if (end.fd < 0 || poll(&end, 1, TEST_SECONDS * 1000) <= 0) {
		printf("# %s: %d seconds passed\n", test->name, TEST_SECONDS);
		kill(-pid, SIGKILL);
	}
	close(end.fd);
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		printf("# %s: ended by signal %d\n", test->name, WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Run a test and print its result as TAP; return whether it passed, or was skipped. */
static inline bool run_test(struct __test_metadata *test, const void *variant, const char *name)
{
	static unsigned int number;
	int status;
	pid_t pid;

	if (!skip_reason)
		skip_reason = mmap(NULL, 256, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				   -1, 0);
	printf("#  RUN           %s\n", name);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		test->run(test, variant);
		_exit(test->failed);
	}
	if (pid > 0)
		setpgid(pid, pid);
	status = pid > 0 ? wait_for_test(test, pid) : -1;
	printf("%sok %u %s", status && status != SKIPPED ? "not " : "", ++number, name);
	printf(status == SKIPPED ? " # SKIP %s\n" : "\n", skip_reason);
	return !status || status == SKIPPED;
}

#endif /* _TWHEEL_HARNESS_H */
