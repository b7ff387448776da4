// SPDX-License-Identifier: MIT
/*
 * The ledger, and reading events, which are recorded there; see threads.h
 */
#include <unistd.h>

#include "clock.h"
#include "kernel.h"
#include "threads.h"

struct wheel wheels[NR_WHEELS];
struct record records[MAX_RECORDS];

static __thread u32 wheel_nr;

void use_wheel(u32 nr)
{
	wheel_nr = nr;
	wheel = wheels[nr].filp;
	ring = NULL;
	ring_lock = &wheels[nr].taking;
}

void record_error(long err)
{
	HAPPENS("calls beyond a limit", err == -ENOSPC);
	HAPPENS("calls with missing user memory", err == -EFAULT);
	HAPPENS("calls interrupted by a signal", err == -ERESTARTSYS);
}

void record_event(const struct twheel_event *event)
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
	HAPPENS("events taken from rings", !!ring);
	HAPPENS("events taken while a ring says that there is more",
		ring && READ_ONCE(ring->flags) & TWHEEL_RING_MORE);
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

bool has_ended(const struct record *record)
{
	return !READ_ONCE(record->id) || READ_ONCE(record->cancelled) ||
	       (READ_ONCE(record->delivered) && !READ_ONCE(record->is_periodic));
}

void ledger_wait(void)
{
	const struct record *record;
	u32 turns = 0;

	for (record = records; record < records + nr_adders * MAX_ADDS; record++) {
		while (!has_ended(record)) {
			if (!wait_a_turn(&turns))
				wrong("wheel %u: timer %zd is due, and no waiter is woken",
				      record->wheel, record - records);
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
