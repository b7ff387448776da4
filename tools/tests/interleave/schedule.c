// SPDX-License-Identifier: MIT
/*
 * Coroutines, and switching between them; see schedule.h
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "scenario.h"

#define STACK_BYTES	(64 << 10)

struct coroutine coroutines[MAX_COROUTINES];
unsigned int nr_coroutines WORLD;
struct coroutine *running;
/* The one that ran last. */
static struct coroutine *last WORLD;
static bool exploring;

static char stacks[MAX_COROUTINES][STACK_BYTES] __attribute__((aligned(16)));
static jmp_buf fresh[MAX_COROUTINES];
static void *scheduler[CONTEXT_WORDS];
static unsigned int nr_fresh;

/* Not inline: the compiler allows only one end of a jump in a function. */
static noinline void jump(void **context)
{
	__builtin_longjmp(context, 1);
}

/*
 * Only the first entry to a stack needs the system. All coroutines begin with the registers saved
 * here.
 */
static void begin(void)
{
	if (!_setjmp(fresh[nr_fresh]))
		jump(scheduler);
	running->run();
	running->ended = true;
	/* Leftovers on its stack must not make a different state. */
	memset(running->context, 0, sizeof(running->context));
	jump(scheduler);
}

void schedule_init(void)
{
	ucontext_t context, here;

	for (nr_fresh = 0; nr_fresh < MAX_COROUTINES; nr_fresh++) {
		getcontext(&context);
		context.uc_stack.ss_sp = stacks[nr_fresh];
		context.uc_stack.ss_size = STACK_BYTES;
		context.uc_link = NULL;
		makecontext(&context, begin, 0);
		if (!__builtin_setjmp(scheduler))
			swapcontext(&here, &context);
	}
}

struct coroutine *schedule_add(const char *name, void (*run)(void))
{
	struct coroutine *c = &coroutines[nr_coroutines];

	if (nr_coroutines == MAX_COROUTINES)
		broken("too many coroutines");
	*c = (struct coroutine) {
		.name = name,
		.run = run,
		.function = name,
		.operation = "begin",
	};
	task_init(&c->task, current->mm, 0);
	nr_coroutines++;
	return c;
}

/* Not inline: its frame has the registers of its callers. */
static noinline void switch_out(void)
{
	if (!__builtin_setjmp(running->context))
		jump(scheduler);
}

void schedule_point(const char *function, const char *operation)
{
	if (!running)
		return;
	running->function = function;
	running->operation = operation;
	/* Most steps need no switch. */
	if (!exploring || running->yields || clock_is_waiting(running) || !explore_goes_on())
		switch_out();
}

/*
 * All coroutines see each step at once, as if there were no store buffers. Locks are as strong as
 * that: so shared fields are written with a lock held, and only then. A new file is not shared.
 */
void schedule_check_store(const char *function)
{
	if (current && !current->spins && strcmp(function, "init_wheel"))
		broken("a shared field is written without a lock");
}

void schedule_until(bool (*ready)(const void *arg), const void *arg)
{
	if (ready(arg))
		return;
	if (!running)
		broken("a call blocks that nobody can unblock");
	running->ready = ready;
	running->arg = arg;
	switch_out();
	running->ready = NULL;
}

/* This does not count as a preemption. */
void task_yield(void)
{
	if (!running)
		return;
	running->yields = true;
	POINT("let others run");
	running->yields = false;
}

unsigned int schedule_any(unsigned int n)
{
	if (!running)
		return 0;
	running->outcomes = n;
	switch_out();
	running->outcomes = 0;
	return running->outcome;
}

static noinline void resume(struct coroutine *c)
{
	running = c;
	current = &c->task;
	if (!__builtin_setjmp(scheduler)) {
		if (!c->context[CONTEXT_SP])
			_longjmp(fresh[c - coroutines], 1);
		jump(c->context);
	}
	running = NULL;
	current = NULL;
}

static bool can_run(const struct coroutine *c)
{
	return !c->ended && (!c->ready || c->ready(c->arg));
}

/* Nothing can happen until time passes. */
static bool is_idle(struct coroutine *const *option, unsigned int n)
{
	return !n || (n == 1 && clock_is_waiting(option[0]));
}

/*
 * List the coroutines that may run, the last one first. One that yields goes on only when no other
 * one can; of two that yield to each other, explore_decide() ends the loop.
 */
static unsigned int list_options(struct coroutine **option)
{
	bool yields = last && last->yields;
	struct coroutine *c;
	unsigned int n = 0;

	if (last && !yields && can_run(last))
		option[n++] = last;
	for (c = coroutines; c < coroutines + nr_coroutines; c++) {
		if (c != last && can_run(c))
			option[n++] = c;
	}
	if (yields && is_idle(option, n))
		option[n++] = last;
	return n;
}

bool schedule_run(bool explores)
{
	struct coroutine *option[MAX_COROUTINES];
	unsigned int n;
	int nr;

	last = NULL;
	exploring = explores;
	for (;;) {
		bool asks = last && last->outcomes;

		n = asks ? last->outcomes : list_options(option);
		if (explores && !asks && is_idle(option, n))
			scenario_idle();
		if (!n)
			return true;
		nr = explores ? explore_decide(n, !asks && option[0] == last && !last->yields,
					       last && last->yields) : 0;
		if (nr == SCHEDULE_ABANDON)
			return false;
		if (asks)
			last->outcome = nr;
		else
			last = option[nr];
		resume(last);
	}
}

uint64_t schedule_hash(void)
{
	uint64_t hash = world_hash_memory(world_hash(), coroutines, coroutines + nr_coroutines);
	unsigned int nr;

	for (nr = 0; nr < nr_coroutines; nr++) {
		const char *end = stacks[nr] + STACK_BYTES;

		hash = world_hash_memory(hash, coroutines[nr].context[CONTEXT_SP] ?: end, end);
	}
	return hash;
}

void schedule_show(unsigned int step, unsigned int n, int option, bool preemptive)
{
	struct coroutine *options[MAX_COROUTINES], *c;

	if (option == SCHEDULE_ABANDON)
		return;
	if (last && last->outcomes) {
		printf("# %5u  %-10s outcome %d of %u\n", step, last->name, option, n);
		return;
	}
	list_options(options);
	c = options[option];
	printf("# %5u%c %-10s %s: %s\n", step, preemptive && option ? '!' : ' ', c->name,
	       c->function, c->operation);
}
