// SPDX-License-Identifier: MIT
/*
 * twheel-library - libtwheel's loop against what its header promises
 *
 * Runs over /dev/twheel, or with --user without it. Prints TAP.
 */
#include "library.h"

uint32_t backend = TWHEEL_BACKEND_DEVICE;
int mallocs_left = -1;
int polls_interrupted;
uint64_t seed = 1;
uint64_t lateness_max;
uint64_t mocked_ns;
int64_t namespace_ns;
void (*on_clock)(int signal);

struct twheel_loop *loop;
struct twheel_handle timer, timers[NR_TIMERS];
struct twheel_message message = { .call = count_message };
unsigned int messages;
int called;

static struct test *tests, **last_test = &tests;
static bool only_list;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (on_clock)
		on_clock(0);
	if (!mocked_ns) {
		int ret = __real_clock_gettime(clock, ts);

		if (clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME)
			*ts = timespec_of(ts->tv_sec * SEC + ts->tv_nsec + namespace_ns);
		return ret;
	}
	ts->tv_sec = mocked_ns / SEC;
	ts->tv_nsec = mocked_ns % SEC;
	return 0;
}

static bool has_memory(void)
{
	if (mallocs_left < 0 || mallocs_left--)
		return true;
	errno = ENOMEM;
	return false;
}

void *__wrap_malloc(size_t size)
{
	return has_memory() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return has_memory() ? __real_calloc(count, size) : NULL;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	if (!polls_interrupted)
		return __real_poll(fds, count, timeout);
	polls_interrupted--;
	errno = EINTR;
	return -1;
}

void free_loop(void)
{
	twheel_loop_free(loop);
	loop = NULL;
}

void new_loop_of(struct twheel_loop_config config)
{
	free_loop();
	config.backend = backend;
	loop = twheel_loop_new(&config);
	CHECK(loop);
}

void new_loop(void)
{
	new_loop_of((struct twheel_loop_config) { });
}

void new_loop_that_asks(void)
{
	new_loop_of((struct twheel_loop_config) { .flags = TWHEEL_LOOP_TIMEOUT });
	CHECK(twheel_loop_timeout(loop) == -1 && !errno);
}

void pass(uint64_t ns)
{
	if (backend == TWHEEL_BACKEND_USER)
		mocked_ns = now_ns() + ns;
	else
		sleep_for(ns);
}

int run_for(struct twheel_loop *loop, int count, unsigned int ms)
{
	uint64_t end = now_ns() + ms * MSEC, now;
	int called = 0, some;

	while (called < count && (now = now_ns()) < end) {
		some = twheel_loop_wait(loop, end - now);
		CHECK(some >= 0);
		called += some;
	}
	return called;
}

void count_call(struct twheel_loop *loop, struct twheel_handle *handle)
{
	++*(int *)handle->data;
}

void count_message(struct twheel_loop *loop, struct twheel_message *message)
{
	messages++;
}

uint64_t added(void)
{
	struct twheel_info info = { };

	if (backend == TWHEEL_BACKEND_DEVICE)
		CHECK(!twheel_get_info(twheel_loop_fd(loop), &info));
	return info.added;
}

int next_descriptor(void)
{
	int fd = dup(STDERR_FILENO);

	CHECK(!close(fd));
	return fd;
}

static bool is_readable_in(int ms)
{
	struct pollfd pollfd = { .fd = twheel_loop_fd(loop), .events = POLLIN };

	return poll(&pollfd, 1, ms) == 1;
}

bool is_readable(void)
{
	return is_readable_in(0);
}

bool becomes_readable(void)
{
	return is_readable_in(1000);
}

/* Return the name of a test with its backend, or NULL if it is not for this one. */
static const char *name_of(const struct test *test)
{
	static char full[256];
	char *letter;

	if (test->backend == IN_MACHINE ? access(TWHEEL_DEVICE, F_OK) :
	    test->backend != TWHEEL_BACKEND_ANY && test->backend != backend)
		return NULL;
	snprintf(full, sizeof(full), "%s: %s",
		 backend == TWHEEL_BACKEND_USER ? "user" : "device", test->name);
	for (letter = full; *letter; letter++)
		if (*letter == '_')
			*letter = ' ';
	return full;
}

static bool is_chosen(const struct test *test, char **names)
{
	const char *name = name_of(test);

	if (!name || !*names)
		return name;
	while (*names && !strstr(name, *names))
		names++;
	return *names;
}

/* Works anywhere, also in a callback. */
void check(bool ok, const char *condition, const char *file, int line)
{
	if (ok)
		return;
	tap_note("%s:%d: %s (errno: %s)", file, line, condition, strerror(errno));
	_exit(1);
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

static void run_child(const struct test *test)
{
	int i;

	/* A test that hangs fails. */
	alarm(100);
	new_loop();
	twheel_handle_init(&timer, count_call, &called);
	for (i = 0; i < NR_TIMERS; i++)
		timers[i] = timer;
	test->run();
	free_loop();
	/* Sanitizers look for leaks now. */
	exit(0);
}

void add_test(struct test *test)
{
	*last_test = test;
	last_test = &test->next;
}

static void run(const struct test *test)
{
	pid_t child;

	if (only_list) {
		puts(name_of(test));
		return;
	}
	child = fork();
	if (!child)
		run_child(test);
	tap_result(child_is_content(child), "%s", name_of(test));
}

int main(int argc, char **argv)
{
	uint64_t late_ms = 20000;
	const struct test *test;
	bool user = false;
	int i;
	const struct program_option list[] = {
		{ "user", NULL, "test it without the device", .flag = &user },
		{ "seed", "N", "seed of the random numbers", .number = &seed, .max = UINT64_MAX },
		{ "late-max", "MS", "how late a callback may be beyond a tick (default: 20000)",
		  .number = &late_ms, .min = 1, .max = 60000 },
		{ "list", NULL, "only print the names", .flag = &only_list },
		{ }
	};
	char **names = words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: twheel-library [OPTIONS] [NAME...]\n"
		"Test libtwheel's loop over /dev/twheel, or without it; print the results as TAP.\n"
		"With NAMEs, the tests whose names contain one of them.\n",
		.options = list,
		.any_words = true,
	});

	if (user)
		backend = TWHEEL_BACKEND_USER;
	lateness_max = late_ms * MSEC;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; names[i]; i++) {
		char *one[2] = { names[i] };

		for (test = tests; test && !is_chosen(test, one); test = test->next)
			;
		if (!test) {
			fprintf(stderr, "twheel-library: no test has the name %s; see --list\n",
				names[i]);
			return 2;
		}
	}
	for (test = tests; test; test = test->next)
		if (is_chosen(test, names))
			run(test);
	return only_list ? 0 : tap_done();
}
