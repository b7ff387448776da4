// SPDX-License-Identifier: MIT
/*
 * twheel-time - timers of a machine that is suspended
 *
 * CLOCK_BOOTTIME jumps, CLOCK_MONOTONIC does not: timers expire by their clock, in order, and
 * none is lost. Prints TAP; needs root.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "libtwheel-device.h"
#include "machine.h"
#include "tap.h"

#define WAKEALARM	"/sys/class/rtc/rtc0/wakealarm"
#define STATE		"/sys/power/state"

/* Timers a tick apart, for as long as the machine is suspended. */
#define TICK		(250 * USEC)
#define COUNT		20000
#define SECONDS		(COUNT * TICK / SEC)
/* How late a reader may get an event, even on a busy host. */
#define LATE		(2 * SEC)

/* Timers that must all come, in order: each has its number. */
struct crowd {
	int fd;
	clockid_t clock;
	uint64_t begin;		/* when the first one is due */
	unsigned int read;
	bool wrong;
};

static void arm(struct crowd *crowd, clockid_t clock)
{
	struct twheel_setup setup = { .tick_ns = TICK, .wheel_size = 64, .clock_id = clock };
	unsigned int i;

	crowd->clock = clock;
	crowd->begin = (now_on(clock) + SEC) / TICK * TICK;
	crowd->fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);
	if (crowd->fd < 0 || twheel_set_up(crowd->fd, &setup))
		bail_out("cannot open " TWHEEL_DEVICE);
	for (i = 0; i < COUNT; i++) {
		struct twheel_add add = { .data = i, .time_ns = crowd->begin + i * TICK,
					  .flags = TWHEEL_ABSTIME };

		if (twheel_add_timer(crowd->fd, &add))
			bail_out("cannot add a timer");
	}
}

/* Read what comes until so many have been read, or nothing has come for that long. */
static void read_crowd(struct crowd *crowd, unsigned int until, uint64_t timeout)
{
	struct pollfd pfd = { .fd = crowd->fd, .events = POLLIN };
	struct twheel_event event[256];
	int count, i;

	while (crowd->read < until && poll(&pfd, 1, timeout / MSEC) == 1) {
		count = twheel_read(crowd->fd, event, ARRAY_SIZE(event));
		for (i = 0; i < count; i++, crowd->read++) {
			uint64_t due = crowd->begin + crowd->read * TICK;

			if (event[i].data != crowd->read || event[i].deadline_ns != due ||
			    due > now_on(crowd->clock))
				crowd->wrong = true;
		}
	}
}

/* Right after a jump: everything that is due comes at once. */
static bool catches_up(struct crowd *crowd)
{
	uint64_t now = now_on(crowd->clock);
	uint64_t due = now < crowd->begin ? 0 : (now - crowd->begin) / TICK;

	if (due > COUNT)
		due = COUNT;
	read_crowd(crowd, due, LATE);
	return crowd->read >= due && !crowd->wrong && now_on(crowd->clock) < now + LATE;
}

static bool suspend(void)
{
	char alarm[16];

	snprintf(alarm, sizeof(alarm), "+%llu", SECONDS);
	write_line(WAKEALARM, "0");
	return write_line(WAKEALARM, alarm) && write_line(STATE, "mem");
}

static bool can_suspend(void)
{
	char states[64];

	return read_line(STATE, states, sizeof(states)) && strstr(states, "mem") &&
	       !access(WAKEALARM, W_OK);
}

static void test_suspend(void)
{
	struct crowd monotonic = { }, boottime = { };
	uint64_t slept;
	bool ok;

	arm(&monotonic, CLOCK_MONOTONIC);
	arm(&boottime, CLOCK_BOOTTIME);
	slept = now_on(CLOCK_BOOTTIME) - now_ns();
	ok = suspend();
	slept = now_on(CLOCK_BOOTTIME) - now_ns() - slept;
	tap_result(ok && slept > SECONDS * SEC / 2, "suspended (%llu ms)",
		   (unsigned long long)slept / MSEC);
	tap_result(catches_up(&boottime) && boottime.read > COUNT / 4,
		   "CLOCK_BOOTTIME counts suspend: what was due comes on resume, in order");
	tap_result(catches_up(&monotonic) && monotonic.read + COUNT / 4 < boottime.read,
		   "CLOCK_MONOTONIC does not");
	read_crowd(&monotonic, COUNT, 3 * SEC);
	read_crowd(&boottime, COUNT, 3 * SEC);
	tap_result(monotonic.read == COUNT && boottime.read == COUNT && !monotonic.wrong &&
		   !boottime.wrong, "both go on after it, and lose nothing");
}

int main(void)
{
	puts("TAP version 13");
	fflush(stdout);
	if (can_suspend())
		test_suspend();
	else
		tap_skip("this machine cannot be suspended", "suspend");
	return tap_done();
}
