// SPDX-License-Identifier: MIT
/*
 * interleave - all orders of the steps of the driver's threads, in user space
 *
 * A depth-first search. Each schedule is executed from its beginning: it repeats the decisions of
 * the previous one up to the last with another option, takes that option, and continues with the
 * first option of each decision. A state that has been seen with as many preemptions left is not
 * explored again.
 */
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#include "options.h"
#include "scenario.h"
#include "tap.h"

#define MAX_STEPS	20000

static struct decision {
	unsigned int step;
	unsigned char chosen;
	unsigned char options;
} trail[MAX_STEPS];
static unsigned int nr_trail;

/* Decisions, steps and preemptions of the current schedule so far. */
static unsigned int depth, step, preemptions;
/* The number of the schedule. */
static unsigned int execution;
/* It is repeated to print its steps. */
static bool is_shown;

/* The most preemptions in a schedule, now and in the end. */
static uint64_t bound, last_bound = 3;
/* A scenario with more schedules than this is not explored with one preemption more. */
static uint64_t limit = 3300;

static jmp_buf failed;
static const char *rule_broken;

void broken(const char *rule)
{
	rule_broken = rule;
	running = NULL;
	current = NULL;
	_longjmp(failed, 1);
}

/*
 * The hashes of states that have been seen, with the fewest preemptions, and the execution. One
 * that another state has replaced is explored again.
 */
static struct seen {
	uint64_t hash;
	unsigned int execution;
	unsigned int preemptions;
} table[1 << 20];
static unsigned int nr_seen;
/* The first execution with this bound. */
static unsigned int first_execution;

/*
 * Return true if the current state has been explored. A state that was seen in this execution has
 * not: it is part of an endless loop, which MAX_STEPS detects. But with @yields, coroutines that
 * wait for another one may only have let each other go first; then this one goes first elsewhere.
 */
static bool is_explored(bool yields)
{
	uint64_t hash = schedule_hash();
	struct seen *s = &table[hash % ARRAY_SIZE(table)];
	bool is_seen = s->hash == hash && s->execution >= first_execution;

	if (is_seen && s->preemptions <= preemptions)
		return yields || s->execution != execution;
	nr_seen += !is_seen;
	*s = (struct seen) { hash, execution, preemptions };
	return false;
}

bool explore_goes_on(void)
{
	const struct decision *d = &trail[depth];
	bool is_repeated = depth < nr_trail, is_decision = is_repeated && d->step == step + 1;

	if (is_shown || step == MAX_STEPS || (is_repeated ? is_decision && d->chosen :
					      preemptions < bound))
		return false;
	depth += is_decision;
	step++;
	return true;
}

int explore_decide(unsigned int n, bool preemptive, bool yields)
{
	struct decision *d = &trail[depth];
	int option = 0;

	if (++step > MAX_STEPS)
		broken("it does not come to an end");
	if (n > 1 && !(preemptive && preemptions == bound)) {
		if (depth == nr_trail && is_explored(yields))
			return SCHEDULE_ABANDON;
		if (depth == nr_trail)
			trail[nr_trail++] = (struct decision) { step, 0, n };
		else if (d->options != n || d->step != step)
			broken("the same schedule has other steps when it is repeated");
		depth++;
		option = d->chosen;
		preemptions += option && preemptive;
	}
	if (is_shown)
		schedule_show(step, n, option, preemptive);
	return option;
}

/* Returns false if something is broken. */
static bool execute(const struct scenario *scenario)
{
	depth = 0;
	step = 0;
	preemptions = 0;
	rule_broken = NULL;
	execution++;
	world_restore();
	if (_setjmp(failed))
		return false;
	scenario_begin(scenario);
	if (schedule_run(true))
		scenario_end();
	return true;
}

/* Take the next option of the last decision that has one; returns false if there is none. */
static bool backtrack(void)
{
	while (nr_trail && trail[nr_trail - 1].chosen + 1 == trail[nr_trail - 1].options)
		nr_trail--;
	if (!nr_trail)
		return false;
	trail[nr_trail - 1].chosen++;
	return true;
}

/* Explore all schedules within @bound, up to one in which something is broken; return how many. */
static unsigned long explore_bound(const struct scenario *scenario)
{
	unsigned long schedules = 0;

	first_execution = execution + 1;
	nr_seen = 0;
	nr_trail = 0;
	do {
		schedules++;
	} while (execute(scenario) && backtrack());
	return schedules;
}

/* Print the steps of the schedule that has broken a rule. */
static void show(const struct scenario *scenario)
{
	is_shown = true;
	execute(scenario);
	is_shown = false;
	if (!rule_broken)
		bail_out("nothing is broken when it is repeated");
}

/*
 * Explore with 0, 1, 2... preemptions until something is broken, and print the result: the steps
 * only of the first failure. Return how many schedules there were.
 */
static unsigned long explore(const struct scenario *scenario)
{
	static bool has_failed;
	unsigned long schedules, all = 0;

	for (bound = 0;; bound++) {
		schedules = explore_bound(scenario);
		all += schedules;
		if (rule_broken || schedules > limit || bound == last_bound)
			break;
	}
	tap_result(!rule_broken, "%s # %lu schedules, up to %u preemptions, %u states",
		   scenario->name, all, (unsigned int)bound, nr_seen);
	if (rule_broken) {
		if (!has_failed)
			show(scenario);
		has_failed = true;
		tap_note("%s, with %u preemptions", rule_broken, preemptions);
	}
	return all;
}

/*
 * A crash, or code that never reaches a point, counts as broken, too.
 */

static void on_signal(int signal)
{
	static unsigned int execution_before, step_before;

	if (signal != SIGVTALRM)
		broken("a memory access crashes");
	if (execution_before == execution && step_before == step)
		broken("a call does not come to an end");
	execution_before = execution;
	step_before = step;
}

static void catch_signals(void)
{
	static char stack[64 << 10];
	const struct itimerval second = { { 1, 0 }, { 1, 0 } };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER };

	sigaltstack(&(stack_t) { .ss_sp = stack, .ss_size = sizeof(stack) }, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGVTALRM, &action, NULL);
	setitimer(ITIMER_VIRTUAL, &second, NULL);
}

int main(int argc, char **argv)
{
	const struct program_option options[] = {
		{ "bound", "N", "most preemptions in a schedule (default: 3)",
		  .number = &last_bound, .max = 99 },
		{ "limit", "N", "no more preemptions after this many schedules (default: 3300)",
		  .number = &limit, .max = ULONG_MAX },
		{ }
	};
	unsigned int nr_scenarios = scenarios_init(), i;
	char **names = words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: interleave [OPTIONS] [SCENARIO...]\n"
		"Explore orders of the driver's threads; print the results as TAP, and a schedule in\n"
		"which something is broken. Without a SCENARIO, all of them.\n",
		.options = options,
		.words = scenarios, .nr_words = nr_scenarios, .word_size = sizeof(scenarios[0]),
	});
	unsigned long schedules = 0;

	catch_signals();
	puts("TAP version 13");
	for (i = 0; i < nr_scenarios; i++) {
		if (is_wanted(scenarios[i].name, names))
			schedules += explore(&scenarios[i]);
	}
	tap_note("%lu schedules", schedules);
	return tap_done();
}
