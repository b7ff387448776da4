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

/* How many periods of an expired timer have passed: 1 if it is not periodic. */
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
 * Write the events of up to @max expired timers to user memory; returns how many. No function
 * may be called while that memory is open: all are inline.
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

/* Copy one event to any other iterator. */
static noinline unsigned int copy_event(struct twheel_file *file, struct iov_iter *to)
{
	struct twheel_event event = event_of(file, to_entry(first_expired(file)));
	size_t copied = copy_to_iter(&event, sizeof(event), to);

	if (copied == sizeof(event))
		return 1;
	iov_iter_revert(to, copied);
	return 0;
}

/* The next deadline is later than the wheel's clock, by a period at most. */
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

/* Whether to wait for events: not with O_NONBLOCK, and with IOCB_NOWAIT not for the lock either. */
enum read_mode { MAY_WAIT, NONBLOCK, NOWAIT };

/*
 * Advance the wheel or read, with one hold of the lock: what takes long has a hold of its own.
 * Returns 1 if there may be more to read, 0 if there is not, or an errno.
 */
static int read_chunk(struct twheel_file *file, struct iov_iter *to, enum read_mode mode,
		      bool *is_advanced)
{
	unsigned int max = min_t(size_t, TWHEEL_CHUNK,
				 iov_iter_count(to) / sizeof(struct twheel_event));
	unsigned int n = 0, some = 1;
	bool left;

	if (mode == NOWAIT ? !twheel_file_trylock(file) : twheel_file_lock(file))
		return mode == NOWAIT ? -EAGAIN : -EINTR;
	/* When enough has expired, only the counts of periodic timers need the clock. */
	if (!*is_advanced && (file->wheel.nr_expired < max || file->has_periods)) {
		bool again = twheel_file_advance(file, TWHEEL_FEW_STEPS, mode == MAY_WAIT);

		left = file->wheel.nr_expired;
		*is_advanced = !again || file->wheel.nr_expired >= max;
		if (again || file->wheel.nr_expired >= TWHEEL_FEW_STEPS) {
			twheel_file_unlock(file);
			return left || mode != NOWAIT ? 1 : -EAGAIN;
		}
	}
	while (some && n < max && file->wheel.nr_expired) {
		some = iter_is_ubuf(to) ? put_events(file, to, max - n) : copy_event(file, to);
		take_events(file, some);
		n += some;
	}
	/* When all @max are read, there may be more that is due. */
	left = file->wheel.nr_expired || n == max;
	*is_advanced = false;
	twheel_file_unlock(file);
	return some ? left : -EFAULT;
}

static ssize_t read_events(struct file *filp, struct iov_iter *to, bool nowait)
{
	enum read_mode mode = filp->f_flags & O_NONBLOCK ? NONBLOCK : MAY_WAIT;
	struct twheel_file *file = filp->private_data;
	size_t size = iov_iter_count(to);
	bool is_advanced = false;
	int err;

	if (size < sizeof(struct twheel_event))
		return -EINVAL;
	if (nowait)
		mode = NOWAIT;
	do {
		if (mode == MAY_WAIT)
			err = twheel_file_wait(file);
		else
			err = twheel_file_is_due(file) ? 0 : -EAGAIN;
		if (err)
			return err;
		do {
			err = read_chunk(file, to, mode, &is_advanced);
			cond_resched();
		} while (err > 0 && iov_iter_count(to) >= sizeof(struct twheel_event) &&
			 !task_sigpending(current));
		/* One reader is woken at a time: it leaves the rest to the next. */
		if (err && err != -EAGAIN)
			twheel_file_wake_next(file);
		if (iov_iter_count(to) < size)
			return size - iov_iter_count(to);
		if (err > 0)
			err = mode == NOWAIT ? -EAGAIN : -ERESTARTSYS;
	} while (!err && mode == MAY_WAIT);
	return err ?: -EAGAIN;
}

/**
 * twheel_read() - read(2), for which the kernel does less than for the others
 * @filp: the open file; with O_NONBLOCK, only the lock is waited for
 * @to: user memory for events
 * @size: how many bytes there are of it
 * @pos: not used
 *
 * Waits until there is something to read.
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
 * @iocb: the call; with IOCB_NOWAIT, the lock is not waited for either, and the wheel is
 *	advanced no further than one hold of the lock allows
 * @to: where to
 *
 * After -EAGAIN, a poll that was started before is woken when there is something to read.
 *
 * Return: as twheel_read().
 */
ssize_t twheel_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	return read_events(iocb->ki_filp, to, iocb->ki_flags & IOCB_NOWAIT);
}

/**
 * twheel_poll() - poll(2), select(2), epoll, aio and io_uring
 * @filp: the open file
 * @wait: where the caller wants to be woken
 *
 * Does not sleep, and takes the lock only if the wheel is due and it is free. Whether
 * something that is due can be read or has to be cascaded first, only an advance shows. It is
 * bounded; if it ends before anything has expired, the hrtimer soon wakes @wait to poll again.
 *
 * Return: EPOLLIN | EPOLLRDNORM if there is something to read; or 0, and @wait will be woken.
 */
__poll_t twheel_poll(struct file *filp, poll_table *wait)
{
	struct twheel_file *file = filp->private_data;

	/* epoll polls all that it has reported, one after the other. */
	cond_resched();
	poll_wait(filp, &file->wait, wait);
	if (twheel_file_arm(file)) {
		bool unread = !READ_ONCE(file->due);

		if (!unread && twheel_file_trylock(file)) {
			twheel_file_advance(file, TWHEEL_STEPS, true);
			unread = file->wheel.nr_expired;
			twheel_file_unlock(file);
		}
		if (unread)
			return EPOLLIN | EPOLLRDNORM;
	}
	return 0;
}
