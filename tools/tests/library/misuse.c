// SPDX-License-Identifier: MIT
/*
 * Loops that are gone or cannot be made, and waits that do not end or spin
 */
#include <malloc.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "library.h"

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
	CHECK(!close(0));
	new_loop_of((struct twheel_loop_config) { .max_timers = 5 });
	CHECK(twheel_loop_fd(loop) == 0 && fcntl(0, F_GETFD) == FD_CLOEXEC);
	CHECK(!twheel_start(loop, &timer, HOUR) && becomes_readable());
	CHECK(twheel_stop(&timer) == 1 && !twheel_loop_flush(loop));
	CHECK(!twheel_loop_post(loop, &message) && becomes_readable());
	free_loop();
	CHECK(next_descriptor() == 0);
}

/* Where no sanitizer looks for leaks. */
TEST(the_memory_of_a_loop_is_freed)
{
	size_t used = 0;
	int i;

	for (i = 0; i < 40; i++) {
		new_loop();
		free_loop();
		/* The C library keeps the first freed blocks of each size. */
		if (i == 20)
			used = mallinfo2().uordblks;
	}
	CHECK(mallinfo2().uordblks == used);
}

/* The first starts of a loop cost no more than the others, and cannot fail for want of memory. */
USER_TEST(the_levels_come_with_the_loop)
{
	static const uint64_t delays[] = { 0, MSEC, SEC, HOUR, YEAR, TWHEEL_TIME_MAX_NS };
	unsigned int i;

	mallocs_left = 0;
	for (i = 0; i < ARRAY_SIZE(delays); i++)
		CHECK(!twheel_start(loop, &timers[i], delays[i]));
	CHECK(!twheel_loop_flush(loop));
	mallocs_left = -1;
}

/* Nothing expires for a while, and there is no report that there is no room. */
TEST(a_wait_at_the_limit_does_not_spin)
{
	int waits = 0, i;
	uint64_t began;

	/* That is for the next run, not for a wait. */
	CHECK(!twheel_loop_stop(loop) && !twheel_loop_wait(loop, 300 * MSEC));
	began = now_ns();
	new_loop_of((struct twheel_loop_config) { .max_timers = 2 });
	for (i = 0; i < 4; i++) {
		CHECK(!twheel_start(loop, &timers[i], (300 + i) * MSEC));
		CHECK(i < 2 ? !twheel_loop_flush(loop) : fails(twheel_loop_flush(loop), ENOSPC));
	}
	for (; called < 4; waits++)
		CHECK(twheel_loop_wait(loop, -1) >= 0 || errno == ENOSPC);
	CHECK(waits < 20 && now_ns() >= began + 300 * MSEC);
	CHECK(now_on(CLOCK_PROCESS_CPUTIME_ID) < 200 * MSEC);
}

/* Make room for the timer that was refused, or not, and start it again. */
static bool makes_room;

static void start_again(struct twheel_loop *loop, struct twheel_handle *handle, int error)
{
	CHECK(error == ENOSPC && handle == &timers[1]);
	CHECK(!makes_room || twheel_stop(&timers[0]) == 1);
	CHECK(!twheel_start(loop, handle, 10 * MSEC));
	messages++;
}

static void check_started_again(bool room, bool by_descriptor)
{
	uint64_t began = now_ns();

	makes_room = room;
	messages = 0;
	new_loop_of((struct twheel_loop_config) { .max_timers = 1, .unarmed = start_again });
	if (by_descriptor)
		CHECK(twheel_loop_fd(loop) >= 0);
	CHECK(!twheel_start(loop, &timers[0], room ? HOUR : 100 * MSEC));
	CHECK(!twheel_start(loop, &timers[1], 10 * MSEC));
	CHECK(!twheel_loop_flush(loop) && messages == 1);
	for (called = 0; called < 2 - room; ) {
		if (by_descriptor)
			CHECK(becomes_readable() && twheel_loop_dispatch(loop) >= 0);
		else
			CHECK(twheel_loop_wait(loop, -1) > 0);
	}
	CHECK(now_ns() - began < SEC / 2 + lateness_max && !twheel_loop_count(loop));
	/* A full wheel must not make it spin. */
	CHECK(messages <= 3 + (now_ns() - began) / (50 * MSEC));
}

TEST(what_is_started_again_at_the_limit_expires)
{
	int i;

	for (i = 0; i < 4; i++)
		check_started_again(i % 2, i / 2);
}

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
	int minor;

	CHECK(!rename(TWHEEL_DEVICE, TWHEEL_DEVICE ".away"));
	child = fork();
	if (!child) {
		/* null and zero */
		for (minor = 3; minor <= 5; minor += 2) {
			CHECK(!mknod(TWHEEL_DEVICE, S_IFCHR | 0666, makedev(1, minor)));
			check_with_another_device();
			CHECK(!unlink(TWHEEL_DEVICE));
		}
		_exit(0);
	}
	CHECK(child_is_content(child) & !rename(TWHEEL_DEVICE ".away", TWHEEL_DEVICE));
}
