// SPDX-License-Identifier: MIT
/*
 * The attacker of twheel-neighbours: a process of an unprivileged user
 *
 * The same attack is made with timerfds and with wheels: as many timers, due at the same
 * times, read in the same way or not at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aio.h"
#include "clock.h"
#include "libtwheel-device.h"
#include "machine.h"
#include "neighbours.h"
#include "tap.h"

/* The limit that systemd sets for a user. */
#define MAX_FDS		524288
/* The time from arming the first timer to its expiry, and for each timer in addition. */
#define PREPARATION	(2 * SEC)
#define ARMING		(20 * USEC)
/* The attack begins just before the victims are due, so that they wait for all of it. */
#define AHEAD_OF_OTHERS	(5 * USEC)
/* How many descriptors to take from an epoll at a time, and events from a wheel. */
#define READY_EVENTS	256
#define EVENTS		20000
/* How many timers of a wheel an attack modifies or cancels at most. */
#define CHANGES		8000
/* Longer than any attack takes. */
#define ALARM_SECONDS	120

/* The process that makes an attack */
struct attacker {
	const struct attack *attack;
	bool wheels;		/* with wheels, instead of timerfds */
	unsigned int timers;	/* of each descriptor */
	unsigned int nr_fds;
	int *fd;
	int epoll;		/* with all of them, for attacks that need it */
	struct twheel_add *add;	/* the timers of all descriptors, one after the other */
	bool armed;		/* the timers are in the wheels */
	int ticker;		/* the timerfd of ACT_TICK... */
	uint64_t tick;		/* ... and when it is due */
	uint64_t end;		/* when watching ends */
};

/* Shared memory: the attacker's process is ready; when it begins; how late its own loop was. */
static struct {
	atomic_bool ready;
	uint64_t begin;
	uint64_t late;
} *message;

/* ---- timerfds ------------------------------------------------------------- */

static void timerfd_set(int fd, uint64_t when, uint64_t interval)
{
	struct itimerspec spec = { .it_value = timespec_of(when),
				   .it_interval = timespec_of(interval) };

	if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL))
		bail_out("cannot set a timerfd");
}

static void timerfd_drain(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		bail_out("cannot read a timerfd");
}

/* ---- Wheels --------------------------------------------------------------- */

/* The ring of the only wheel that has one. */
static struct twheel_ring_view ring;

static int wheel_open(const struct attack *attack)
{
	struct twheel_setup setup = { .tick_ns = USEC, .wheel_size = attack->size,
				      .clock_id = CLOCK_MONOTONIC };
	int fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && twheel_set_up(fd, &setup))
		bail_out("cannot set up a wheel");
	if (fd >= 0 && attack->slots && twheel_ring_map(fd, attack->slots, &ring))
		bail_out("cannot map a ring");
	return fd;
}

static void wheel_arm(const struct attacker *a, int fd, struct twheel_add *add)
{
	static struct twheel_modify modify[CHANGES];
	unsigned int i;

	if (!a->armed) {
		if (twheel_add_batch(fd, add, a->timers) != (int)a->timers)
			bail_out("cannot add timers");
		return;
	}
	for (i = 0; i < a->timers; i++) {
		modify[i].id = add[i].id;
		modify[i].time_ns = add[i].time_ns;
		modify[i].flags = TWHEEL_ABSTIME;
	}
	if (twheel_modify_batch(fd, modify, NULL, a->timers) != (int)a->timers)
		bail_out("cannot modify timers");
}

static void wheel_disarm(const struct attacker *a, int fd, const struct twheel_add *add)
{
	static uint64_t id[CHANGES];
	unsigned int i;

	for (i = 0; i < a->timers; i++)
		id[i] = add[i].id;
	if (twheel_cancel_batch(fd, id, NULL, a->timers) != (int)a->timers)
		bail_out("cannot cancel timers");
}

static void wheel_drain(int fd)
{
	static struct twheel_event event[EVENTS];
	size_t count;

	if (!ring.ring) {
		if (twheel_read(fd, event, EVENTS) < 0 && errno != EAGAIN)
			bail_out("cannot read a wheel");
		return;
	}
	/* There are two pieces if the events wrap around the end. */
	while (twheel_ring_peek(&ring, &count))
		twheel_ring_consume(&ring, count);
}

/* ---- The acts ------------------------------------------------------------- */

static void open_all(struct attacker *a)
{
	unsigned int i;

	for (i = 0; i < a->nr_fds; i++) {
		a->fd[i] = a->wheels ? wheel_open(a->attack) :
			   timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
		if (a->fd[i] < 0)
			bail_out("cannot open number %u of the descriptors", i);
	}
}

static void close_all(struct attacker *a)
{
	unsigned int i;

	for (i = 0; i < a->nr_fds; i++)
		close(a->fd[i]);
	a->armed = false;
}

/* Arm timers a step apart: the first ones of all descriptors, then the second ones. */
static void arm_all(struct attacker *a, uint64_t first)
{
	unsigned int fd, i;

	for (fd = 0; fd < a->nr_fds; fd++) {
		for (i = 0; i < a->timers; i++) {
			struct twheel_add *add = &a->add[fd * a->timers + i];

			add->time_ns = first + ((uint64_t)i * a->nr_fds + fd) * a->attack->step;
			add->interval_ns = a->attack->interval;
			add->flags = TWHEEL_ABSTIME;
		}
	}
	for (fd = 0; fd < a->nr_fds; fd++) {
		if (a->wheels)
			wheel_arm(a, a->fd[fd], a->add + fd * a->timers);
		else
			timerfd_set(a->fd[fd], a->add[fd].time_ns, a->attack->interval);
	}
	a->armed = true;
}

static void disarm_all(struct attacker *a)
{
	unsigned int fd;

	for (fd = 0; fd < a->nr_fds; fd++) {
		if (a->wheels)
			wheel_disarm(a, a->fd[fd], a->add + fd * a->timers);
		else
			timerfd_set(a->fd[fd], 0, 0);
	}
	a->armed = false;
}

static void drain(const struct attacker *a, int fd)
{
	if (a->wheels)
		wheel_drain(fd);
	else
		timerfd_drain(fd);
}

/* Read all timers, which have expired. */
static void read_all(struct attacker *a)
{
	unsigned int fd;

	for (fd = 0; fd < a->nr_fds; fd++)
		drain(a, a->fd[fd]);
	a->armed = false;
}

/* Write valid slots, the one after the last, and invalid ones to the head of the ring. */
static void spoil(void)
{
	static uint32_t n;
	uint32_t head = ++n % 4 ? n % (ring.slots + 1) : -n;

	if (ring.ring)
		__atomic_store_n(&ring.ring->head, head, __ATOMIC_RELEASE);
}

static void watch_fd(struct attacker *a, int fd, int timer)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = timer };

	if (fd < 0 || epoll_ctl(a->epoll, EPOLL_CTL_ADD, fd, &event))
		bail_out("cannot put descriptors into an epoll");
}

static void note_tick(struct attacker *a)
{
	uint64_t now = now_ns();

	if (a->tick && now - a->tick > message->late)
		message->late = now - a->tick;
	a->tick = now + MSEC;
	timerfd_set(a->ticker, a->tick, 0);
}

static void poll_all(struct attacker *a, bool read)
{
	struct epoll_event event[READY_EVENTS];
	int i, n = epoll_wait(a->epoll, event, READY_EVENTS, read);

	if (n < 0)
		bail_out("epoll_wait() failed");
	for (i = 0; read && i < n; i++) {
		if (event[i].data.fd == a->ticker)
			note_tick(a);
		else
			drain(a, event[i].data.fd);
	}
}

static void act(struct attacker *a)
{
	const enum act act = a->attack->act;

	if (act & ACT_TICK)
		note_tick(a);
	if (act & ACT_DISARM)
		disarm_all(a);
	while (now_ns() < a->end) {
		if (act & ACT_CLOSE)
			close_all(a);
		if (act & ACT_OPEN)
			open_all(a);
		if (act & ACT_ARM)
			arm_all(a, now_ns() + a->attack->ahead);
		if (act & ACT_DISARM)
			disarm_all(a);
		if (act & ACT_SPOIL)
			spoil();
		if (act & (ACT_POLL | ACT_READ))
			poll_all(a, act & ACT_READ);
		if (act & ACT_READ_ALL)
			read_all(a);
	}
}

/* ---- The attacker's process ----------------------------------------------- */

/* Otherwise missing pages would be brought in while the attacker is watched. */
static void *array(size_t n, size_t size)
{
	void *memory = malloc(n * size);

	if (!memory)
		bail_out("no memory");
	return memset(memory, 0, n * size);
}

static void equip(struct attacker *a)
{
	const struct attack *attack = a->attack;
	size_t timers = (size_t)attack->wheels * attack->timers;
	aio_context_t context = 0;
	unsigned int fd, i;

	a->timers = a->wheels ? attack->timers : 1;
	a->nr_fds = a->wheels || attack->aio ? attack->wheels : timers;
	a->fd = array(a->nr_fds, sizeof(*a->fd));
	a->add = array(timers, sizeof(*a->add));
	open_all(a);
	a->epoll = epoll_create1(EPOLL_CLOEXEC);
	a->ticker = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (attack->act & ACT_TICK)
		watch_fd(a, a->ticker, a->ticker);
	if (attack->aio)
		context = aio_open(a->nr_fds);
	for (fd = 0; fd < a->nr_fds; fd++) {
		/* A duplicate leads to the same timers. */
		for (i = 0; i < attack->dups; i++)
			watch_fd(a, i ? dup(a->fd[fd]) : a->fd[fd], a->fd[fd]);
		if (attack->aio && !aio_poll(context, a->fd[fd]))
			bail_out("no poll of aio");
	}
}

/* Arms the timers; returns the time at which the attack begins. */
static uint64_t prepare(struct attacker *a, uint64_t phase)
{
	uint64_t preparation = PREPARATION + (uint64_t)a->nr_fds * a->timers * ARMING;
	uint64_t begin = (now_ns() + preparation) / VICTIM_PERIOD * VICTIM_PERIOD -
			 AHEAD_OF_OTHERS - phase;
	uint64_t align = a->attack->align;

	if (align)
		begin = (begin / align + 2) * align;
	arm_all(a, begin + a->attack->ahead);
	if (now_ns() > begin - preparation / 8)
		bail_out("preparing the attack takes too long");
	a->end = begin + a->attack->window;
	return begin;
}

__attribute__((__noreturn__))
static void be_attacker(const struct attack *attack, bool wheels, uint64_t phase)
{
	struct rlimit files = { MAX_FDS, MAX_FDS };
	struct attacker a = { .attack = attack, .wheels = wheels };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || setrlimit(RLIMIT_NOFILE, &files))
		bail_out("cannot prepare the attacker");
	become_nobody();
	alarm(ALARM_SECONDS);
	equip(&a);
	message->begin = prepare(&a, phase);
	message->ready = true;
	if (attack->act) {
		sleep_until(message->begin);
		act(&a);
	}
	for (;;)
		pause();
}

/**
 * start_attack() - start the process of the attacker
 * @attack: the attack.
 * @wheels: with wheels, instead of timerfds.
 * @phase: how long before the victims are due it begins.
 *
 * Return: the attack, prepared; it begins later.
 */
struct ongoing start_attack(const struct attack *attack, bool wheels, uint64_t phase)
{
	struct ongoing ongoing;

	if (!message)
		message = mmap(NULL, sizeof(*message), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (message == MAP_FAILED)
		bail_out("no memory");
	message->late = 0;
	message->ready = false;
	ongoing.pid = fork();
	if (ongoing.pid < 0)
		bail_out("cannot fork");
	if (!ongoing.pid)
		be_attacker(attack, wheels, phase);
	while (!message->ready) {
		/* It has printed the reason. */
		if (waitpid(ongoing.pid, NULL, WNOHANG))
			_exit(1);
		sleep_for(MSEC);
	}
	ongoing.begin = message->begin;
	return ongoing;
}

/**
 * end_attack() - end the process of the attacker, and wait until it has gone
 * @ongoing: the attack.
 *
 * Return: how late the attacker's own loop was, in nanoseconds; 0 without ACT_TICK.
 */
uint64_t end_attack(const struct ongoing *ongoing)
{
	kill(ongoing->pid, SIGKILL);
	if (waitpid(ongoing->pid, NULL, 0) != ongoing->pid)
		bail_out("the attacker has gone");
	/* Its memory is freed a little later. */
	sleep_for(50 * MSEC);
	return message->late;
}
