// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for a wheel, and waking its waiters
 *
 * The hrtimer only wakes waiters. The wheel is advanced in process context, by readers, pollers
 * and other calls that need it, on their own CPU time. So a user pays for what its wheels
 * cost.
 *
 * Three times decide about all wake-ups: when the wheel is @due next, as its last change has
 * published; when the hrtimer is @armed for; and when waiters were last woken, @fired. They know
 * of all that was due by then, since they look at the wheel after that, and of nothing later.
 *
 *	reader, poller                  every change of the wheel           hrtimer
 *	--------------                  -------------------------           -------
 *	wait.lock                       file->lock                          wait.lock
 *	  queue                           change it                           any waiters?
 *	unlock                            wait.lock                           due > armed? then arm
 *	unread or due? then advance,        news after fired? then wake       else fired = armed,
 *	  read                              due after fired, and before         and wake
 *	due < armed? then arm                 armed? then arm               unlock
 *	sleep                               due = ...
 *	                                  unlock
 *	                                unlock
 *
 * No wake-up is lost, and none is duplicated. A waiter queues before it looks, under the lock
 * under which the times change: it sees a change, or the change sees it. After each column,
 * if there are waiters, what is due is not after @fired, and they have been woken for it; or the
 * hrtimer is armed for it, or for an earlier time, and is armed again then. What has become
 * readable was due when the wheel was last @due, or has been added since: if that is after @fired,
 * waiters are woken directly.
 *
 * A poll that does not get far enough forgets @fired, as it goes back to sleep, and the wheel is
 * due again after a pause. Blocked readers wait exclusively; one that leaves events, is killed, or
 * waits for its memory, wakes the next.
 */
#include <linux/sched.h>

#include "twheel_compat.h"
#include "twheel_file.h"
#include "twheel_trace.h"

/* The caller of a poll that left work undone runs for this long before the next poll. */
#define TWHEEL_PAUSE_NS		(10 * NSEC_PER_USEC)

static void arm_if_earlier(struct twheel_file *file, u64 time)
{
	lockdep_assert_held(&file->wait.lock);
	if (time >= file->armed)
		return;
	WRITE_ONCE(file->armed, time);
	trace_twheel_arm(file);
	hrtimer_start(&file->hrtimer, min_t(u64, time, KTIME_MAX), HRTIMER_MODE_ABS);
}

/**
 * twheel_file_fire() - wake the waiters
 * @hrtimer: the one that has expired
 *
 * Return: HRTIMER_NORESTART.
 */
enum hrtimer_restart twheel_file_fire(struct hrtimer *hrtimer)
{
	struct twheel_file *file = container_of(hrtimer, struct twheel_file, hrtimer);
	unsigned long flags;
	u64 time;

	spin_lock_irqsave(&file->wait.lock, flags);
	/* If it has just been rearmed, it fires again. */
	if (!hrtimer_is_queued(hrtimer)) {
		time = file->armed;
		WRITE_ONCE(file->armed, TWHEEL_NEVER);
		file->fires++;
		if (!waitqueue_active(&file->wait)) /* no barrier: wait.lock is held */
			goto unlock;
		if (file->due > time) {
			arm_if_earlier(file, file->due);
			goto unlock;
		}
		WRITE_ONCE(file->fired, time);
		/* Pass no events: io_uring would take them for the result, and not poll. */
		wake_up_locked_poll(&file->wait, 0);
	}
unlock:
	spin_unlock_irqrestore(&file->wait.lock, flags);
	return HRTIMER_NORESTART;
}

/**
 * twheel_file_forget() - begin to rewind a wheel, which is due until that is done
 * @file: the file, locked
 */
void twheel_file_forget(struct twheel_file *file)
{
	spin_lock_irq(&file->wait.lock);
	WRITE_ONCE(file->fired, 0);
	WRITE_ONCE(file->due, 1);
	spin_unlock_irq(&file->wait.lock);
}

/* Publish when the wheel is due; wake waiters, for @news of @events, or arm for them. */
static void publish(struct twheel_file *file, u64 due, bool forget, bool news, __poll_t events)
{
	spin_lock_irq(&file->wait.lock);
	/* A time that may come again is not known, either. */
	if (forget || unlikely(twheel_file_can_be_set(file) &&
			       file->fired > twheel_file_now(file)))
		WRITE_ONCE(file->fired, 0);
	if (waitqueue_active(&file->wait)) { /* no barrier: wait.lock is held */
		if (news && file->due > file->fired) {
			WRITE_ONCE(file->fired, twheel_file_now(file));
			wake_up_locked_poll(&file->wait, events);
		}
		/* While they leave events unread, they wait for a timer before all others. */
		if (due > file->fired && (!file->unread || due < file->due))
			arm_if_earlier(file, due);
	}
	WRITE_ONCE(file->due, due);
	spin_unlock_irq(&file->wait.lock);
}

/**
 * twheel_file_publish() - publish when a wheel is due, and wake waiters or arm the hrtimer for them
 * @file: the file, locked
 * @due: when it is due, as its field of that name
 * @filled: whether events have been moved to its ring
 */
void twheel_file_publish(struct twheel_file *file, u64 due, bool filled)
{
	bool unread = file->wheel.nr_expired, changed = unread != file->unread;
	bool news = filled || (unread && changed);
	/* What another poll has left has long been due. */
	bool forget = filled && file->unread;

	file->unread = unread;
	if (news || changed || due != file->due)
		publish(file, due, forget, news, file->ring && !filled ? 0 : EPOLLIN | EPOLLRDNORM);
}

/**
 * twheel_file_publish_and_unlock() - drop the lock of a file that has changed
 * @file: the file
 * @due: when it is due, as its field of that name
 * @filled: whether events have been moved to its ring
 *
 * Also frees unused memory.
 */
void twheel_file_publish_and_unlock(struct twheel_file *file, u64 due, bool filled)
{
	struct twheel_page *pages = NULL;

	lockdep_assert_held(&file->lock);
	if (twheel_store_can_trim(&file->store, TWHEEL_KEEP_PAGES)) {
		pages = twheel_store_trim(&file->store, TWHEEL_KEEP_PAGES);
		twheel_file_credit(file);
	}
	twheel_file_publish(file, due, filled);
	twheel_file_unlock_unchanged(file);
	twheel_pages_free(pages);
}

/**
 * twheel_file_sleep_and_unlock() - drop the lock after a look that has found nothing to read
 * @file: the file
 * @more: it has left work that is due
 */
void twheel_file_sleep_and_unlock(struct twheel_file *file, bool more)
{
	file->unread = false;
	publish(file, more ? twheel_file_now(file) + TWHEEL_PAUSE_NS : twheel_file_next(file),
		true, false, 0);
	twheel_file_unlock_unchanged(file);
}

/* Return true if a waiter must not sleep; otherwise arm the hrtimer for it. */
static bool due_or_armed(struct twheel_file *file)
{
	bool is_due = twheel_file_is_due(file);

	if (!is_due)
		arm_if_earlier(file, file->due);
	return is_due;
}

/**
 * twheel_file_arm() - make sure that a queued waiter is woken
 * @file: the file, not locked
 *
 * Return: true if the wheel is due: the waiter has to look, and will not be woken for that.
 */
bool twheel_file_arm(struct twheel_file *file)
{
	bool is_due = twheel_file_is_due(file);

	/* If one of the two is changing, the writer sees the waiter, and arms. */
	if (is_due || READ_ONCE(file->due) >= READ_ONCE(file->armed))
		return is_due;
	/* No barrier: the caller has queued, or there is no waiter to wake. */
	if (!waitqueue_active(&file->wait))
		return false;
	spin_lock_irq(&file->wait.lock);
	is_due = due_or_armed(file);
	spin_unlock_irq(&file->wait.lock);
	return is_due;
}

/**
 * twheel_file_wait() - sleep until the wheel is due, or has a ring
 * @file: the file, not locked
 *
 * Return: 0; or -ERESTARTSYS for a signal.
 */
int twheel_file_wait(struct twheel_file *file)
{
	int err;

	if (READ_ONCE(file->wheel.nr_expired))
		return 0;
	spin_lock_irq(&file->wait.lock);
	err = wait_event_interruptible_exclusive_locked_irq(file->wait, READ_ONCE(file->ring) ||
							    due_or_armed(file));
	spin_unlock_irq(&file->wait.lock);
	return err;
}

/**
 * twheel_file_wake_next() - wake the next reader, if the wheel is due
 * @file: the file, not locked
 *
 * For a reader that leaves events, is killed, or may be delayed.
 */
void twheel_file_wake_next(struct twheel_file *file)
{
	if (twheel_file_is_due(file) && wq_has_sleeper(&file->wait))
		wake_up_interruptible_poll(&file->wait, 0);
}
