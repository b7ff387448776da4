// SPDX-License-Identifier: MIT
/*
 * The timers of attacks, for twheel-neighbours: timerfds and wheels behind one interface
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "libtwheel-device.h"
#include "neighbours.h"
#include "tap.h"

#define TICK	USEC

/* ---- timerfds ------------------------------------------------------------- */

static int timerfd_open(const struct attack *attack)
{
	(void)attack;
	return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

static void timerfd_set(int fd, uint64_t when, uint64_t interval)
{
	struct itimerspec spec = { .it_value = timespec_of(when),
				   .it_interval = timespec_of(interval) };

	if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL))
		bail_out("cannot set a timerfd");
}

static void timerfd_arm(struct attacker *a, unsigned int nr)
{
	timerfd_set(a->fd[nr], a->when[nr], a->attack->interval);
}

static void timerfd_disarm(struct attacker *a, unsigned int nr)
{
	timerfd_set(a->fd[nr], 0, 0);
}

static void timerfd_drain(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		bail_out("cannot read a timerfd");
}

const struct facility timerfds = {
	.name = "timerfds",
	.open = timerfd_open,
	.arm = timerfd_arm,
	.disarm = timerfd_disarm,
	.drain = timerfd_drain,
};

/* ---- Wheels --------------------------------------------------------------- */

/* The ring of the only wheel that has one. */
static struct twheel_ring_view ring;

static int wheel_open(const struct attack *attack)
{
	struct twheel_setup setup = { .tick_ns = TICK, .wheel_size = attack->size,
				      .clock_id = CLOCK_MONOTONIC };
	int fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && twheel_set_up(fd, &setup))
		bail_out("cannot set up a wheel");
	if (fd >= 0 && attack->slots && twheel_ring_map(fd, attack->slots, &ring))
		bail_out("cannot map a ring");
	return fd;
}

static void wheel_add_all(struct attacker *a, int fd, const uint64_t *when, uint64_t *id)
{
	unsigned int i;

	for (i = 0; i < a->timers; i++) {
		a->add[i] = (struct twheel_add) {
			.time_ns = when[i],
			.interval_ns = a->attack->interval,
			.flags = TWHEEL_ABSTIME,
		};
	}
	if (twheel_add_batch(fd, a->add, a->timers) != (int)a->timers)
		bail_out("cannot add timers");
	for (i = 0; i < a->timers; i++)
		id[i] = a->add[i].id;
}

static void wheel_modify_all(struct attacker *a, int fd, const uint64_t *when,
			     const uint64_t *id)
{
	unsigned int i;

	for (i = 0; i < a->timers; i++) {
		a->modify[i] = (struct twheel_modify) {
			.id = id[i],
			.time_ns = when[i],
			.flags = TWHEEL_ABSTIME,
		};
	}
	if (twheel_modify_batch(fd, a->modify, NULL, a->timers) != (int)a->timers)
		bail_out("cannot modify timers");
}

static void wheel_arm(struct attacker *a, unsigned int nr)
{
	const uint64_t *when = a->when + (size_t)nr * a->timers;
	uint64_t *id = a->id + (size_t)nr * a->timers;

	if (*id)
		wheel_modify_all(a, a->fd[nr], when, id);
	else
		wheel_add_all(a, a->fd[nr], when, id);
}

static void wheel_disarm(struct attacker *a, unsigned int nr)
{
	uint64_t *id = a->id + (size_t)nr * a->timers;

	if (twheel_cancel_batch(a->fd[nr], id, NULL, a->timers) != (int)a->timers)
		bail_out("cannot cancel timers");
	*id = 0;
}

/* Takes all events, in two pieces if they wrap around the end. */
static void ring_drain(void)
{
	size_t count;

	while (twheel_ring_peek(&ring, &count))
		twheel_ring_consume(&ring, count);
}

static void wheel_drain(int fd)
{
	static struct twheel_event event[EVENTS];

	if (ring.ring)
		return ring_drain();
	if (twheel_read(fd, event, EVENTS) < 0 && errno != EAGAIN)
		bail_out("cannot read a wheel");
}

/* Valid slots, the one after the last, and invalid ones. */
static void ring_spoil(void)
{
	static uint32_t n;
	uint32_t head = ++n % 4 ? n % (ring.slots + 1) : -n;

	__atomic_store_n(&ring.ring->head, head, __ATOMIC_RELEASE);
}

const struct facility wheels = {
	.name = "wheels",
	.many = true,
	.open = wheel_open,
	.arm = wheel_arm,
	.disarm = wheel_disarm,
	.drain = wheel_drain,
	.spoil = ring_spoil,
};
