// SPDX-License-Identifier: GPL-2.0-only
/*
 * kunit - runs the KUnit suites of the core and the store in user space
 *
 * Prints TAP, a line for each case with each of its parameters. The kernel runs the same
 * suites; stand-ins for KUnit are in include/.
 */
#include <getopt.h>

#include <kunit/test.h>

#define MAX_SUITES	16

static struct kunit_suite *suites[MAX_SUITES];
static unsigned int nr_suites, nr_run, nr_failed;
static char **names;
static bool only_list;

void kunit_register(struct kunit_suite *suite)
{
	if (nr_suites == MAX_SUITES)
		abort();
	suites[nr_suites++] = suite;
}

void kunit_failed(struct kunit *test, const char *file, int line, const char *what)
{
	if (test->failures++ < 3)
		printf("# %s:%d: not so: %s\n", file, line, what);
}

void *kunit_kcalloc(struct kunit *test, size_t n, size_t size, gfp_t gfp)
{
	void *memory = calloc(n, size);

	if (!memory || test->nr_memory == KUNIT_MEMORY_MAX)
		abort();
	test->memory[test->nr_memory++] = memory;
	return memory;
}

/* Bit n is set once a case matched the name n. */
static unsigned long long matched;

static bool is_chosen(const char *name)
{
	bool chosen = !*names;
	unsigned int i;

	for (i = 0; names[i]; i++) {
		if (strstr(name, names[i])) {
			matched |= 1ULL << i;
			chosen = true;
		}
	}
	return chosen;
}

static void run_one(struct kunit_suite *suite, struct kunit_case *one, const void *param,
		    const char *desc)
{
	static struct kunit test;
	char name[512];

	snprintf(name, sizeof(name), "%s.%s%s%s", suite->name, one->name, *desc ? ": " : "", desc);
	if (!is_chosen(name))
		return;
	if (only_list) {
		puts(name);
		return;
	}
	memset(&test, 0, sizeof(test));
	test.param_value = param;
	if (suite->init && suite->init(&test))
		abort();
	if (!setjmp(test.end))
		one->run(&test);
	if (suite->exit)
		suite->exit(&test);
	while (test.nr_memory)
		free(test.memory[--test.nr_memory]);
	printf("%s %u - %s\n", test.failures ? "not ok" : "ok", ++nr_run, name);
	nr_failed += test.failures > 0;
}

static void run_case(struct kunit_suite *suite, struct kunit_case *one)
{
	char desc[KUNIT_PARAM_DESC_SIZE] = "";
	const void *param;

	if (!one->params) {
		run_one(suite, one, NULL, "");
		return;
	}
	for (param = one->params(NULL, desc); param; param = one->params(param, desc)) {
		run_one(suite, one, param, desc);
		*desc = '\0';
	}
}

static int usage(FILE *out)
{
	fputs("Usage: kunit [--list] [NAME...]\n"
	      "Run the KUnit suites in user space. With NAMEs, only the cases whose names contain\n"
	      "one of them. --list: only print the names.\n", out);
	return out == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct kunit_case *one;
	unsigned int i;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 'h')
			return usage(stdout);
		if (option != 'l')
			return usage(stderr);
		only_list = true;
	}
	names = argv + optind;
	if (!only_list)
		puts("TAP version 13");
	for (i = 0; i < nr_suites; i++)
		for (one = suites[i]->test_cases; one->run; one++)
			run_case(suites[i], one);
	for (i = 0; names[i]; i++) {
		if (!(matched & 1ULL << i)) {
			fprintf(stderr, "kunit: no case has the name %s\n", names[i]);
			return 2;
		}
	}
	if (only_list)
		return 0;
	printf("1..%u\n", nr_run);
	return nr_failed > 0;
}
