// SPDX-License-Identifier: MIT
/*
 * The promises of libtwheel.h to callers that break its rules
 */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "libtwheel-uring.h"
#include "library.h"

/* ---- Arguments --------------------------------------------------------------- */

/* All functions that need a loop of this process. */
static void check_loop_is_refused(struct twheel_loop *loop, int error)
{
	struct twheel_handle idle = { .callback = count_call };

	CHECK_FAILS(twheel_start(loop, &idle, 1), error);
	CHECK_FAILS(twheel_start_at(loop, &idle, 1), error);
	CHECK_FAILS(twheel_repeat(loop, &idle, 1, 1), error);
	CHECK_FAILS(twheel_loop_fd(loop), error);
	CHECK_FAILS(twheel_loop_flush(loop), error);
	CHECK_FAILS(twheel_loop_dispatch(loop), error);
	CHECK_FAILS(twheel_loop_advance(loop, 0), error);
	CHECK_FAILS(twheel_loop_wait(loop, 0), error);
	CHECK_FAILS(twheel_loop_timeout(loop), error);
	CHECK_FAILS(twheel_loop_post(loop, &message), error);
	CHECK_FAILS(twheel_loop_walk(loop, count_call), error);
	CHECK_FAILS(twheel_loop_count(loop), error);
	CHECK_FAILS(twheel_loop_run(loop), error);
	CHECK_FAILS(twheel_loop_stop(loop), error);
}

TEST(no_loop_is_einval)
{
	check_loop_is_refused(NULL, EINVAL);
	CHECK_FAILS(twheel_loop_backend(NULL), EINVAL);
	CHECK_FAILS(twheel_loop_update(NULL), EINVAL);
	errno = 0;
	CHECK(!twheel_loop_now(NULL) && errno == EINVAL);
	CHECK(!twheel_loop_data(NULL));
	twheel_loop_free(NULL);
}

TEST(no_handle_is_einval)
{
	struct twheel_handle blank = { };
	struct twheel_message message = { };

	CHECK_FAILS(twheel_start(loop, NULL, 1), EINVAL);
	CHECK_FAILS(twheel_start_at(loop, NULL, 1), EINVAL);
	CHECK_FAILS(twheel_repeat(loop, NULL, 1, 1), EINVAL);
	CHECK_FAILS(twheel_again(NULL, 1), EINVAL);
	CHECK_FAILS(twheel_again(&timer, 1), EINVAL);
	CHECK_FAILS(twheel_again(&timer, TWHEEL_SAME_DELAY), EINVAL);
	CHECK(!twheel_stop(NULL));
	CHECK_FAILS(twheel_remaining(NULL), EINVAL);
	CHECK_FAILS(twheel_set_interval(NULL, 1), EINVAL);
	CHECK_FAILS(twheel_ref(NULL), EINVAL);
	CHECK_FAILS(twheel_unref(NULL), EINVAL);
	CHECK(!twheel_is_running(NULL));
	CHECK_FAILS(twheel_start(loop, &blank, 1), EINVAL);
	CHECK_FAILS(twheel_loop_post(loop, NULL), EINVAL);
	CHECK_FAILS(twheel_loop_post(loop, &message), EINVAL);
	twheel_handle_init(NULL, count_call, NULL);
}

TEST(times_out_of_range_are_einval)
{
	CHECK_FAILS(twheel_start(loop, &timer, TWHEEL_TIME_MAX_NS + 1), EINVAL);
	CHECK_FAILS(twheel_start(loop, &timer, UINT64_MAX), EINVAL);
	CHECK_FAILS(twheel_start_at(loop, &timer, TWHEEL_TIME_MAX_NS + 1), EINVAL);
	CHECK_FAILS(twheel_repeat(loop, &timer, UINT64_MAX, 1), EINVAL);
	CHECK_FAILS(twheel_repeat(loop, &timer, 1, 0), EINVAL);
	CHECK_FAILS(twheel_repeat(loop, &timer, 1, TWHEEL_TIME_MAX_NS + 1), EINVAL);
	CHECK(!twheel_stop(&timer));
	CHECK(!twheel_repeat(loop, &timer, TWHEEL_TIME_MAX_NS, TWHEEL_TIME_MAX_NS));
	CHECK(twheel_stop(&timer) == 1);
	CHECK(!twheel_start(loop, &timer, TWHEEL_TIME_MAX_NS));
	CHECK(twheel_loop_now(loop) + twheel_remaining(&timer) == TWHEEL_TIME_MAX_NS);
	CHECK_FAILS(twheel_again(&timer, TWHEEL_TIME_MAX_NS + 2), EINVAL);
	CHECK_FAILS(twheel_again(&timer, -1), EINVAL);
	CHECK_FAILS(twheel_set_interval(&timer, TWHEEL_TIME_MAX_NS + 1), EINVAL);
	CHECK(!twheel_set_interval(&timer, TWHEEL_TIME_MAX_NS));
	CHECK(!twheel_loop_flush(loop));
	CHECK(!twheel_loop_dispatch(loop));
	CHECK(twheel_stop(&timer) == 1);
}

TEST(running_in_another_loop_is_exdev)
{
	struct twheel_loop *other = loop;

	CHECK(!twheel_start(other, &timer, SEC));
	loop = NULL;
	new_loop();
	CHECK_FAILS(twheel_start(loop, &timer, 1), EXDEV);
	CHECK(twheel_stop(&timer) == 1);
	CHECK(!twheel_start(loop, &timer, MSEC) && run_for(loop, 1, 5000) == 1);
	twheel_loop_free(other);
}

TEST(a_config_beyond_its_limits_is_einval)
{
	static const struct twheel_loop_config configs[] = {
		{ .tick_ns = TWHEEL_TICK_MIN_NS - 1 },
		{ .tick_ns = TWHEEL_TICK_MAX_NS + 1 },
		{ .wheel_size = TWHEEL_SIZE_MIN - 1 },
		{ .wheel_size = TWHEEL_SIZE_MAX + 1 },
		{ .clock = CLOCK_PROCESS_CPUTIME_ID },
		{ .clock = CLOCK_MONOTONIC },
		{ .clock = CLOCK_BOOTTIME },
		{ .clock = TWHEEL_CLOCK_REALTIME + CLOCK_PROCESS_CPUTIME_ID },
		{ .flags = TWHEEL_LOOP_TIMEOUT << 1 },
		{ .clock = TWHEEL_CLOCK_MANUAL, .flags = TWHEEL_LOOP_KERNEL },
		{ .clock = TWHEEL_CLOCK_MANUAL, .backend = TWHEEL_BACKEND_DEVICE },
		{ .clock = TWHEEL_CLOCK_MANUAL - 1 },
		{ .reserved = { 1 } }, { .reserved = { 0, 1 } }, { .reserved = { 0, 0, 1 } },
		{ .backend = 3 },
	};
	static const struct twheel_loop_config valid[] = {
		{ .tick_ns = TWHEEL_TICK_MIN_NS, .clock = TWHEEL_CLOCK_BOOTTIME },
		{ .tick_ns = TWHEEL_TICK_MAX_NS },
		{ .wheel_size = TWHEEL_SIZE_MIN, .clock = TWHEEL_CLOCK_REALTIME },
		{ .wheel_size = TWHEEL_SIZE_MAX, .clock = TWHEEL_CLOCK_MONOTONIC },
	};
	static const clockid_t clocks[] = {
		CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_MONOTONIC,
	};
	struct twheel_loop_config config;
	uint64_t before;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		config = configs[i];
		if (!config.backend)
			config.backend = backend;
		errno = 0;
		CHECK(!twheel_loop_new(&config) && errno == EINVAL);
	}
	for (i = 0; i < ARRAY_SIZE(valid); i++) {
		before = now_on(clocks[i]);
		new_loop_of(valid[i]);
		CHECK(twheel_loop_now(loop) >= before);
		CHECK(twheel_loop_now(loop) <= now_on(clocks[i]));
	}
}

/* Each way of waiting is refused at once in a loop for the other. */
TEST(a_loop_is_waited_for_in_one_way)
{
	CHECK(!twheel_start(loop, &timer, MSEC));
	CHECK_FAILS(twheel_loop_timeout(loop), EINVAL);
	CHECK(twheel_loop_fd(loop) >= 0);
	CHECK_FAILS(twheel_loop_timeout(loop), EINVAL);
	CHECK_FAILS(twheel_loop_advance(loop, 1), EINVAL);
	CHECK(run_for(loop, 1, 5000) == 1);
	new_loop_of((struct twheel_loop_config) { .flags = TWHEEL_LOOP_TIMEOUT });
	CHECK(!twheel_start(loop, &timer, MSEC));
	/* Nothing but the descriptor shows the device's timers. */
	if (backend == TWHEEL_BACKEND_DEVICE)
		CHECK_FAILS(twheel_loop_timeout(loop), EINVAL);
	CHECK_FAILS(twheel_loop_wait(loop, 0), EINVAL);
	CHECK_FAILS(twheel_loop_run(loop), EINVAL);
	CHECK_FAILS(twheel_loop_stop(loop), EINVAL);
	CHECK_FAILS(twheel_loop_post(loop, &message), EINVAL);
	CHECK(twheel_loop_fd(loop) >= 0);
	sleep_for(5 * MSEC);
	CHECK(twheel_loop_timeout(loop) == (backend == TWHEEL_BACKEND_DEVICE ? -1 : 0) && !errno);
	sleep_for(2 * MSEC);
	CHECK(is_readable() == (backend == TWHEEL_BACKEND_DEVICE));
	CHECK(twheel_loop_dispatch(loop) == 1);
	/* A message makes it readable once. */
	CHECK(!twheel_loop_post(loop, &message) && becomes_readable());
	CHECK(twheel_loop_dispatch(loop) == 1 && twheel_loop_timeout(loop) == -1 && !is_readable());
}

static void start_again(struct twheel_loop *loop, struct twheel_handle *handle, int error)
{
	CHECK(error == ENOSPC && !twheel_start(loop, handle, HOUR));
}

/* At a limit, a timeout ends soon, and errno shows why, unless the loop has told. */
USER_TEST(a_timeout_shows_its_error)
{
	struct twheel_loop_config config = { .flags = TWHEEL_LOOP_TIMEOUT, .max_timers = 1 };

	for (called = 0; called < 2; called++, config.unarmed = start_again) {
		new_loop_of(config);
		CHECK(!twheel_start(loop, &timers[0], HOUR));
		CHECK(!twheel_start(loop, &timers[1], HOUR));
		CHECK(twheel_loop_timeout(loop) == 100 * MSEC && errno == (called ? 0 : ENOSPC));
		CHECK(twheel_stop(&timers[1]) == 1);
		CHECK(twheel_loop_timeout(loop) > (int64_t)MINUTE && !errno);
		CHECK(twheel_stop(&timers[0]) == 1);
	}
}

/* Over the device only if the config, or the environment, asks for that. */
TEST(a_backend_is_chosen)
{
	const struct twheel_loop_config kernel = { .flags = TWHEEL_LOOP_KERNEL };
	const struct twheel_loop_config timed = { .flags = TWHEEL_LOOP_TIMEOUT };
	const struct {
		const char *name;
		const struct twheel_loop_config *config;
		int backend;
	} choices[] = {
		{ backend == TWHEEL_BACKEND_USER ? "user" : "device", NULL, backend },
		{ "neither", NULL, -1 },
		{ "", NULL, TWHEEL_BACKEND_USER },
		{ NULL, NULL, TWHEEL_BACKEND_USER },
		{ NULL, &timed, TWHEEL_BACKEND_USER },
		{ "device", &timed, TWHEEL_BACKEND_USER },
		{ NULL, &kernel, access(TWHEEL_DEVICE, R_OK | W_OK) ? TWHEEL_BACKEND_USER :
				 TWHEEL_BACKEND_DEVICE },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(choices); i++) {
		free_loop();
		CHECK(!(choices[i].name ? setenv("TWHEEL_BACKEND", choices[i].name, 1) :
			unsetenv("TWHEEL_BACKEND")));
		errno = 0;
		loop = twheel_loop_new(choices[i].config);
		CHECK(loop || errno == EINVAL);
		CHECK((loop ? twheel_loop_backend(loop) : -1) == choices[i].backend);
	}
}

/* Only where the device does not work, its loops are in user space. */
DEVICE_TEST(a_wheel_that_the_device_refuses_is_an_error)
{
	struct twheel_loop_config config = { .flags = TWHEEL_LOOP_KERNEL, .max_timers = -1 };
	struct rlimit limit;

	CHECK(!twheel_loop_new(&config) && errno == ENOSPC);
	config.max_timers = 0;
	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = next_descriptor();
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHECK(!twheel_loop_new(&config) && errno == EMFILE);
}

/* ---- Descriptors that go away -------------------------------------------------- */

/* The program has closed it, or its number is another file's. Changes wait until it is back. */
static void check_lost_descriptor(int other, int error)
{
	int fd = twheel_loop_fd(loop), kept = dup(fd);

	/* Without a change, it is always ready; the device is polled. */
	CHECK(other < 0 ? !close(fd) : dup2(other, fd) == fd);
	if (backend == TWHEEL_BACKEND_DEVICE)
		CHECK_FAILS(twheel_loop_dispatch(loop), error);
	CHECK(other >= 0 || fails(twheel_loop_wait(loop, 30 * MSEC), error));
	CHECK_FAILS(twheel_start(loop, &timer, MSEC), error);
	CHECK_FAILS(twheel_start_at(loop, &timer, HOUR), error);
	CHECK_FAILS(twheel_repeat(loop, &timer, MSEC, MSEC), error);
	CHECK(!twheel_is_running(&timer) && !twheel_loop_count(loop));
	CHECK_FAILS(twheel_loop_post(loop, &message), error);
	/* A stop in a signal handler does not change errno. */
	errno = 0;
	CHECK(!twheel_loop_stop(loop) && !errno);
	CHECK(dup2(kept, fd) == fd && !twheel_start(loop, &timer, MSEC));
	CHECK(other < 0 ? !close(fd) : dup2(other, fd) == fd);
	CHECK_FAILS(twheel_loop_flush(loop), error);
	CHECK_FAILS(twheel_loop_dispatch(loop), error);
	CHECK_FAILS(twheel_loop_wait(loop, 0), error);
	CHECK(dup2(kept, fd) == fd && run_for(loop, !called, 5000) >= 0);
	CHECK(called == 1 && !twheel_start(loop, &timer, MINUTE) && twheel_stop(&timer) == 1);
}

TEST(a_closed_descriptor_is_ebadf)
{
	check_lost_descriptor(-1, EBADF);
}

TEST(a_descriptor_that_is_no_wheel_is_an_error)
{
	int null = open("/dev/null", O_RDWR);

	check_lost_descriptor(null, EIO);
	CHECK(dup2(null, twheel_loop_fd(loop)) >= 0);
	null = twheel_loop_fd(loop);
	free_loop();
	CHECK(fcntl(null, F_GETFD) >= 0);
}

/* Stops are collected only up to a limit. */
DEVICE_TEST(a_stop_that_cannot_be_told_fails)
{
	enum { TIMERS = 2000 };
	int fd = twheel_loop_fd(loop), saved = dup(fd), stopped, i;

	for (i = 0; i < TIMERS; i++)
		CHECK(!twheel_start(loop, &timers[i], 20 * MSEC));
	CHECK(!twheel_loop_flush(loop));
	CHECK(dup2(open("/dev/null", O_RDWR), fd) == fd);
	for (stopped = 0; stopped < TIMERS && twheel_stop(&timers[stopped]) == 1; stopped++)
		;
	CHECK(stopped < TIMERS && errno == EIO);
	CHECK(twheel_remaining(&timers[stopped]) >= 0);
	CHECK_FAILS(twheel_loop_post(loop, &message), EIO);
	CHECK(dup2(saved, fd) == fd);
	CHECK(run_for(loop, TIMERS, 1000) == TIMERS - stopped);
	CHECK(!twheel_loop_post(loop, &message));
}

/* ---- fork() ---------------------------------------------------------------------- */

static void check_child_is_kept_out(void)
{
	check_loop_is_refused(loop, EOWNERDEAD);
	/* Asking for the time of a loop does not make it usable. */
	CHECK(twheel_loop_now(loop));
	CHECK_FAILS(twheel_again(&timer, HOUR), EOWNERDEAD);
	CHECK_FAILS(twheel_set_interval(&timer, HOUR), EOWNERDEAD);
	CHECK_FAILS(twheel_unref(&timer), EOWNERDEAD);
	CHECK_FAILS(twheel_stop(&timer), EOWNERDEAD);
}

/* In a loop of its own, the message may be posted again. */
static void use_own_loop(void)
{
	new_loop();
	twheel_handle_init(&timer, count_call, &called);
	CHECK(!messages && !twheel_loop_post(loop, &message));
	CHECK(!twheel_start(loop, &timer, MSEC));
	CHECK(run_for(loop, 2, 5000) == 2 && messages == 1);
	_exit(0);
}

/* The message is in the list of the parent's loop, and in the child's copy of that. */
static void check_fork(bool asks, bool is_raw)
{
	pid_t child;

	messages = 0;
	CHECK(twheel_loop_fd(loop) >= 0 && !twheel_loop_post(loop, &message));
	CHECK(!twheel_start(loop, &timer, 30 * MSEC));
	CHECK(asks ? twheel_loop_timeout(loop) >= 0 : !twheel_loop_flush(loop));
	/* The loop's time is cached, so a start makes no calls. */
	CHECK(asks || is_raw || !twheel_start(loop, &timers[0], HOUR));
	child = is_raw ? syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0) : fork();
	if (!child) {
		if (!is_raw)
			check_child_is_kept_out();
		CHECK_FAILS(twheel_loop_flush(loop), EOWNERDEAD);
		CHECK_FAILS(twheel_loop_dispatch(loop), EOWNERDEAD);
		CHECK_FAILS(twheel_loop_wait(loop, 0), EOWNERDEAD);
		CHECK_FAILS(twheel_loop_post(loop, &message), EOWNERDEAD);
		use_own_loop();
	}
	CHECK(child_is_content(child) && !messages && becomes_readable());
	sleep_for(35 * MSEC);
	while (messages + called < 2)
		CHECK(twheel_loop_dispatch(loop) >= 0);
	CHECK(messages == 1 && called == 1);
}

TEST(the_child_of_fork_is_kept_out)
{
	check_fork(false, false);
}

USER_TEST(the_child_of_fork_is_kept_out_of_a_loop_that_asks)
{
	new_loop_that_asks();
	check_fork(true, false);
}

/* No handler of the C library runs there. */
TEST(the_child_of_a_raw_clone_is_kept_out)
{
	check_fork(false, true);
}

static pid_t forked = -1;

static void fork_once(struct twheel_loop *loop, struct twheel_handle *handle)
{
	++*(int *)handle->data;
	if (forked < 0)
		forked = fork();
}

TEST(the_child_of_a_callback_calls_no_more)
{
	int ret, i;

	for (i = 0; i < 5; i++) {
		twheel_handle_init(&timers[i], fork_once, &called);
		CHECK(!twheel_start(loop, &timers[i], MSEC));
	}
	CHECK(!twheel_loop_flush(loop));
	pass(4 * MSEC);
	ret = twheel_loop_dispatch(loop);
	if (!forked)
		_exit(!(fails(ret, EOWNERDEAD) && called == 1));
	CHECK(ret == 5 && called == 5 && child_is_content(forked));
}

/* ---- Requests, and the ring ------------------------------------------------------- */

/* Check that a request has this operation and these arguments, and nothing else. */
static void check_request(const struct io_uring_sqe *sqe, uint32_t command, uint64_t first,
			  uint64_t second)
{
	struct io_uring_sqe expected = { .opcode = IORING_OP_URING_CMD, .fd = 7, .user_data = 42 };

	/* The command is the first half of that, whatever the byte order is. */
	memcpy(&expected.off, &command, sizeof(command));
	expected.addr3 = first;
	expected.__pad2[0] = second;
	CHECK(!memcmp(sqe, &expected, sizeof(expected)));
}

/* Prepare it over garbage. */
#define CHECK_REQUEST(prepare, command, second, first, ...)		\
	do {								\
		struct io_uring_sqe sqe;				\
									\
		memset(&sqe, 0xff, sizeof(sqe));			\
		sqe.user_data = 42;					\
		prepare(&sqe, 7, first, ##__VA_ARGS__);			\
		check_request(&sqe, command, (uintptr_t)(first), second); \
	} while (0)

USER_TEST(each_request_has_its_operation)
{
	struct twheel_modify modify = { };
	struct twheel_batch batch = { };
	struct twheel_add add = { };

	CHECK_REQUEST(twheel_prep_add, TWHEEL_ADD, 0, &add);
	CHECK_REQUEST(twheel_prep_modify_timer, TWHEEL_MODIFY, 0, &modify);
	CHECK_REQUEST(twheel_prep_add_batch, TWHEEL_ADD_BATCH, 0, &batch);
	CHECK_REQUEST(twheel_prep_modify_batch, TWHEEL_MODIFY_BATCH, 0, &batch);
	CHECK_REQUEST(twheel_prep_cancel_batch, TWHEEL_CANCEL_BATCH, 0, &batch);
	CHECK_REQUEST(twheel_prep_cancel, TWHEEL_URING_CANCEL, 0, 0x123);
	CHECK_REQUEST(twheel_prep_modify, TWHEEL_URING_MODIFY, 0x456, 0x123, 0x456);
}

enum { SLOTS = 4, EVENTS = 20000 };

static struct {
	struct twheel_ring ring;
	struct twheel_event slot[SLOTS];
} in_memory;

/* Write events as the kernel does. */
static void *fill_the_ring(void *unused)
{
	struct twheel_ring *ring = &in_memory.ring;
	uint32_t tail = 0, next;
	uint64_t i;

	for (i = 1; i <= EVENTS; i++) {
		next = (tail + 1) % SLOTS;
		while (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) == next)
			sched_yield();
		in_memory.slot[tail] = (struct twheel_event) { .id = i, .data = 2 * i };
		tail = next;
		__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* The thread sanitizer reports a slot that is read before, or overwritten while it is read. */
USER_TEST(events_are_read_after_they_were_written)
{
	const struct twheel_ring_view view = { &in_memory.ring, SLOTS, sizeof(in_memory) };
	struct twheel_event *event;
	pthread_t thread;
	uint64_t last = 0;
	size_t count, i;

	CHECK(!pthread_create(&thread, NULL, fill_the_ring, NULL));
	while (last < EVENTS) {
		event = twheel_ring_peek(&view, &count);
		if (!event)
			sched_yield();
		for (i = 0; i < count; i++, last++)
			CHECK(event[i].id == last + 1 && event[i].data == 2 * event[i].id);
		twheel_ring_consume(&view, count);
	}
	CHECK(!pthread_join(thread, NULL));
}

/* ---- The calls ------------------------------------------------------------------- */

DEVICE_TEST(batches_go_on_past_stale_ids_and_tell_which)
{
	enum { TIMERS = 600 };
	struct twheel_modify mods[TIMERS];
	struct twheel_add adds[TIMERS];
	uint64_t ids[TIMERS];
	int results[TIMERS];
	int fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC), i, stale = 0;

	for (i = 0; i < TIMERS; i++)
		adds[i] = (struct twheel_add) { .time_ns = HOUR };
	CHECK(twheel_add_batch(fd, adds, TIMERS) == TIMERS);
	for (i = 0; i < TIMERS; i++) {
		ids[i] = adds[i].id;
		mods[i] = (struct twheel_modify) { .id = ids[i], .time_ns = 2 * HOUR };
		/* The first, the last, several in a row, and single ones. */
		if (i == 0 || i == TIMERS - 1 || i % 100 < 3 || i % 77 == 5) {
			CHECK(!twheel_cancel_timer(fd, ids[i]));
			stale++;
		}
	}
	mods[50].flags = 0x80;
	CHECK(twheel_modify_batch(fd, mods, results, TIMERS) == TIMERS - stale - 1);
	for (i = 0; i < TIMERS; i++)
		CHECK(results[i] == (i == 50 ? EINVAL :
				     twheel_query_timer(fd, ids[i], &(struct twheel_query) { }) ?
				     ENOENT : 0));
	CHECK(twheel_cancel_batch(fd, ids, results, TIMERS) == TIMERS - stale);
	for (i = 0; i < TIMERS; i++)
		stale -= results[i] == ENOENT;
	CHECK(!stale);
	CHECK(twheel_cancel_batch(fd, ids, results, 3) == 0);
	CHECK_FAILS(twheel_cancel_batch(fd, ids, NULL, 3), ENOENT);
	CHECK(twheel_cancel_batch(fd, ids, results, 0) == 0);
	CHECK_FAILS(twheel_cancel_batch(fd, NULL, results, 3), EFAULT);
	CHECK(results[0] == -1 && results[2] == -1);
	close(fd);
	CHECK_FAILS(twheel_cancel_batch(fd, ids, results, 3), EBADF);
}

DEVICE_TEST(system_calls_without_memory_are_efault)
{
	int fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);

	CHECK_FAILS(twheel_now(CLOCK_MONOTONIC, NULL), EFAULT);
	CHECK_FAILS(twheel_query_timer(fd, 1, NULL), EFAULT);
	CHECK_FAILS(twheel_set_up(fd, NULL), EFAULT);
	CHECK_FAILS(twheel_add_timer(fd, NULL), EFAULT);
	CHECK_FAILS(twheel_get_info(fd, NULL), EFAULT);
	CHECK_FAILS(twheel_add_batch(fd, NULL, 1), EFAULT);
	CHECK_FAILS(twheel_modify_batch(fd, NULL, NULL, 1), EFAULT);
}
