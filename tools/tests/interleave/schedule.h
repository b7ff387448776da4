/* SPDX-License-Identifier: MIT */
/*
 * Coroutines in place of threads: one runs at a time, and others take over only at points
 *
 * The stand-ins have a point before each operation that other threads can see or influence. The
 * code between two points is one step: see POINT() in include/linux/compiler.h.
 *
 * Time passes only when a coroutine advances it.
 *
 * All memory that a schedule changes is restored before the next one, and hashed to recognise a
 * state that has been seen: variables marked WORLD, allocated memory, and the stacks of the
 * coroutines. Memory is never reused within a schedule. New and freed memory is filled with
 * patterns: a read after free gets garbage, and a write after free is found at the end.
 */
#pragma once

#include "kernel.h"

#define MAX_COROUTINES	8
/* The buffer of __builtin_setjmp(), and its word with the stack pointer */
#define CONTEXT_WORDS	5
#define CONTEXT_SP	2

/* A task, or the interrupt of the hrtimers */
struct coroutine {
	struct task_struct task;	/* as the kernel sees it */
	const char *name;	/* for people */
	void (*run)(void);
	void (*wait)(void);	/* of a waiter; or NULL */
	const struct step *steps;	/* of an act; or NULL */
	u64 latest;	/* the latest time of CLOCK_REALTIME since its call began */
	bool (*ready)(const void *arg);	/* it is blocked until this returns true; or NULL */
	const void *arg;	/* the argument of @ready */
	const char *function;	/* the function with the next operation */
	const char *operation;	/* and that operation */
	void *context[CONTEXT_WORDS];	/* where it continues; 0 at its beginning and end */
	unsigned int outcomes;	/* it waits for a choice of this many outcomes; or 0 */
	unsigned int outcome;	/* and this is the choice */
	bool yields;	/* others go first */
	bool is_waiter;	/* it may not sleep while something is due */
	bool is_kernel;	/* it belongs to the kernel, and never returns */
	bool ended;
};

extern struct coroutine coroutines[MAX_COROUTINES];
extern unsigned int nr_coroutines;
/* The one that runs, or NULL. */
extern struct coroutine *running;

/* Wait until @ready returns true; it is still true for the first coroutine that runs then. */
void schedule_until(bool (*ready)(const void *arg), const void *arg);
/* Choose one of @n outcomes; all of them are explored. */
unsigned int schedule_any(unsigned int n);

/* Make the stacks, once. */
void schedule_init(void);
struct coroutine *schedule_add(const char *name, void (*run)(void));

/*
 * Run coroutines until none can: the one that ran last as long as possible, or with @explores as
 * explore_decide() does. Return false if it abandons the schedule.
 */
bool schedule_run(bool explores);

#define SCHEDULE_ABANDON	(-1)

/*
 * explore.c: decide between @n > 0 options, and return the number of one, or SCHEDULE_ABANDON.
 * With @preemptive, the first one is to continue, and all others are preemptions. With @yields,
 * the one that ran last lets others go first.
 */
int explore_decide(unsigned int n, bool preemptive, bool yields);
/* Return true if it is known that the first option, to continue, is the one for the next step. */
bool explore_goes_on(void);

uint64_t schedule_hash(void);

/* Print step @step, at which option @option of @n was taken. */
void schedule_show(unsigned int step, unsigned int n, int option, bool preemptive);

/*
 * Time, and hrtimers.
 */

/* The time of all clocks at the beginning. */
#define CLOCK_BEGIN	1000000000ULL
/* No hrtimer fires from here on. */
#define CLOCK_END	(CLOCK_BEGIN + 150000)

/* CLOCK_REALTIME, which the other clocks are equal to until it is set. */
u64 clock_wall(void);
/* The latest time that it has shown since the running coroutine's call began. */
u64 clock_latest(void);
void clock_call_begins(void);

/* Let time pass. */
void clock_pass(u64 ns);
/* Set CLOCK_REALTIME forward, or back. */
void clock_set(s64 ns);

/* When the first hrtimer fires, in CLOCK_REALTIME; U64_MAX if none is queued. */
u64 clock_next_fire(void);

/* A coroutine: let time pass until the next hrtimer is due, and run its interrupt. */
void clock_run(void);
/* It waits for time to pass. */
bool clock_is_waiting(const struct coroutine *c);

/*
 * Memory.
 */

/* Defined by the linker. */
extern char __start_world[], __stop_world[];

/* Restore WORLD variables as of the first time, and free all allocated memory. */
void world_restore(void);

uint64_t world_hash(void);
/* Hash whole words of memory. */
uint64_t world_hash_memory(uint64_t hash, const void *start, const void *end);

/* End the schedule with broken() if memory is left, or was written after it was freed. */
void world_check_freed(void);

/* The allocator: see INTERLEAVE_WORLD in tools/Makefile. */
void *world_malloc(size_t size);
void *world_calloc(size_t n, size_t size);
void *world_realloc(void *memory, size_t size);
void *world_aligned_alloc(size_t alignment, size_t size);
void world_free(void *memory);
