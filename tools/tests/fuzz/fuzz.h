/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - the parts of twheel-fuzz
 *
 * A fuzzer is a thread. It has a wheel of its own, of which it knows everything
 * (model.c): there each call has one right answer. It shares other wheels with the
 * other fuzzers (shared.c), where calls must end somehow. What it hands to the
 * kernel (arguments.c) lies in memory of all sorts (memory.c).
 *
 * main calls model and shared; those call calls, arguments and memory.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <linux/twheel.h>

#include "chance.h"
#include "helpers.h"

#define FUZZ_SHARED	3	/* wheels that all fuzzers share */
#define FUZZ_SHARED_FD	100	/* the descriptor of the first; nothing else gets there */
#define FUZZ_TIMERS	400	/* timers in a wheel of one's own, at most */
#define FUZZ_DEAD	64	/* ids that are no more */
#define FUZZ_BATCH	100	/* entries of a batch, at most */

/**
 * struct memory - memory to hand to the kernel, of every sort
 * @file: what is behind it.
 * @alias: all of it, to write to whatever the sort.
 * @shared: it can be read and written.
 * @read_only: it can be read only.
 * @private: it can be written, but its pages have to be copied first.
 *
 * Behind the end of each of the last three there is none.
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
 * @fill: where to write what the kernel is to find there, or NULL.
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
void *wild_pointer(struct chance *chance);

/* A timer that exists. Its deadline is known to lie within two times. */
struct model_timer {
	uint64_t id;
	uint64_t data;
	uint64_t interval;
	uint64_t earliest;
	uint64_t latest;
};

/**
 * struct model - a wheel of one's own, and all there is to know of it
 * @fd: the wheel.
 * @tick_ns: its tick.
 * @clock: its clock.
 * @max_timers: its limit.
 * @is_set_up: it has been set up.
 * @large: levels are so large that there may not be memory for all of them.
 * @added: like the next three: what struct twheel_info says.
 * @modified: see @added.
 * @cancelled: see @added.
 * @delivered: see @added.
 * @count: number of timers that exist.
 * @timer: those.
 * @dead: ids of timers that existed once.
 * @nr_dead: how many there have been.
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
	unsigned int count;
	struct model_timer timer[FUZZ_TIMERS];
	uint64_t dead[FUZZ_DEAD];
	unsigned int nr_dead;
};

/* What a call can be counted as. */
enum fuzz_call {
	CALL_OPEN, CALL_SETUP, CALL_ADD, CALL_CANCEL, CALL_MODIFY, CALL_QUERY, CALL_INFO,
	CALL_ADD_BATCH, CALL_CANCEL_BATCH, CALL_MODIFY_BATCH, CALL_READ, CALL_POLL,
	CALL_OTHER, NR_CALLS
};

/**
 * struct fuzz - what the fuzzers have in common
 * @stop: tells them to end.
 * @failed: something was wrong.
 * @large: how many of their wheels are large, and children that may have such.
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
 * @fuzz: what it shares with others.
 * @chance: decides what it does.
 * @memory: what it hands to the kernel.
 * @model: its own wheel.
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
	bool tight;
	uint64_t done[NR_CALLS];
	uint64_t refused[NR_CALLS];
	uint64_t ops;
};

/* calls.c: calls are counted, and what was wrong is said once and ends everything. */

__printf(2, 3) void fuzz_fail(struct fuzzer *fuzzer, const char *format, ...);
long fuzz_count(struct fuzzer *fuzzer, enum fuzz_call call, long ret);
/* Opens a wheel; -1 when large ones leave no memory for it. */
int fuzz_open(struct fuzzer *fuzzer);
long fuzz_ioctl(struct fuzzer *fuzzer, enum fuzz_call call, int fd, unsigned long cmd, void *arg);

/* arguments.c */

void any_add(struct fuzzer *fuzzer, clockid_t clock, struct twheel_add *add);
void any_modify(struct fuzzer *fuzzer, clockid_t clock, struct twheel_modify *modify);
void any_setup(struct fuzzer *fuzzer, struct twheel_setup *setup);
/* A field that must be zero, and nearly always is. */
uint32_t any_reserved(struct chance *chance);

/* model.c */

void model_open(struct fuzzer *fuzzer);
void model_close(struct fuzzer *fuzzer);
void model_act(struct fuzzer *fuzzer);

/* shared.c */

void shared_open(struct fuzzer *fuzzer, unsigned int nr);
void shared_act(struct fuzzer *fuzzer);

#endif /* FUZZ_H */
