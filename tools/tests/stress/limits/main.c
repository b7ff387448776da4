// SPDX-License-Identifier: MIT
/*
 * twheel-limits - limits of the impact of /dev/twheel's users on others
 *
 * Memory is charged to the cgroup of the process that opened a wheel, and
 * to the user; both have limits, and so has the number of timers. Prints TAP; needs root, as it
 * makes cgroups, becomes other users and sets the module's parameters.
 */
#include <stdio.h>

#include "helpers.h"
#include "limits.h"
#include "options.h"
#include "tap.h"

static const struct test {
	const char *name;
	const char *about;
	void (*run)(void);
} tests[] = {
	{ "groups", "the limits of cgroups", test_groups },
	{ "timers", "the module's limit of timers", test_timer_limit },
	{ "user", "the module's limit of a user's bytes", test_user_limit },
	{ "many", "ten thousand of the largest wheels", test_many },
};

int main(int argc, char **argv)
{
	char **names = words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: twheel-limits TEST...\n"
		"Test limits of the impact of users on others; print the results as TAP.\n"
		"Needs root. The tests are:\n",
		.words = tests, .nr_words = ARRAY_SIZE(tests), .word_size = sizeof(tests[0]),
	});
	unsigned int i;

	if (!*names) {
		fputs("twheel-limits: name a test: see --help\n", stderr);
		return 2;
	}
	puts("TAP version 13");
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (is_wanted(tests[i].name, names))
			tests[i].run();
	}
	return tap_done();
}
