// SPDX-License-Identifier: MIT
/*
 * twheel-time - timers whose clocks jump
 *
 * The machine is suspended, or paused and continued; the time of day is set; a week
 * passes. Whatever happens, timers expire by their clock, in order, and the books
 * balance. Prints TAP; needs root.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
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

static struct twheel_info info_of(int fd)
{
	struct twheel_info info;

	if (twheel_get_info(fd, &info))
		bail_out("TWHEEL_INFO failed");
	return info;
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

/* Reads a batch at most; returns how many, or -1. */
static int read_some(struct crowd *crowd)
{
	struct twheel_event event[BATCH];
	ssize_t count, i;

	count = twheel_read(crowd->fd, event, BATCH);
	for (i = 0; i < count; i++)
		check_event(crowd, &event[i]);
	return count;
}

/* Reads all events; returns how many. */
static unsigned int read_crowd(struct crowd *crowd)
{
	unsigned int total = 0;
	int count;

	while ((count = read_some(crowd)) > 0)
		total += count;
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

/* ---- Paused and continued ------------------------------------------------- */

/*
 * The host stops the machine when this prints "paused now", and continues it. Inside the
 * machine, only the clock shows that.
 */
static void test_pause(unsigned int seconds)
{
	struct crowd crowd = arm_crowd(CLOCK_MONOTONIC, 100000, 2 * seconds * SEC);
	uint64_t last, now = now_ns(), jump = 0, end = now + 2 * seconds * SEC + 10 * SEC;
	bool ok = false;

	tap_note("paused now");
	while (!jump && now < end) {
		last = now;
		now = now_ns();
		if (now - last > seconds * SEC / 2)
			jump = now - last;
		else
			read_some(&crowd);
	}
	if (jump)
		ok = catches_up(&crowd, "a jump");
	tap_result(jump, "the clock jumped (%llu ms)", (unsigned long long)jump / 1000000);
	tap_result(ok, "what was due comes after it, in order");
	while (crowd.read < crowd.count && wait_readable(crowd.fd, 10000))
		read_crowd(&crowd);
	tap_result(crowd.read == crowd.count && !crowd.errors,
		   "and the rest when it is due (%u timers)", crowd.read);
	drop_crowd(&crowd);
}

/* ---- The time of day is set ---------------------------------------- */

static void test_set_time(int64_t change_ns, clockid_t clock, const char *what)
{
	struct crowd crowd = arm_crowd(clock, 5000, SEC);
	uint64_t late;
	bool set;

	sleep_for(SEC + 300 * MSEC);
	read_crowd(&crowd);
	set = set_time_of_day(change_ns);
	if (!set)
		tap_note("cannot set the time: %s", strerror(errno));
	while (crowd.read < crowd.count && wait_readable(crowd.fd, 3000))
		read_crowd(&crowd);
	late = now_on(clock) - crowd.last_tick * CROWD_TICK;
	tap_result(set && crowd.read == crowd.count && !crowd.errors && late < LATE,
		   "%s changes nothing on %s", what,
		   clock == CLOCK_MONOTONIC ? "CLOCK_MONOTONIC" : "CLOCK_BOOTTIME");
	set_time_of_day(-change_ns);
	drop_crowd(&crowd);
}

static void test_set_times(void)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		test_set_time(10 * YEAR, clocks[i], "ten years forward");
		test_set_time(-(int64_t)(2 * YEAR), clocks[i], "two years back");
		test_set_time(-(int64_t)(300 * MSEC), clocks[i], "a moment back");
	}
}

/* ---- A long time ---------------------------------------------------------- */

#define WEEK_TIMERS	100000
#define WEEK_TICK	(10 * MSEC)

struct week {
	int fd;
	struct chance chance;
	uint64_t id[WEEK_TIMERS];
	uint64_t deadline[WEEK_TIMERS];
	uint64_t added, cancelled, delivered, modified;
	uint64_t latest;		/* the maximum lateness */
	unsigned int errors;
};

/* Most on a full minute, so that many share a wake-up. */
static uint64_t any_deadline(struct week *week, uint64_t now)
{
	uint64_t deadline = now + chance_below(&week->chance, DAY);

	if (chance_hit(&week->chance, 95))
		deadline += MINUTE - deadline % MINUTE;
	return deadline;
}

static void week_error(struct week *week, const char *what, unsigned int slot)
{
	if (!week->errors++)
		tap_note("%s timer %u: %s", what, slot, strerror(errno));
}

/* Add timers to free slots. */
static void refill(struct week *week, const unsigned int *slot, unsigned int count)
{
	struct twheel_add add[BATCH];
	uint64_t now = now_ns();
	unsigned int i;

	for (i = 0; i < count; i++) {
		week->deadline[slot[i]] = any_deadline(week, now);
		add[i] = (struct twheel_add) {
			.time_ns = week->deadline[slot[i]],
			.data = slot[i],
			.flags = TWHEEL_ABSTIME,
		};
	}
	if (twheel_add_batch(week->fd, add, count) != (int)count)
		bail_out("cannot add timers");
	for (i = 0; i < count; i++)
		week->id[slot[i]] = add[i].id;
	week->added += count;
}

/* Modify some timers, and replace others. */
static void change_some(struct week *week, unsigned int count)
{
	unsigned int slot;

	for (; count; count--) {
		slot = chance_below(&week->chance, WEEK_TIMERS);
		if (chance_hit(&week->chance, 50)) {
			if (twheel_cancel_timer(week->fd, week->id[slot]))
				week_error(week, "cannot cancel", slot);
			week->cancelled++;
			refill(week, &slot, 1);
		} else {
			week->deadline[slot] = any_deadline(week, now_ns());
			if (twheel_modify_timer(week->fd, week->id[slot], week->deadline[slot],
						TWHEEL_ABSTIME))
				week_error(week, "cannot modify", slot);
			week->modified++;
		}
	}
}

static void week_events(struct week *week, const struct twheel_event *event, unsigned int count)
{
	uint64_t now = now_ns();
	unsigned int slot[BATCH], i;

	for (i = 0; i < count; i++) {
		slot[i] = event[i].data;
		if (slot[i] >= WEEK_TIMERS)
			bail_out("an event has data %u", slot[i]);
		if (event[i].id != week->id[slot[i]] || event[i].deadline_ns > now ||
		    event[i].deadline_ns != week->deadline[slot[i]])
			week_error(week, "not expected:", slot[i]);
		if (now - event[i].deadline_ns > week->latest)
			week->latest = now - event[i].deadline_ns;
	}
	week->delivered += count;
	refill(week, slot, count);
}

static void live_until(struct week *week, uint64_t end)
{
	struct twheel_event event[BATCH];
	ssize_t count;

	while (now_ns() < end) {
		if (!wait_readable(week->fd, 3600 * 1000))
			continue;
		count = twheel_read(week->fd, event, BATCH);
		if (count <= 0)
			continue;
		week_events(week, event, count);
		change_some(week, count);
	}
}

static bool week_balances(const struct week *week, const struct twheel_info *info)
{
	return info->added == week->added && info->cancelled == week->cancelled &&
	       info->delivered == week->delivered && info->modified == week->modified &&
	       info->pending + info->expired == WEEK_TIMERS && !week->errors;
}

static void begin_week(struct week *week)
{
	unsigned int slot[BATCH], i, n;

	chance_init(&week->chance, 1, 0);
	week->fd = open_wheel(CLOCK_MONOTONIC, WEEK_TICK, 256);
	for (i = 0; i < WEEK_TIMERS; i += n) {
		for (n = 0; n < BATCH && i + n < WEEK_TIMERS; n++)
			slot[n] = i + n;
		refill(week, slot, n);
	}
}

static void test_week(unsigned int hours)
{
	static struct week week;
	uint64_t begin = now_ns(), first_memory = 0;
	struct twheel_info info = { };
	bool balanced = true;
	unsigned int hour;

	begin_week(&week);
	for (hour = 6; hour < hours + 6; hour += 6) {
		if (hour > hours)
			hour = hours;
		live_until(&week, begin + hour * HOUR);
		info = info_of(week.fd);
		balanced = balanced && week_balances(&week, &info);
		/* After six hours, the memory is at its steady level. */
		if (hour == 6)
			first_memory = info.memory;
		if (hour % 24 == 0)
			tap_note("day %u: %llu expired, %llu cascaded, %llu fires, %llu bytes",
				 hour / 24, info.delivered, info.cascaded, info.fires,
				 info.memory);
	}
	tap_result(balanced, "after %u hours the books of %llu timers balance", hours,
		   (unsigned long long)week.added);
	tap_result(info.memory <= first_memory + first_memory / 50,
		   "and the wheel takes the memory it took (%llu, now %llu bytes)",
		   (unsigned long long)first_memory, info.memory);
	tap_result(week.latest < WEEK_TICK + 5 * MSEC, "no event was later than %llu us",
		   (unsigned long long)week.latest / 1000);
	close(week.fd);
}

/* ---- main ----------------------------------------------------------------- */

static void usage(FILE *out)
{
	fputs("Usage: twheel-time suspend SECONDS | pause SECONDS | set | long HOURS\n"
	      "Test timers whose clocks jump; print the results as TAP. Needs root.\n"
	      "  suspend SECONDS  suspend the machine\n"
	      "  pause SECONDS    print \"paused now\", and expect to be stopped for that long\n"
	      "  set              set the time of day by years\n"
	      "  long HOURS       100,000 timers come and go; for the counting machine\n", out);
}

int main(int argc, char **argv)
{
	const char *test = argc > 1 ? argv[1] : "";
	unsigned int number;

	if (!strcmp(test, "--help")) {
		usage(stdout);
		return 0;
	}
	if (argc == 2 && !strcmp(test, "set")) {
		puts("TAP version 13");
		test_set_times();
		return tap_done();
	}
	if (argc != 3) {
		usage(stderr);
		return 2;
	}
	number = number_or_exit(test, argv[2], 1, 1000000);
	puts("TAP version 13");
	fflush(stdout);
	if (!strcmp(test, "suspend")) {
		test_suspend(number);
	} else if (!strcmp(test, "pause")) {
		test_pause(number);
	} else if (!strcmp(test, "long")) {
		test_week(number);
	} else {
		usage(stderr);
		return 2;
	}
	return tap_done();
}
