/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - the parts of twheel-fuzz
 *
 * A fuzzer is a thread. It has its own wheel, of which it knows everything (model.c):
 * there each call has one right result. An io_uring makes some of the calls (uring.c).
 * Arguments (arguments.c) lie in all kinds of memory (memory.c).
 *
 * main calls model; that uses calls, uring, arguments and memory; the calls call uring.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <liburing.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <linux/twheel.h>

#include "chance.h"
#include "helpers.h"

#define FUZZ_TIMERS	400	/* the maximum of timers in a fuzzer's own wheel */
#define FUZZ_DEAD	64	/* ids of timers that are gone */
#define FUZZ_BATCH	100	/* entries of a batch, at most */

/*
 * Memory of every kind, for arguments.
 * After each of the last three, no memory is mapped.
 */
struct memory {
	int file;	/* the file behind it */
	char *alias;	/* a writable mapping of all of it */
	char *shared;	/* it can be read and written */
	char *read_only;	/* it can only be read */
	char *private;	/* it can be written, but its pages have to be copied first */
};

/* A place in memory */
struct spot {
	char *at;	/* its address, for the kernel */
	char *fill;	/* where to write the data for the kernel, or NULL */
	size_t readable;	/* how many bytes from there can be read */
	size_t writable;	/* how many can be written */
};

/* memory.c */

void memory_open(struct memory *memory);
void memory_close(struct memory *memory);
struct spot memory_spot(struct memory *memory, struct chance *chance, size_t size);

/* A timer that exists. Its deadline is between these two times. */
struct model_timer {
	uint64_t id;
	uint64_t data;
	uint64_t interval;
	uint64_t earliest;
	uint64_t latest;
};

/* A fuzzer's own wheel, and everything about it */
struct model {
	int fd;
	uint64_t tick_ns;
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

/* The kinds of calls that are counted. */
enum fuzz_call {
	CALL_OPEN, CALL_SETUP, CALL_ADD, CALL_CANCEL, CALL_MODIFY, CALL_QUERY, CALL_INFO,
	CALL_RING, CALL_ADD_BATCH, CALL_CANCEL_BATCH, CALL_MODIFY_BATCH, CALL_LIST, CALL_READ,
	CALL_POLL, CALL_MAP, CALL_TAKE, CALL_SPOIL, CALL_URING,
	NR_CALLS
};

/* The data that all fuzzers share */
struct fuzz {
	atomic_bool stop;	/* tells them to end */
	atomic_bool failed;	/* something was wrong */
	atomic_uint large;	/* the number of large wheels */
	uint64_t max_timers;	/* the module's limit */
};

/* A thread */
struct fuzzer {
	struct fuzz *fuzz;
	struct chance chance;
	struct memory memory;
	struct model model;
	struct io_uring ring;	/* its io_uring, for commands, if @has_ring */
	bool has_ring;
	bool tight;	/* before or after the last call, there were large wheels */
	uint64_t done[NR_CALLS];	/* calls of each kind that succeeded */
	uint64_t refused[NR_CALLS];	/* ... and that did not */
	uint64_t ops;	/* all of them */
};

/* calls.c: counts calls; the first error is printed and ends everything. */

__printf(2, 3) void fuzz_fail(struct fuzzer *fuzzer, const char *format, ...);
long fuzz_count(struct fuzzer *fuzzer, enum fuzz_call call, long ret);
/* Open a wheel; -1 if large ones leave no memory for it. */
int fuzz_open(struct fuzzer *fuzzer);
/* Make the call, or let a ring do it if it can. */
long fuzz_ioctl(struct fuzzer *fuzzer, enum fuzz_call call, int fd, unsigned long cmd, void *arg);

/* uring.c */

void uring_open(struct fuzzer *fuzzer);
void uring_close(struct fuzzer *fuzzer);
bool uring_is_used(struct fuzzer *fuzzer);
bool uring_takes(struct fuzzer *fuzzer, unsigned long cmd);
long uring_command(struct fuzzer *fuzzer, int fd, uint32_t cmd, uint64_t first, uint64_t second);

/* arguments.c */

void any_add(struct fuzzer *fuzzer, clockid_t clock, struct twheel_add *add);
void any_modify(struct fuzzer *fuzzer, clockid_t clock, struct twheel_modify *modify);
void any_setup(struct fuzzer *fuzzer, struct twheel_setup *setup);
/* A value for a field that must be zero, and nearly always is. */
uint32_t any_reserved(struct chance *chance);

/* model.c */

void model_open(struct fuzzer *fuzzer);
void model_close(struct fuzzer *fuzzer);
void model_act(struct fuzzer *fuzzer);

#endif /* FUZZ_H */
