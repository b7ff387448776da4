// SPDX-License-Identifier: MIT
/*
 * twheel-race - races on shared wheels, with an accountant
 *
 * Every race ends with the proof that each of its timers was read once or
 * cancelled once, never both, never neither. Prints TAP.
 */
#include <getopt.h>
#include <stdio.h>

#include "helpers.h"
#include "machine.h"
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
	{ "cancel", "cancel against expiry", race_cancel_expiry },
	{ "modify", "modify against cascade", race_modify_cascade },
	{ "readers", "readers against each other", race_readers },
	{ "close", "close against a sleeping reader", race_close_reader },
	{ "closing", "close against cascade", race_close_cascade },
	{ "setup", "set-up against add", race_setup_add },
	{ "periodic", "periodic timers against cancel", race_periodic },
	{ "passing", "wheels on their way in messages", race_passing },
	{ "hotplug", "a CPU goes off, with the timers on it", race_hotplug },
	{ "unload", "unloading the module against open", race_unload },
};

static void usage(FILE *out)
{
	unsigned int i;

	fputs("Usage: twheel-race [OPTIONS] [RACE...]\n"
	      "Race on shared wheels and prove that nothing is lost or done twice; print the\n"
	      "results as TAP. Without a RACE, all of them:\n", out);
	for (i = 0; i < ARRAY_SIZE(races); i++)
		fprintf(out, "  %-12s %s\n", races[i].name, races[i].about);
	fputs("Options:\n"
	      "  --ops N        number of operations in each race, roughly (default: 100000)\n"
	      "  --seed N       what chance depends on (default: 1)\n"
	      "  --module FILE  the module, for the race of unloading; as root\n"
	      "  --nobody       become a user without privileges first\n"
	      "  --help         print this text\n", out);
}

int main(int argc, char **argv)
{
	static const struct option list[] = {
		{ "ops", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ "module", required_argument, NULL, 'm' },
		{ "nobody", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct race_options options = { .ops = 100000, .seed = 1 };
	unsigned int i;
	int option;

	while ((option = getopt_long(argc, argv, "", list, NULL)) != -1) {
		switch (option) {
		case 'o':
			options.ops = number_or_exit("--ops", optarg, 1, UINT32_MAX);
			break;
		case 's':
			options.seed = number_or_exit("--seed", optarg, 0, UINT64_MAX);
			break;
		case 'm':
			options.module = optarg;
			break;
		case 'n':
			become_nobody();
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	names_or_exit(argv + optind, races, ARRAY_SIZE(races), sizeof(races[0]));
	puts("TAP version 13");
	for (i = 0; i < ARRAY_SIZE(races); i++) {
		if (is_wanted(races[i].name, argv + optind))
			races[i].run(&options);
	}
	return tap_done();
}
