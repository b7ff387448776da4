// SPDX-License-Identifier: MIT
/*
 * twheel-race - races on shared wheels, with a ledger
 *
 * Every race ends with the proof that each of its timers was read once or
 * cancelled once, never both, never neither. Prints TAP.
 */
#include <stdio.h>

#include "helpers.h"
#include "options.h"
#include "race.h"
#include "tap.h"

struct race {
	const char *name;
	const char *about;
	void (*run)(const struct race_options *options);
};

static const struct race races[] = {
	{ "all", "everything against everything", race_mayhem },
	{ "suspend", "the machine is suspended", race_suspend },
	{ "clock", "everything while the time of day is set to and fro", race_set_clock },
	{ "unload", "unloading the module against open", race_unload },
};

int main(int argc, char **argv)
{
	struct race_options options = { .ops = 100000, .seed = 1 };
	const struct program_option list[] = {
		{ "ops", "N", "number of operations in each race, roughly (default: 100000)",
		  .number = &options.ops, .min = 10000, .max = UINT32_MAX },
		{ "seed", "N", "seed of the random numbers (default: 1)",
		  .number = &options.seed, .max = UINT64_MAX },
		{ "module", "FILE", "the module, for the race of unloading; as root",
		  .text = &options.module },
		{ }
	};
	char **names = words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: twheel-race [OPTIONS] [RACE...]\n"
		"Race on shared wheels and prove that nothing is lost or done twice; print the\n"
		"results as TAP. Without a RACE, all of them:\n",
		.options = list,
		.words = races, .nr_words = ARRAY_SIZE(races), .word_size = sizeof(races[0]),
	});
	unsigned int i;

	puts("TAP version 13");
	for (i = 0; i < ARRAY_SIZE(races); i++) {
		if (is_wanted(races[i].name, names))
			races[i].run(&options);
	}
	return tap_done();
}
