// SPDX-License-Identifier: MIT
/*
 * The scenarios, and how each begins and ends
 */
#include <stdio.h>
#include <string.h>

#include "scenario.h"
#include "tap.h"

static struct mem_cgroup memcg WORLD;
static struct mm_struct mm WORLD = { .memcg = &memcg };
/* The task that opens and closes, while no coroutine runs. */
static struct task_struct opener WORLD;

#define MAX_SCENARIOS	512
#define MAX_NAME	32
/* More than any scenario uses, and less than the largest ring. */
#define USER_BYTES	60000

static const struct waiter waiters[] = {
	{ "alone", "nothing waits" },
	{ "read", "a blocking read", wait_in_read, .reads = true },
	{ "poll", "poll(2)", wait_in_poll },
	{ "level", "epoll, level-triggered", wait_in_level },
	{ "edge", "epoll, edge-triggered", wait_in_edge },
	{ "exclusive", "epoll, one waiter woken at a time", wait_in_exclusive, .shares = true },
	{ "uring", "a read of an io_uring", wait_in_uring, .reads = true },
	{},
};

struct scenario scenarios[MAX_SCENARIOS];

static void make_scenario(unsigned int nr, const struct waiter *waiter, const struct act *act)
{
	static char names[MAX_SCENARIOS][MAX_NAME];

	if (nr == MAX_SCENARIOS)
		bail_out("too many scenarios");
	snprintf(names[nr], MAX_NAME, "%s.%s", waiter->name, act->name);
	scenarios[nr] = (struct scenario) { names[nr], waiter->about, waiter, act };
}

static bool is_explored_with(const struct act *act, const struct waiter *waiter)
{
	if (act->only)
		return !strcmp(act->only, waiter->name);
	return waiter->run && !(waiter->reads && act->has_ring) &&
	       !(waiter->shares && act->waiters < 2);
}

unsigned int scenarios_init(void)
{
	const struct waiter *waiter;
	const struct act *act;
	unsigned int nr = 0;

	for (act = acts; act->name; act++) {
		for (waiter = waiters; waiter->name; waiter++) {
			if (is_explored_with(act, waiter))
				make_scenario(nr++, waiter, act);
		}
	}
	if (module_load())
		bail_out("the module cannot be loaded");
	*parameter_max_user_bytes = USER_BYTES;
	schedule_init();
	return nr;
}

static void run_task(void)
{
	const struct step *step = running->steps;

	running->is_waiter = running->wait;
	if (running->wait)
		running->wait();
	for (; step && step < running->steps + MAX_ACTIONS && step->call; step++) {
		step->call(step);
		if (current->killed)
			break;
	}
	/* A process that is killed closes what it has open. */
	if (wheel && current->killed)
		sys_close_copy(wheel);
}

void scenario_begin(const struct scenario *scenario)
{
	const struct waiter *waiter = scenario->waiter;
	const struct act *act = scenario->act;
	unsigned int i;

	task_init(&opener, &mm, 0);
	current = &opener;
	ledger_open(act);
	may_return();
	for (i = 0; i < (act->waiters ?: 1) && waiter->run; i++)
		schedule_add(waiter->name, run_task)->wait = waiter->run;
	if (act->also)
		schedule_add(act->name, run_task)->wait = act->also;
	if (act->one->call)
		schedule_add(act->name, run_task)->steps = act->one;
	if (act->other->call)
		schedule_add(act->name, run_task)->steps = act->other;
	schedule_add("hrtimer", clock_run)->is_kernel = true;
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

void scenario_end(void)
{
	struct coroutine *c;

	for (c = coroutines; c < coroutines + nr_coroutines; c++) {
		if (!c->is_kernel)
			task_signal(&c->task, true);
	}
	schedule_run(false);
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
