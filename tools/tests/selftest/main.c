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
#include "read.c"
#include "wait.c"
#include "lock.c"
#include "mapped.c"
#include "share.c"
#include "account.c"
#include "batch.c"
#include "list.c"
#include "wall.c"
#include "threads.c"
#include "uring.c"
#include "options.h"

/* main() of the harness, which takes no arguments. */
#define main run_all_tests
TEST_HARNESS_MAIN
#undef main

static void usage(FILE *out)
{
	fputs("Usage: twheel-selftest [--late-max MS] [NAME...]\n"
	      "Test /dev/twheel and print the results as TAP. With NAMEs, run only the\n"
	      "tests whose full name, as in the results, contains one of them.\n"
	      "  --late-max MS how late an event may be read; 500 by default\n"
	      "  --list        print the names of all tests\n"
	      "  --hold        arm some timers, print \"ready\" and wait to be killed\n"
	      "  --hold-map    the same with a mapped ring, and no descriptor left\n"
	      "  --is-open FD  exit with 0 if the file descriptor is open, else with 1\n"
	      "  --help        print this text\n", out);
}

/* A mapping keeps the wheel, its timers and the module. */
static bool map_and_close(int fd)
{
	struct mapped map;

	return map_ring(&map, fd, 100) && !close(fd);
}

/* Keeps the device open with timers of each kind; or @mapped. */
static int hold(bool mapped)
{
	struct twheel_event event;
	int fd = tw_open(0), i;

	if (fd < 0) {
		fprintf(stderr, "twheel-selftest: cannot open " DEVICE ": %s\n", strerror(-fd));
		return 1;
	}
	for (i = 0; i < 1000; i++) {
		if (!tw_add(fd, i * MSEC, 0, i % 2 ? MSEC : 0, i)) {
			fputs("twheel-selftest: cannot add a timer\n", stderr);
			return 1;
		}
	}
	if (mapped && !map_and_close(fd)) {
		fputs("twheel-selftest: cannot map a ring\n", stderr);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (!mapped)
		tw_read(fd, &event, 1);
	for (;;)
		pause();
}

static bool wanted(const struct __fixture_metadata *fixture, const struct __test_metadata *test,
		   int count, char **names)
{
	char full[256];
	int i;

	snprintf(full, sizeof(full), "%s.%s", fixture->name, test->name);
	for (i = 0; i < count; i++) {
		if (strstr(full, names[i]))
			return true;
	}
	return false;
}

/* Return whether the full name of a test contains this one. */
static bool exists_test(char *name)
{
	struct __fixture_metadata *fixture;
	struct __test_metadata *test;

	for (fixture = __fixture_list; fixture; fixture = fixture->next) {
		for (test = fixture->tests; test; test = test->next) {
			if (wanted(fixture, test, 1, &name))
				return true;
		}
	}
	fprintf(stderr, "twheel-selftest: no test \"%s\"; see twheel-selftest --list\n", name);
	return false;
}

/* Removes unselected tests from the harness's lists. */
static void keep_only(int count, char **names)
{
	struct __fixture_metadata *fixture;
	struct __test_metadata **link;

	for (fixture = __fixture_list; fixture; fixture = fixture->next) {
		link = &fixture->tests;
		while (*link) {
			if (wanted(fixture, *link, count, names))
				link = &(*link)->next;
			else
				*link = (*link)->next;
		}
	}
}

static void list_tests(void)
{
	struct __fixture_metadata *fixture;
	struct __test_metadata *test;

	for (fixture = __fixture_list; fixture; fixture = fixture->next) {
		for (test = fixture->tests; test; test = test->next)
			printf("%s.%s\n", fixture->name, test->name);
	}
}

int main(int argc, char **argv)
{
	int i;

	if (argc > 2 && !strcmp(argv[1], "--late-max")) {
		lateness_max = number_or_exit("--late-max", argv[2], 1, 10000) * MSEC;
		argv += 2;
		argc -= 2;
	}
	if (argc == 1)
		return run_all_tests(argc, argv);
	if (!strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		list_tests();
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--hold"))
		return hold(false);
	if (argc == 2 && !strcmp(argv[1], "--hold-map"))
		return hold(true);
	if (argc == 3 && !strcmp(argv[1], "--is-open"))
		return fcntl(atoi(argv[2]), F_GETFD) < 0;
	if (argv[1][0] == '-') {
		usage(stderr);
		return 2;
	}
	for (i = 1; i < argc; i++) {
		if (!exists_test(argv[i]))
			return 2;
	}
	keep_only(argc - 1, argv + 1);
	return run_all_tests(argc, argv);
}
