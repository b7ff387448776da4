// SPDX-License-Identifier: MIT
/*
 * Timers by calendar time, a notice when the clock is set, and an alarm that wakes the machine
 *
 *	cc -O2 calendar.c -o calendar $(pkg-config --cflags --libs libtwheel)
 *	./calendar 1893456000 +10	# prints a line when each of these times has come
 *
 * A time is in seconds since 1970, or from now with a plus.
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <libtwheel.h>

static int left;

static void ring(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	printf("it is %s\n", (const char *)handle->data);
	left--;
}

/* A timer that never expires, but is cancelled when the clock is set. */
static void ask_for_notice(int fd)
{
	struct itimerspec never = { .it_value = { .tv_sec = 1ULL << 33 } };

	if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL))
		err(1, "timerfd_settime");
}

static void show_notice(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0 && errno == ECANCELED)
		puts("the clock was set");
	ask_for_notice(fd);
}

/* Wake a suspended machine at the first of the times; this takes CAP_WAKE_ALARM. */
static void set_alarm(uint64_t when)
{
	struct itimerspec spec = { .it_value = { .tv_sec = when } };
	int fd = timerfd_create(CLOCK_REALTIME_ALARM, TFD_CLOEXEC);

	if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL))
		warn("the machine will not wake from suspend for this");
}

int main(int argc, char **argv)
{
	struct twheel_loop_config config = { .clock = TWHEEL_CLOCK_REALTIME };
	struct twheel_loop *loop = twheel_loop_new(&config);
	int notice = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	uint64_t first = UINT64_MAX;
	time_t now = time(NULL);
	int i;

	if (argc < 2)
		errx(2, "usage: calendar SECONDS|+SECONDS...");
	if (!loop || notice < 0)
		err(1, "cannot make a loop and a timerfd");
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 1; i < argc; i++) {
		uint64_t when = strtoull(argv[i], NULL, 10) + (*argv[i] == '+' ? now : 0);
		struct twheel_handle *handle = calloc(1, sizeof(*handle));

		twheel_handle_init(handle, ring, argv[i]);
		if (!handle || twheel_start_at(loop, handle, when * TWHEEL_SEC))
			err(1, "%s", argv[i]);
		first = when < first ? when : first;
		left++;
	}
	set_alarm(first);
	ask_for_notice(notice);
	while (left) {
		struct pollfd fds[] = {
			{ .fd = twheel_loop_fd(loop), .events = POLLIN },
			{ .fd = notice, .events = POLLIN },
		};

		if (twheel_loop_flush(loop) || poll(fds, 2, -1) < 0)
			err(1, "cannot wait");
		if (fds[1].revents)
			show_notice(notice);
		if (fds[0].revents && twheel_loop_dispatch(loop) < 0)
			err(1, "dispatch");
	}
	twheel_loop_free(loop);
	return 0;
}
