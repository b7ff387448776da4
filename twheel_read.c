// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading and polling for expired timers
 *
 * Writing an event and removing its timer are one step: the event is written to user memory
 * with the lock held, and the timer leaves the wheel only if that succeeds. If that memory is not
 * present, it is brought in without the lock, and the read goes on.
 */
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "twheel_event.h"
#include "twheel_file.h"

/* How often a read that may not wait advances a wheel that has more due than that expires. */
#define TWHEEL_READ_ADVANCES	4

/*
 * Write the events of up to @max expired timers to user memory. Returns how many, 0 if that memory
 * is not present, or -EFAULT. No function may be called while it is open: all are inline.
 */
static int put_events(struct twheel_file *file, struct iov_iter *to, int max)
{
	struct twheel_event __user *uevent = to->ubuf + to->iov_offset;
	struct twheel_timer *timer;
	int n = 0;

	if (!user_write_access_begin(uevent, max * sizeof(*uevent)))
		return -EFAULT;
	max = min_t(u64, max, file->wheel.nr_expired);
	for (timer = twheel_first_expired(file); n < max; timer = list_next_entry(timer, node)) {
		struct twheel_event event = twheel_event_of(file, to_entry(timer));

		unsafe_put_user(event.id, &uevent[n].id, out);
		unsafe_put_user(event.data, &uevent[n].data, out);
		unsafe_put_user(event.deadline_ns, &uevent[n].deadline_ns, out);
		unsafe_put_user(event.count, &uevent[n].count, out);
		n++;
	}
out:
	user_write_access_end();
	iov_iter_advance(to, n * sizeof(*uevent));
	return n;
}

/* Copy one event to any other iterator. Returns 1, or 0 if its memory is not present. */
static noinline int copy_event(struct twheel_file *file, struct iov_iter *to)
{
	struct twheel_event event = twheel_event_of(file, to_entry(twheel_first_expired(file)));
	size_t copied = copy_to_iter(&event, sizeof(event), to);

	if (copied == sizeof(event))
		return 1;
	iov_iter_revert(to, copied);
	return 0;
}

/*
 * Bring in the memory for an event, by access: no other way is certain to be enough. Returns 1, or
 * -EFAULT.
 */
static noinline int bring_in(struct iov_iter *to)
{
	size_t size = sizeof(struct twheel_event), zeroed = iov_iter_zero(size, to);

	iov_iter_revert(to, zeroed);
	return zeroed == size ? 1 : -EFAULT;
}

/* A read, and how far it is. */
struct reading {
	struct iov_iter *to;
	size_t size;	/* of @to when it began */
	bool may_wait;
	u8 advances;	/* how often it advances a wheel that has more due than that expires */
	u64 until;	/* it does not follow the clock beyond this */
};

/*
 * Advance the wheel and read, with one hold of the lock. Returns 1 to go on, 0 if nothing is left,
 * -EAGAIN if more is due but has to be sorted first, or another errno.
 */
static int read_chunk(struct twheel_file *file, struct reading *r)
{
	int max = min_t(size_t, TWHEEL_CHUNK, iov_iter_count(r->to) / sizeof(struct twheel_event));
	int n = 0, some = 1, i;
	bool more = true, left, set_back; /* more may be due, until an advance shows */

	twheel_file_lock(file);
	if (unlikely(file->ring)) {
		twheel_file_unlock(file);
		return -EBUSY;
	}
	set_back = twheel_file_is_set_back(file);
	/* When enough has expired, only the counts of periodic timers need the clock, once. */
	if (set_back || (r->advances && (file->wheel.nr_expired < min(max, TWHEEL_FEW) ||
					 (file->has_periods && r->until == TWHEEL_NEVER)))) {
		more = twheel_file_advance(file, r->until, TWHEEL_FEW);
		set_back = twheel_is_rewinding(&file->wheel);
		if (more && r->advances && !r->may_wait && !set_back)
			r->advances--;
		/* Many events have a hold of their own. */
		if (file->wheel.nr_expired >= TWHEEL_FEW || set_back) {
			twheel_file_unlock(file);
			return 1;
		}
	}
	while (n < max && file->wheel.nr_expired) {
		some = iter_is_ubuf(r->to) ? put_events(file, r->to, max - n) :
					     copy_event(file, r->to);
		if (some <= 0)
			break;
		for (i = 0; i < some; i++)
			twheel_take(file, to_entry(twheel_first_expired(file)));
		n += some;
	}
	left = file->wheel.nr_expired || (more && r->advances);
	if (likely(left || iov_iter_count(r->to) < r->size))
		twheel_file_unlock(file);
	else
		twheel_file_publish_and_unlock(file, more ? TWHEEL_UNFINISHED : TWHEEL_NOTHING);
	if (some <= 0) {
		/* That may take any time, and the next reader does not wait for it. */
		twheel_file_wake_next(file);
		return some ?: bring_in(r->to);
	}
	return left ? 1 : more ? -EAGAIN : 0;
}

static ssize_t read_events(struct file *filp, struct iov_iter *to, bool may_wait)
{
	struct twheel_file *file = filp->private_data;
	size_t size = iov_iter_count(to);
	int err;

	if (size < sizeof(struct twheel_event))
		return -EINVAL;
	do {
		struct reading r = {
			.to = to,
			.size = size,
			.may_wait = may_wait,
			.advances = TWHEEL_READ_ADVANCES,
			.until = TWHEEL_NEVER,
		};

		if (READ_ONCE(file->ring))
			err = -EBUSY;
		else if (may_wait)
			err = twheel_file_wait(file);
		else
			err = twheel_file_is_due(file) ? 0 : -EAGAIN;
		if (err)
			return err;
		for (;;) {
			err = read_chunk(file, &r);
			cond_resched();
			if (err <= 0 || iov_iter_count(to) < sizeof(struct twheel_event) ||
			    task_sigpending(current))
				break;
			if (r.until == TWHEEL_NEVER)
				r.until = twheel_file_now(file);
		}
		/* One reader is woken at a time: it leaves the rest to the next, once. */
		if (err && err != -EFAULT)
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

/* Poll a wheel without a ring. Returns true if there is something to read after that. */
static bool poll_wheel(struct twheel_file *file)
{
	bool unread, more;

	if (!twheel_file_arm(file))
		return false;
	/* After its clock has been set back, nothing may be left to read. */
	if (READ_ONCE(file->unread) && !twheel_file_can_be_set(file))
		return true;
	twheel_file_lock(file);
	more = twheel_file_advance(file, TWHEEL_NEVER, TWHEEL_STEPS);
	unread = file->wheel.nr_expired && !twheel_is_rewinding(&file->wheel);
	if (unread)
		twheel_file_unlock(file);
	else
		twheel_file_publish_and_unlock(file, more ? TWHEEL_UNFINISHED : TWHEEL_NOTHING);
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
	unread = ring ? twheel_ring_poll(file, ring) : poll_wheel(file);
	return unread ? EPOLLIN | EPOLLRDNORM : 0;
}
