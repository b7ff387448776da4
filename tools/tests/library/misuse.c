// SPDX-License-Identifier: MIT
/*
 * Loops that are gone, flushes that are forgotten, waits that end too soon
 */
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "library.h"

/* ---- Loops that are freed ---------------------------------------------------------- */

enum { LOOPS = 40 };

static int next_descriptor(void)
{
	int fd = dup(STDERR_FILENO);

	CHECK(!close(fd));
	return fd;
}

TEST(a_loop_that_cannot_be_made_leaves_no_descriptor)
{
	struct twheel_loop_config config = { .backend = backend };
	int fails_at = 0, fd = next_descriptor();
	struct twheel_loop *last;

	/* The second one needs more memory. */
	for (; config.clock <= TWHEEL_CLOCK_REALTIME; config.clock += TWHEEL_CLOCK_REALTIME) {
		do {
			mallocs_left = fails_at++;
			last = twheel_loop_new(&config);
			CHECK(last || errno == ENOMEM);
			mallocs_left = -1;
			CHECK(last || next_descriptor() == fd);
		} while (!last);
		CHECK(fails_at > 1);
		fails_at = 1;
		twheel_loop_free(last);
	}
}

TEST(a_loop_can_have_descriptor_0)
{
	struct twheel_message message = { .call = count_message };
	pid_t child = fork();

	if (!child) {
		CHECK(!close(0));
		new_loop_of((struct twheel_loop_config) { .max_timers = 5 });
		CHECK(twheel_loop_fd(loop) == 0 && fcntl(0, F_GETFD) == FD_CLOEXEC);
		CHECK(!twheel_start(loop, &timer, HOUR) && becomes_readable(loop));
		CHECK(twheel_stop(&timer) == 1 && !twheel_loop_flush(loop));
		CHECK(!twheel_loop_post(loop, &message) && becomes_readable(loop));
		free_loop();
		CHECK(next_descriptor() == 0);
		_exit(0);
	}
	CHECK(child_is_content(child));
}

/* Nothing is kept of a loop that was freed. */
TEST(the_memory_of_a_loop_is_freed)
{
	size_t before;
	int i;

	new_loop();
	free_loop();
	before = mallinfo2().uordblks;
	for (i = 0; i < LOOPS; i++) {
		new_loop();
		free_loop();
	}
	CHECK(mallinfo2().uordblks == before);
}

TEST(messages_of_a_loop_that_was_freed_may_be_posted_again)
{
	struct twheel_message message[2] = { { .call = count_message }, { .call = count_message } };
	int i;

	for (i = 0; i < 2; i++)
		CHECK(!twheel_loop_post(loop, &message[i]));
	free_loop();
	new_loop();
	for (i = 0; i < 2; i++)
		CHECK(!twheel_loop_post(loop, &message[i]));
	CHECK(!messages);
	CHECK(twheel_loop_dispatch(loop) == 0);
	CHECK(messages == 2);
}

/* ---- Waits ------------------------------------------------------------------------ */

TEST(a_wait_outlasts_what_was_put_off)
{
	uint64_t began = now_ns();

	CHECK(!twheel_start(loop, &timer, 5 * MSEC));
	CHECK(!twheel_loop_flush(loop));
	CHECK(!twheel_again(&timer, 60 * MSEC));
	CHECK(twheel_loop_wait(loop, 30 * MSEC) == 0);
	CHECK(now_ns() >= began + 30 * MSEC);
	CHECK(twheel_loop_wait(loop, 1000 * MSEC) == 1);
	CHECK(now_ns() >= began + 60 * MSEC);
}

/* Nothing expires for a while, and there is no report that there is no room. */
TEST(a_wait_at_the_limit_does_not_spin)
{
	uint64_t began = now_ns(), used = now_on(CLOCK_PROCESS_CPUTIME_ID);
	int waits = 0, i;

	new_loop_of((struct twheel_loop_config) { .max_timers = 2 });
	for (i = 0; i < 4; i++)
		CHECK(!twheel_start(loop, &timers[i], (300 + i) * MSEC));
	while (called < 4) {
		waits++;
		if (twheel_loop_wait(loop, -1) < 0)
			CHECK(errno == ENOSPC);
	}
	CHECK(waits < 20);
	CHECK(now_ns() >= began + 300 * MSEC);
	CHECK(now_on(CLOCK_PROCESS_CPUTIME_ID) - used < 200 * MSEC);
}

/* ---- Flushes that are forgotten --------------------------------------------------- */

TEST(a_start_without_a_flush_is_seen)
{
	int round, i;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < 3; i++)
			CHECK(!twheel_start(loop, &timers[i], (10 + i) * MSEC));
		CHECK(wait_for_the_descriptor(loop, 3) == 3);
	}
	CHECK(!twheel_again(&timers[0], 10 * MSEC));
	CHECK(wait_for_the_descriptor(loop, 1) == 1);
	CHECK(!twheel_start_at(loop, &timers[0], 1));
	CHECK(wait_for_the_descriptor(loop, 1) == 1);
	CHECK(!twheel_repeat(loop, &timers[0], MSEC, MSEC));
	CHECK(wait_for_the_descriptor(loop, 2) == 2);
	CHECK(!twheel_loop_flush(loop));
}

/* The library does not see a turn of the program's loop end, so it caches no time. */
TEST(a_turn_without_a_flush_has_its_own_time)
{
	uint64_t last;

	CHECK(!twheel_start(loop, &timer, 30 * MSEC));
	CHECK(becomes_readable(loop) && !twheel_loop_dispatch(loop));
	CHECK(!twheel_again(&timer, 30 * MSEC));
	sleep_for(20 * MSEC);
	last = now_ns();
	CHECK(!twheel_again(&timer, 30 * MSEC));
	CHECK(wait_for_the_descriptor(loop, 1) == 1);
	CHECK(now_ns() >= last + 30 * MSEC);
}

/* One system call for all starts; the timer that it adds is removed when they are flushed. */
TEST(starts_wake_once)
{
	int i;

	new_loop_of((struct twheel_loop_config) { .max_timers = 5 });
	for (i = 0; i < 5; i++) {
		CHECK(!twheel_start(loop, &timers[i], HOUR));
		CHECK(is_readable(loop) || becomes_readable(loop));
	}
	CHECK(backend == TWHEEL_BACKEND_USER || added(loop) == 1);
	CHECK(!twheel_loop_flush(loop));
	CHECK(!is_readable(loop));
	CHECK(backend == TWHEEL_BACKEND_USER || added(loop) == 6);
	CHECK(twheel_loop_count(loop) == 5);
}

TEST(nothing_wakes_a_program_that_asks)
{
	struct twheel_message message = { .call = count_message };

	new_loop_that_asks();
	CHECK(!twheel_start(loop, &timer, MSEC));
	sleep_for(5 * MSEC);
	CHECK(!is_readable(loop));
	CHECK(twheel_loop_timeout(loop) == (backend == TWHEEL_BACKEND_USER ? 0 : -1));
	sleep_for(MSEC);
	CHECK(backend == TWHEEL_BACKEND_USER ? !is_readable(loop) : becomes_readable(loop));
	CHECK(twheel_loop_dispatch(loop) == 1);
	/* But a message does, once. */
	CHECK(!twheel_loop_post(loop, &message));
	CHECK(becomes_readable(loop));
	CHECK(!twheel_loop_dispatch(loop));
	CHECK(twheel_loop_timeout(loop) == -1 && !is_readable(loop));
}

/* Without threads, there is nothing that the descriptor is needed for. */
USER_TEST(a_loop_of_one_thread_has_no_descriptor)
{
	int fd = next_descriptor();
	int64_t left;

	CHECK(!twheel_start(loop, &timer, MSEC));
	while (!called) {
		left = twheel_loop_timeout(loop);
		CHECK(left >= 0);
		sleep_for(left);
		CHECK(twheel_loop_dispatch(loop) >= 0);
	}
	CHECK(next_descriptor() == fd);
}

/* ---- Nodes that are not the device --------------------------------------------------------- */

/* A node with the number that the wheel's node had before the module was reloaded. */
static void check_with_another_device(void)
{
	struct twheel_loop_config config = { .backend = TWHEEL_BACKEND_DEVICE };

	CHECK(!twheel_loop_new(&config) && errno == ENODEV);
	config = (struct twheel_loop_config) { .flags = TWHEEL_LOOP_KERNEL };
	free_loop();
	loop = twheel_loop_new(&config);
	CHECK(loop && twheel_loop_backend(loop) == TWHEEL_BACKEND_USER);
}

DEVICE_TEST(a_node_that_is_no_wheel_is_enodev)
{
	pid_t child;

	if (geteuid())
		return;
	CHECK(!rename(TWHEEL_DEVICE, TWHEEL_DEVICE ".away"));
	child = fork();
	if (!child) {
		CHECK(!mknod(TWHEEL_DEVICE, S_IFCHR | 0666, makedev(1, 3)));
		check_with_another_device();
		CHECK(!unlink(TWHEEL_DEVICE));
		CHECK(!mknod(TWHEEL_DEVICE, S_IFCHR | 0666, makedev(1, 5)));
		check_with_another_device();
		_exit(0);
	}
	CHECK(child_is_content(child) | !!rename(TWHEEL_DEVICE ".away", TWHEEL_DEVICE));
}
