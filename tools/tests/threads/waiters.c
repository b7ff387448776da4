// SPDX-License-Identifier: MIT
/*
 * The ways to wait for a wheel, for the suites threads and interleave
 *
 * Each waits and reads until it gets a signal.
 */
#include "calls.h"
#include "kernel.h"

#include <uapi/linux/twheel.h>

/* Return true if a signal ended a call. */
static bool is_signal(int err)
{
	return err == -EINTR || err == -ERESTARTSYS;
}

/* Read once, or with @all until nothing is left, without waiting; return false after a signal. */
static bool read_what_is_due(bool all)
{
	int n;

	if (ring) {
		take_events();
		while (all && READ_ONCE(ring->flags) & TWHEEL_RING_MORE) {
			sys_poll(wheel, false);
			if (!take_events())
				task_yield();
		}
		return true;
	}
	do {
		n = read_events(1, O_NONBLOCK);
		if (is_signal(n))
			return false;
		if (n < 0 && n != -EAGAIN)
			broken("a read fails");
	} while (all && n > 0);
	/* Another task was faster, or has the lock: let it finish. */
	if (n == -EAGAIN)
		task_yield();
	return true;
}

void wait_in_read(void)
{
	int n;

	do {
		n = read_events(1, 0);
	} while (n > 0);
	if (!is_signal(n))
		broken("a read that may wait fails");
}

void wait_in_poll(void)
{
	/* In interleave, a look at a task's own state is not a step: data_race() has no point. */
	while (sys_poll(wheel, true) > 0 && !data_race(current->killed) &&
	       read_what_is_due(false))
		;
}

static void wait_in_epoll(u32 flags)
{
	struct watch watch;

	watch_add(&watch, wheel, flags);
	while (watch_wait(&watch) > 0 && read_what_is_due(flags & EPOLLET))
		;
	watch_remove(&watch);
}

void wait_in_level(void)
{
	wait_in_epoll(0);
}

void wait_in_edge(void)
{
	wait_in_epoll(EPOLLET);
}

void wait_in_exclusive(void)
{
	wait_in_epoll(EPOLLEXCLUSIVE);
}

/* A read by io_uring: without waiting, then a poll, until the read succeeds. */
void wait_in_uring(void)
{
	for (;;) {
		int n = read_events(1, IOCB_NOWAIT);

		if (is_signal(n) || (n == -EAGAIN && sys_poll(wheel, true) < 0))
			return;
		if (n < 0 && n != -EAGAIN)
			broken("a read of an io_uring fails");
		/* Another task has the lock: let it finish. */
		if (n == -EAGAIN)
			task_yield();
	}
}
