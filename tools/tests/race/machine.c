// SPDX-License-Identifier: MIT
/*
 * Races against the machine: a CPU goes offline with the hrtimer that is armed on it, and
 * the module is unloaded, or refuses, while others open its device
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
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

/* Something that happens again and again during a race */
struct disturbance {
	void (*happen)(struct chance *chance);
	struct chance chance;
	atomic_bool stop;
	unsigned int times;
};

static void *disturb(void *arg)
{
	struct disturbance *disturbance = arg;

	for (; !disturbance->stop; disturbance->times++)
		disturbance->happen(&disturbance->chance);
	return NULL;
}

/* The race of all against all while something happens. */
static void race_while(const struct race_options *options, void (*happen)(struct chance *chance),
		       const char *about)
{
	struct disturbance disturbance = { .happen = happen };
	pthread_t thread;

	chance_init(&disturbance.chance, options->seed, 0);
	if (pthread_create(&thread, NULL, disturb, &disturbance))
		bail_out("cannot create a thread");
	race_mayhem(options);
	disturbance.stop = true;
	pthread_join(thread, NULL);
	tap_result(disturbance.times, "%s during that (%u times)", about, disturbance.times);
}

/* ---- A CPU goes away ------------------------------------------------------ */

static void set_cpu1(bool online)
{
	/* The kernel may be busy with hotplug for a moment. */
	while (!write_line(CPU1_ONLINE, online ? "1" : "0")) {
		if (errno != EBUSY)
			bail_out("cannot write to " CPU1_ONLINE);
	}
}

static void run_on(int cpu, int cpus)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (; cpus; cpus--)
		CPU_SET(cpu++, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		bail_out("cannot choose a CPU");
}

/* Arms timers on CPU 1 and takes it away before they expire; returns how late. */
static bool lose_cpu(struct chance *chance, uint64_t *late)
{
	struct twheel_setup setup = { .tick_ns = 100 * USEC, .wheel_size = 10,
				      .clock_id = CLOCK_MONOTONIC };
	struct twheel_add add[3] = {
		{ .time_ns = MSEC + chance_below(chance, 5 * MSEC), .data = 0 },
		{ .time_ns = 30 * MSEC + chance_below(chance, 50 * MSEC), .data = 1 },
		{ .time_ns = 100 * MSEC, .interval_ns = 10 * MSEC, .data = 2 },
	};
	struct twheel_event event;
	int fd = twheel_open(NULL, O_CLOEXEC);
	unsigned int i;
	bool ok = true;

	if (fd < 0 || twheel_set_up(fd, &setup))
		bail_out("cannot open " TWHEEL_DEVICE);
	run_on(1, 1);
	if (twheel_add_batch(fd, add, 3) != 3)
		bail_out("cannot add timers");
	run_on(0, 1);
	set_cpu1(false);
	for (i = 0; i < 6 && ok; i++) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };

		ok = poll(&pfd, 1, 5000) == 1 && twheel_read(fd, &event, 1) == 1 &&
		     event.data == (i < 2 ? i : 2) && event.deadline_ns <= now_ns();
		if (ok && now_ns() - event.deadline_ns > *late)
			*late = now_ns() - event.deadline_ns;
	}
	set_cpu1(true);
	close(fd);
	return ok;
}

static void flip_cpu(struct chance *chance)
{
	set_cpu1(false);
	sleep_for(chance_below(chance, MSEC));
	set_cpu1(true);
}

void race_hotplug(const struct race_options *options)
{
	unsigned int i, rounds = options->ops / 5000 + 3;
	struct chance chance;
	uint64_t late = 0;
	bool ok = true;

	if (access(CPU1_ONLINE, W_OK)) {
		tap_skip("needs root, and a second CPU that can go off", "a CPU goes off");
		return;
	}
	chance_init(&chance, options->seed, 0);
	for (i = 0; i < rounds && ok; i++)
		ok = lose_cpu(&chance, &late);
	run_on(0, 2);
	tap_note("an event was late by %llu us at most", (unsigned long long)late / 1000);
	tap_result(ok, "the CPU that holds the timer goes off (%u times)", i);
	race_while(options, flip_cpu, "a CPU went off and on");
}

/* ---- The time of day is set ----------------------------------------------- */

/* By nanoseconds or by years, forward and roughly back. */
static void set_to_and_fro(struct chance *chance)
{
	static const int64_t change[] = { 1, USEC, 3 * MSEC, SEC, HOUR, 10 * YEAR };
	int64_t by = change[chance_below(chance, ARRAY_SIZE(change))];

	if (chance_hit(chance, 50))
		by = -by;
	if (!set_time_of_day(by))
		bail_out("cannot set the time of day");
	sleep_for(chance_below(chance, 3 * MSEC));
	set_time_of_day(-by);
	sleep_for(chance_below(chance, 10 * MSEC));
}

void race_set_clock(const struct race_options *options)
{
	struct race_options wall = *options;

	if (!set_time_of_day(0)) {
		tap_skip("needs root", "the time of day is set");
		return;
	}
	wall.wall = true;
	race_while(&wall, set_to_and_fro, "the time of day was set to and fro");
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
