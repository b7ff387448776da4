// SPDX-License-Identifier: MIT
/*
 * The ways to wait for a wheel, for the suites threads and interleave: each waits and reads, or
 * takes events from a ring, until it gets a signal
 */
#include "calls.h"
#include "kernel.h"

OF_TASK struct file *wheel WORLD;
OF_TASK struct twheel_ring *ring WORLD;
OF_TASK u32 ring_slots WORLD;
OF_TASK struct mutex *ring_lock WORLD;

void map_ring(u32 slots)
{
	struct twheel_ring_setup setup = { .slots = slots };

	if (sys_ioctl(wheel, TWHEEL_RING, &setup))
		broken("a ring cannot be made");
	ring_slots = setup.slots;
	ring = sys_mmap(wheel, setup.size);
}

/*
 * The driver's release and acquire of @tail and @head order one thread's writes to a ring
 * before another's reads. The lock is only for the tasks that take events.
 */
unsigned int take_events(void)
{
	const struct twheel_event *event = (struct twheel_event *)(ring + 1);
	unsigned int n = 0;
	u32 head, tail;

	mutex_lock(ring_lock);
	tail = smp_load_acquire(&ring->tail); /* events are before it */
	head = READ_ONCE(ring->head);
	if (tail >= ring_slots)
		broken("the tail of a ring is behind its end");
	for (; head != tail; n++) {
		record_event(&event[head]);
		head = head + 1 < ring_slots ? head + 1 : 0;
		smp_store_release(&ring->head, head); /* the event has been copied */
	}
	mutex_unlock(ring_lock);
	return n;
}

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
