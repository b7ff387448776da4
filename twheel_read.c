// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading what has expired, and polling for it
 *
 * An event and its delivery happen together or not at all: it is written to user memory
 * with the lock held, and the timer taken from the wheel only when that has succeeded.
 */
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "twheel_compat.h"
#include "twheel_file.h"
#include "twheel_trace.h"

/* How many periods of a timer that has expired are over: 1 if it has none. */
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
 * Write the events of timers that have expired to user memory, at most @max. Returns of
 * how many, and the last one; they are not taken yet. Nothing here is called while that
 * memory is open: all is inline.
 */
static unsigned int put_events(struct twheel_file *file, struct twheel_event __user *uevent,
			       unsigned int max, struct twheel_timer **last)
{
	struct twheel_timer *timer = list_entry(&file->wheel.expired, struct twheel_timer, node);
	unsigned int n = 0;

	if (!user_write_access_begin(uevent, max * sizeof(*uevent)))
		return 0;
	for (; n < max; n++, uevent++) {
		struct twheel_timer *next = list_next_entry(timer, node);
		struct twheel_event event = event_of(file, to_entry(next));

		unsafe_put_user(event.id, &uevent->id, end);
		unsafe_put_user(event.data, &uevent->data, end);
		unsafe_put_user(event.deadline_ns, &uevent->deadline_ns, end);
		unsafe_put_user(event.count, &uevent->count, end);
		timer = next;
	}
end:
	user_write_access_end();
	*last = timer;
	return n;
}

/* The same for whatever else can be read into. */
static noinline unsigned int copy_events(struct twheel_file *file, struct iov_iter *to,
					 unsigned int max, struct twheel_timer **last)
{
	struct twheel_timer *timer;
	unsigned int n = 0;

	list_for_each_entry(timer, &file->wheel.expired, node) {
		struct twheel_event event = event_of(file, to_entry(timer));
		size_t copied = copy_to_iter(&event, sizeof(event), to);

		if (copied < sizeof(event)) {
			iov_iter_revert(to, copied);
			break;
		}
		*last = timer;
		if (++n == max)
			break;
	}
	return n;
}

static unsigned int tell_events(struct twheel_file *file, struct iov_iter *to,
				unsigned int max, struct twheel_timer **last)
{
	unsigned int n;

	max = min_t(u64, max, file->wheel.nr_expired);
	if (!iter_is_ubuf(to))
		return copy_events(file, to, max, last);
	n = put_events(file, to->ubuf + to->iov_offset, max, last);
	iov_iter_advance(to, n * sizeof(struct twheel_event));
	return n;
}

/* Its next deadline is later than the wheel's clock, and by a period at most. */
static void rearm(struct twheel_file *file, struct twheel_entry *entry)
{
	entry->timer.deadline = min_t(u64, KTIME_MAX, entry->timer.deadline +
				      periods(file, entry) * entry->interval);
	if (WARN_ON_ONCE(!twheel_add(&file->wheel, &entry->timer)))
		twheel_expire(&file->wheel, &entry->timer);
}

/* The first @n timers, up to @last, have been told of: take them. */
static void take_events(struct twheel_file *file, struct twheel_timer *last, unsigned int n)
{
	struct twheel_timer *timer = list_first_entry(&file->wheel.expired,
						      struct twheel_timer, node);

	twheel_take(&file->wheel, last, n);
	file->delivered += n;
	while (n--) {
		struct twheel_entry *entry = to_entry(timer);

		trace_twheel_deliver(file, entry);
		timer = list_next_entry(timer, node);
		if (unlikely(entry->interval))
			rearm(file, entry);
		else
			twheel_store_put(&file->store, entry);
	}
}

/*
 * Returns how many events were read, with one hold of the lock, or an errno. With @nowait
 * that lock is not waited for: what takes longer is left to poll().
 */
static int read_chunk(struct twheel_file *file, struct iov_iter *to, bool nowait, bool *left)
{
	unsigned int max = min_t(size_t, TWHEEL_CHUNK,
				 iov_iter_count(to) / sizeof(struct twheel_event));
	struct twheel_timer *last;
	int n = 0;

	if (nowait ? !mutex_trylock(&file->lock) : twheel_file_lock(file))
		return nowait ? -EAGAIN : -EINTR;
	if (twheel_file_advance(file, nowait ? 0 : max))
		return -EINTR;
	if (file->wheel.nr_expired) {
		n = tell_events(file, to, max, &last);
		if (n)
			take_events(file, last, n);
		else
			n = -EFAULT;
	}
	/* When enough has expired, nobody has looked for more. */
	*left = file->wheel.nr_expired || n == max;
	twheel_file_unlock(file);
	return n;
}

/* Returns the size of what was read without waiting for more, or an errno. */
static ssize_t read_due(struct twheel_file *file, struct iov_iter *to, bool nowait)
{
	bool left = true;
	ssize_t done = 0;
	int n;

	do {
		n = read_chunk(file, to, nowait, &left);
		if (n <= 0)
			break;
		done += n * sizeof(struct twheel_event);
		cond_resched();
	} while (left && iov_iter_count(to) >= sizeof(struct twheel_event) &&
		 !signal_pending(current));

	/* One reader is woken at a time: what this one leaves is for the next. */
	if (left)
		twheel_file_pass_on(file);
	return done ?: n;
}

static ssize_t read_events(struct file *filp, struct iov_iter *to, bool nowait)
{
	struct twheel_file *file = filp->private_data;
	bool nonblock = nowait || filp->f_flags & O_NONBLOCK;
	ssize_t done;

	if (iov_iter_count(to) < sizeof(struct twheel_event))
		return -EINVAL;
	do {
		if (!nonblock)
			done = twheel_file_wait(file);
		else
			done = twheel_file_is_due(file) ? 0 : -EAGAIN;
		if (done)
			return done;
		done = read_due(file, to, nowait);
	} while (!done && !nowait);
	return done ?: -EAGAIN;
}

/**
 * twheel_read() - read(2), for which the kernel does less than for the others
 * @filp: the open file; with O_NONBLOCK, nothing is waited for
 * @to: user memory for events
 * @size: how many bytes there are of it
 * @pos: not used
 *
 * Waits until there is something to read, and takes the lock for a chunk at a time.
 *
 * Return: how many bytes were read, whole events all of them; or -EINVAL if there is no
 * room for one, -EAGAIN, -EFAULT, -EINTR when killed, or -ERESTARTSYS for a signal.
 */
ssize_t twheel_read(struct file *filp, char __user *to, size_t size, loff_t *pos)
{
	struct iov_iter iter;

	iov_iter_ubuf(&iter, ITER_DEST, to, size);
	return read_events(filp, &iter, false);
}

/**
 * twheel_read_iter() - readv(2), preadv2(2) and io_uring
 * @iocb: the call; with IOCB_NOWAIT, the lock is not waited for either
 * @to: where to
 *
 * Return: as twheel_read().
 */
ssize_t twheel_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	return read_events(iocb->ki_filp, to, iocb->ki_flags & IOCB_NOWAIT);
}

/**
 * twheel_poll() - poll(2), select(2), epoll and io_uring
 * @filp: the open file
 * @wait: where the caller wants to be woken
 *
 * Takes the lock only if something is due: whether that is there to be read, or has yet to
 * be cascaded, the wheel says when it has been advanced.
 *
 * Return: EPOLLIN | EPOLLRDNORM if there is something to read, or the caller is killed; or 0,
 * and @wait will be woken.
 */
__poll_t twheel_poll(struct file *filp, poll_table *wait)
{
	struct twheel_file *file = filp->private_data;
	bool unread;

	poll_wait(filp, &file->wait, wait);
	while (twheel_file_is_due(file) || twheel_file_watch(file)) {
		/* Killed: an epoll that others share must not take it for read. */
		if (twheel_file_lock(file) || twheel_file_advance(file, 1))
			return EPOLLIN | EPOLLRDNORM;
		unread = file->wheel.nr_expired;
		twheel_file_unlock(file);
		if (unread)
			return EPOLLIN | EPOLLRDNORM;
	}
	return 0;
}
