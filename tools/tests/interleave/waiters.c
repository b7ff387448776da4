// SPDX-License-Identifier: MIT
/*
 * The ways to wait for a wheel: those of ../threads/waiters.c, and aio
 *
 * IOCB_CMD_POLL: a wake-up without events has a kworker poll again.
 */
#include "scenario.h"

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
	{ "read", "a blocking read", wait_in_read, .reads = true },
	{ "poll", "poll(2)", wait_in_poll },
	{ "level", "epoll, level-triggered", wait_in_level },
	{ "edge", "epoll, edge-triggered", wait_in_edge },
	{ "exclusive", "epoll, one waiter woken at a time", wait_in_exclusive, .shares = true },
	{ "aio", "IOCB_CMD_POLL", in_aio, aio_worker },
	{ "uring", "a read of an io_uring", wait_in_uring, .reads = true },
	{},
};
