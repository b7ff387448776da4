/* SPDX-License-Identifier: MIT */
/*
 * harness.h - fixtures and checks, with the names of the kernel's kselftest_harness.h
 *
 * Each test is a child process with a time limit, in seconds. A failed EXPECT is printed, and the
 * test continues; a failed ASSERT ends the process that it is in, after the fixture's teardown.
 * Either may be followed by a statement that explains the failure.
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

#define TEST_TIMEOUT_DEFAULT	90
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

struct __test_metadata;

struct variant {
	const char *name;
	const void *data;
	struct variant *next;
};

struct fixture {
	const char *name;
	void (*teardown)(struct __test_metadata *test);
	struct variant *variants;
	struct __test_metadata *tests;
	struct fixture *next;
};

/* Each variant of a fixture has all tests. */
struct __test_metadata {
	const char *name;
	void (*run)(struct __test_metadata *test);
	struct fixture *fixture;
	struct __test_metadata *next;
	int timeout;

	/* Of the child: the fixture's data, after its setup, and its variant. */
	void *self;
	const void *variant;
	bool failed, ending;
	/* Shared with the parent: why it was skipped, or "". */
	char (*skipped)[256];
};

static struct fixture *fixtures;

#define list_append(head, item)					\
do {								\
	__typeof__(item) *last = &(head);			\
								\
	while (*last)						\
		last = &(*last)->next;				\
	*last = (item);						\
} while (0)

/* Call a function before main(): in the order of the source, as .init_array does. */
#define AT_START(name)						\
static void __attribute__((constructor)) name(void)

#define FIXTURE_DATA(name)	struct data_of_##name
#define FIXTURE_VARIANT(name)	struct variant_of_##name

#define FIXTURE(title)						\
FIXTURE_DATA(title);						\
FIXTURE_VARIANT(title);						\
static void title##_teardown(struct __test_metadata *test);	\
static struct fixture fixture_##title = {			\
	.name = #title, .teardown = title##_teardown,		\
};								\
								\
AT_START(register_##title)				\
{								\
	list_append(fixtures, &fixture_##title);			\
}								\
								\
FIXTURE_DATA(title)

#define FIXTURE_VARIANT_ADD(fixture, title)			\
static const FIXTURE_VARIANT(fixture) fixture##_##title;	\
static struct variant variant_##fixture##_##title = {		\
	.name = #title, .data = &fixture##_##title,		\
};								\
								\
AT_START(register_##fixture##_##title)				\
{								\
	list_append(fixture_##fixture.variants,			\
		    &variant_##fixture##_##title);		\
}								\
								\
static const FIXTURE_VARIANT(fixture) fixture##_##title =

#define FIXTURE_FUNCTION(name, fixture)				\
static void name(struct __test_metadata *_metadata __attribute__((unused)), \
		 struct data_of_##fixture *self __attribute__((unused)), \
		 const struct variant_of_##fixture *variant __attribute__((unused)))

#define FIXTURE_SETUP(name)	FIXTURE_FUNCTION(set_up_##name, name)

#define FIXTURE_TEARDOWN(name)					\
FIXTURE_FUNCTION(tear_down_##name, name);			\
static void name##_teardown(struct __test_metadata *test)	\
{								\
	tear_down_##name(test, test->self, test->variant);	\
}								\
								\
FIXTURE_FUNCTION(tear_down_##name, name)

#define TEST_F(fixture, name)	TEST_F_TIMEOUT(fixture, name, TEST_TIMEOUT_DEFAULT)

#define TEST_F_TIMEOUT(of, title, seconds)			\
FIXTURE_FUNCTION(of##_##title, of);				\
								\
static void run_##of##_##title(struct __test_metadata *test)	\
{								\
	static FIXTURE_DATA(of) self;				\
								\
	set_up_##of(test, &self, test->variant);		\
	if (test->failed)					\
		return;						\
	test->self = &self;					\
	of##_##title(test, &self, test->variant);		\
	tear_down(test);					\
}								\
								\
static struct __test_metadata test_##of##_##title = {		\
	.name = #title, .run = run_##of##_##title,		\
	.fixture = &fixture_##of, .timeout = seconds,		\
};								\
								\
AT_START(register_test_##of##_##title)				\
{								\
	list_append(fixture_##of.tests, &test_##of##_##title);	\
}								\
								\
FIXTURE_FUNCTION(of##_##title, of)

#define TH_LOG(format, ...)					\
	fprintf(stderr, "# %s:%d:%s: " format "\n", __FILE__,	\
		__LINE__, _metadata->name, ##__VA_ARGS__)

/* Pass the test, with the reason, and do the statement. */
#define SKIP(statement, ...)					\
do {								\
	snprintf(*_metadata->skipped, sizeof(*_metadata->skipped), __VA_ARGS__); \
	statement;						\
} while (0)

/* End the test, as far as it is set up, once: an ASSERT of a teardown does not repeat it. */
static inline void tear_down(struct __test_metadata *test)
{
	bool first = test->self && !test->ending;

	test->ending = true;
	if (first)
		test->fixture->teardown(test);
}

/* After the statement that explains a failure; return false. */
static inline bool end_of_check(struct __test_metadata *test, bool must_end)
{
	if (must_end) {
		tear_down(test);
		_exit(1);
	}
	return false;
}

#define CHECK(must_end, failed)					\
	for (bool __failed = (failed); __failed;		\
	     __failed = end_of_check(_metadata, must_end))

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

/* Wait for the child; return whether it passed. */
static inline bool wait_for_test(const struct __test_metadata *test, pid_t pid)
{
	struct pollfd end = { .fd = syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status;

	if (end.fd < 0 || poll(&end, 1, test->timeout * 1000) <= 0) {
		printf("# %s: %d seconds passed\n", test->name, test->timeout);
		kill(-pid, SIGKILL);
	}
	close(end.fd);
	if (waitpid(pid, &status, 0) != pid)
		return false;
	if (WIFSIGNALED(status))
		printf("# %s: ended by signal %d\n", test->name, WTERMSIG(status));
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Run a test and print its result as TAP; return whether it passed. */
static inline bool run_test(struct __test_metadata *test, const struct variant *variant,
			    const char *name)
{
	static unsigned int number;
	bool passed;
	pid_t pid;

	if (!test->skipped)
		test->skipped = mmap(NULL, sizeof(*test->skipped), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	printf("#  RUN           %s\n", name);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		test->variant = variant->data;
		test->run(test);
		_exit(test->failed);
	}
	if (pid > 0)
		setpgid(pid, pid);
	passed = pid > 0 && wait_for_test(test, pid);
	printf("%s %u %s", passed ? "ok" : "not ok", ++number, name);
	printf(passed && **test->skipped ? " # SKIP %s\n" : "\n", *test->skipped);
	return passed;
}

#endif /* _TWHEEL_HARNESS_H */
