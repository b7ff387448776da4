// SPDX-License-Identifier: MIT
/*
 * Threads that wait for wheels, each in its own way
 *
 * A waiter that has read may pause until the next round, unless it is the last one: the
 * waiters that still sleep get the events that it left.
 */
#include <stdlib.h>
#include <unistd.h>

#include "kernel.h"
#include "workers.h"

/* Long enough that the wait was not for the lock. */
#define ASLEEP_NS	20000

bool leaving;

int read_some(u32 nr, unsigned int max, int flags)
{
	struct twheel_event *event = calloc(max, sizeof(*event));
	bool fault = one_in(8), plain = !one_in(4), signalled;
	ssize_t size;
	int i, n;

	if (!event)
		broken("no memory for events");
	if (fault)
		current->unwritable = (unsigned long)event + any_below(max * sizeof(*event));
	size = sys_read(wheels[nr].filp, event, max * sizeof(*event), flags, plain);
	task_mend(current);
	/* Read afterwards: an event that comes now is not waited for. */
	signalled = signal_pending(current);
	task_forget_signals(current);
	n = size < 0 ? size : size / (ssize_t)sizeof(*event);
	for (i = 0; i < n; i++)
		record_event(nr, &event[i]);
	free(event);

	record_error(n);
	if (n == -EAGAIN && flags & IOCB_NOWAIT)
		happens(LOCK_BUSY);
	if (n == -EBUSY && nr >= FIRST_RING) {
		happens(RING_REFUSED);
		return n;
	}
	if (!n || (size > 0 && size % sizeof(*event)))
		wrong(ANSWERS, "read: %zd bytes", size);
	if (n < 0 && !(n == -EFAULT && fault) && !(n == -EAGAIN && flags) &&
	    !((n == -EINTR || n == -ERESTARTSYS) && signalled))
		wrong(ANSWERS, "read: error %d", -n);
	return n;
}

static void stay_away(u32 nr)
{
	u32 round = READ_ONCE(round_nr);

	if (__atomic_sub_fetch(&wheels[nr].awake, 1, __ATOMIC_RELAXED)) {
		while (READ_ONCE(round_nr) == round && !READ_ONCE(leaving))
			usleep(200);
	}
	__atomic_add_fetch(&wheels[nr].awake, 1, __ATOMIC_RELAXED);
}

/* Without a wait, from the ring if there is one. */
static int take_or_read(u32 nr, unsigned int max)
{
	if (nr >= FIRST_RING)
		return take_some(nr, max);
	return read_some(nr, max, one_in(2) ? O_NONBLOCK : IOCB_NOWAIT);
}

static unsigned int few(void)
{
	return one_in(8) ? 120 : 1 + any_below(3);
}

static void in_read(u32 nr)
{
	while (!READ_ONCE(leaving)) {
		u64 began = clock_now(CLOCK_MONOTONIC);

		if (read_some(nr, few(), 0) <= 0)
			continue;
		if (clock_now(CLOCK_MONOTONIC) - began > ASLEEP_NS)
			happens(BLOCKED_READ);
		if (one_in(3))
			stay_away(nr);
	}
}

static void in_poll(u32 nr)
{
	map_ring(nr);
	while (!READ_ONCE(leaving)) {
		if (sys_poll(wheels[nr].filp, true) < 0) {
			task_forget_signals(current);
			continue;
		}
		happens(WOKEN_BY_POLL);
		if (take_or_read(nr, few()) > 0 && one_in(3))
			stay_away(nr);
	}
}

/*
 * Level-triggered: epoll reports it again. Several processes share the epoll: if one is
 * killed in the middle, the next one continues.
 */
static void in_epoll(u32 nr)
{
	struct watch watch;

	map_ring(nr);
	watch_add(&watch, wheels[nr].filp, false);
	while (!READ_ONCE(leaving)) {
		if (watch_wait(&watch) < 0) {
			task_forget_signals(current);
			continue;
		}
		happens(WOKEN_BY_EPOLL);
		take_or_read(nr, few());
		if (one_in(32)) {
			watch_remove(&watch);
			watch_add(&watch, wheels[nr].filp, false);
		}
	}
	watch_remove(&watch);
}

/* An edge is lost with a waiter that is killed; another waiter replaces it. */
static void come_again(struct watch *watch)
{
	bool killed = READ_ONCE(current->killed);

	task_forget_signals(current);
	if (!killed)
		return;
	watch_remove(watch);
	watch_add(watch, watch->filp, true);
}

/* Edge-triggered: it has to read until there is no more. */
static void in_edge(u32 nr)
{
	struct watch watch;

	map_ring(nr);
	watch_add(&watch, wheels[nr].filp, true);
	while (!READ_ONCE(leaving)) {
		if (watch_wait(&watch) < 0) {
			come_again(&watch);
			continue;
		}
		happens(WOKEN_BY_EPOLL);
		if (nr >= FIRST_RING) {
			take_all(nr);
			continue;
		}
		while (read_some(nr, few(), O_NONBLOCK) != -EAGAIN)
			;
	}
	watch_remove(&watch);
}

/* Each of the first wheels has one kind of waiter: none makes up for what another missed. */
const struct role roles[NR_ROLES] = {
	{ 0, in_read }, { 0, in_read }, { 0, in_read },
	{ 1, in_epoll },
	{ 2, in_edge },
	{ 3, in_poll }, { 3, in_poll },
	{ 4, in_read }, { 4, in_epoll }, { 4, in_edge },
	{ 5, in_epoll },
	{ 6, in_edge },
	{ 7, in_poll }, { 7, in_poll }, { 7, in_edge },
};
