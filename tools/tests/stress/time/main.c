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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chance.h"
#include "clock.h"
#include "helpers.h"
#include "libtwheel-device.h"
#include "machine.h"
#include "options.h"
#include "tap.h"

#define WAKEALARM	"/sys/class/rtc/rtc0/wakealarm"
#define STATE		"/sys/power/state"

#define TICK		MSEC
#define COUNT		20000
/* How late a reader may get an event, even on a busy host. */
#define LATE		(2 * SEC)

/* Timers that must all come, in the order of their ticks. */
struct crowd {
	int fd;
	clockid_t clock;
	uint64_t deadline[COUNT];	/* by the timer's data; 0 once it was read */
	uint64_t last_tick;		/* of the last event */
	unsigned int read;
	unsigned int errors;
};

static bool wait_readable(const struct crowd *crowd, int timeout_ms)
{
	struct pollfd pfd = { .fd = crowd->fd, .events = POLLIN };

	return poll(&pfd, 1, timeout_ms) == 1;
}

/* Arm timers that are due within @span from a second on. */
static void arm(struct crowd *crowd, clockid_t clock, uint64_t span)
{
	struct twheel_setup setup = { .tick_ns = TICK, .wheel_size = 64, .clock_id = clock };
	uint64_t begin = now_on(clock) + SEC;
	struct chance chance;
	unsigned int i;

	crowd->clock = clock;
	crowd->fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);
	if (crowd->fd < 0 || twheel_set_up(crowd->fd, &setup))
		bail_out("cannot open " TWHEEL_DEVICE);
	chance_init(&chance, COUNT, clock);
	for (i = 0; i < COUNT; i++) {
		struct twheel_add add = { .data = i, .flags = TWHEEL_ABSTIME };

		crowd->deadline[i] = begin + chance_below(&chance, span);
		add.time_ns = crowd->deadline[i];
		if (twheel_add_timer(crowd->fd, &add))
			bail_out("cannot add a timer");
	}
}

static void check_event(struct crowd *crowd, const struct twheel_event *event)
{
	uint64_t tick = (event->deadline_ns + TICK - 1) / TICK;

	if (event->data >= COUNT || crowd->deadline[event->data] != event->deadline_ns ||
	    event->deadline_ns > now_on(crowd->clock) || tick < crowd->last_tick) {
		if (!crowd->errors++)
			tap_note("timer %llu with deadline %llu came out of turn",
				 event->data, event->deadline_ns);
		return;
	}
	crowd->deadline[event->data] = 0;
	crowd->last_tick = tick;
	crowd->read++;
}

static void read_crowd(struct crowd *crowd)
{
	struct twheel_event event[256];
	int count, i;

	while ((count = twheel_read(crowd->fd, event, ARRAY_SIZE(event))) > 0) {
		for (i = 0; i < count; i++)
			check_event(crowd, &event[i]);
	}
}

/* Timers that were due at a time, and have not been read. */
static unsigned int missing(const struct crowd *crowd, uint64_t when)
{
	unsigned int i, count = 0;

	for (i = 0; i < COUNT; i++)
		count += crowd->deadline[i] && crowd->deadline[i] + TICK <= when;
	return count;
}

/* Right after a jump: everything that is due comes at once. */
static bool catches_up(struct crowd *crowd)
{
	uint64_t began = now_on(crowd->clock);

	while (missing(crowd, began) && now_on(crowd->clock) < began + LATE) {
		if (wait_readable(crowd, 1000))
			read_crowd(crowd);
	}
	return !missing(crowd, began) && !crowd->errors;
}

static bool suspend(unsigned int seconds)
{
	char alarm[16];

	snprintf(alarm, sizeof(alarm), "+%u", seconds);
	write_line(WAKEALARM, "0");
	return write_line(WAKEALARM, alarm) && write_line(STATE, "mem");
}

static bool can_suspend(void)
{
	char states[64];

	return read_line(STATE, states, sizeof(states)) && strstr(states, "mem") &&
	       !access(WAKEALARM, W_OK);
}

static void test_suspend(unsigned int seconds)
{
	static struct crowd monotonic, boottime;
	uint64_t span = seconds * SEC, slept;
	bool ok;

	if (!can_suspend()) {
		tap_skip("this machine cannot be suspended", "suspend");
		return;
	}
	arm(&monotonic, CLOCK_MONOTONIC, span);
	arm(&boottime, CLOCK_BOOTTIME, span);
	read_crowd(&monotonic);
	read_crowd(&boottime);
	slept = now_on(CLOCK_BOOTTIME) - now_ns();
	ok = suspend(seconds);
	slept = now_on(CLOCK_BOOTTIME) - now_ns() - slept;
	tap_result(ok && slept > span / 2, "suspended (%llu ms)",
		   (unsigned long long)slept / 1000000);
	tap_result(catches_up(&boottime) && boottime.read > 5000,
		   "CLOCK_BOOTTIME counts suspend: what was due comes on resume, in order");
	tap_result(catches_up(&monotonic) && monotonic.read + 5000 < boottime.read,
		   "CLOCK_MONOTONIC does not");
	while (wait_readable(&monotonic, 3000))
		read_crowd(&monotonic);
	while (wait_readable(&boottime, 3000))
		read_crowd(&boottime);
	tap_result(monotonic.read == COUNT && boottime.read == COUNT && !monotonic.errors &&
		   !boottime.errors, "both go on after it, and lose nothing");
	close(monotonic.fd);
	close(boottime.fd);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("Usage: twheel-time SECONDS\n"
		      "Suspend the machine for this long, and test its timers; print the results\n"
		      "as TAP. Needs root.\n", stderr);
		return 2;
	}
	puts("TAP version 13");
	fflush(stdout);
	test_suspend(number_or_exit("SECONDS", argv[1], 1, 1000));
	return tap_done();
}
