/* SPDX-License-Identifier: MIT */
/*
 * The declarations that the tests of libtwheel's loop share
 *
 * A test checks the promise it is named after, and returns if it holds. All tests of a
 * run use one backend, and each has its own process and loop.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libtwheel-device.h"
#include "chance.h"
#include "clock.h"
#include "options.h"
#include "tap.h"

/* A test; its name with spaces is printed. Some are for one backend. */
struct test {
	const char *name;
	void (*run)(void);
	uint32_t backend;
	struct test *next;
};

void add_test(struct test *test);

#define TEST_OVER(name_, backend_)					\
	static void name_(void);					\
	static void __attribute__((constructor)) add_##name_(void)	\
	{								\
		static struct test test = { #name_, name_, backend_, NULL };	\
									\
		add_test(&test);					\
	}								\
	static void name_(void)

#define TEST(name)		TEST_OVER(name, TWHEEL_BACKEND_ANY)
#define USER_TEST(name)		TEST_OVER(name, TWHEEL_BACKEND_USER)
#define DEVICE_TEST(name)	TEST_OVER(name, TWHEEL_BACKEND_DEVICE)
/* It sets the clock: over either, but only on a machine that has the device. */
#define MACHINE_TEST(name)	TEST_OVER(name, IN_MACHINE)
#define IN_MACHINE		UINT32_MAX

#define NR_TIMERS	20000

/* Each test begins with these: a loop, and timers and messages that count their calls. */
extern struct twheel_loop *loop;
extern struct twheel_handle timer, timers[NR_TIMERS];
extern struct twheel_message message;
extern unsigned int messages;
extern int called;

/* TWHEEL_BACKEND_DEVICE or TWHEEL_BACKEND_USER. */
extern uint32_t backend;
extern uint64_t seed;

/* How late a callback may be, beyond a tick. */
extern uint64_t lateness_max;

/* The time that the library sees, instead of the real one, unless zero. */
extern uint64_t mocked_ns;

/* How far the clocks of a time namespace are ahead of the machine's. */
extern int64_t namespace_ns;

/* Let time pass for a program that does not wait: at once, or over the device by sleeping. */
void pass(uint64_t ns);

/* Called when the clock is read, as a signal handler could be; or NULL. */
extern void (*on_clock)(int signal);

/* So many more calls of poll() fail with EINTR. */
extern int polls_interrupted;

/* After so many more calls of malloc() and calloc(), one fails; never if it is negative. */
extern int mallocs_left;

/* End the test, and print the place, unless this holds. */
#define CHECK(condition)		check(condition, #condition, __FILE__, __LINE__)

/* The call fails with this errno. */
#define CHECK_FAILS(call, error)					\
	do {								\
		errno = 0; /* not that of the call before */		\
		CHECK(fails(call, error));				\
	} while (0)

void check(bool ok, const char *condition, const char *file, int line);
bool fails(int ret, int error);

/* In a child, a check that fails is its exit status. */
bool child_is_content(pid_t child);

/* Replace the loop, which is freed after the test; so a test that frees it clears it. */
void new_loop(void);
void new_loop_of(struct twheel_loop_config config);
void free_loop(void);

/* The same, of a program that waits by time; not over the device. */
void new_loop_that_asks(void);

/* Wait and dispatch until @count callbacks were called, or for @ms; return how many. */
int run_for(struct twheel_loop *loop, int count, unsigned int ms);

/* Callbacks: the former counts in *(int *)handle->data. */
void count_call(struct twheel_loop *loop, struct twheel_handle *handle);
void count_message(struct twheel_loop *loop, struct twheel_message *message);

/* How many timers were added in the kernel so far; 0 without the kernel. */
uint64_t added(void);

/* Return the lowest descriptor that is free. */
int next_descriptor(void);

/* Return true if the descriptor is readable; a timerfd set to a past time takes a moment. */
bool is_readable(void);
bool becomes_readable(void);

/* The linker replaces the C library's functions with ours. */
typeof(clock_gettime) __real_clock_gettime, __wrap_clock_gettime;
typeof(malloc) __real_malloc, __wrap_malloc;
typeof(calloc) __real_calloc, __wrap_calloc;
typeof(poll) __real_poll, __wrap_poll;
