// SPDX-License-Identifier: MIT
/*
 * twheel-selftest - tests /dev/twheel against its contract
 *
 * At least one test for each point of the contract, and for each field of each ioctl.
 * Prints TAP; the module must be loaded. The tests are in the sources that are included
 * below; selftest.h explains why.
 */
#include "input.c"
#include "ids.c"
#include "time.c"
#include "periodic.c"
#include "wait.c"
#include "read.c"
#include "lock.c"
#include "mapped.c"
#include "share.c"
#include "account.c"
#include "batch.c"
#include "list.c"
#include "wall.c"
#include "uring.c"
#include "options.h"

/* It also has the order of the tests; main() below runs those that are wanted. */
#define main run_all_tests
TEST_HARNESS_MAIN
#undef main

static void usage(FILE *out)
{
	fputs("Usage: twheel-selftest [--late-max MS | --list] [NAME...]\n"
	      "Test /dev/twheel and print the results as TAP. With NAMEs, run only the\n"
	      "tests whose name, with or without its variant, contains one of them.\n"
	      "  --late-max MS how late an event may be read; 500 by default\n"
	      "  --list        print the names of the tests\n"
	      "  --help        print this text\n", out);
}

/* Return whether one of these is in its name, with or without the variant, or there are none. */
static bool is_selected(const char *name, const char *plain, char **names)
{
	int i;

	for (i = 0; names[i] && !strstr(name, names[i]) && !strstr(plain, names[i]); i++)
		;
	return !*names || names[i];
}

/* Print the names of the tests that are selected, run them, or neither; returns how many. */
static int act_on_tests(char **names, bool print, struct __test_results *results)
{
	static struct __fixture_variant_metadata none = { .name = "" };
	char name[256], plain[256];
	int n = 0;

	for (struct __fixture_metadata *f = __fixture_list; f; f = f->next) {
		for (struct __fixture_variant_metadata *v = f->variant ?: &none; v; v = v->next) {
			for (struct __test_metadata *t = f->tests; t; t = t->next) {
				snprintf(plain, sizeof(plain), "%s.%s", f->name, t->name);
				snprintf(name, sizeof(name), "%s%s%s.%s", f->name,
					 *v->name ? "." : "", v->name, t->name);
				if (!is_selected(name, plain, names))
					continue;
				n++;
				if (print)
					puts(name);
				t->results = results;
				if (results)
					__run_test(f, v, t);
			}
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	bool list = argc > 1 && !strcmp(argv[1], "--list");
	struct __test_results *results;
	char **names;

	if (argc > 2 && !strcmp(argv[1], "--late-max")) {
		lateness_max = number_or_exit("--late-max", argv[2], 1, 10000) * MSEC;
		argv += 2;
		argc -= 2;
	}
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (argc > 1 && argv[1][0] == '-' && !list) {
		usage(stderr);
		return 2;
	}
	names = argv + 1 + list;
	for (int i = 0; names[i]; i++) {
		char *one[2] = { names[i] };

		if (!act_on_tests(one, false, NULL)) {
			fprintf(stderr, "twheel-selftest: no test \"%s\"; see --list\n", names[i]);
			return 2;
		}
	}
	if (list)
		return !act_on_tests(names, true, NULL);
	results = map_fd(-1, sizeof(*results), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 0);
	ksft_print_header();
	ksft_set_plan(act_on_tests(names, false, NULL));
	act_on_tests(names, false, results);
	ksft_finished();
}
