// SPDX-License-Identifier: MIT
/*
 * twheel-library - libtwheel's loop against what its header promises
 *
 * Runs over /dev/twheel, or with --user without it. Prints TAP.
 */
#include <getopt.h>
#include <setjmp.h>
#include <sys/wait.h>

#include "library.h"

uint32_t backend = TWHEEL_BACKEND_DEVICE;
uint64_t seed = 1;
uint64_t mocked_ns;

static struct twheel_loop *last_loop;

static jmp_buf failed;
static pid_t pid;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!mocked_ns)
		return __real_clock_gettime(clock, ts);
	ts->tv_sec = mocked_ns / SEC;
	ts->tv_nsec = mocked_ns % SEC;
	return 0;
}

void free_last_loop(void)
{
	twheel_loop_free(last_loop);
	last_loop = NULL;
}

struct twheel_loop *new_loop_of(struct twheel_loop_config config)
{
	free_last_loop();
	config.backend = backend;
	last_loop = twheel_loop_new(&config);
	if (!last_loop)
		bail_out("cannot make a loop");
	return last_loop;
}

struct twheel_loop *new_loop(void)
{
	return new_loop_of((struct twheel_loop_config) { });
}

int run_for(struct twheel_loop *loop, int count, unsigned int ms)
{
	uint64_t end = now_ns() + ms * MSEC;
	int called = 0;

	while (called < count) {
		uint64_t now = now_ns();
		int some;

		if (now >= end)
			break;
		some = twheel_loop_wait(loop, (end - now) / MSEC + 1);
		if (some < 0)
			return -1;
		called += some;
	}
	return called;
}

void count_call(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	++*(int *)handle->data;
}

uint64_t added(struct twheel_loop *loop)
{
	struct twheel_info info;

	if (backend == TWHEEL_BACKEND_USER)
		return 0;
	if (twheel_get_info(twheel_loop_fd(loop), &info))
		bail_out("TWHEEL_INFO");
	return info.added;
}

static bool wanted(const char *name, char **names)
{
	bool any = !*names;

	for (; *names && !any; names++)
		any = strstr(name, *names);
	return any;
}

/* From wherever it is, also in a callback; but not in a child. */
void check(bool ok, const char *condition, const char *file, int line)
{
	if (ok)
		return;
	tap_note("%s:%d: %s (errno: %s)", file, line, condition, strerror(errno));
	if (getpid() != pid)
		_exit(1);
	longjmp(failed, 1);
}

bool fails(int ret, int error)
{
	return ret == -1 && errno == error;
}

bool child_is_content(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool passes(const struct test *test)
{
	if (setjmp(failed))
		return false;
	test->run();
	return true;
}

static void run(const struct test *test, char **names)
{
	for (; test->name; test++) {
		if (!wanted(test->name, names))
			continue;
		tap_result(passes(test), "%s: %s",
			   backend == TWHEEL_BACKEND_USER ? "user" : "device", test->name);
		mocked_ns = 0;
		free_last_loop();
	}
}

static void usage(FILE *out)
{
	fputs("Usage: twheel-library [--user] [--seed N] [NAME...]\n"
	      "Test libtwheel's loop over /dev/twheel, or without it; print the results as TAP.\n"
	      "With NAMEs, the tests whose names contain one of them.\n", out);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "user", no_argument, NULL, 'u' },
		{ "seed", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'u':
			backend = TWHEEL_BACKEND_USER;
			break;
		case 's':
			seed = number_or_exit("--seed", optarg, 0, UINT64_MAX);
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	pid = getpid();
	setvbuf(stdout, NULL, _IOLBF, 0);
	run(contract_tests, argv + optind);
	run(bad_tests, argv + optind);
	run(misuse_tests, argv + optind);
	run(run_tests, argv + optind);
	run(model_tests, argv + optind);
	if (backend == TWHEEL_BACKEND_DEVICE) {
		run(call_tests, argv + optind);
		run(misuse_device_tests, argv + optind);
	}
	return tap_done();
}
