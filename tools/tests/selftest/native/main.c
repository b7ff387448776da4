// SPDX-License-Identifier: MIT
/*
 * selftest - the self-tests without a virtual machine; see calls.c
 *
 * The linker has the C library call __wrap_main(). Tests that need more than the driver are
 * left out. The others run in several processes, as most of them wait most of the time.
 */
#define NATIVE
#include "../main.c"

/* How many tests run at a time. */
#define NR_JOBS		24

/* What not every system has, or allows. */
static bool has_io_uring(void)
{
	struct ring ring;

	return ring_open(&ring) && !close(ring.fd);
}

static const char fork_reason[] = "another process has a copy of the driver";
static const char fault_reason[] = "page faults cannot be disabled";
static const char user_reason[] = "there is one user, whose limit is fixed";
static const char alone_reason[] = "the threads of the driver go on";

/* A test with all of its variants, a variant with all of its tests, or a whole fixture. */
static const struct left_out {
	const char *name;
	const char *reason;
	bool (*unless)(void);
} left_out[] = {
	{ "accounts.are_charged_what_empty_wheels_take", "it measures the kernel's memory" },
	{ "accounts.are_in_fdinfo_with_their_limit", user_reason },
	{ "a_ring.is_not_inherited_but_can_be_mapped", fork_reason },
	{ "a_ring.that_nobody_empties_lets_the_hrtimer_rest", "the helper polls once more" },
	{ "input.what_is_no_ioctl_and_no_read_is_refused", "an eventfd can be written" },
	{ "making_a_ring.is_charged_until_the_last_close", "mappings keep wheels for good" },
	{ "making_a_ring.lets_all_of_it_be_mapped_and_nothing_else", "it can grow" },
	{ "blocking.a_signal_is_eintr", "signals do not reach the driver" },
	{ "blocking.a_signal_takes_no_event", "signals do not reach the driver" },
	{ "blocking.a_signal_with_sa_restart_goes_on_waiting", "signals do not reach it" },
	{ "reading.poll_reports_what_there_is_to_read", "an eventfd can be written" },
	{ "reading.readv_is_one_read", "the driver gets one buffer" },
	{ "sharing.a_child_keeps_the_wheel_when_its_parent_closes_it", fork_reason },
	{ "sharing.a_user_without_room_gets_enospc", user_reason },
	{ "sharing.an_unprivileged_user_can_open_a_wheel", user_reason },
	{ "sharing.fdinfo_shows_the_account_of_the_user", user_reason },
	{ "sharing.fork_shares_the_wheel", fork_reason },
	{ "sharing.scm_rights_shares_the_wheel", "a message holds an eventfd, and no wheel" },
	{ "sharing.what_a_wheel_is_refused_is_not_missing_to_others", user_reason },
	{ "timing.who_is_killed_behind_a_backlog_leaves_the_wheel_in_order", fork_reason },
	{ "waiters.that_read_are_not_woken_by_calls_before_the_first_has_read", alone_reason },
	{ "waiters.that_read_pass_on_what_they_do_not_live_to_read", fork_reason },
	{ "waiting.goes_on_when_there_is_nothing_left_to_read", alone_reason },
	{ "waiting.ring_read", "io_uring reads the eventfd" },
	{ "a_stalled_read", fork_reason },
	{ "uring", "no kernel passes commands to this driver" },
	{ "waiters.of_sqpoll_change_timers_without_a_system_call", fork_reason },
	{ "a_stalled_call", fault_reason },
	{ "a_poll", fault_reason },
	{ "wall_clock.set_forward_wakes_waiters", fork_reason },

	{ "batch.is_not_cut_short_by_completions_of_a_ring", "no io_uring", has_io_uring },
	{ "waiters.of_a_multishot_poll_are_told_of_each_timer", "no io_uring", has_io_uring },
	{ "waiters.of_all_kinds_are_all_told", "no io_uring", has_io_uring },
	{ "waiting.ring_poll", "no io_uring", has_io_uring },
	{ "waiting.ring_poll_with_ring", "no io_uring", has_io_uring },

};

static unsigned int count_tests(void)
{
	struct __fixture_variant_metadata *variant;
	struct __fixture_metadata *fixture;
	struct __test_metadata *test;
	unsigned int count = 0;

	for (fixture = __fixture_list; fixture; fixture = fixture->next) {
		for (test = fixture->tests; test; test = test->next) {
			count += !fixture->variant;
			for (variant = fixture->variant; variant; variant = variant->next)
				count++;
		}
	}
	return count;
}

/* Whether it is the name of a part of the fixture. */
static bool is_named(const struct __fixture_metadata *fixture, const char *part, const char *name)
{
	char full[256];

	snprintf(full, sizeof(full), "%s.%s", fixture->name, part);
	return !strcmp(full, name);
}

/* With @really, takes what has this name out of the harness's lists; false if nothing has. */
static bool leave_out(const char *name, bool really)
{
	struct __fixture_variant_metadata **variant;
	struct __fixture_metadata *fixture;
	struct __test_metadata **test;

	for (fixture = __fixture_list; fixture; fixture = fixture->next) {
		for (test = &fixture->tests; *test; test = &(*test)->next) {
			if (is_named(fixture, (*test)->name, name)) {
				*test = really ? (*test)->next : *test;
				return true;
			}
		}
		for (variant = &fixture->variant; *variant; variant = &(*variant)->next) {
			if (is_named(fixture, (*variant)->name, name)) {
				*variant = really ? (*variant)->next : *variant;
				return true;
			}
		}
		if (!strcmp(fixture->name, name)) {
			fixture->tests = really ? NULL : fixture->tests;
			return true;
		}
	}
	return false;
}

/* Keeps the tests of one of the processes. */
static void keep_share(unsigned int job)
{
	struct __fixture_metadata *fixture;
	struct __test_metadata **test;
	unsigned int nr = 0;

	for (fixture = __fixture_list; fixture; fixture = fixture->next) {
		for (test = &fixture->tests; *test; ) {
			if (nr++ % NR_JOBS == job)
				test = &(*test)->next;
			else
				*test = (*test)->next;
		}
	}
}

/* Runs a share of the tests; returns a file with what they print. */
static int start_job(unsigned int job, pid_t *pid)
{
	int out = memfd_create("selftest", MFD_CLOEXEC);

	*pid = fork();
	if (out < 0 || *pid < 0)
		exit(1);
	if (*pid)
		return out;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
		exit(1);
	keep_share(job);
	exit(run_all_tests(0, NULL));
}

/* Prints a TAP document for each of the processes. */
static int run_jobs(void)
{
	int out[NR_JOBS], status, bad = 0;
	pid_t pid[NR_JOBS];
	unsigned int job;
	char text[4096];
	ssize_t size;

	for (job = 0; job < NR_JOBS; job++)
		out[job] = start_job(job, &pid[job]);
	for (job = 0; job < NR_JOBS; job++) {
		bad |= waitpid(pid[job], &status, 0) < 0 || status;
		lseek(out[job], 0, SEEK_SET);
		while ((size = read(out[job], text, sizeof(text))) > 0)
			fwrite(text, 1, size, stdout);
		fflush(stdout);
	}
	return bad;
}

int __wrap_main(int argc, char **argv)
{
	unsigned int i, all = count_tests();
	bool really;

	for (i = 0; i < ARRAY_SIZE(left_out); i++) {
		really = !left_out[i].unless || !left_out[i].unless();
		if (!leave_out(left_out[i].name, really)) {
			fprintf(stderr, "selftest: no test is called %s\n", left_out[i].name);
			return 2;
		}
		if (really && argc == 1)
			printf("# left out: %s: %s\n", left_out[i].name, left_out[i].reason);
	}
	if (argc > 1)
		return main(argc, argv);
	printf("# %u of %u tests are left out\n", all - count_tests(), all);
	fflush(stdout);
	return run_jobs();
}
