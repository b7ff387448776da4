// SPDX-License-Identifier: MIT
/*
 * The ledger, and reading and taking events, which are recorded there; see threads.h
 *
 * The driver's release and acquire of @tail and @head order one thread's writes to a ring
 * before another's reads. The lock here is only for the threads that take events.
 */
#include <unistd.h>

#include "clock.h"
#include "kernel.h"
#include "threads.h"

/* How long waiters may sleep over a due timer. */
#define PATIENCE_NS	(10 * SEC)

struct wheel wheels[NR_WHEELS];
struct record records[MAX_RECORDS];

__thread struct file *wheel;
__thread struct twheel_ring *ring;
static __thread u32 wheel_nr;

void use_wheel(u32 nr)
{
	wheel_nr = nr;
	wheel = wheels[nr].filp;
	ring = NULL;
}

void record_error(long err)
{
	HAPPENS("calls beyond a limit", err == -ENOSPC);
	HAPPENS("calls with missing user memory", err == -EFAULT);
	HAPPENS("calls interrupted by a signal", err == -ERESTARTSYS);
}

static void record_event(const struct twheel_event *event)
{
	struct record *record = &records[event->data % MAX_RECORDS];
	u64 id = READ_ONCE(record->id);

	/* The add may not have returned yet. */
	if (event->data >= MAX_RECORDS || READ_ONCE(record->wheel) != wheel_nr ||
	    (id && id != event->id))
		wrong("timer %llu is of another wheel, or has another id", event->data);
	if (READ_ONCE(record->is_periodic) ? !event->count : event->count != 1)
		wrong("timer %llu: count %llu", event->data, event->count);
	HAPPENS("events of periodic timers read", READ_ONCE(record->is_periodic));
	__atomic_fetch_add(&record->delivered, 1, __ATOMIC_RELAXED);
	count(&wheels[wheel_nr].delivered, 1);
}

static unsigned int few(void)
{
	return one_in(8) ? 120 : 1 + any_below(3);
}

/*
 * Reads a few events. Memory may be missing; then it reads again. A blocked reader of a wheel that
 * gets a ring reads no more.
 */
int read_events(unsigned int max, int flags)
{
	struct twheel_event event[MAX_BATCH];
	size_t size = few() * sizeof(*event);
	bool fault = one_in(8), signalled;
	ssize_t ret, i;

	if (fault)
		current->unwritable = (unsigned long)event + any_below(size);
	if (flags && one_in(2))
		flags = IOCB_NOWAIT;
	ret = sys_read(wheel, event, size, flags, !one_in(4));
	task_mend(current);
	record_error(ret);
	HAPPENS("reads that returned events", ret > 0);
	HAPPENS("reads that were not to wait, and would have had to",
		ret == -EAGAIN && flags & IOCB_NOWAIT);
	if (ret == -EFAULT && fault)
		return read_events(max, flags);
	if (ret == -EBUSY && wheel_nr >= FIRST_RING) {
		HAPPENS("reads of a wheel that has a ring", 1);
		while (!flags && !signal_pending(current))
			usleep(100);
		return -EINTR;
	}
	/* Looked at afterwards: an event that comes now is not waited for. */
	signalled = signal_pending(current);
	if (ret < 0 && !(ret == -EAGAIN && flags) &&
	    !((ret == -EINTR || ret == -ERESTARTSYS) && signalled))
		wrong("read: error %zd", -ret);
	if (!ret || ret > (ssize_t)size || (ret > 0 && ret % sizeof(*event)))
		wrong("read: %zd bytes", ret);
	if (ret < 0)
		return ret;
	for (i = 0; i < ret / (ssize_t)sizeof(*event); i++)
		record_event(&event[i]);
	return i;
}

/* All waiters of a wheel make its ring at the same time; it gets only one. */
void map_ring(void)
{
	struct twheel_ring_setup setup = { .slots = one_in(2) ? 2 : 2 + any_below(1000) };
	struct wheel *w = &wheels[wheel_nr];

	if (sys_ioctl(wheel, TWHEEL_RING, &setup))
		broken("a ring cannot be made");
	ring = sys_mmap(wheel, setup.size);
	pthread_mutex_lock(&w->taking);
	if (w->ring && (w->ring != ring || w->slots != setup.slots))
		wrong("wheel %u has two rings", wheel_nr);
	w->ring = ring;
	w->slots = setup.slots;
	pthread_mutex_unlock(&w->taking);
}

unsigned int take_events(void)
{
	const struct twheel_event *slot = (struct twheel_event *)(ring + 1);
	struct wheel *w = &wheels[wheel_nr];
	unsigned int n;
	u32 tail, head;

	/* Others fill the ring. */
	if (one_in(8))
		usleep(any_below(3000));
	HAPPENS("events taken while a ring said that there is more",
		READ_ONCE(ring->flags) & TWHEEL_RING_MORE);
	pthread_mutex_lock(&w->taking);
	tail = smp_load_acquire(&ring->tail); /* events are before it */
	head = READ_ONCE(ring->head);
	if (tail >= w->slots)
		wrong("the tail of a ring of %u slots is %u", w->slots, tail);
	breathing_space();
	for (n = 0; head != tail; n++) {
		record_event(&slot[head]);
		head = head + 1 < w->slots ? head + 1 : 0;
	}
	smp_store_release(&ring->head, head); /* events have been read */
	pthread_mutex_unlock(&w->taking);
	HAPPENS("events taken from rings", n);
	return n;
}

bool has_ended(const struct record *record)
{
	return !READ_ONCE(record->id) || READ_ONCE(record->cancelled) ||
	       (READ_ONCE(record->delivered) && !READ_ONCE(record->is_periodic));
}

void ledger_wait(void)
{
	u64 end = clock_now(CLOCK_MONOTONIC) + PATIENCE_NS;
	const struct record *record;

	for (record = records; record < records + nr_adders * MAX_ADDS; record++) {
		while (!has_ended(record)) {
			if (clock_now(CLOCK_MONOTONIC) > end)
				wrong("wheel %u: timer %zd is due, and no waiter is woken",
				      record->wheel, record - records);
			usleep(100);
		}
	}
}

void ledger_check(void)
{
	struct twheel_info info;
	u32 nr;

	for (nr = 0; nr < nr_adders * MAX_ADDS; nr++) {
		const struct record *r = &records[nr];
		u32 ends = r->cancelled + (r->is_periodic ? 0 : r->delivered);

		/* One whose id could not be handed back may have been read before. */
		if (r->id ? ends != 1 : ends > 1 || r->cancelled)
			wrong("timer %u, id %#llx, was read %u times and cancelled %u times",
			      nr, r->id, r->delivered, r->cancelled);
	}
	for (nr = 0; nr < NR_WHEELS; nr++) {
		if (sys_ioctl(wheels[nr].filp, TWHEEL_INFO, &info) || info.pending ||
		    info.expired || info.delivered != wheels[nr].delivered)
			wrong("wheel %u: %llu + %llu left; %llu events, of which %llu were read",
			      nr, info.pending, info.expired, info.delivered,
			      wheels[nr].delivered);
		check_charge(wheels[nr].filp);
	}
}
