/* SPDX-License-Identifier: MIT */
/*
 * What the tests of libtwheel's loop have in common
 *
 * A test checks the promise it is named after, and returns if it holds. All run over one
 * backend, and a loop is made for each.
 */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libtwheel.h"
#include "chance.h"
#include "clock.h"
#include "options.h"
#include "tap.h"

struct test {
	const char *name;
	void (*run)(void);
};

extern const struct test contract_tests[];
extern const struct test bad_tests[];
extern const struct test misuse_tests[];
extern const struct test run_tests[];
extern const struct test model_tests[];
/* Of the device alone. */
extern const struct test call_tests[];
extern const struct test misuse_device_tests[];

/* TWHEEL_BACKEND_DEVICE or TWHEEL_BACKEND_USER. */
extern uint32_t backend;
extern uint64_t seed;

/* The clock that the library sees: not the real one, if not zero. */
extern uint64_t mocked_ns;

/* The linker puts ours in the place of the C library's. */
int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

/* The test ends, and says where, if this does not hold. */
#define CHECK(condition)		check(condition, #condition, __FILE__, __LINE__)

/* The call fails with this errno. */
#define CHECK_FAILS(call, error)	CHECK(fails(call, error))

void check(bool ok, const char *condition, const char *file, int line);
bool fails(int ret, int error);

/* In a child, a check that fails is its exit status. */
bool child_is_content(pid_t child);

/* A loop of the backend; it is freed when the next one is made. */
struct twheel_loop *new_loop(void);
struct twheel_loop *new_loop_of(struct twheel_loop_config config);
void free_last_loop(void);

/* Waits and dispatches until @count callbacks were called, or for @ms; returns how many. */
int run_for(struct twheel_loop *loop, int count, unsigned int ms);

/* A callback: counts in *(int *)handle->data. */
void count_call(struct twheel_loop *loop, struct twheel_handle *handle);

/* How many timers the kernel was told to add so far; 0 without the kernel. */
uint64_t added(struct twheel_loop *loop);

static inline bool is_readable(struct twheel_loop *loop)
{
	struct pollfd pollfd = { .fd = twheel_loop_fd(loop), .events = POLLIN };

	return poll(&pollfd, 1, 0) == 1;
}

/* A timerfd that is set to what is past takes a moment. */
static inline bool becomes_readable(struct twheel_loop *loop)
{
	struct pollfd pollfd = { .fd = twheel_loop_fd(loop), .events = POLLIN };

	return poll(&pollfd, 1, 1000) == 1;
}

#endif /* LIBRARY_H */
