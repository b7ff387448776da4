// SPDX-License-Identifier: MIT
/*
 * Races against the machine: it is suspended, its time of day is set, and the module is unloaded,
 * or refuses, while others open its device
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "chance.h"
#include "clock.h"
#include "libtwheel-device.h"
#include "machine.h"
#include "race.h"
#include "tap.h"

#define CPU1_ONLINE	"/sys/devices/system/cpu/cpu1/online"

/* ---- The machine is suspended --------------------------------------------- */

#define WAKEALARM	"/sys/class/rtc/rtc0/wakealarm"
#define STATE		"/sys/power/state"
/* Timers a tick apart, for as long as the machine is suspended. */
#define TICK		(250 * USEC)
#define CROWD		20000
#define SECONDS		(CROWD * TICK / SEC)
/* How late a reader may get an event, even on a busy host. */
#define LATE		(2 * SEC)

/* Timers that must all come, in order: each has its number. */
struct crowd {
	clockid_t clock;
	int fd;
	uint64_t begin;		/* when the first one is due */
	unsigned int read;
	bool wrong;
};

static void arm(struct crowd *crowd)
{
	struct twheel_setup setup = { .tick_ns = TICK, .wheel_size = 64,
				      .clock_id = crowd->clock };
	unsigned int i;

	crowd->begin = (now_on(crowd->clock) + SEC) / TICK * TICK;
	crowd->fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);
	if (crowd->fd < 0 || twheel_set_up(crowd->fd, &setup))
		bail_out("cannot open " TWHEEL_DEVICE);
	for (i = 0; i < CROWD; i++) {
		struct twheel_add add = { .data = i, .time_ns = crowd->begin + i * TICK,
					  .flags = TWHEEL_ABSTIME };

		if (twheel_add_timer(crowd->fd, &add))
			bail_out("cannot add a timer");
	}
}

/* Read what comes until so many have been read, or nothing has come for a while. */
static void read_crowd(struct crowd *crowd, unsigned int until)
{
	struct pollfd pfd = { .fd = crowd->fd, .events = POLLIN };
	struct twheel_event event[256];
	int count, i;

	while (crowd->read < until && poll(&pfd, 1, LATE / MSEC) == 1) {
		count = twheel_read(crowd->fd, event, ARRAY_SIZE(event));
		for (i = 0; i < count; i++, crowd->read++)
			crowd->wrong |= event[i].data != crowd->read ||
					event[i].deadline_ns != crowd->begin + crowd->read * TICK ||
					event[i].deadline_ns > now_on(crowd->clock);
	}
}

/* CLOCK_BOOTTIME jumps, CLOCK_MONOTONIC does not: timers expire by their clock. */
void race_suspend(const struct race_options *options)
{
	struct crowd crowd[] = { { .clock = CLOCK_BOOTTIME }, { .clock = CLOCK_MONOTONIC } };
	uint64_t slept, now, due;
	char text[64];
	unsigned int i;
	bool ok;

	if (!read_line(STATE, text, sizeof(text)) || !strstr(text, "mem") ||
	    !write_line(WAKEALARM, "0")) {
		tap_skip("needs root, and a machine that can be suspended", "suspend");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(crowd); i++)
		arm(&crowd[i]);
	snprintf(text, sizeof(text), "+%llu", SECONDS);
	slept = now_on(CLOCK_BOOTTIME) - now_ns();
	ok = write_line(WAKEALARM, text) && write_line(STATE, "mem");
	slept = now_on(CLOCK_BOOTTIME) - now_ns() - slept;
	tap_result(ok && slept > SECONDS * SEC / 2, "suspended (%llu ms)",
		   (unsigned long long)slept / MSEC);
	for (i = 0; i < ARRAY_SIZE(crowd); i++) {
		now = now_on(crowd[i].clock);
		due = now < crowd[i].begin ? 0 : (now - crowd[i].begin) / TICK;
		read_crowd(&crowd[i], due < CROWD ? due : CROWD);
		ok = now_on(crowd[i].clock) < now + LATE;
		read_crowd(&crowd[i], CROWD);
		tap_result(ok && crowd[i].read == CROWD && !crowd[i].wrong,
			   "all timers of clock %d come by it, in order, and what is due at once",
			   crowd[i].clock);
		close(crowd[i].fd);
	}
}

/* ---- The time of day is set ----------------------------------------------- */

/* By nanoseconds or by years, forward and roughly back, until the race is over. */
struct setter {
	struct chance chance;
	atomic_bool stop;
	unsigned int times;
};

static void *set_to_and_fro(void *arg)
{
	static const int64_t change[] = { 1, USEC, 3 * MSEC, SEC, HOUR, 10 * YEAR };
	struct setter *setter = arg;
	struct chance *chance = &setter->chance;

	for (; !setter->stop; setter->times++) {
		int64_t by = change[chance_below(chance, ARRAY_SIZE(change))];

		if (chance_hit(chance, 50))
			by = -by;
		if (!set_time_of_day(by))
			bail_out("cannot set the time of day");
		sleep_for(chance_below(chance, 3 * MSEC));
		set_time_of_day(-by);
		sleep_for(chance_below(chance, 10 * MSEC));
	}
	return NULL;
}

void race_set_clock(const struct race_options *options)
{
	struct race_options wall = *options;
	struct setter setter = { };
	pthread_t thread;

	if (!set_time_of_day(0)) {
		tap_skip("needs root", "the time of day is set");
		return;
	}
	wall.wall = true;
	chance_init(&setter.chance, options->seed, 0);
	if (pthread_create(&thread, NULL, set_to_and_fro, &setter))
		bail_out("cannot create a thread");
	race_mayhem(&wall);
	setter.stop = true;
	pthread_join(thread, NULL);
	tap_result(setter.times, "the time of day was set to and fro during that (%u times)",
		   setter.times);
}

/* ---- The module goes away ------------------------------------------------- */

/*
 * The maximum pause of the openers. For unloading to sometimes succeed and sometimes be
 * refused, it depends on the machine and its kernel.
 */
#define LEAVE_ALONE	(100 * USEC)
#define LEAVE_ALONE_MAX	(100 * MSEC)
#define PATIENCE	(60 * SEC)

struct unload_race {
	atomic_bool stop;
	atomic_ullong leave_alone;
	atomic_uint opened, missed, errors;
};

/* While the device is open, its wheel works. */
static void use_wheel(struct unload_race *race, int fd)
{
	struct twheel_add due = { }, later = { .time_ns = 50 * USEC };
	struct twheel_event event;

	if (twheel_add_timer(fd, &later) || twheel_add_timer(fd, &due) ||
	    twheel_read(fd, &event, 1) != 1 ||
	    (event.id != due.id && event.id != later.id))
		race->errors++;
}

static void *open_wheels(void *arg)
{
	struct unload_race *race = arg;

	while (!race->stop) {
		int fd = twheel_open(NULL, O_CLOEXEC);

		if (fd >= 0) {
			race->opened++;
			use_wheel(race, fd);
			close(fd);
			sleep_for(race->leave_alone);
		} else if (errno == ENOENT || errno == ENXIO || errno == ENODEV) {
			race->missed++;
			sleep_for(50 * USEC);
		} else {
			race->errors++;
		}
	}
	return NULL;
}

/* Returns whether it was unloaded; it may be in use. */
static bool try_unload(struct unload_race *race)
{
	if (!syscall(SYS_delete_module, "twheel", O_NONBLOCK)) {
		race->leave_alone = LEAVE_ALONE;
		return true;
	}
	if (errno != EWOULDBLOCK)
		race->errors++;
	if (race->leave_alone < LEAVE_ALONE_MAX)
		race->leave_alone += race->leave_alone / 4;
	return false;
}

void race_unload(const struct race_options *options)
{
	unsigned int i, unloaded = 0, refused = 0, rounds = options->ops / 1000 + 10;
	struct unload_race race = { .leave_alone = LEAVE_ALONE };
	uint64_t end = now_ns() + PATIENCE;
	struct chance chance;
	pthread_t thread[2];
	int module;

	if (!options->module) {
		/* SECURITY: unloading */
		tap_skip("needs root and --module", "unloading against open");
		return;
	}
	chance_init(&chance, options->seed, 0);
	module = open(options->module, O_RDONLY | O_CLOEXEC);
	for (i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, open_wheels, &race);
	/* Continue until unloading has both succeeded and been refused. */
	for (i = 0; i < rounds || ((!unloaded || !refused) && now_ns() < end); i++) {
		sleep_for(chance_below(&chance, MSEC));
		if (!try_unload(&race)) {
			refused++;
			continue;
		}
		unloaded++;
		if (syscall(SYS_finit_module, module, "", 0))
			bail_out("cannot load the module again");
	}
	race.stop = true;
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	tap_note("unloaded %u times, refused %u times, opened %u times, missed %u times",
		 unloaded, refused, race.opened, race.missed);
	tap_result(unloaded && refused && race.opened && !race.errors,
		   "unloading against open (%u times)", unloaded + refused);
}
