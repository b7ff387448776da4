// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading what has expired, and polling for it
 *
 * An event and its delivery happen together or not at all: it is written to user memory
 * with the lock held, and the timer taken from the wheel only when that has succeeded.
 */
#include <linux/math64.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "twheel_file.h"
#include "twheel_trace.h"

static struct twheel_timer *first_expired(const struct twheel_file *file)
{
	return list_first_entry(&file->wheel.expired, struct twheel_timer, node);
}

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
 * Write the events of timers that have expired to user memory, at most @max; returns how
 * many. Nothing here is called while that memory is open: all is inline.
 */
static unsigned int put_events(struct twheel_file *file, struct iov_iter *to, unsigned int max)
{
	struct twheel_event __user *uevent = to->ubuf + to->iov_offset;
	struct twheel_timer *timer;
	unsigned int n = 0;

	if (!user_write_access_begin(uevent, max * sizeof(*uevent)))
		return 0;
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

/* The same of one, to whatever else can be read into. */
static noinline unsigned int copy_event(struct twheel_file *file, struct iov_iter *to)
{
	struct twheel_event event = event_of(file, to_entry(first_expired(file)));
	size_t copied = copy_to_iter(&event, sizeof(event), to);

	if (copied == sizeof(event))
		return 1;
	iov_iter_revert(to, copied);
	return 0;
}

/* Its next deadline is later than the wheel's clock, and by a period at most. */
static void rearm(struct twheel_file *file, struct twheel_entry *entry)
{
	entry->timer.deadline = min_t(u64, KTIME_MAX, entry->timer.deadline +
				      periods(file, entry) * entry->interval);
	if (WARN_ON_ONCE(!twheel_add(&file->wheel, &entry->timer)))
		twheel_expire(&file->wheel, &entry->timer);
}

/* The events of the first @n timers have been written: take them. */
static void take_events(struct twheel_file *file, unsigned int n)
{
	file->delivered += n;
	if (file->has_periods)
		twheel_forward(&file->wheel, file->wheel.now);
	while (n--) {
		struct twheel_entry *entry = to_entry(twheel_pop(&file->wheel));

		trace_twheel_deliver(file, entry);
		if (unlikely(entry->interval))
			rearm(file, entry);
		else
			twheel_store_put(&file->store, entry);
	}
}

/*
 * Read with one hold of the lock; returns 0 or an errno. With @nowait that lock is not
 * waited for: what takes longer is left to poll().
 */
static int read_chunk(struct twheel_file *file, struct iov_iter *to, bool nowait, bool *left)
{
	unsigned int max = min_t(size_t, TWHEEL_CHUNK,
				 iov_iter_count(to) / sizeof(struct twheel_event));
	unsigned int n = 0, some = 1;

	if (nowait ? !mutex_trylock(&file->lock) : twheel_file_lock(file))
		return nowait ? -EAGAIN : -EINTR;
	if (twheel_file_advance(file, nowait ? 0 : max))
		return -EINTR;
	while (some && n < max && file->wheel.nr_expired) {
		some = iter_is_ubuf(to) ? put_events(file, to, max - n) : copy_event(file, to);
		take_events(file, some);
		n += some;
	}
	/* When enough has expired, nobody has looked for more. */
	*left = file->wheel.nr_expired || n == max;
	twheel_file_unlock(file);
	return some ? 0 : -EFAULT;
}

/* Read what there is, without waiting for more; returns 0 or an errno. */
static int read_due(struct twheel_file *file, struct iov_iter *to, bool nowait)
{
	bool left = true;
	int err;

	do {
		err = read_chunk(file, to, nowait, &left);
		cond_resched();
	} while (!err && left && iov_iter_count(to) >= sizeof(struct twheel_event) &&
		 !signal_pending(current));

	/* One reader is woken at a time: what this one leaves is for the next. */
	if (left)
		twheel_file_pass_on(file);
	return err;
}

static ssize_t read_events(struct file *filp, struct iov_iter *to, bool nowait)
{
	struct twheel_file *file = filp->private_data;
	bool nonblock = nowait || filp->f_flags & O_NONBLOCK;
	size_t size = iov_iter_count(to), done;
	int err;

	if (size < sizeof(struct twheel_event))
		return -EINVAL;
	do {
		if (!nonblock)
			err = twheel_file_wait(file);
		else
			err = twheel_file_is_due(file) ? 0 : -EAGAIN;
		if (err)
			return err;
		err = read_due(file, to, nowait);
		done = size - iov_iter_count(to);
	} while (!err && !done && !nowait);
	return done ?: err ?: -EAGAIN;
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
	/* An epoll asks all that it told of before, one after the other. */
	cond_resched();
	return 0;
}
