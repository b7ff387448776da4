// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading and polling for expired timers
 *
 * A read takes events with the lock held, and copies them without it, to pages that are present.
 * Events that could not be copied are unread again; then their memory is faulted in, and the read
 * goes on. So a reader that waits for a page keeps nothing from others.
 */
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "twheel_compat.h"
#include "twheel_event.h"

/* Holds that a read which may not wait spends on timers that are due, but not in order yet. */
#define TWHEEL_READ_HOLDS	4

/* Events that have been taken, and the entries to free; NULL for a periodic timer. */
struct taken {
	u64 modified;	/* @modified of the file at that time */
	struct twheel_event event[TWHEEL_READ_EVENTS];
	struct twheel_entry *entry[TWHEEL_READ_EVENTS];
};

/* A read, and its progress. */
struct reading {
	struct iov_iter *to;
	size_t size;	/* of @to when it began */
	u64 until;	/* what is due later than its first hold is for other reads */
	u8 holds;	/* how often it may look for more than has expired */
	bool may_wait;
};

static bool has_read(const struct reading *r)
{
	return iov_iter_count(r->to) < r->size;
}

/* Take the events that are ready and have room; returns how many. No call finds their timers. */
static unsigned int take_events(struct twheel_file *file, const struct reading *r,
				struct taken *taken)
{
	u64 max = iov_iter_count(r->to) / sizeof(struct twheel_event);
	struct twheel_entry *entry;
	unsigned int n;

	taken->modified = file->modified;
	max = has_expired(file) ? min3(max, (u64)TWHEEL_READ_EVENTS, file->wheel.nr_expired) : 0;
	for (n = 0; n < max && first_expired(file)->timer.deadline <= r->until; n++) {
		entry = take(file, &taken->event[n]);
		taken->entry[n] = entry;
		if (likely(entry)) {
			entry->timer.tag = 0;
			file->taken++;
		}
	}
	file->delivered += n;
	return n;
}

/* Make an event unread again, before all others. */
static void give_back(struct twheel_file *file, const struct taken *taken, unsigned int i)
{
	const struct twheel_event *event = &taken->event[i];
	struct twheel_entry *entry = taken->entry[i];
	struct twheel *w = &file->wheel;

	file->delivered--;
	file->news = true;
	if (likely(entry)) {
		file->taken--;
		entry->timer.tag = event->id >> 32;
	} else {
		/* Another reader may have taken a later event, and rearmed it again. */
		if (!twheel_store_find(&file->store, event->id, &entry) ||
		    (file->modified != taken->modified &&
		     entry->timer.deadline != next_deadline(event->deadline_ns, event->count,
							    entry->interval)))
			return; /* cancelled or modified, which counts as before the read */
		twheel_cancel(w, &entry->timer);
		entry->timer.deadline = max(event->deadline_ns, entry->timer.deadline -
					    event->count * entry->interval);
	}
	/* The wheel may have followed a clock that was set back. */
	if (unlikely(entry->timer.deadline >= w->time + w->tick))
		twheel_add(w, &entry->timer);
	else
		twheel_expire_first(w, &entry->timer);
}

/* Copy events to pages that are present; returns how many. */
static unsigned int copy_events(struct iov_iter *to, const struct twheel_event *event,
				unsigned int n)
{
	size_t copied;

	pagefault_disable();
	copied = copy_to_iter(event, n * sizeof(*event), to);
	if (unlikely(copied < sizeof(*event))) {
		/* On some CPUs a copy stops early, before a missing page: one event may fit. */
		iov_iter_revert(to, copied);
		copied = copy_to_iter(event, sizeof(*event), to);
	}
	pagefault_enable();
	iov_iter_revert(to, copied % sizeof(*event));
	return copied / sizeof(*event);
}

/*
 * Copy @n events, and free their timers. Returns 0 if all were copied; otherwise the rest is unread
 * again: 1 if its memory has been faulted in, or -EFAULT.
 */
static int deliver(struct twheel_file *file, struct iov_iter *to, const struct taken *taken,
		   unsigned int n)
{
	unsigned int copied = copy_events(to, taken->event, n), i;

	spin_lock(&file->lock);
	for (i = 0; i < copied; i++) {
		if (likely(taken->entry[i])) {
			twheel_store_put(&file->store, taken->entry[i]);
			file->taken--;
		}
	}
	for (i = n; unlikely(i-- > copied);)
		give_back(file, taken, i);
	twheel_file_leave(file);
	if (likely(copied == n))
		return 0;
	return fault_in_iov_iter_writeable(to, sizeof(*taken->event)) ? -EFAULT : 1;
}

/*
 * Take and copy events once. Returns 1 to go on, 0 if nothing is left, -EAGAIN if what is left is
 * for other reads, or another errno.
 */
static int read_once(struct twheel_file *file, struct reading *r)
{
	bool more = twheel_file_enter(file, r->holds ? TWHEEL_FEW_STEPS : 0), again, left;
	struct taken taken __uninitialized;
	unsigned int n;
	int err = 0;

	if (unlikely(file->ring)) {
		twheel_file_leave(file);
		return -EBUSY;
	}
	/* After a clock that was set back within a tick, expired timers can be due later in it. */
	if (!has_read(r))
		r->until = max(file->now, file->wheel.time + file->wheel.tick - 1);
	n = take_events(file, r, &taken);
	if (more && r->holds && !r->may_wait)
		r->holds--;
	again = more && r->holds;
	if (has_expired(file))
		again = first_expired(file)->timer.deadline <= r->until;
	left = more || file->wheel.nr_expired;
	if (likely(n || again || has_read(r)))
		twheel_file_leave(file);
	else
		twheel_file_publish_and_unlock(file, more);
	if (n)
		err = deliver(file, r->to, &taken, n);
	if (err)
		return err;
	return again ? 1 : left ? -EAGAIN : 0;
}

/* Read what is due now. Returns 0, or why something is left: 1, or an errno. */
static int read_due(struct twheel_file *file, struct reading *r)
{
	int err;

	while ((err = read_once(file, r)) == 1 &&
	       iov_iter_count(r->to) >= sizeof(struct twheel_event) &&
	       !(has_read(r) ? task_sigpending(current) : fatal_signal_pending(current)))
		cond_resched();
	/* One reader is woken at a time. */
	if (err && err != -EFAULT)
		twheel_file_wake_next(file);
	return err;
}

static ssize_t read_events(struct file *filp, struct iov_iter *to, bool may_wait)
{
	struct twheel_file *file = filp->private_data;
	struct reading r = { .to = to, .size = iov_iter_count(to), .may_wait = may_wait };
	int err;

	if (r.size < sizeof(struct twheel_event))
		return -EINVAL;
	do {
		if (may_wait)
			err = twheel_file_wait(file);
		else
			err = READ_ONCE(file->ring) || twheel_file_is_due(file) ? 0 : -EAGAIN;
		if (err)
			return err;
		r.holds = TWHEEL_READ_HOLDS;
		err = read_due(file, &r);
		if (has_read(&r))
			return r.size - iov_iter_count(to);
		if (err) /* 1 if killed */
			return err < 0 ? err : -ERESTARTSYS;
	} while (may_wait);
	return -EAGAIN;
}

/**
 * twheel_read() - wait for events; cheaper for the kernel than ->read_iter()
 * @filp: the open file; with O_NONBLOCK, do not wait
 * @to: user memory for events
 * @size: its size in bytes
 * @pos: not used
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
 * Return: as twheel_read().
 */
ssize_t twheel_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	return read_events(iocb->ki_filp, to, !(iocb->ki_flags & IOCB_NOWAIT ||
						iocb->ki_filp->f_flags & O_NONBLOCK));
}

/* ---- Polling ---- */

/* Poll a wheel without a ring. Returns true if there is something to read after that. */
static bool poll_wheel(struct twheel_file *file)
{
	bool unread, more;

	if (!twheel_file_arm(file))
		return false;
	/* After its clock has been set back, nothing may be left to read. */
	if (READ_ONCE(file->unread) && !twheel_file_can_be_set(file))
		return true;
	more = twheel_file_enter(file, TWHEEL_STEPS);
	unread = has_expired(file);
	if (unread)
		twheel_file_leave(file);
	else
		twheel_file_publish_and_unlock(file, more);
	return unread;
}

/**
 * twheel_poll() - poll(2), select(2), epoll, aio and io_uring
 * @filp: the open file
 * @wait: the caller's wait queue entries
 *
 * Does not sleep, and takes the lock only if the wheel is due. Only an advance shows whether due
 * timers can be read or have to be sorted first. The advance is bounded; if it ends before
 * anything has expired, the hrtimer soon wakes @wait to poll again.
 *
 * Return: EPOLLIN | EPOLLRDNORM if there is something to read; or 0, and @wait will be woken.
 */
__poll_t twheel_poll(struct file *filp, poll_table *wait)
{
	struct twheel_file *file = filp->private_data;
	struct twheel_ring *ring = smp_load_acquire(&file->ring); /* is complete */
	bool unread;

	/* epoll polls all files that it has reported, one after the other. */
	cond_resched();
	poll_wait(filp, &file->wait, wait);
	unread = ring ? twheel_poll_ring(file, ring) : poll_wheel(file);
	return unread ? EPOLLIN | EPOLLRDNORM : 0;
}
