// SPDX-License-Identifier: MIT
/*
 * All schedules of a scenario with a bounded number of preemptions; see explore.h
 *
 * A depth-first search. Each schedule is executed from its beginning: it repeats the decisions of
 * the previous one up to the last with another option, takes that option, and continues with the
 * first option of each decision. A state that has been seen with as many preemptions left is not
 * explored again.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "explore.h"

#define MAX_STEPS	20000
#define MAX_DECISIONS	MAX_STEPS

static struct decision {
	unsigned int step;
	unsigned char chosen;
	unsigned char options;
} trail[MAX_DECISIONS];
static unsigned int nr_trail;

/* Decisions, steps and preemptions of the current schedule so far. */
static unsigned int depth, step, preemptions;
static unsigned int bound;

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
 * The hashes of states that have been seen, with the fewest preemptions, and the execution.
 */
static struct seen {
	uint64_t hash;
	unsigned int execution;
	unsigned int preemptions;
} *table;
static size_t table_size, nr_seen;
static unsigned int execution;

static struct seen *find_seen(uint64_t hash)
{
	size_t i = hash & (table_size - 1);

	while (table[i].hash && table[i].hash != hash)
		i = (i + 1) & (table_size - 1);
	return &table[i];
}

static void resize_table(size_t size)
{
	struct seen *old = table, *s;
	size_t old_size = table_size;

	table = calloc(size, sizeof(*table));
	if (!table) {
		fputs("interleave: no memory for states\n", stderr);
		exit(2);
	}
	table_size = size;
	for (s = old; s < old + old_size; s++) {
		if (s->hash)
			*find_seen(s->hash) = *s;
	}
	free(old);
}

static void forget_seen(void)
{
	free(table);
	table = NULL;
	table_size = 0;
	nr_seen = 0;
	resize_table(1 << 16);
}

/*
 * Whether the current state has been explored. A state that was seen in this execution has not:
 * it is part of an endless loop, which MAX_STEPS detects.
 */
static bool is_explored(void)
{
	uint64_t hash = schedule_hash() | 1;
	struct seen *s = find_seen(hash);

	if (s->hash && s->preemptions <= preemptions)
		return s->execution != execution;
	if (!s->hash)
		nr_seen++;
	*s = (struct seen) { hash, execution, preemptions };
	if (nr_seen > table_size / 2)
		resize_table(2 * table_size);
	return false;
}

static int decide(unsigned int n, bool preemptive)
{
	struct decision *d = &trail[depth];

	if (++step > MAX_STEPS)
		broken("it does not come to an end");
	if (n == 1 || (preemptive && preemptions == bound))
		return 0;
	if (depth == nr_trail && is_explored())
		return SCHEDULE_ABANDON;
	if (depth == nr_trail)
		trail[nr_trail++] = (struct decision) { step, 0, n };
	else if (d->options != n || d->step != step)
		broken("the same schedule has other steps when it is repeated");
	depth++;
	preemptions += d->chosen && preemptive;
	return d->chosen;
}

/* Repeat an earlier decision, or continue without preemptions left. */
static bool goes_on(void)
{
	if (depth < nr_trail ? step + 1 == trail[depth].step : preemptions < bound)
		return false;
	if (++step > MAX_STEPS)
		broken("it does not come to an end");
	return true;
}

/* Returns false if something is broken. */
static bool execute(const struct scenario *scenario, schedule_decide_t how,
		    schedule_goes_on_t at_point)
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
	if (schedule_run(how, at_point, scenario_idle))
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

static const char *schedule_text(void)
{
	static char text[1024];
	size_t length = 0;
	unsigned int i;

	strcpy(text, "first");
	for (i = 0; i < nr_trail && length < sizeof(text); i++) {
		if (trail[i].chosen)
			length += snprintf(text + length, sizeof(text) - length, "%s%u.%u",
					   length ? "," : "", trail[i].step, trail[i].chosen);
	}
	return text;
}

/*
 * A crash, or code that never reaches a point, counts as broken, too.
 */

static void on_signal(int signal)
{
	static unsigned long execution_before;
	static unsigned int step_before;

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

/* Explore all schedules within @bound, up to one in which something is broken; return how many. */
static unsigned long explore_bound(const struct scenario *scenario)
{
	unsigned long schedules = 0;

	forget_seen();
	nr_trail = 0;
	do {
		schedules++;
	} while (execute(scenario, decide, goes_on) && backtrack());
	return schedules;
}

struct findings explore(const struct scenario *scenario, unsigned int max, unsigned long limit)
{
	struct findings found = {};
	unsigned long schedules = 0;

	catch_signals();
	for (bound = 0; bound <= max && schedules <= limit && !found.rule; bound++) {
		schedules = explore_bound(scenario);
		found.schedules += schedules;
		found.states = nr_seen;
		found.bound = bound;
		found.rule = rule_broken;
	}
	found.preemptions = preemptions;
	found.schedule = schedule_text();
	return found;
}

/*
 * Replaying.
 */

static const char *rest;
static bool no_such_schedule;

static int follow(unsigned int n, bool preemptive)
{
	unsigned int at, option;
	int length;

	if (++step > MAX_STEPS)
		broken("it does not come to an end");
	if (sscanf(rest, "%u.%u%n", &at, &option, &length) != 2 || at != step)
		return 0;
	if (option >= n) {
		no_such_schedule = true;
		return SCHEDULE_ABANDON;
	}
	rest += length;
	rest += *rest == ',';
	return option;
}

static int follow_and_show(unsigned int n, bool preemptive)
{
	int option = follow(n, preemptive);

	schedule_show(step, n, option, preemptive);
	return option;
}

static bool never(void)
{
	return false;
}

bool explore_replay(const struct scenario *scenario, const char *schedule, const char **rule)
{
	rest = strcmp(schedule, "first") ? schedule : "";
	no_such_schedule = false;
	catch_signals();
	execute(scenario, follow_and_show, never);
	*rule = rule_broken;
	return !no_such_schedule && !*rest;
}
