// SPDX-License-Identifier: MIT
/*
 * twheel-selftest - tests /dev/twheel against its contract
 *
 * At least one test for each point of the contract, and for each field of each ioctl.
 * Prints TAP; the module must be loaded. The tests are in the sources that are included
 * below; selftest.h explains why.
 */
#include "input.c"
#include "time.c"
#include "periodic.c"
#include "wait.c"
#include "read.c"
#include "mapped.c"
#include "share.c"
#include "cgroup.c"
#include "batch.c"
#include "list.c"
#include "wall.c"
#include "uring.c"
#include "options.h"

/* Return whether one of these is in its name, with or without the variant, or there are none. */
static bool is_selected(const char *name, const char *plain, char **names)
{
	int i;

	for (i = 0; names[i] && !strstr(name, names[i]) && !strstr(plain, names[i]); i++)
		;
	return !*names || names[i];
}

enum act { COUNT, PRINT, RUN };

/* Return the next variant of a fixture from this one on, or NULL. */
static const struct variant *find_variant(const char *fixture, const struct variant *from)
{
	while (from && strcmp(from->fixture, fixture))
		from = from->next;
	return from;
}

/* Do this to the tests that are selected; return how many there are, or how many failed. */
static int act_on_tests(char **names, enum act act)
{
	static const struct variant none = { .name = "" };
	char name[256], plain[256];
	int n = 0;

	for (struct __test_metadata *t = tests; t; t = t->next) {
		const struct variant *v = find_variant(t->fixture, variants) ?: &none;

		for (; v; v = find_variant(t->fixture, v->next)) {
			snprintf(plain, sizeof(plain), "%s.%s", t->fixture, t->name);
			snprintf(name, sizeof(name), "%s%s%s.%s", t->fixture,
				 *v->name ? "." : "", v->name, t->name);
			if (!is_selected(name, plain, names))
				continue;
			if (act == PRINT)
				puts(name);
			n += act != RUN || !run_test(t, v->data, name);
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	uint64_t late_ms = lateness_max / MSEC;
	bool list = false;
	const struct program_option options[] = {
		{ "late-max", "MS", "how late an event may be read (default: 500)",
		  .number = &late_ms, .min = 1, .max = 10000 },
		{ "list", NULL, "print the names of the tests", .flag = &list },
		{ }
	};
	char **names = words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: twheel-selftest [OPTIONS] [NAME...]\n"
		"Test /dev/twheel and print the results as TAP. With NAMEs, run only the tests\n"
		"whose names, with or without their variants, contain one of them.\n",
		.options = options, .any_words = true,
	});

	lateness_max = late_ms * MSEC;
	for (int i = 0; names[i]; i++) {
		char *one[2] = { names[i] };

		if (!act_on_tests(one, COUNT)) {
			fprintf(stderr, "twheel-selftest: no test \"%s\"; see --list\n", names[i]);
			return 2;
		}
	}
	if (list)
		return !act_on_tests(names, PRINT);
	printf("TAP version 13\n1..%d\n", act_on_tests(names, COUNT));
	return act_on_tests(names, RUN) > 0;
}
