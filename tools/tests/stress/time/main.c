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
#include "libtwheel.h"
#include "machine.h"
#include "options.h"
#include "tap.h"

#define WAKEALARM	"/sys/class/rtc/rtc0/wakealarm"
#define STATE		"/sys/power/state"

#define BATCH		256
/* How late a reader may get an event, even on a busy host. */
#define LATE		(2 * SEC)

static int open_wheel(clockid_t clock, uint64_t tick, uint32_t size)
{
	struct twheel_setup setup = { .tick_ns = tick, .wheel_size = size, .clock_id = clock };
	int fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || twheel_set_up(fd, &setup))
		bail_out("cannot open " TWHEEL_DEVICE);
	return fd;
}

static bool wait_readable(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, timeout_ms) == 1;
}

/* ---- Many timers that must all come, in order ----------------------------- */

#define CROWD_TICK	MSEC

struct crowd {
	int fd;
	clockid_t clock;
	unsigned int count;
	uint64_t *deadline;	/* by the timer's data; 0 once it was read */
	uint64_t last_tick;	/* of the last event */
	unsigned int read;
	unsigned int errors;
};

/* Arms @count timers, which are due within @span from now. */
static struct crowd arm_crowd(clockid_t clock, unsigned int count, uint64_t span)
{
	struct crowd crowd = { .clock = clock, .count = count };
	uint64_t begin;
	struct chance chance;
	unsigned int i;

	crowd.fd = open_wheel(clock, CROWD_TICK, 64);
	crowd.deadline = calloc(count, sizeof(*crowd.deadline));
	if (!crowd.deadline)
		bail_out("no memory for %u timers", count);
	chance_init(&chance, count, clock);
	begin = now_on(clock) + SEC;
	for (i = 0; i < count; i++) {
		struct twheel_add add = { .data = i, .flags = TWHEEL_ABSTIME };

		crowd.deadline[i] = begin + chance_below(&chance, span);
		add.time_ns = crowd.deadline[i];
		if (twheel_add_timer(crowd.fd, &add))
			bail_out("cannot add a timer");
	}
	return crowd;
}

static void drop_crowd(struct crowd *crowd)
{
	close(crowd->fd);
	free(crowd->deadline);
}

static void check_event(struct crowd *crowd, const struct twheel_event *event)
{
	uint64_t tick = (event->deadline_ns + CROWD_TICK - 1) / CROWD_TICK;

	if (event->data >= crowd->count || crowd->deadline[event->data] != event->deadline_ns ||
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

/* Read all events; return how many. */
static unsigned int read_crowd(struct crowd *crowd)
{
	struct twheel_event event[BATCH];
	unsigned int total = 0;
	int count, i;

	while ((count = twheel_read(crowd->fd, event, BATCH)) > 0) {
		for (i = 0; i < count; i++)
			check_event(crowd, &event[i]);
		total += count;
	}
	return total;
}

/* Timers that were due at a time, and have not been read. */
static unsigned int missing(const struct crowd *crowd, uint64_t when)
{
	unsigned int i, count = 0;

	for (i = 0; i < crowd->count; i++)
		count += crowd->deadline[i] && crowd->deadline[i] + CROWD_TICK <= when;
	return count;
}

/* Right after a jump: everything that is due comes at once. */
static bool catches_up(struct crowd *crowd, const char *what)
{
	uint64_t began = now_on(crowd->clock), took;
	unsigned int due = missing(crowd, began), got = 0;

	do {
		if (!wait_readable(crowd->fd, due ? 1000 : 0))
			break;
		got += read_crowd(crowd);
		took = now_on(crowd->clock) - began;
	} while (missing(crowd, began) && took < LATE);
	took = now_on(crowd->clock) - began;
	tap_note("%s: %u timers were due, read within %llu us, in which %u more came", what, due,
		 (unsigned long long)took / 1000, got > due ? got - due : 0);
	return !missing(crowd, began) && !crowd->errors;
}

/* ---- Suspend -------------------------------------------------------------- */

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
	uint64_t span = seconds * SEC, slept;
	struct crowd monotonic, boottime;
	bool ok;

	if (!can_suspend()) {
		tap_skip("this machine cannot be suspended", "suspend");
		return;
	}
	monotonic = arm_crowd(CLOCK_MONOTONIC, 20000, span);
	boottime = arm_crowd(CLOCK_BOOTTIME, 20000, span);
	read_crowd(&monotonic);
	read_crowd(&boottime);
	slept = now_on(CLOCK_BOOTTIME) - now_ns();
	ok = suspend(seconds);
	slept = now_on(CLOCK_BOOTTIME) - now_ns() - slept;
	tap_result(ok && slept > span / 2, "suspended (%llu ms)",
		   (unsigned long long)slept / 1000000);
	tap_result(catches_up(&boottime, "CLOCK_BOOTTIME") && boottime.read > 5000,
		   "CLOCK_BOOTTIME counts suspend: what was due comes on resume, in order");
	tap_result(catches_up(&monotonic, "CLOCK_MONOTONIC") &&
		   monotonic.read + 5000 < boottime.read,
		   "CLOCK_MONOTONIC does not");
	while (wait_readable(monotonic.fd, 3000))
		read_crowd(&monotonic);
	while (wait_readable(boottime.fd, 3000))
		read_crowd(&boottime);
	tap_result(monotonic.read == 20000 && boottime.read == 20000 && !monotonic.errors &&
		   !boottime.errors, "both go on after it, and lose nothing");
	drop_crowd(&monotonic);
	drop_crowd(&boottime);
}

/* ---- main ----------------------------------------------------------------- */

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
