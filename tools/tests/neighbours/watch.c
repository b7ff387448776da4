// SPDX-License-Identifier: MIT
/*
 * The victims of an attack, for twheel-neighbours: see struct suffering
 *
 * They only sleep for a millisecond at a time. The victims are the same for timerfds and
 * wheels.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "clock.h"
#include "helpers.h"
#include "libtwheel-device.h"
#include "neighbours.h"
#include "tap.h"

/* How much later than the sleeper the reader is due, so that the sleeper does not delay it. */
#define READER_PHASE	(20 * USEC)
/* The time just before the attack is watched as well. */
#define EARLIER		(5 * MSEC)
/* Before that, the victims warm up. */
#define WARM_UP		(5 * MSEC)
/*
 * A task that has the CPU reads the clock twice within this time, and no interrupt is as
 * short: in the icount VM, where an instruction is a nanosecond.
 */
#define OWN_LOOP	500ULL

#define VICTIM_PRIORITY		50
#define WATCHER_PRIORITY	40

/* Written by one thread each, and read by the watcher, which has the highest priority. */
static atomic_ullong seen[FIGURES];
static atomic_bool over;

static void set_priority(int policy, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, policy, &param))
		bail_out("cannot set the priority");
}

static void note_longest(unsigned int figure, uint64_t ns)
{
	if (ns > seen[figure])
		seen[figure] = ns;
}

/* The next time at this phase of a period. */
static uint64_t next_time(uint64_t phase)
{
	return (now_ns() / VICTIM_PERIOD + 1) * VICTIM_PERIOD + phase;
}

static void *sleeper(void *unused)
{
	set_priority(SCHED_FIFO, VICTIM_PRIORITY);
	while (!over) {
		uint64_t due = next_time(0);

		sleep_until(due);
		note_longest(SLEEPER, now_ns() - due);
	}
	return unused;
}

static int open_own_wheel(void)
{
	struct twheel_setup setup = { .tick_ns = USEC, .wheel_size = 256,
				      .clock_id = CLOCK_MONOTONIC };
	int fd = twheel_open(NULL, O_CLOEXEC);

	if (fd < 0 || twheel_set_up(fd, &setup))
		bail_out("cannot make a wheel");
	return fd;
}

static void *reader(void *unused)
{
	int fd = open_own_wheel();

	set_priority(SCHED_FIFO, VICTIM_PRIORITY);
	while (!over) {
		struct twheel_add add = { .time_ns = next_time(READER_PHASE),
					  .flags = TWHEEL_ABSTIME };
		struct twheel_event event;

		if (twheel_add_timer(fd, &add) || twheel_read(fd, &event, 1) != 1)
			bail_out("cannot add and read a timer");
		note_longest(READER, now_ns() - add.time_ns);
	}
	close(fd);
	return unused;
}

/* Detects by the clock that it did not have the CPU. */
static void *spinner(void *unused)
{
	uint64_t before = now_ns();

	while (!over) {
		uint64_t now = now_ns(), gap = now - before;

		if (gap >= OWN_LOOP) {
			note_longest(GAP, gap);
			seen[LOST] += gap;
		}
		before = now;
	}
	return unused;
}

/* The CPU time of the process; 0 without a process. */
static uint64_t account_of(pid_t pid)
{
	clockid_t clock;

	if (!pid)
		return 0;
	if (clock_getcpuclockid(pid, &clock))
		bail_out("cannot look at the attacker's account");
	return now_on(clock);
}

/* Sleep through the attack, and read the clocks before and after. */
static struct suffering look(const struct ongoing *ongoing, uint64_t window)
{
	struct suffering s;
	uint64_t from, account;
	double percent;
	unsigned int i;

	sleep_until(ongoing->begin - EARLIER);
	for (i = 0; i < FIGURES; i++)
		seen[i] = 0;
	from = now_ns();
	account = account_of(ongoing->pid);
	sleep_until(ongoing->begin + window);
	account = account_of(ongoing->pid) - account;
	percent = (now_ns() - from) / 100.0;
	for (i = 0; i < FIGURES; i++)
		s.figure[i] = seen[i] / 1000.0;
	s.figure[PAID] = account / percent;
	s.figure[LOST] = seen[LOST] / percent - s.figure[PAID];
	return s;
}

/**
 * watch_attack() - measure the impact of an attack on others
 * @ongoing: the attack; with the pid 0, there is none.
 * @window: how long after its start to watch.
 */
struct suffering watch_attack(const struct ongoing *ongoing, uint64_t window)
{
	void *(*const victim[])(void *) = { sleeper, reader, spinner };
	pthread_t thread[ARRAY_SIZE(victim)];
	struct suffering suffering;
	unsigned int i;

	over = false;
	sleep_until(ongoing->begin - EARLIER - WARM_UP);
	for (i = 0; i < ARRAY_SIZE(victim); i++) {
		if (pthread_create(&thread[i], NULL, victim[i], NULL))
			bail_out("cannot create a thread");
	}
	set_priority(SCHED_FIFO, WATCHER_PRIORITY);
	suffering = look(ongoing, window);
	set_priority(SCHED_OTHER, 0);
	over = true;
	for (i = 0; i < ARRAY_SIZE(victim); i++)
		pthread_join(thread[i], NULL);
	return suffering;
}
