// SPDX-License-Identifier: MIT
/*
 * The scenarios, and how each begins and ends
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

static struct mem_cgroup memcg WORLD;
static struct mm_struct mm WORLD = { .memcg = &memcg };
/* The task that opens and closes, while no coroutine runs. */
static struct task_struct opener WORLD;

#define MAX_SCENARIOS	256
#define MAX_NAME	32

static struct scenario table[MAX_SCENARIOS];
static char names[MAX_SCENARIOS][MAX_NAME];
const struct scenario *scenarios = table;
unsigned int nr_scenarios;

static void make_scenario(const struct waiter *waiter, const struct act *act)
{
	char *name = names[nr_scenarios];

	snprintf(name, MAX_NAME, "%s.%s", waiter ? waiter->name : "alone", act->name);
	table[nr_scenarios++] = (struct scenario) { name, waiter, act };
}

static const struct waiter *waiter_named(const char *name)
{
	const struct waiter *waiter = waiters;

	while (strcmp(waiter->name, name))
		waiter++;
	return waiter;
}

void scenarios_init(void)
{
	const struct waiter *waiter;
	const struct act *act;

	for (act = acts; act->name; act++) {
		for (waiter = waiters; waiter->name; waiter++) {
			if (!waiter->reads || !act->has_ring)
				make_scenario(waiter, act);
		}
	}
	for (act = lone_acts; act->name; act++)
		make_scenario(act->only ? waiter_named(act->only) : NULL, act);
	if (module_load()) {
		fputs("interleave: the module cannot be loaded\n", stderr);
		exit(2);
	}
	schedule_init();
	world_keep();
}

static void add_waiters(const struct waiter *waiter, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		schedule_add(waiter->name, waiter->run)->is_waiter = true;
	for (i = 0; i < n && waiter->worker; i++)
		schedule_add("kworker", waiter->worker)->is_kernel = true;
}

void scenario_begin(const struct scenario *scenario)
{
	const struct act *act = scenario->act;
	unsigned int i;

	task_init(&opener, &mm, 0);
	current = &opener;
	ledger_open(act->clock_id);
	if (act->has_ring)
		ledger_open_ring();
	for (i = 0; i < MAX_DUE && act->due[i]; i++) {
		if (add(i, act->due[i]))
			broken("a timer cannot be added");
	}
	if (act->prepare)
		act->prepare();
	may_return();
	if (scenario->waiter)
		add_waiters(scenario->waiter, act->waiters);
	if (act->also)
		add_waiters(waiter_named(act->also), 1);
	for (i = 0; i < ARRAY_SIZE(act->run) && act->run[i]; i++)
		schedule_add(act->name, act->run[i]);
	clock_add()->is_kernel = true;
}

void scenario_idle(void)
{
	const struct coroutine *c;

	for (c = coroutines; c < coroutines + nr_coroutines; c++) {
		if (!c->ended && (c->task.mutexes || c->task.spins))
			broken("a task holds a lock for ever");
	}
	ledger_check_idle();
}

static int always_first(unsigned int n, bool preemptive)
{
	return 0;
}

static bool always(void)
{
	return true;
}

static void do_nothing(void)
{
}

void scenario_end(void)
{
	struct coroutine *c;

	for (c = coroutines; c < coroutines + nr_coroutines; c++) {
		if (!c->is_kernel)
			task_signal(&c->task, true);
	}
	schedule_run(always_first, always, do_nothing);
	for (c = coroutines; c < coroutines + nr_coroutines; c++) {
		if (!c->is_kernel && !c->ended)
			broken("a call does not return when its task is killed");
	}
	current = &opener;
	ledger_close();
	if (memcg.references)
		broken("a reference to a cgroup is left");
	current = NULL;
}
