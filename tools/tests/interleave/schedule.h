/* SPDX-License-Identifier: MIT */
/*
 * Coroutines in place of threads: one runs at a time, and others take over only at points
 *
 * The stand-ins have a point before each operation that other threads can see or influence. The
 * code between two points is one step.
 */
#ifndef INTERLEAVE_SCHEDULE_H
#define INTERLEAVE_SCHEDULE_H

#include "kernel.h"
#include "world.h"

struct step;

#define MAX_COROUTINES	8
/* The buffer of __builtin_setjmp(), and its word with the stack pointer */
#define CONTEXT_WORDS	5
#define CONTEXT_SP	2

/* A task, or the interrupt of the hrtimers */
struct coroutine {
	struct task_struct task;	/* as the kernel sees it */
	const char *name;	/* for people */
	void (*run)(void);
	const struct step *steps;	/* of an act; or NULL */
	bool (*ready)(const void *arg);	/* it is blocked until this returns true; or NULL */
	const void *arg;	/* the argument of @ready */
	const char *function;	/* the function with the next operation */
	const char *operation;	/* and that operation */
	void *context[CONTEXT_WORDS];	/* where it continues; 0 at its beginning and end */
	unsigned int outcomes;	/* it waits for a choice of this many outcomes; or 0 */
	unsigned int outcome;	/* and this is the choice */
	unsigned int starved;	/* and these, a bit each, have not run since it yielded last */
	bool yields;	/* others go first */
	bool is_waiter;	/* it may not sleep while something is due */
	bool is_kernel;	/* it belongs to the kernel, and never returns */
	bool ended;
};

extern struct coroutine coroutines[MAX_COROUTINES];
extern unsigned int nr_coroutines;
/* The one that runs, or NULL. */
extern struct coroutine *running;

/*
 * POINT(operation), in include/linux/compiler.h: the scheduler may let another one run here.
 */

/* Wait until @ready returns true; it is still true for the first coroutine that runs then. */
void schedule_until(bool (*ready)(const void *arg), const void *arg);
/* A point where the scheduler always decides. */
void schedule_pause(const char *operation);
/* Let others run first, which does not count as a preemption. */
void schedule_yield(void);
/* Choose one of @n outcomes; all of them are explored. */
unsigned int schedule_any(unsigned int n);

/* Make the stacks, once. */
void schedule_init(void);
struct coroutine *schedule_add(const char *name, void (*run)(void));

#define SCHEDULE_ABANDON	(-1)

/*
 * Decide between @n > 0 options, and return the number of one, or SCHEDULE_ABANDON. With
 * @preemptive, the first one is to continue, and all others are preemptions.
 */
typedef int (*schedule_decide_t)(unsigned int n, bool preemptive);

/*
 * Run coroutines until none can; call @check_idle when only time can pass. Return false if the
 * schedule is abandoned.
 */
bool schedule_run(schedule_decide_t decide, void (*check_idle)(void));

uint64_t schedule_hash(void);

/* Print step @step, at which option @option of @n was taken. */
void schedule_show(unsigned int step, unsigned int n, int option, bool preemptive);

#endif /* INTERLEAVE_SCHEDULE_H */
