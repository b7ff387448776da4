// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading and polling for expired timers
 *
 * Writing an event and removing its timer are one step: the event is written to user memory
 * with the lock held, and the timer leaves the wheel only if that succeeds. If that memory is not
 * there, it is brought in without the lock, and the read goes on.
 */
#include <linux/math64.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "twheel_file.h"
#include "twheel_trace.h"

/* How often one poll may take the lock. A poll is thus no longer than a tenth of a millisecond. */
#define TWHEEL_POLL_HOLDS	8

static struct twheel_timer *first_expired(const struct twheel_file *file)
{
	return list_first_entry(&file->wheel.expired, struct twheel_timer, node);
}

/* Return how many periods of an expired timer have passed: 1 if it is not periodic. */
static __always_inline u64 periods(const struct twheel_file *file, const struct twheel_entry *entry)
{
	if (likely(!entry->interval) || entry->timer.deadline >= file->wheel.time)
		return 1;
	return div64_u64(file->wheel.time - entry->timer.deadline, entry->interval) + 1;
}

static __always_inline struct twheel_event event_of(const struct twheel_file *file,
						    const struct twheel_entry *entry)
{
	return (struct twheel_event) {
		.id = twheel_entry_id(entry),
		.data = entry->data,
		.deadline_ns = entry->timer.deadline,
		.count = periods(file, entry),
	};
}

/*
 * Write the events of up to @max expired timers to user memory; returns how many, 0 if the memory
 * is not there now, or -EFAULT. No function may be called while that memory is open: all are
 * inline.
 */
static int put_events(struct twheel_file *file, struct iov_iter *to, int max)
{
	struct twheel_event __user *uevent = to->ubuf + to->iov_offset;
	struct twheel_timer *timer;
	int n = 0;

	if (!user_write_access_begin(uevent, max * sizeof(*uevent)))
		return -EFAULT;
	max = min_t(u64, max, file->wheel.nr_expired);
	for (timer = first_expired(file); n < max; timer = list_next_entry(timer, node)) {
		struct twheel_event event = event_of(file, to_entry(timer));

		unsafe_put_user(event.id, &uevent[n].id, end);
		unsafe_put_user(event.data, &uevent[n].data, end);
		unsafe_put_user(event.deadline_ns, &uevent[n].deadline_ns, end);
		unsafe_put_user(event.count, &uevent[n].count, end);
		n++;
	}
end:
	user_write_access_end();
	iov_iter_advance(to, n * sizeof(*uevent));
	return n;
}

/* Copy one event to any other iterator; returns 0 if its memory is not there now. */
static noinline int copy_event(struct twheel_file *file, struct iov_iter *to)
{
	struct twheel_event event = event_of(file, to_entry(first_expired(file)));
	size_t copied = copy_to_iter(&event, sizeof(event), to);

	if (copied == sizeof(event))
		return 1;
	iov_iter_revert(to, copied);
	return 0;
}

/* Rearm a periodic timer: its next deadline is up to a period later than the wheel's clock. */
static void rearm(struct twheel_file *file, struct twheel_entry *entry)
{
	entry->timer.deadline = min_t(u64, KTIME_MAX, entry->timer.deadline +
				      periods(file, entry) * entry->interval);
	if (WARN_ON_ONCE(!twheel_add(&file->wheel, &entry->timer)))
		twheel_expire(&file->wheel, &entry->timer);
}

/* Prepare for taking the events of the first @n timers. */
static void begin_taking(struct twheel_file *file, unsigned int n)
{
	file->delivered += n;
	if (file->has_periods)
		twheel_forward(&file->wheel, file->wheel.now);
}

/* Take the first expired timer, @entry, whose event has been written. */
static __always_inline void take_event(struct twheel_file *file, struct twheel_entry *entry)
{
	twheel_pop(&file->wheel);
	trace_twheel_deliver(file, entry);
	if (unlikely(entry->interval))
		rearm(file, entry);
	else
		twheel_store_put(&file->store, entry);
}

/* Take the first @n timers, whose events have been written. */
static void take_events(struct twheel_file *file, unsigned int n)
{
	begin_taking(file, n);
	while (n--)
		take_event(file, to_entry(first_expired(file)));
}

/* ---- The ring ---- */

/* Return how many empty slots can be filled; none if the program's head is invalid. */
static u32 ring_room(const struct twheel_ring_memory *ring)
{
	u32 head = smp_load_acquire(&ring->shared->head); /* after the program's reads */

	if (head >= ring->slots)
		return 0;
	return (head > ring->tail ? 0 : ring->slots) + head - ring->tail - 1;
}

/*
 * Move up to a chunk of events to the ring; returns whether there is room for more. With
 * @behind, more is due than has expired.
 */
static bool fill_ring(struct twheel_file *file, struct twheel_ring_memory *ring, bool behind)
{
	u32 tail = ring->tail, room = ring_room(ring), n;

	n = min3((u64)room, (u64)TWHEEL_CHUNK, file->wheel.nr_expired);
	room -= n;
	begin_taking(file, n);
	for (; n; n--) {
		struct twheel_entry *entry = to_entry(first_expired(file));

		ring->event[tail] = event_of(file, entry);
		take_event(file, entry);
		tail = tail + 1 < ring->slots ? tail + 1 : 0;
	}
	ring->tail = tail;
	WRITE_ONCE(ring->shared->flags, file->wheel.nr_expired || behind ? TWHEEL_RING_MORE : 0);
	/* The program sees the events, and the flags, before this. */
	smp_store_release(&ring->shared->tail, tail);
	return room;
}

/* ---- Reading ---- */

/*
 * Bring in the memory for an event, by access: no other way is certain to be enough. That may
 * take any time, and the next reader does not wait for it. Returns 1, or -EFAULT.
 */
static noinline int bring_in(struct twheel_file *file, struct iov_iter *to)
{
	size_t size = sizeof(struct twheel_event), zeroed;

	twheel_file_wake_next(file);
	zeroed = iov_iter_zero(size, to);
	iov_iter_revert(to, zeroed);
	return zeroed == size ? 1 : -EFAULT;
}

/*
 * Advance the wheel or read, with one hold of the lock: a long advance has a hold of its own.
 * Returns 1 if there may be more to read, 0 if there is not, or -EFAULT.
 */
static int read_chunk(struct twheel_file *file, struct iov_iter *to, bool *is_advanced)
{
	int max = min_t(size_t, TWHEEL_CHUNK, iov_iter_count(to) / sizeof(struct twheel_event));
	int n = 0, some = 1;
	bool left;

	twheel_file_lock(file);
	if (unlikely(file->ring)) {
		twheel_file_unlock(file);
		return -EBUSY;
	}
	/* When enough has expired, only the counts of periodic timers need the clock. */
	if ((!*is_advanced && (file->wheel.nr_expired < max || file->has_periods)) ||
	    twheel_file_is_set_back(file)) {
		bool again = twheel_file_advance(file, TWHEEL_FEW_STEPS);

		*is_advanced = !again || file->wheel.nr_expired >= max;
		if (again || file->wheel.nr_expired >= TWHEEL_FEW_STEPS) {
			twheel_file_unlock(file);
			return 1;
		}
	}
	while (n < max && file->wheel.nr_expired) {
		some = iter_is_ubuf(to) ? put_events(file, to, max - n) : copy_event(file, to);
		if (some <= 0)
			break;
		take_events(file, some);
		n += some;
	}
	/* When all @max are read, more may be due. */
	left = file->wheel.nr_expired || n == max;
	*is_advanced = false;
	if (likely(n || left))
		twheel_file_unlock(file);
	else
		twheel_file_sleep_and_unlock(file, false);
	return some > 0 ? left : some ?: bring_in(file, to);
}

static ssize_t read_events(struct file *filp, struct iov_iter *to, bool may_wait)
{
	struct twheel_file *file = filp->private_data;
	size_t size = iov_iter_count(to);
	bool is_advanced = false;
	int err;

	if (size < sizeof(struct twheel_event))
		return -EINVAL;
	do {
		if (READ_ONCE(file->ring))
			err = -EBUSY;
		else if (may_wait)
			err = twheel_file_wait(file);
		else
			err = twheel_file_is_due(file) ? 0 : -EAGAIN;
		if (err)
			return err;
		do {
			err = read_chunk(file, to, &is_advanced);
			cond_resched();
		} while (err > 0 && iov_iter_count(to) >= sizeof(struct twheel_event) &&
			 !task_sigpending(current));
		/* One reader is woken at a time: it leaves the rest to the next. */
		if (err)
			twheel_file_wake_next(file);
		if (iov_iter_count(to) < size)
			return size - iov_iter_count(to);
		if (err)
			return err < 0 ? err : -ERESTARTSYS;
	} while (may_wait);
	return -EAGAIN;
}

/**
 * twheel_read() - read(2), which is cheaper for the kernel than ->read_iter()
 * @filp: the open file; with O_NONBLOCK, do not wait
 * @to: user memory for events
 * @size: its size in bytes
 * @pos: not used
 *
 * Waits until there is something to read.
 *
 * Return: how many bytes were read, always whole events; or -EINVAL if there is no
 * room for one, -EBUSY if the file has a ring, -EAGAIN, -EFAULT, or -ERESTARTSYS for a signal.
 */
ssize_t twheel_read(struct file *filp, char __user *to, size_t size, loff_t *pos)
{
	struct iov_iter iter;

	iov_iter_ubuf(&iter, ITER_DEST, to, size);
	return read_events(filp, &iter, !(filp->f_flags & O_NONBLOCK));
}

/**
 * twheel_read_iter() - readv(2), preadv2(2) and io_uring
 * @iocb: the call; with IOCB_NOWAIT or O_NONBLOCK, do not wait
 * @to: the destination
 *
 * A poll that was started before -EAGAIN is woken when there is something to read.
 *
 * Return: as twheel_read().
 */
ssize_t twheel_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	return read_events(iocb->ki_filp, to, !(iocb->ki_flags & IOCB_NOWAIT ||
						iocb->ki_filp->f_flags & O_NONBLOCK));
}

/*
 * Advance the wheel, and move expired timers to the ring; many are moved in a hold of the lock
 * of their own. Returns whether to go on.
 */
static bool advance_and_fill(struct twheel_file *file, struct twheel_ring_memory *ring)
{
	bool many = file->wheel.nr_expired >= TWHEEL_FEW_STEPS && !twheel_file_is_set_back(file);
	/* With many, assume so: another hold of the lock finds out. */
	bool behind = many;

	if (!many) {
		behind = twheel_file_advance(file, TWHEEL_STEPS);
		if (file->wheel.nr_expired >= TWHEEL_FEW_STEPS ||
		    twheel_is_rewinding(&file->wheel)) {
			WRITE_ONCE(ring->shared->flags, TWHEEL_RING_MORE);
			return true;
		}
	}
	return fill_ring(file, ring, behind) && (many || file->wheel.nr_expired);
}

static bool ring_has_events(const struct twheel_ring_memory *ring)
{
	return READ_ONCE(ring->shared->head) != READ_ONCE(ring->shared->tail);
}

/* Poll a wheel with a ring; returns whether the ring has events after that. */
static bool poll_ring(struct twheel_file *file, struct twheel_ring_memory *ring)
{
	unsigned int holds = TWHEEL_POLL_HOLDS;
	bool again;

	/* Polling again is useless while nothing is due. */
	if (READ_ONCE(ring->shared->flags)) {
		WRITE_ONCE(ring->shared->flags, 0);
		/* If a poll set it before this, twheel_file_arm() finds the wheel due. */
		smp_mb();
	}
	again = twheel_file_arm(file);
	while (again && holds--) {
		u32 tail;

		twheel_file_lock(file);
		tail = ring->tail;
		again = advance_and_fill(file, ring);
		if (ring->tail != tail)
			twheel_file_publish_and_unlock(file, twheel_file_next(file), true);
		else if (!(again && holds) && !ring_has_events(ring))
			twheel_file_sleep_and_unlock(file, again);
		else
			twheel_file_unlock(file);
	}
	return ring_has_events(ring);
}

/* Poll a wheel without a ring; returns whether there is something to read after that. */
static bool poll_wheel(struct twheel_file *file)
{
	bool unread, more;

	if (!twheel_file_arm(file))
		return false;
	/* After its clock has been set back, nothing may be left to read. */
	if (READ_ONCE(file->wheel.nr_expired) && !twheel_file_can_be_set(file))
		return true;
	twheel_file_lock(file);
	more = twheel_file_advance(file, TWHEEL_STEPS);
	unread = file->wheel.nr_expired && !twheel_is_rewinding(&file->wheel);
	if (unread)
		twheel_file_unlock(file);
	else
		twheel_file_sleep_and_unlock(file, more);
	return unread;
}

/**
 * twheel_poll() - poll(2), select(2), epoll, aio and io_uring
 * @filp: the open file
 * @wait: the caller's wait queue entries
 *
 * Does not sleep, and takes the lock only if the wheel is due. Only an advance shows whether due
 * timers can be read or have to be cascaded first. The advance is bounded; if it ends before
 * anything has expired, the hrtimer soon wakes @wait to poll again.
 *
 * Return: EPOLLIN | EPOLLRDNORM if there is something to read; or 0, and @wait will be woken.
 */
__poll_t twheel_poll(struct file *filp, poll_table *wait)
{
	struct twheel_file *file = filp->private_data;
	struct twheel_ring_memory *ring = smp_load_acquire(&file->ring); /* is complete */
	bool unread;

	/* epoll polls all files that it has reported, one after the other. */
	cond_resched();
	poll_wait(filp, &file->wait, wait);
	unread = ring ? poll_ring(file, ring) : poll_wheel(file);
	return unread ? EPOLLIN | EPOLLRDNORM : 0;
}
