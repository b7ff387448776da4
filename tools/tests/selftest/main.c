// SPDX-License-Identifier: MIT
/*
 * twheel-selftest - tests /dev/twheel against its contract
 *
 * One test or several for each point of the contract, and for each field of
 * each ioctl. Prints TAP; the module must be loaded. The tests are in the
 * sources that are included below; selftest.h says why they are.
 */
#include "input.c"
#include "ids.c"
#include "time.c"
#include "periodic.c"
#include "read.c"
#include "wait.c"
#include "lock.c"
#include "share.c"
#include "account.c"
#include "batch.c"
#include "threads.c"

/* main() of the harness, which takes no arguments of its own. */
#define main run_all_tests
TEST_HARNESS_MAIN
#undef main

static void usage(FILE *out)
{
	fputs("Usage: twheel-selftest [NAME...]\n"
	      "Test /dev/twheel and print the results as TAP. With NAMEs, run only the\n"
	      "tests whose full name, as in the results, contains one of them.\n"
	      "  --list        print the names of all tests\n"
	      "  --hold        arm some timers, print \"ready\" and wait to be killed\n"
	      "  --is-open FD  exit with 0 when the file descriptor is open, else with 1\n"
	      "  --help        print this text\n", out);
}

/* Keeps the device open with timers of each kind. */
static int hold(void)
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
	puts("ready");
	fflush(stdout);
	for (;;)
		tw_read(fd, &event, 1);
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

/* Takes the tests that are not wanted out of the harness's lists. */
static unsigned int keep_only(int count, char **names)
{
	struct __fixture_metadata *fixture;
	struct __test_metadata **link;
	unsigned int kept = 0;

	for (fixture = __fixture_list; fixture; fixture = fixture->next) {
		link = &fixture->tests;
		while (*link) {
			if (wanted(fixture, *link, count, names)) {
				link = &(*link)->next;
				kept++;
			} else {
				*link = (*link)->next;
			}
		}
	}
	return kept;
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
		return hold();
	if (argc == 3 && !strcmp(argv[1], "--is-open"))
		return fcntl(atoi(argv[2]), F_GETFD) < 0;
	if (argv[1][0] == '-') {
		usage(stderr);
		return 2;
	}
	if (!keep_only(argc - 1, argv + 1)) {
		fputs("twheel-selftest: no such test; see twheel-selftest --list\n", stderr);
		return 2;
	}
	return run_all_tests(argc, argv);
}
