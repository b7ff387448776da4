/* SPDX-License-Identifier: MIT */
/*
 * What the tests of libtwheel's loop have in common
 *
 * A test is a function that returns whether the promise it is named after holds. All run
 * over one backend, and a loop is made for each.
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
#include "stress.h"

struct test {
	const char *name;
	bool (*run)(void);
};

extern const struct test contract_tests[];
extern const struct test bad_tests[];
extern const struct test model_tests[];
/* Of the device alone. */
extern const struct test call_tests[];

/* TWHEEL_BACKEND_DEVICE or TWHEEL_BACKEND_USER. */
extern uint32_t backend;
extern uint64_t seed;

/* The clock that the library sees: not the real one, if not zero. */
extern uint64_t mocked_ns;

/* The test fails, and says where, if this does not hold. */
#define CHECK(condition)							\
do {										\
	if (!(condition)) {							\
		tap_note("%s:%d: %s (errno: %s)", __FILE__, __LINE__, #condition,\
			 strerror(errno));					\
		return false;							\
	}									\
} while (0)

/* The call fails with this errno. */
#define CHECK_FAILS(call, error)						\
do {										\
	errno = 0;								\
	CHECK((call) == -1);							\
	CHECK(errno == (error));						\
} while (0)

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

#endif /* LIBRARY_H */
