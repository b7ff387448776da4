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

/**
 * struct memory - memory of every kind, for arguments
 * @file: the file behind it.
 * @alias: a writable mapping of all of it.
 * @shared: it can be read and written.
 * @read_only: it can only be read.
 * @private: it can be written, but its pages have to be copied first.
 *
 * After each of the last three, no memory is mapped.
 */
struct memory {
	int file;
	char *alias;
	char *shared;
	char *read_only;
	char *private;
};

/**
 * struct spot - a place in memory
 * @at: its address, for the kernel.
 * @fill: where to write the data for the kernel, or NULL.
 * @readable: how many bytes from there can be read.
 * @writable: how many can be written.
 */
struct spot {
	char *at;
	char *fill;
	size_t readable;
	size_t writable;
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

/**
 * struct model - a fuzzer's own wheel, and everything about it
 * @fd: the wheel.
 * @tick_ns: its tick.
 * @clock: its clock.
 * @max_timers: its limit.
 * @is_set_up: it has been set up.
 * @large: levels are so large that there may be no memory for some of them.
 * @added: like the next three, the counter in struct twheel_info.
 * @modified: see @added.
 * @cancelled: see @added.
 * @delivered: see @added.
 * @slots: how many slots its ring has; 0 if there is none.
 * @size: its size in bytes.
 * @ring: the ring, where it is mapped.
 * @head: its head, which the model alone writes.
 * @tail: the slot after the last event that polls have moved there.
 * @count: number of timers that exist.
 * @timer: those.
 * @dead: ids of timers that are gone.
 * @nr_dead: how many there are.
 */
struct model {
	int fd;
	uint64_t tick_ns;
	clockid_t clock;
	uint64_t max_timers;
	bool is_set_up;
	bool large;
	uint64_t added;
	uint64_t modified;
	uint64_t cancelled;
	uint64_t delivered;
	uint32_t slots;
	uint32_t size;
	struct twheel_ring *ring;
	uint32_t head;
	uint32_t tail;
	unsigned int count;
	struct model_timer timer[FUZZ_TIMERS];
	uint64_t dead[FUZZ_DEAD];
	unsigned int nr_dead;
};

/* The kinds of calls that are counted. */
enum fuzz_call {
	CALL_OPEN, CALL_SETUP, CALL_ADD, CALL_CANCEL, CALL_MODIFY, CALL_QUERY, CALL_INFO,
	CALL_RING, CALL_ADD_BATCH, CALL_CANCEL_BATCH, CALL_MODIFY_BATCH, CALL_LIST, CALL_READ,
	CALL_POLL, CALL_MAP, CALL_TAKE, CALL_SPOIL, CALL_URING,
	NR_CALLS
};

/**
 * struct fuzz - the data that all fuzzers share
 * @stop: tells them to end.
 * @failed: something was wrong.
 * @large: the number of large wheels.
 * @max_timers: the module's limit.
 */
struct fuzz {
	atomic_bool stop;
	atomic_bool failed;
	atomic_uint large;
	uint64_t max_timers;
};

/**
 * struct fuzzer - a thread
 * @fuzz: the shared data.
 * @chance: decides what it does.
 * @memory: memory for its arguments.
 * @model: its own wheel.
 * @ring: its io_uring, for commands, if @has_ring.
 * @tight: before or after the last call, there were large wheels.
 * @done: calls of each kind that succeeded...
 * @refused: ... and that did not.
 * @ops: all of them.
 */
struct fuzzer {
	struct fuzz *fuzz;
	struct chance chance;
	struct memory memory;
	struct model model;
	struct io_uring ring;
	bool has_ring;
	bool tight;
	uint64_t done[NR_CALLS];
	uint64_t refused[NR_CALLS];
	uint64_t ops;
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
