// SPDX-License-Identifier: MIT
/*
 * Systematic interleavings of the driver, compiled for user space
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"
#include "options.h"

/* Preemptions in a schedule. */
static uint64_t bound = 3;
/* A scenario with more schedules than this is not explored with one preemption more. */
static uint64_t limit = 3000;

static int list(void)
{
	unsigned int i;

	for (i = 0; i < nr_scenarios; i++)
		puts(scenarios[i].name);
	return 0;
}

static const struct scenario *scenario_or_exit(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_scenarios; i++) {
		if (!strcmp(scenarios[i].name, name))
			return &scenarios[i];
	}
	fprintf(stderr, "interleave: there is no scenario %s\n", name);
	exit(2);
}

static int replay(const char *name, const char *schedule)
{
	const struct scenario *scenario = scenario_or_exit(name);
	const char *rule;

	if (!explore_replay(scenario, schedule, &rule)) {
		fprintf(stderr, "interleave: %s has no schedule %s\n", name, schedule);
		return 2;
	}
	printf("# %s\n", rule ?: "nothing is broken");
	return !!rule;
}

static unsigned long schedules;

/* Returns whether nothing is broken. */
static bool explore_one(unsigned int nr, const struct scenario *scenario)
{
	struct findings found = explore(scenario, bound, limit);

	schedules += found.schedules;
	if (found.rule) {
		printf("not ok %u %s\n", nr, scenario->name);
		printf("# %s, with %u preemptions, in schedule %lu:\n", found.rule,
		       found.preemptions, found.schedules);
		printf("#    interleave --replay %s %s\n", scenario->name, found.schedule);
	} else {
		printf("ok %u %s # %lu schedules, up to %u preemptions, %lu states\n", nr,
		       scenario->name, found.schedules, found.bound, found.states);
	}
	fflush(stdout);
	return !found.rule;
}

static int explore_all(char *const *names)
{
	unsigned int i, nr = 0, failed = 0;

	for (i = 0; names[i]; i++)
		scenario_or_exit(names[i]);
	puts("TAP version 13");
	for (i = 0; i < nr_scenarios; i++) {
		if (is_wanted(scenarios[i].name, names))
			failed += !explore_one(++nr, &scenarios[i]);
	}
	printf("1..%u\n# %lu schedules\n", nr, schedules);
	return !!failed;
}

int main(int argc, char **argv)
{
	bool only_list = false, only_replay = false;
	const struct program_option list_of_options[] = {
		{ "bound", "N", "most preemptions in a schedule (default: 3)",
		  .number = &bound, .max = 99 },
		{ "limit", "N", "no more preemptions after this many schedules (default: 3000)",
		  .number = &limit, .max = ULONG_MAX },
		{ "list", NULL, "name the scenarios", .flag = &only_list },
		{ "replay", NULL, "replay a SCHEDULE of a SCENARIO, step by step",
		  .flag = &only_replay },
		{ }
	};
	char **names = words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: interleave [OPTIONS] [SCENARIO...]\n"
		"       interleave --replay SCENARIO SCHEDULE\n"
		"Explore orders of the driver's threads; print the results as TAP. Without\n"
		"a SCENARIO, all of them.\n",
		.options = list_of_options,
		.any_words = true,
	});

	scenarios_init();
	if (only_list)
		return list();
	if (!only_replay)
		return explore_all(names);
	if (!names[0] || !names[1] || names[2]) {
		fputs("interleave: --replay takes a SCENARIO and a SCHEDULE\n", stderr);
		return 2;
	}
	return replay(names[0], names[1]);
}
