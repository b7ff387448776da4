/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - the parts of twheel-fuzz
 *
 * A fuzzer is a thread. It has its own wheel, of which it knows everything (model.c):
 * there each call has one right result. An io_uring makes some of the calls (calls.c).
 * Arguments (arguments.c) lie in all kinds of memory (memory.c).
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <linux/twheel.h>

#include "chance.h"
#include "helpers.h"
#include "ring.h"

#define FUZZ_TIMERS	400	/* the maximum of timers in a fuzzer's own wheel */
#define FUZZ_DEAD	64	/* ids of timers that are gone */
#define FUZZ_BATCH	100	/* entries of a batch, at most */
#define FUZZ_BY_RING	25	/* the percentage of changes that the io_uring makes */

/* Four mappings of one file, for arguments. After each of them, no memory is mapped. */
struct memory {
	char *alias;	/* only for the fuzzer */
	char *shared;	/* it can be read and written */
	char *read_only;	/* it can only be read */
	char *private;	/* it can be written, but its pages have to be copied first */
};

/* A place in memory */
struct spot {
	char *at;	/* its address, for the kernel */
	char *fill;	/* where to write the data for the kernel, or NULL */
	size_t readable;	/* how many bytes from there can be read */
	size_t writable;	/* how many can be written: all of those, or none */
};

/* memory.c */

void memory_open(struct memory *memory);
struct spot memory_spot(const struct memory *memory, struct chance *chance, size_t size);
void memory_fill(const struct spot *spot, size_t begin, const void *from, size_t size);

/* A timer that exists. Its deadline is between these two times. */
struct model_timer {
	uint64_t id;
	uint64_t data;
	uint64_t interval;
	uint64_t earliest;
	uint64_t latest;
	bool listed;	/* in this walk */
};

/* A fuzzer's own wheel, and everything about it */
struct model {
	int fd;
	uint64_t tick_ns;
	uint32_t wheel_size;
	clockid_t clock;
	uint64_t max_timers;	/* its limit */
	bool is_set_up;
	bool large;	/* levels are so large that there may be no memory for some of them */
	uint64_t added;	/* like the next three, the counter in struct twheel_info */
	uint64_t modified;
	uint64_t cancelled;
	uint64_t delivered;
	uint32_t slots;	/* how many slots its ring has; 0 if there is none */
	uint32_t size;	/* its size in bytes */
	struct twheel_ring *ring;	/* the ring, where it is mapped */
	uint32_t head;	/* its head, which the model alone writes */
	uint32_t tail;	/* the slot after the last event that polls have moved there */
	unsigned int count;	/* number of timers that exist */
	struct model_timer timer[FUZZ_TIMERS];
	uint64_t dead[FUZZ_DEAD];	/* ids of timers that are gone */
	unsigned int nr_dead;	/* how many there are */
};

/* The kinds of calls that are counted: ioctls by their number, and others. */
enum fuzz_call {
	CALL_OPEN = _IOC_NR(TWHEEL_LIST) + 1,
	CALL_READ, CALL_POLL, CALL_MAP, CALL_TAKE, CALL_SPOIL, CALL_URING, NR_CALLS
};

/* The data that all fuzzers share */
struct fuzz {
	atomic_bool stop;	/* tells them to end */
	atomic_bool failed;	/* something was wrong */
	atomic_uint large;	/* the number of large wheels that were set up */
	atomic_uint closed;	/* ... and of those that were closed */
	uint64_t max_timers;	/* the module's limit */
	uint64_t max_ops;	/* of each */
	uint64_t end;	/* a time */
};

/* A thread */
struct fuzzer {
	struct fuzz *fuzz;
	pthread_t thread;
	struct chance chance;
	struct memory memory;
	struct model model;
	struct ring ring;
	unsigned int closed;	/* how many large wheels were closed before this step */
	uint64_t count[NR_CALLS][2];	/* calls of each kind that succeeded, and that did not */
	uint64_t ops;	/* all of them */
};

/* calls.c: makes and counts calls; the first error is printed and ends everything. */

__printf(2, 3) void fuzz_fail(struct fuzzer *fuzzer, const char *format, ...);
long fuzz_count(struct fuzzer *fuzzer, enum fuzz_call call, long ret);
bool fuzz_may_be_refused(const struct fuzzer *fuzzer, long ret);
long fuzz_ioctl(struct fuzzer *fuzzer, uint32_t cmd, void *arg);
long fuzz_call(struct fuzzer *fuzzer, uint32_t cmd, void *arg, int expected);
long fuzz_uring(struct fuzzer *fuzzer, uint32_t cmd, uint64_t first, uint64_t second);
long fuzz_submit(struct fuzzer *fuzzer, uint32_t cmd, void *arg);

/* arguments.c */

/* An entry of TWHEEL_ADD, TWHEEL_CANCEL or TWHEEL_MODIFY, or of a batch of them */
union entry {
	struct twheel_add add;
	struct twheel_modify modify;
	uint64_t id;
};

uint64_t any_id(struct fuzzer *fuzzer);
void any_entry(struct fuzzer *fuzzer, uint32_t cmd, union entry *entry);
struct twheel_setup any_setup(struct chance *chance);
struct twheel_ring_setup any_ring(struct chance *chance);
/* A value for a field that must be zero, and nearly always is. */
uint32_t any_reserved(struct chance *chance);

/* model.c */

void model_open(struct fuzzer *fuzzer);
void model_close(struct fuzzer *fuzzer);
void model_act(struct fuzzer *fuzzer);
