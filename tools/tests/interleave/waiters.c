// SPDX-License-Identifier: MIT
/*
 * The ways to wait for a wheel
 *
 * Each waits and reads, one event at a time, until it gets a signal.
 */
#include <string.h>

#include "scenario.h"

/* Return true if a signal ended a call. */
static bool is_signal(int err)
{
	return err == -EINTR || err == -ERESTARTSYS;
}

/* Read once, or with @all until nothing is left, without waiting; return false after a signal. */
static bool read_what_is_due(int flags, bool all)
{
	int n;

	if (ring) {
		take_events();
		while (all && READ_ONCE(ring->flags) & TWHEEL_RING_MORE) {
			sys_poll(wheel, false);
			if (!take_events())
				schedule_yield();
		}
		return true;
	}
	do {
		n = read_events(1, flags);
		if (is_signal(n))
			return false;
		if (n < 0 && n != -EAGAIN)
			broken("a read fails");
	} while (all && n > 0);
	/* Another coroutine was faster, or has the lock: let it finish. */
	if (n == -EAGAIN)
		schedule_yield();
	return true;
}

static void in_read(void)
{
	int n;

	do {
		n = read_events(1, 0);
	} while (n > 0);
	if (!is_signal(n))
		broken("a read that may wait fails");
}

static void in_poll(void)
{
	while (sys_poll(wheel, true) > 0 && !current->killed && read_what_is_due(O_NONBLOCK, false))
		;
}

static void in_epoll(u32 flags)
{
	struct watch watch;

	watch_add(&watch, wheel, flags);
	while (watch_wait(&watch) > 0 && read_what_is_due(O_NONBLOCK, flags & EPOLLET))
		;
	watch_remove(&watch);
}

static void in_level(void)
{
	in_epoll(0);
}

static void in_edge(void)
{
	in_epoll(EPOLLET);
}

static void in_exclusive(void)
{
	in_epoll(EPOLLEXCLUSIVE);
}

/* A read by io_uring: without waiting, then a poll, until the read succeeds. */
static void in_uring(void)
{
	for (;;) {
		int n = read_events(1, IOCB_NOWAIT);

		if (is_signal(n) || (n == -EAGAIN && sys_poll(wheel, true) < 0))
			return;
		if (n < 0 && n != -EAGAIN)
			broken("a read of an io_uring fails");
		/* Another coroutine has the lock: let it finish. */
		if (n == -EAGAIN)
			schedule_yield();
	}
}

/*
 * aio: IOCB_CMD_POLL. A wake-up without events has a kworker poll again.
 */

/* A request, and the state of its kworker. */
static struct aio {
	poll_table table;
	wait_queue_entry_t entry;
	wait_queue_head_t *queue;
	struct task_struct *task;
	bool scheduled;
	bool woken_again;
	bool done;
} requests[2] WORLD;

/* How many kworkers have begun. */
static unsigned int nr_workers WORLD;

static void aio_complete(struct aio *aio)
{
	wait_queue_remove(&aio->entry);
	aio->scheduled = false;
	aio->done = true;
}

static int aio_wake(wait_queue_entry_t *entry, __poll_t key)
{
	struct aio *aio = container_of(entry, struct aio, entry);

	if (aio->scheduled)
		aio->woken_again = true;
	else if (key)
		aio_complete(aio);
	else
		aio->scheduled = true;
	return 1;
}

static void aio_queue(struct file *filp, wait_queue_head_t *wq, poll_table *table)
{
	struct aio *aio = container_of(table, struct aio, table);

	aio->queue = wq;
	add_wait_queue(wq, &aio->entry);
}

static bool aio_poll(poll_table *table)
{
	__poll_t events;

	events = device->poll(wheel, table);
	may_return();
	return events & EPOLLIN;
}

/* There is something to read: end the request, unless its worker does. */
static void aio_end(struct aio *aio, bool is_worker)
{
	spin_lock_irq(&aio->queue->lock);
	if (is_worker || !aio->scheduled)
		aio_complete(aio);
	spin_unlock_irq(&aio->queue->lock);
}

static bool aio_is_scheduled(const void *aio)
{
	return ((const struct aio *)aio)->scheduled;
}

/* Poll until there is something to read, or no wake-up comes during a poll. */
static void aio_work(struct aio *aio)
{
	poll_table none = {};

	do {
		aio->woken_again = false;
		if (aio_poll(&none)) {
			aio_end(aio, true);
			return;
		}
		POINT("has it been woken again");
	} while (aio->woken_again);
	aio->scheduled = false;
}

static void aio_worker(void)
{
	struct aio *aio = &requests[nr_workers++];

	for (;;) {
		schedule_until(aio_is_scheduled, aio);
		aio_work(aio);
	}
}

static bool aio_has_ended(const void *arg)
{
	const struct aio *aio = arg;

	return aio->done || aio->task->signalled;
}

/* Returns false for a signal. */
static bool aio_submit_and_wait(struct aio *aio)
{
	*aio = (struct aio) {
		.table = { ._qproc = aio_queue, ._key = EPOLLIN },
		.entry = { .func = aio_wake },
		.task = current,
	};
	if (aio_poll(&aio->table))
		aio_end(aio, false);
	schedule_until(aio_has_ended, aio);
	remove_wait_queue(aio->queue, &aio->entry);
	return aio->done;
}

static void in_aio(void)
{
	struct aio *aio = &requests[running - coroutines];

	while (aio_submit_and_wait(aio) && read_what_is_due(IOCB_NOWAIT, false))
		;
}

const struct waiter waiters[] = {
	{ "alone", "nothing waits" },
	{ "read", "a blocking read", in_read, .reads = true },
	{ "poll", "poll(2)", in_poll },
	{ "level", "epoll, level-triggered", in_level },
	{ "edge", "epoll, edge-triggered", in_edge },
	{ "exclusive", "epoll, one waiter woken at a time", in_exclusive, .shares = true },
	{ "aio", "IOCB_CMD_POLL", in_aio, aio_worker },
	{ "uring", "a read of an io_uring", in_uring, .reads = true },
	{},
};
