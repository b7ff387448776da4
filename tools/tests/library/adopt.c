// SPDX-License-Identifier: MIT
/*
 * Loops over a wheel that had another loop: its timers continue, and events that the
 * previous process had not finished are delivered again. Only for the device.
 */
#include <sys/epoll.h>
#include <sys/mman.h>

#include "library.h"

#define TIMERS	1200

static struct twheel_handle handles[TIMERS];
/* How often each callback was called; shared with children. */
static unsigned int *calls;

static void count_number(struct twheel_loop *loop, struct twheel_handle *handle)
{
	calls[(uintptr_t)handle->data]++;
}

static struct twheel_handle *find(struct twheel_loop *loop, uint64_t data)
{
	return data < TIMERS ? &handles[data] : NULL;
}

static const struct twheel_loop_config config = { .resolve = find };

/* The process knows only the numbers of the first @count timers. */
static void begin(unsigned int count)
{
	unsigned int i;

	if (!calls)
		calls = mmap(NULL, TIMERS * sizeof(*calls), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(calls != MAP_FAILED);
	for (i = 0; i < TIMERS; i++) {
		calls[i] = 0;
		twheel_handle_init(&handles[i], i < count ? count_number : NULL,
				   (void *)(uintptr_t)i);
	}
}

static int new_wheel(void)
{
	int fd = twheel_open(NULL, O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

/* The loop of a process that knows the first @count timers. */
static void adopt(int fd, unsigned int count)
{
	free_loop();
	begin(count);
	loop = twheel_loop_adopt(fd, &config);
	CHECK(loop);
}

/* The process ends, but its wheel does not, and another one knows the first @count timers. */
static void adopt_again(unsigned int count)
{
	adopt(dup(twheel_loop_fd(loop)), count);
}

static uint64_t pending(void)
{
	struct twheel_info info;

	CHECK(!twheel_get_info(twheel_loop_fd(loop), &info));
	return info.pending + info.expired;
}

DEVICE_TEST(timers_of_an_adopted_wheel_go_on)
{
	uint64_t deadline[TIMERS];
	unsigned int i;

	adopt(new_wheel(), TIMERS);
	for (i = 0; i < TIMERS; i++) {
		deadline[i] = twheel_loop_now(loop) + (i % 2 ? HOUR : 0) + i * MSEC;
		CHECK(!twheel_start_at(loop, &handles[i], deadline[i]));
	}
	CHECK(!twheel_loop_flush(loop));
	/* One that is put off: the kernel has to have the new deadline. */
	CHECK(!twheel_again(&handles[5], 2 * HOUR) && !twheel_loop_flush(loop));
	deadline[5] = twheel_loop_now(loop) + 2 * HOUR;
	for (i = 0; i < 2; i++)
		adopt_again(TIMERS);
	CHECK(twheel_loop_count(loop) == TIMERS);
	CHECK(twheel_remaining(&handles[5]) > (int64_t)(HOUR + HOUR / 2));
	CHECK_FAILS(twheel_again(&handles[5], TWHEEL_SAME_DELAY), EINVAL);
	for (i = 0; i < TIMERS; i++) {
		uint64_t now = twheel_loop_now(loop);
		int64_t left = twheel_remaining(&handles[i]);

		CHECK(twheel_is_running(&handles[i]));
		CHECK(left <= (int64_t)(deadline[i] > now ? deadline[i] - now : 0));
	}
	CHECK(twheel_stop(&handles[1]) == 1 && twheel_stop(&handles[98]) == 1);
	CHECK(!twheel_again(&handles[3], 0));
	CHECK(run_for(loop, TIMERS / 2, 5000) == TIMERS / 2);
	for (i = 0; i < TIMERS; i++)
		CHECK(calls[i] == (i == 3 || (i % 2 == 0 && i != 98)));
	CHECK(twheel_loop_count(loop) == TIMERS / 2 - 2 && pending() == TIMERS / 2 - 2);
	/* Those that the next process does not know are cancelled. */
	adopt_again(10);
	CHECK(twheel_loop_count(loop) == 3 && pending() == 3);
}

/* Of two timers with the same data, the later one. */
DEVICE_TEST(timers_that_no_loop_added_are_adopted)
{
	struct twheel_add adds[] = {
		{ .time_ns = 0, .data = 7 },
		{ .time_ns = HOUR, .data = 8 },
		{ .flags = TWHEEL_ABSTIME, .interval_ns = 20 * MSEC, .data = 9 },
		{ .time_ns = 3 * HOUR, .data = 8 },
		{ .time_ns = 2 * HOUR, .data = 8 },
	};
	int fd = new_wheel();

	CHECK(twheel_add_batch(fd, adds, ARRAY_SIZE(adds)) == ARRAY_SIZE(adds));
	adopt(fd, TIMERS);
	CHECK(twheel_loop_count(loop) == 3 && pending() == 3);
	CHECK(run_for(loop, 4, 5000) == 4);
	CHECK(calls[7] == 1 && !calls[8] && calls[9] >= 3);
	CHECK(twheel_remaining(&handles[8]) > (int64_t)(2 * HOUR));
	CHECK(twheel_stop(&handles[9]) == 1);
	CHECK(!twheel_loop_flush(loop) && pending() == 1);
	/* A start leaves a timer in the wheel that wakes the loop, and is not adopted. */
	CHECK(!twheel_start(loop, &handles[0], HOUR) && pending() == 2);
	adopt_again(TIMERS);
	CHECK(twheel_loop_count(loop) == 1 && pending() == 1);
}

static unsigned int unarmed;

static void find_in_the_wheel(struct twheel_loop *loop, struct twheel_handle *handle, int error)
{
	CHECK(handle == &handles[5] && error == ENOSPC && pending() == 1);
	unarmed++;
}

/* Not even for a moment, in which the process could be killed: so a full wheel has no place. */
DEVICE_TEST(a_timer_that_is_put_off_is_never_missing)
{
	struct twheel_loop_config full = config;

	full.max_timers = 1;
	full.unarmed = find_in_the_wheel;
	begin(TIMERS);
	free_loop();
	loop = twheel_loop_new(&full);
	CHECK(loop);
	CHECK(!twheel_start(loop, &handles[5], HOUR));
	CHECK(!twheel_loop_flush(loop) && !unarmed);
	CHECK(!twheel_again(&handles[5], 2 * HOUR));
	CHECK(!twheel_loop_flush(loop) && unarmed == 1 && pending() == 0);
}

/* A timer that was due when it was stopped, or started again; and deadline 0, as wake-ups have. */
DEVICE_TEST(an_adopted_wheel_tells_old_events_from_new)
{
	adopt(new_wheel(), TIMERS);
	CHECK(!twheel_start_at(loop, &handles[4], 1) && !twheel_start_at(loop, &handles[6], 1));
	CHECK(!twheel_loop_flush(loop) && becomes_readable());
	CHECK(twheel_stop(&handles[4]) == 1 && !twheel_start(loop, &handles[4], HOUR));
	CHECK(twheel_stop(&handles[6]) == 1);
	CHECK(!twheel_start_at(loop, &handles[5], 0));
	CHECK(run_for(loop, 1, 5000) == 1 && calls[5] == 1 && !calls[4] && !calls[6]);
}

static void die_in_the_middle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	count_number(loop, handle);
	if ((uintptr_t)handle->data == 3 && !twheel_loop_flush(loop))
		raise(SIGKILL);
}

/* It was killed in a callback: the next process calls that one and those after it. */
DEVICE_TEST(events_of_a_killed_process_are_called)
{
	int fd = new_wheel(), status;
	unsigned int i;
	pid_t child;

	begin(TIMERS);
	child = fork();
	if (!child) {
		adopt(fd, TIMERS);
		for (i = 0; i < 10; i++) {
			handles[i].callback = die_in_the_middle;
			CHECK(!twheel_start_at(loop, &handles[i], 1000 + i * SEC / 10));
		}
		run_for(loop, 10, 5000);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	CHECK(calls[0] == 1 && calls[3] == 1 && !calls[4]);
	free_loop();
	begin(TIMERS);
	/* It had finished two of them, and recorded that. */
	handles[0].callback = NULL;
	handles[1].callback = NULL;
	loop = twheel_loop_adopt(fd, &config);
	CHECK(loop && twheel_loop_count(loop) == 8 && is_readable());
	CHECK(run_for(loop, 8, 5000) == 8);
	CHECK(!calls[0] && !calls[1]);
	for (i = 2; i < 10; i++)
		CHECK(calls[i] == 1);
	CHECK(twheel_loop_count(loop) == 0 && !is_readable());
	/* The process after that calls none of them. */
	adopt_again(TIMERS);
	CHECK(run_for(loop, 1, 50) == 0);
}

static void start_and_flush(struct twheel_loop *loop, struct twheel_handle *handle)
{
	count_number(loop, handle);
	CHECK(calls[(uintptr_t)handle->data] <= 3);
	/* Long past, due at once, or soon. */
	if ((uintptr_t)handle->data % 3)
		CHECK(!twheel_start(loop, handle, (uintptr_t)handle->data % 2 * MSEC));
	else
		CHECK(!twheel_start_at(loop, handle, 1));
	CHECK(!twheel_loop_flush(loop));
	if ((uintptr_t)handle->data % 100 == 0)
		sleep_for(MSEC);
}

/* They are more than the ring holds; the rest of it wakes the program. */
DEVICE_TEST(a_dispatch_with_events_in_the_ring_ends)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(EPOLL_CLOEXEC), turn, i;

	adopt(new_wheel(), TIMERS);
	CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, twheel_loop_fd(loop), &event));
	for (i = 0; i < TIMERS; i++) {
		handles[i].callback = start_and_flush;
		CHECK(!twheel_start(loop, &handles[i], MSEC));
	}
	CHECK(!twheel_loop_flush(loop));
	sleep_for(3 * MSEC);
	for (turn = 1; turn <= 3; turn++) {
		CHECK(epoll_wait(epoll, &event, 1, 1000) == 1);
		CHECK(twheel_loop_dispatch(loop) == TIMERS);
		for (i = 0; i < TIMERS; i++)
			CHECK(calls[i] == (unsigned int)turn);
		sleep_for(3 * MSEC);
	}
}

/* The device has the clocks of the machine. */
DEVICE_TEST(timers_follow_the_clock_of_a_time_namespace)
{
	const int64_t offsets[] = { 3600 * (int64_t)SEC, -(int64_t)(now_ns() / 2), 1234 * MSEC };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		uint64_t began, deadline;

		namespace_ns = offsets[i];
		adopt(new_wheel(), TIMERS);
		began = now_ns();
		CHECK(!twheel_start(loop, &handles[0], 100 * MSEC));
		CHECK(!twheel_start(loop, &handles[1], HOUR));
		CHECK(!twheel_repeat(loop, &handles[2], 50 * MSEC, 50 * MSEC));
		deadline = twheel_loop_now(loop) + 150 * MSEC;
		CHECK(!twheel_start_at(loop, &handles[3], deadline));
		CHECK(!twheel_loop_flush(loop));
		adopt_again(TIMERS);
		CHECK(twheel_remaining(&handles[1]) > (int64_t)(HOUR - SEC) &&
		      twheel_remaining(&handles[1]) <= (int64_t)HOUR);
		while (!calls[0])
			CHECK(twheel_loop_wait(loop, SEC) > 0);
		CHECK(now_ns() >= began + 100 * MSEC);
		CHECK(now_ns() < began + 102 * MSEC + lateness_max);
		while (!calls[3])
			CHECK(twheel_loop_wait(loop, SEC) > 0);
		CHECK(now_ns() >= deadline && now_ns() < deadline + 2 * MSEC + lateness_max);
		CHECK(calls[2] >= 1 && calls[2] <= 3 && !calls[1]);
		/* Without @resolve, and put off: it does not spin for that. */
		new_loop();
		began = now_ns();
		CHECK(!twheel_start(loop, &timer, 20 * MSEC) && !twheel_again(&timer, 60 * MSEC));
		CHECK(run_for(loop, 1, 1000) == 1);
		CHECK(now_ns() >= began + 60 * MSEC && added() < 10);
	}
}

DEVICE_TEST(an_adopted_descriptor_is_the_loops)
{
	int fd = twheel_open(NULL, 0);

	CHECK(fd >= 0 && fcntl(fd, F_GETFD) == 0);
	adopt(fd, TIMERS);
	CHECK(twheel_loop_fd(loop) == fd && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	free_loop();
	CHECK_FAILS(fcntl(fd, F_GETFD), EBADF);
}

/* The wheel is full: a periodic timer cannot be replaced. */
DEVICE_TEST(a_descriptor_that_cannot_be_adopted_stays_the_callers)
{
	struct twheel_setup setup = { .tick_ns = MSEC, .wheel_size = 256, .max_timers = 1 };
	struct twheel_add add = { .time_ns = HOUR, .interval_ns = HOUR, .data = 1 };
	int fd = twheel_open(NULL, 0);

	setup.clock_id = CLOCK_MONOTONIC;
	CHECK(!twheel_set_up(fd, &setup) && !twheel_add_timer(fd, &add));
	begin(TIMERS);
	CHECK(!twheel_loop_adopt(fd, &config) && errno == ENOSPC);
	CHECK(fcntl(fd, F_GETFD) == 0 && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
	CHECK(!twheel_cancel_timer(fd, add.id) && !close(fd));
}

DEVICE_TEST(bad_configs_of_adopting_are_einval)
{
	struct twheel_loop_config bad[] = {
		{ .resolve = NULL },
		{ .resolve = find, .tick_ns = MSEC },
		{ .resolve = find, .wheel_size = 256 },
		{ .resolve = find, .max_timers = 5 },
		{ .resolve = find, .clock = TWHEEL_CLOCK_BOOTTIME },
		{ .resolve = find, .backend = TWHEEL_BACKEND_USER },
		{ .resolve = find, .flags = 0x80 },
	};
	int fd = new_wheel(), pipes[2];
	unsigned int i;

	CHECK(!twheel_loop_adopt(fd, NULL) && errno == EINVAL);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!twheel_loop_adopt(fd, &bad[i]) && errno == EINVAL);
	CHECK(!twheel_loop_new(&bad[5]) && errno == EINVAL);
	CHECK(!twheel_loop_adopt(-1, &config) && errno == EBADF);
	CHECK(!pipe(pipes));
	CHECK(!twheel_loop_adopt(pipes[0], &config) && errno == ENODEV);
	/* They still belong to the caller. */
	CHECK(!close(pipes[0]) && !close(pipes[1]) && !close(fd));
}
