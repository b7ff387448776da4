// SPDX-License-Identifier: MIT
/*
 * The victims of an attack, for twheel-neighbours: see struct suffering
 *
 * They only sleep for a millisecond at a time. The victims are the same for timerfds and
 * wheels.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
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
static struct {
	atomic_bool over;
	atomic_bool nests;
	atomic_ullong sleeper_late;
	atomic_ullong reader_late;
	atomic_ullong gap;
	atomic_ullong taken;
} seen;

static void set_priority(int policy, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, policy, &param))
		bail_out("cannot set the priority");
}

static void note_longest(atomic_ullong *longest, uint64_t ns)
{
	if (ns > *longest)
		*longest = ns;
}

/* The next time at this phase of a period. */
static uint64_t next_time(uint64_t phase)
{
	return (now_ns() / VICTIM_PERIOD + 1) * VICTIM_PERIOD + phase;
}

/* A nested epoll, and the descriptor to add to it. */
struct nest {
	int inner;
	int fd;
};

static struct nest make_nest(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct nest nest = { .inner = epoll_create1(EPOLL_CLOEXEC),
			     .fd = eventfd(0, EFD_CLOEXEC) };
	int outer = epoll_create1(EPOLL_CLOEXEC);

	if (nest.fd < 0 || epoll_ctl(outer, EPOLL_CTL_ADD, nest.inner, &event))
		bail_out("no nested epoll");
	return nest;
}

static void use_nest(const struct nest *nest)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (epoll_ctl(nest->inner, EPOLL_CTL_ADD, nest->fd, &event) ||
	    epoll_ctl(nest->inner, EPOLL_CTL_DEL, nest->fd, &event))
		bail_out("cannot add to a nested epoll");
}

static void *sleeper(void *unused)
{
	static struct nest nest;

	if (!nest.fd)
		nest = make_nest();
	set_priority(SCHED_FIFO, VICTIM_PRIORITY);
	while (!seen.over) {
		uint64_t due = next_time(0);

		sleep_until(due);
		if (seen.nests)
			use_nest(&nest);
		note_longest(&seen.sleeper_late, now_ns() - due);
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
	while (!seen.over) {
		struct twheel_add add = { .time_ns = next_time(READER_PHASE),
					  .flags = TWHEEL_ABSTIME };
		struct twheel_event event;

		if (twheel_add_timer(fd, &add) || twheel_read(fd, &event, 1) != 1)
			bail_out("cannot add and read a timer");
		note_longest(&seen.reader_late, now_ns() - add.time_ns);
	}
	close(fd);
	return unused;
}

/* Detects by the clock that it did not have the CPU. */
static void *spinner(void *unused)
{
	uint64_t before = now_ns();

	while (!seen.over) {
		uint64_t now = now_ns(), gap = now - before;

		if (gap >= OWN_LOOP) {
			note_longest(&seen.gap, gap);
			seen.taken += gap;
		}
		before = now;
	}
	return unused;
}

/* The CPU time of the process; 0 without a process. */
static uint64_t account_of(pid_t pid)
{
	clockid_t clock;
	int error;

	if (!pid)
		return 0;
	error = clock_getcpuclockid(pid, &clock);
	if (error) {
		errno = error;
		bail_out("cannot look at the attacker's account");
	}
	return now_on(clock);
}

static void forget_the_past(void)
{
	seen.sleeper_late = 0;
	seen.reader_late = 0;
	seen.gap = 0;
	seen.taken = 0;
}

/* Sleeps through the attack, and reads the clocks before and after. */
static struct suffering look(const struct ongoing *ongoing, uint64_t window)
{
	uint64_t from, account;

	sleep_until(ongoing->begin - EARLIER);
	forget_the_past();
	from = now_ns();
	account = account_of(ongoing->pid);
	sleep_until(ongoing->begin + window);
	return (struct suffering) {
		.sleeper_late = seen.sleeper_late,
		.reader_late = seen.reader_late,
		.gap = seen.gap,
		.taken = seen.taken,
		.paid = account_of(ongoing->pid) - account,
		.watched = now_ns() - from,
	};
}

/**
 * watch_attack() - measure the impact of an attack on others
 * @ongoing: the attack; with the pid 0, there is none.
 * @window: how long after its start to watch.
 * @nests: see struct attack.
 */
struct suffering watch_attack(const struct ongoing *ongoing, uint64_t window, bool nests)
{
	void *(*const victim[])(void *) = { sleeper, reader, spinner };
	pthread_t thread[ARRAY_SIZE(victim)];
	struct suffering suffering;
	unsigned int i;

	seen.over = false;
	seen.nests = nests;
	sleep_until(ongoing->begin - EARLIER - WARM_UP);
	for (i = 0; i < ARRAY_SIZE(victim); i++) {
		if (pthread_create(&thread[i], NULL, victim[i], NULL))
			bail_out("cannot create a thread");
	}
	set_priority(SCHED_FIFO, WATCHER_PRIORITY);
	suffering = look(ongoing, window);
	set_priority(SCHED_OTHER, 0);
	seen.over = true;
	for (i = 0; i < ARRAY_SIZE(victim); i++)
		pthread_join(thread[i], NULL);
	return suffering;
}
