// SPDX-License-Identifier: MIT
/*
 * Threads that wait for wheels, each in its own way
 */
#include <unistd.h>

#include "kernel.h"
#include "threads.h"

bool leaving;

int read_some(u32 nr, unsigned int max, int flags)
{
	struct twheel_event event[MAX_BATCH];
	size_t size = max * sizeof(*event);
	bool fault = one_in(8), signalled;
	ssize_t ret;
	int i, n;

	if (fault)
		current->unwritable = (unsigned long)event + any_below(size);
	ret = sys_read(wheels[nr].filp, event, size, flags, !one_in(4));
	task_mend(current);
	/* Read afterwards: an event that comes now is not waited for. */
	signalled = signal_pending(current);
	task_forget_signals(current);
	n = ret < 0 ? ret : ret / (ssize_t)sizeof(*event);
	for (i = 0; i < n; i++)
		record_event(nr, &event[i]);

	record_error(n);
	if (n == -EAGAIN && flags & IOCB_NOWAIT)
		happens(LOCK_BUSY);
	if (n == -EBUSY && nr >= FIRST_RING) {
		happens(RING_REFUSED);
		return n;
	}
	if (!n || n > (int)max || (ret > 0 && ret % sizeof(*event)))
		wrong(ANSWERS, "read: %zd bytes", ret);
	if (n < 0 && !(n == -EFAULT && fault) && !(n == -EAGAIN && flags) &&
	    !((n == -EINTR || n == -ERESTARTSYS) && signalled))
		wrong(ANSWERS, "read: error %d", -n);
	return n;
}

static unsigned int few(void)
{
	return one_in(8) ? 120 : 1 + any_below(3);
}

/* Without a wait, from the ring if there is one. */
static int take_or_read(u32 nr)
{
	if (nr >= FIRST_RING)
		return take_some(nr, few());
	return read_some(nr, few(), one_in(2) ? O_NONBLOCK : IOCB_NOWAIT);
}

static void in_read(u32 nr)
{
	while (!READ_ONCE(leaving) && read_some(nr, few(), 0) != -EBUSY)
		;
}

static void in_poll(u32 nr)
{
	map_ring(nr);
	while (!READ_ONCE(leaving)) {
		if (sys_poll(wheels[nr].filp, true) > 0) {
			happens(WOKEN_BY_POLL);
			take_or_read(nr);
		}
		task_forget_signals(current);
	}
}

/*
 * Level-triggered, epoll reports a file again; edge-triggered, it has to be read until there is no
 * more. An edge is lost with a waiter that is killed: another waiter replaces it.
 */
static void in_epoll(u32 nr, bool edge)
{
	struct watch watch;

	map_ring(nr);
	watch_add(&watch, wheels[nr].filp, edge ? EPOLLET : 0);
	while (!READ_ONCE(leaving)) {
		if (watch_wait(&watch) < 0) {
			task_forget_signals(current);
			watch_remove(&watch);
			watch_add(&watch, wheels[nr].filp, edge ? EPOLLET : 0);
			continue;
		}
		happens(WOKEN_BY_EPOLL);
		/* Busy with something else, for long enough that others fill a ring. */
		if (edge && one_in(4))
			usleep(any_below(3000));
		while (take_or_read(nr) != -EAGAIN && edge)
			;
	}
	watch_remove(&watch);
}

static void in_level(u32 nr)
{
	in_epoll(nr, false);
}

static void in_edge(u32 nr)
{
	in_epoll(nr, true);
}

/*
 * Each of the first wheels has one kind of waiter: none makes up for what another missed. The last
 * one gets its ring while a reader waits, which fails.
 */
const struct role roles[NR_ROLES] = {
	{ 0, in_read }, { 0, in_read }, { 0, in_read },
	{ 1, in_level },
	{ 2, in_edge },
	{ 3, in_poll }, { 3, in_poll },
	{ 4, in_read }, { 4, in_level }, { 4, in_edge },
	{ 5, in_level },
	{ 6, in_edge },
	{ 7, in_read }, { 7, in_poll }, { 7, in_poll }, { 7, in_edge },
};
