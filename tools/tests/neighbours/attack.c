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

#include <linux/twheel.h>

#include "aio.h"
#include "clock.h"
#include "machine.h"
#include "neighbours.h"
#include "tap.h"

/* The limit that systemd sets for a user. */
#define MAX_FDS		524288
/* The time from arming the first timer to its expiry. */
#define PREPARATION	(2 * SEC)
/* The attack begins just before the victims are due, so that they wait for all of it. */
#define AHEAD_OF_OTHERS	(5 * USEC)
#define READY_EVENTS	256
/* Longer than any attack takes. */
#define ALARM_SECONDS	60

/* ---- The acts ------------------------------------------------------------- */

static void open_all(struct attacker *a)
{
	unsigned int i;

	for (i = 0; i < a->nr_fds; i++) {
		a->fd[i] = a->with->open(a->attack);
		if (a->fd[i] < 0)
			bail_out("cannot open number %u of the %s", i, a->with->name);
	}
}

void act_close(struct attacker *a)
{
	unsigned int i;

	for (i = 0; i < a->nr_fds; i++)
		close(a->fd[i]);
}

static void arm_all(struct attacker *a)
{
	unsigned int i;

	for (i = 0; i < a->nr_fds; i++)
		a->with->arm(a, i);
}

static void disarm_all(struct attacker *a)
{
	unsigned int i;

	for (i = 0; i < a->nr_fds; i++)
		a->with->disarm(a, i);
}

/* Deadlines a step apart: the first timers of all descriptors, then the second ones. */
static void choose_times(struct attacker *a, uint64_t first)
{
	unsigned int fd, i;

	for (fd = 0; fd < a->nr_fds; fd++) {
		for (i = 0; i < a->timers; i++)
			a->when[fd * a->timers + i] =
				first + ((uint64_t)i * a->nr_fds + fd) * a->attack->step;
	}
}

/* All its timers have expired. */
static void drain_all(struct attacker *a, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < a->timers; i += EVENTS)
		a->with->drain(a->fd[nr]);
	a->id[nr * a->timers] = 0;
}

/* A user of the CPU like any other. */
void act_spin(struct attacker *a)
{
	while (now_ns() < a->end)
		;
}

static int poll_all(struct attacker *a, struct epoll_event *event, int timeout)
{
	int n = epoll_wait(a->epoll, event, READY_EVENTS, timeout);

	if (n < 0)
		bail_out("epoll_wait() failed");
	return n;
}

/* Polls for ready descriptors repeatedly, without reading them. */
void act_poll(struct attacker *a)
{
	struct epoll_event event[READY_EVENTS];

	while (now_ns() < a->end)
		poll_all(a, event, 0);
}

/* The same, with garbage in the ring's head. */
void act_spoil(struct attacker *a)
{
	struct epoll_event event[READY_EVENTS];

	while (now_ns() < a->end) {
		if (a->with->spoil)
			a->with->spoil();
		poll_all(a, event, 0);
	}
}

/* Reads all ready descriptors, as servers do. */
void act_read(struct attacker *a)
{
	struct epoll_event event[READY_EVENTS];
	int i, n;

	while (now_ns() < a->end) {
		n = poll_all(a, event, 1);
		for (i = 0; i < n; i++)
			a->with->drain(event[i].data.fd);
	}
}

/* Ready descriptors are not ready when epoll polls them, so all have to be woken again. */
void act_read_then_poll(struct attacker *a)
{
	struct epoll_event event[READY_EVENTS];
	unsigned int i;

	while (now_ns() < a->end) {
		poll_all(a, event, 1);
		for (i = 0; i < a->nr_fds; i++)
			a->with->drain(a->fd[i]);
		poll_all(a, event, 0);
	}
}

/* None of them ever expires. */
void act_rearm(struct attacker *a)
{
	while (now_ns() < a->end) {
		choose_times(a, now_ns() + a->attack->ahead);
		arm_all(a);
	}
}

/* Modifies timers to the end of time and back. */
void act_rearm_far(struct attacker *a)
{
	uint64_t farthest = TWHEEL_TIME_MAX_NS -
			    (uint64_t)a->nr_fds * a->timers * a->attack->step;

	while (now_ns() < a->end) {
		choose_times(a, farthest);
		arm_all(a);
		choose_times(a, now_ns() + a->attack->ahead);
		arm_all(a);
	}
}

/* Stops the first timer each time. */
void act_rearm_and_disarm(struct attacker *a)
{
	disarm_all(a);
	while (now_ns() < a->end) {
		choose_times(a, now_ns() + a->attack->ahead);
		arm_all(a);
		disarm_all(a);
	}
}

/* Sets past deadlines, and reads the events at once. */
void act_arm_and_read(struct attacker *a)
{
	unsigned int i;

	while (now_ns() < a->end) {
		choose_times(a, now_ns());
		arm_all(a);
		for (i = 0; i < a->nr_fds; i++)
			drain_all(a, i);
	}
}

void act_open_and_close(struct attacker *a)
{
	while (now_ns() < a->end) {
		act_close(a);
		open_all(a);
		memset(a->id, 0, sizeof(*a->id) * a->nr_fds * a->timers);
		choose_times(a, now_ns() + a->attack->ahead);
		arm_all(a);
	}
}

/* Has the kernel close all descriptors of the attacker. */
void act_exit(struct attacker *a)
{
	(void)a;
	_exit(0);
}

/* The maximum lateness of the loop of act_loop() with its own timerfd. */
static struct {
	atomic_ullong late;
} *loop;

static int open_ticker(void)
{
	const struct itimerspec each_ms = {
		.it_value = timespec_of(MSEC),
		.it_interval = timespec_of(MSEC),
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	if (fd < 0 || timerfd_settime(fd, 0, &each_ms, NULL))
		bail_out("no timerfd for the loop");
	return fd;
}

/* How long ago the timerfd expired, which is periodic. */
static uint64_t lateness_of(int ticker)
{
	struct itimerspec left;
	uint64_t count;

	if (read(ticker, &count, sizeof(count)) < 0 || timerfd_gettime(ticker, &left))
		bail_out("cannot read the timerfd of the loop");
	return count * MSEC - (uint64_t)left.it_value.tv_nsec;
}

/* A server, with its own timerfd in the same epoll. */
void act_loop(struct attacker *a)
{
	struct epoll_event event[READY_EVENTS] = { { .events = EPOLLIN } };
	int i, n, ticker = open_ticker();

	event->data.fd = ticker;
	if (epoll_ctl(a->epoll, EPOLL_CTL_ADD, ticker, event))
		bail_out("no timerfd in the epoll");
	while (now_ns() < a->end) {
		n = poll_all(a, event, -1);
		for (i = 0; i < n; i++) {
			uint64_t ns;

			if (event[i].data.fd != ticker) {
				a->with->drain(event[i].data.fd);
				continue;
			}
			ns = lateness_of(ticker);
			if (ns > loop->late)
				loop->late = ns;
		}
	}
}

/* Adds descriptors to a nested epoll, which only one task at a time can do. */
void act_nest(struct attacker *a)
{
	struct epoll_event event = { .events = EPOLLIN };
	int inner = epoll_create1(EPOLL_CLOEXEC), outer = epoll_create1(EPOLL_CLOEXEC);
	unsigned int i;

	if (epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event))
		bail_out("no nested epoll");
	for (i = 0; now_ns() < a->end; i++) {
		int fd = a->fd[i % a->nr_fds];

		if (epoll_ctl(inner, EPOLL_CTL_ADD, fd, &event) ||
		    epoll_ctl(inner, EPOLL_CTL_DEL, fd, &event))
			bail_out("cannot add to a nested epoll");
	}
}

/* ---- The attacker's process ----------------------------------------------- */

/* Shared memory for the attacker's process to report that it is ready, and for its start time. */
static struct {
	atomic_bool ready;
	uint64_t begin;
} *message;

static void lose_privileges(void)
{
	struct rlimit files = { MAX_FDS, MAX_FDS };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || setrlimit(RLIMIT_NOFILE, &files))
		bail_out("cannot prepare the attacker");
	become_nobody();
	alarm(ALARM_SECONDS);
}

/* Otherwise missing pages would be brought in while the attacker is watched. */
static void *array(size_t n, size_t size)
{
	void *memory = malloc(n * size);

	if (!memory)
		bail_out("no memory");
	return memset(memory, 0, n * size);
}

static void watch_fd(struct attacker *a, int fd)
{
	/* A duplicate leads to the same timers. */
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
	unsigned int i;

	for (i = 0; i < a->attack->dups; i++) {
		int copy = i ? dup(fd) : fd;

		if (copy < 0 || epoll_ctl(a->epoll, EPOLL_CTL_ADD, copy, &event))
			bail_out("cannot put descriptors into an epoll");
	}
}

static void make_epoll(struct attacker *a)
{
	unsigned int i;

	a->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (a->epoll < 0)
		bail_out("cannot make an epoll");
	for (i = 0; i < a->nr_fds; i++)
		watch_fd(a, a->fd[i]);
}

static void make_aio(struct attacker *a)
{
	aio_context_t context = aio_open(a->nr_fds);
	unsigned int i;

	for (i = 0; i < a->nr_fds; i++) {
		if (!aio_poll(context, a->fd[i]))
			bail_out("no poll of aio");
	}
}

static void equip(struct attacker *a)
{
	const struct attack *attack = a->attack;
	size_t timers = (size_t)attack->wheels * attack->timers;

	a->timers = a->with->many ? attack->timers : 1;
	a->nr_fds = a->with->many || attack->aio ? attack->wheels : timers;
	a->fd = array(a->nr_fds, sizeof(*a->fd));
	a->when = array(timers, sizeof(*a->when));
	a->id = array(timers, sizeof(*a->id));
	a->add = array(a->timers, sizeof(*a->add));
	a->modify = array(a->timers, sizeof(*a->modify));
	open_all(a);
	if (attack->dups)
		make_epoll(a);
	if (attack->aio)
		make_aio(a);
}

/* Arms the timers; returns the time at which the first one is due. */
static uint64_t prepare(struct attacker *a, uint64_t phase)
{
	uint64_t preparation = a->attack->preparation ?: PREPARATION;
	uint64_t begin = (now_ns() + preparation) / VICTIM_PERIOD * VICTIM_PERIOD -
			 AHEAD_OF_OTHERS - phase;
	uint64_t align = a->attack->align;

	if (align)
		begin = (begin / align + 1) * align - a->attack->ahead;
	choose_times(a, begin + a->attack->ahead);
	arm_all(a);
	if (now_ns() > begin - preparation / 8)
		bail_out("preparing the attack takes too long");
	a->end = begin + a->attack->window;
	return begin;
}

__attribute__((__noreturn__))
static void be_attacker(const struct attack *attack, const struct facility *with,
			uint64_t phase)
{
	struct attacker a = { .attack = attack, .with = with };

	lose_privileges();
	equip(&a);
	message->begin = prepare(&a, phase);
	message->ready = true;
	if (attack->act) {
		sleep_until(message->begin);
		attack->act(&a);
	}
	for (;;)
		pause();
}

static void *shared_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED)
		bail_out("no memory");
	return memory;
}

/**
 * start_attack() - start the process of the attacker
 * @attack: the attack.
 * @with: timerfds or wheels.
 * @phase: how long before the victims are due it begins.
 *
 * Return: the attack, prepared; it begins later.
 */
struct ongoing start_attack(const struct attack *attack, const struct facility *with,
			    uint64_t phase)
{
	struct ongoing ongoing;

	if (!message) {
		message = shared_memory(sizeof(*message));
		loop = shared_memory(sizeof(*loop));
	}
	loop->late = 0;
	message->ready = false;
	ongoing.pid = fork();
	if (ongoing.pid < 0)
		bail_out("cannot fork");
	if (!ongoing.pid)
		be_attacker(attack, with, phase);
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
 * loop_late() - how late the attacker's own loop was
 *
 * Return: the maximum in the last attack, in nanoseconds; 0 if it had no loop.
 */
uint64_t loop_late(void)
{
	return loop->late;
}

/**
 * end_attack() - end the process of the attacker, and wait until it has gone
 * @ongoing: the attack.
 */
void end_attack(const struct ongoing *ongoing)
{
	kill(ongoing->pid, SIGKILL);
	if (waitpid(ongoing->pid, NULL, 0) != ongoing->pid)
		bail_out("the attacker has gone");
	/* Its memory is freed a little later. */
	sleep_for(50 * MSEC);
}
