/* SPDX-License-Identifier: MIT */
/*
 * The declarations that the tests of io_uring share: wheels, a ring, and waiting for completions
 */
#ifndef RING_H
#define RING_H

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "libtwheel.h"
#include "libtwheel-uring.h"

#include "clock.h"
#include "helpers.h"
#include "tap.h"

/* Something must have happened within this time, even on a busy host. */
#define LATE		(20 * SEC)
/* How long to wait to conclude that nothing happens. */
#define A_WHILE		(100 * MSEC)
/* No completion: greater than every result. */
#define NONE		INT32_MAX
/* The flags of the tested rings. */
#define DEFER		(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

struct kind {
	const char *name;
	unsigned int flags;
};

extern const struct kind kinds[];
extern const unsigned int nr_kinds;

int open_wheel(int flags);
struct twheel_info info_of(int fd);
uint64_t add_timer(int fd, uint64_t delay, uint64_t data);
uint64_t deadline_of(int fd, uint64_t id);
bool exists(int fd, uint64_t id);

void open_ring(struct io_uring *ring, unsigned int flags);
struct io_uring_sqe *get_sqe(struct io_uring *ring, uint64_t user_data);
void submit(struct io_uring *ring);
/* The io_uring workers of this process. */
unsigned int count_workers(void);

/* Wait for a completion within @ns: its result, or NONE. The rest of it is in @cqe. */
int wait_cqe(struct io_uring *ring, uint64_t ns, struct io_uring_cqe *cqe);
/* The result of the only request; fails the program if there is none. */
int result(struct io_uring *ring);
/* The results of @n requests with the user data 0 to @n - 1. */
bool results(struct io_uring *ring, unsigned int n, int *res);
/* Take completions without waiting: returns how many; results as above. */
unsigned int peek_results(struct io_uring *ring, unsigned int n, int *res);

/* A thread that holds the lock of a wheel in a page fault, as long as the test needs it. */
struct holder;
struct holder *hold_lock(int fd);
void release_lock(struct holder *holder);

/* The tests. The first ones check that no worker is left, as they need none. */
void test_at_once(void);
void test_order(void);
void test_polls(void);
void test_reads(void);
void test_links(void);
void test_commands(void);
void test_no_calls(void);
void test_input(void);
void test_trouble(void);
void test_races(unsigned int ops);

#endif /* RING_H */
