/* SPDX-License-Identifier: MIT */
/*
 * The kernel that the driver runs on in user space, as its stand-ins and the tests see it
 *
 * A task is a thread. Locks are pthread's, so that ThreadSanitizer knows them. broken()
 * reports the same errors as the kernel: sleeping with a spin lock held, a call while user
 * memory is open, a lock that is not held, or still held when a call returns.
 */
#pragma once

#include <pthread.h>
#include <time.h>

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "chance.h"

struct mem_cgroup;

/* A thread that calls the kernel */
struct task_struct {
	pthread_mutex_t lock;	/* protects @awake */
	pthread_cond_t woken;	/* @awake has been set, or a signal sent */
	bool awake;	/* it neither sleeps nor is about to */
	bool signalled;
	bool killed;	/* and that signal is fatal */
	struct chance chance;
	struct mm_struct *mm;	/* whose cgroup is charged when it opens a file */
	struct mem_cgroup *active_memcg;	/* the one that is charged for its allocations */
	unsigned int mutexes;	/* how many it holds */
	unsigned int spins;	/* how many spin locks it holds */
	bool has_woken;	/* it has woken waiters since it took the first of them */
	bool in_irq;
	bool irqs_off;	/* it holds a spin lock that turns interrupts off */
	bool in_user_access;
	/* How often page faults have been disabled: user memory may be missing then. */
	unsigned int pagefaults_off;
	unsigned long unwritable;	/* user memory from here on cannot be written */
	bool overwrites;		/* another thread overwrites what has been copied */
	bool lean;	/* an allocation fails; in the suite interleave, it may */
	bool alone;	/* no other thread waits for what it does, and user memory stays */
	unsigned int holds;	/* alone, the spin locks it has taken since others could run */
	unsigned int fault;	/* the step after so many that may fail does; 0 stands for none */
	bool fault_lasts;	/* and all steps after it, too */
	unsigned int failed;	/* how many did */
};

/* The spin locks that a call may take before it gives way; as many withdraw a chunk of timers. */
#define MAX_HOLDS	100

struct mm_struct {
	struct mem_cgroup *memcg;
};

struct mem_cgroup {
	long references;
};

extern __thread struct task_struct *current;

/* Report that a rule of the kernel was broken, and abort. */
void broken(const char *rule) __attribute__((noreturn, cold));

/* All user memory is there, and no allocation fails. */
static inline void task_mend(struct task_struct *task)
{
	task->unwritable = -1UL;
	task->lean = false;
}

/* A random number of the task's own. */
static inline u64 any_below(u64 n)
{
	return chance_below(&current->chance, n);
}

static inline bool one_in(u64 n)
{
	return !any_below(n);
}

/* Return whether this step has to fail: an allocation, or an access to user memory. */
static inline bool fails_now(void)
{
	if (!current->fault || --current->fault)
		return false;
	current->fault = current->fault_lasts;
	current->failed++;
	return true;
}

/* Give other threads a chance to run here. */
void breathing_space(void);

/* The same before an operation that other threads can see. The suite interleave has its own. */
#ifndef POINT
#define POINT(operation)	((void)(operation), breathing_space())
#define WORLD
#define OF_TASK			__thread
struct native_lock {
	pthread_mutex_t mutex;	/* ThreadSanitizer knows it */
};

#define NATIVE_LOCK_INIT	{ PTHREAD_MUTEX_INITIALIZER }
#endif

/* Return true if this tracepoint is enabled now. */
bool is_traced(void);

/* The time, which may have passed when other threads have run. */
u64 clock_look(clockid_t clock);

/* Return true if this allocation has to fail. */
bool out_of_memory(void);

void task_init(struct task_struct *task, struct mm_struct *mm, u64 seed);
void task_signal(struct task_struct *task, bool kill);
void task_forget_signals(struct task_struct *task);
bool task_wake(struct task_struct *task);
/* Let others run first. */
void task_yield(void);
void task_about_to_sleep(void);
void task_sleep(void);

/* Start the clock; nothing stops it. */
void clock_start(struct mm_struct *mm);
u64 clock_now(clockid_t clock);
/* CLOCK_REALTIME and CLOCK_TAI are set; they are never behind CLOCK_MONOTONIC. */
void wall_clock_set(u64 ns_ahead);
/* The machine is suspended: CLOCK_BOOTTIME jumps. */
void clock_suspend(u64 ns);
/* How many hrtimers are queued. */
unsigned int clock_timers(void);

int module_load(void);
void module_unload(void);
extern unsigned long *const parameter_max_user_bytes;

/* A call of a function that is not inline, which is allowed except while user memory is open. */
static inline void may_call(void)
{
	if (current->in_user_access)
		broken("a call while user memory is open");
}

static inline void may_sleep(void)
{
	may_call();
	if (current->spins || current->in_irq || current->pagefaults_off)
		broken("sleeping in an atomic section");
}

/* Return true if an allocation that does not sleep has to fail. */
static inline bool out_of_memory_now(void)
{
	may_call();
	return fails_now() || current->lean;
}

/* Every call ends with this. */
static inline void may_return(void)
{
	may_call();
	if (current->mutexes || current->spins || current->pagefaults_off)
		broken("a lock is held when a call returns");
	if (current->active_memcg)
		broken("a cgroup is active when a call returns");
	current->holds = 0;
}
