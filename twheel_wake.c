// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for a wheel, and waking its waiters
 *
 * The hrtimer only wakes waiters. The wheel is advanced in process context, by readers, pollers
 * and other calls, on their own CPU time. So a user pays for what its wheels cost.
 *
 * Three times decide about all wake-ups: when the wheel is @due next, as its last change has
 * published; when the hrtimer is @armed for; and the time for which waiters were last woken,
 * @fired. They know of all that was due by @fired, since they look at the wheel after that, and of
 * nothing later.
 *
 *	reader, poller              every hold of file->lock         hrtimer
 *	--------------              ------------------------         -------
 *	wait.lock                   file->lock                       wait.lock
 *	  queue                       enter, change it                 any waiters?
 *	unlock                        wait.lock                        unread, due <= armed?
 *	unread or due? then           unread = ..., due = ...          then fired = armed,
 *	  enter, read                 news? then fired = now, wake       wake; else arm
 *	due < armed? then arm         due after fired, nothing       unlock
 *	sleep                           unread, before armed? arm
 *	                              unlock
 *	                            unlock
 *
 * No wake-up is lost, and none is duplicated. A waiter queues before it looks, under the lock
 * under which the times change: it sees a change, or the change sees it. After each column,
 * if there are waiters and nothing is unread, what is due is not after @fired, and they have been
 * woken for it; or the hrtimer is armed for it, or for an earlier time, and is armed again then.
 * A timer that becomes readable was @due, and the hrtimer announces it, whichever call advances the
 * wheel; or it is news, and announced at once. While something is unread, the hrtimer is not armed:
 * waiters have been told, and look again after they have read all of it.
 *
 * A look that leaves work undone makes the wheel due again after a pause, and forgets @fired.
 * Blocked readers wait exclusively; one that leaves events, is killed, closes the file or waits for
 * its memory, wakes the next.
 */
#include <linux/sched.h>

#include "twheel_compat.h"
#include "twheel_file.h"
#include "twheel_trace.h"

static void arm_if_earlier(struct twheel_file *file, u64 time)
{
	lockdep_assert_held(&file->wait.lock);
	if (time >= file->armed)
		return;
	WRITE_ONCE(file->armed, time);
	trace_twheel_arm(file);
	hrtimer_start(&file->hrtimer, time, HRTIMER_MODE_ABS);
}

/* Wake the waiters for all that is due by @time. */
static void wake(struct twheel_file *file, u64 time)
{
	lockdep_assert_held(&file->wait.lock);
	WRITE_ONCE(file->fired, time);
	/* Pass no events: io_uring would take them for the result, and not poll. */
	wake_up_locked_poll(&file->wait, 0);
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

	spin_lock_irqsave(&file->wait.lock, flags);
	/* If it has just been rearmed, it fires again. */
	if (!hrtimer_is_queued(hrtimer)) {
		/* A lower bound of the time, which saves a clock read. */
		u64 now = file->armed;

		WRITE_ONCE(file->armed, TWHEEL_NEVER);
		WRITE_ONCE(file->fires, file->fires + 1);
		if (waitqueue_active(&file->wait)) { /* no barrier: wait.lock is held */
			if (!file->unread && file->due > now)
				arm_if_earlier(file, file->due);
			else
				wake(file, now);
		}
	}
	spin_unlock_irqrestore(&file->wait.lock, flags);
	return HRTIMER_NORESTART;
}

/* Return true if a time is after the wheel's clock, which was set back, or may be. */
static bool may_come_again(const struct twheel_file *file, u64 time)
{
	return twheel_file_can_be_set(file) &&
	       (twheel_is_rewinding(&file->wheel) ||
		time >= file->wheel.time + file->wheel.tick);
}

/**
 * twheel_file_publish() - publish when a file is due, and wake waiters or arm the hrtimer for them
 * @file: the file, locked
 * @pause: its holder leaves what is due for later
 */
void twheel_file_publish(struct twheel_file *file, bool pause)
{
	bool unread = file->wheel.nr_expired && !twheel_is_rewinding(&file->wheel);
	/* A rewind is due at 0, which stands for nothing in @fired. */
	u64 due = max(twheel_file_next(file), 1ULL);

	lockdep_assert_held(&file->lock);
	/* No pause on a clock that can be set: its end may never come. */
	if (pause && !twheel_file_can_be_set(file))
		due = file->now + TWHEEL_PAUSE_NS;
	spin_lock_irq(&file->wait.lock);
	if (pause || may_come_again(file, file->fired))
		WRITE_ONCE(file->fired, 0);
	/* A poller looks without a lock: it sees a later @due only with what was due before. */
	WRITE_ONCE(file->unread, unread);
	smp_store_release(&file->due, due); /* pairs with the acquire in twheel_file_is_due() */
	if (waitqueue_active(&file->wait)) { /* no barrier: wait.lock is held */
		if (file->news)
			wake(file, file->now);
		if (due > file->fired && !unread)
			arm_if_earlier(file, due);
	}
	spin_unlock_irq(&file->wait.lock);
	file->news = false;
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
	u64 due = smp_load_acquire(&file->due); /* then @unread, see twheel_file_publish() */
	bool is_due;

	if (twheel_file_is_told(file, due))
		return true;
	/*
	 * The hrtimer fires in time, as a timerfd's does: spare the clock read. If one of the two
	 * is changing, the writer sees the waiter, and arms.
	 */
	if (due >= READ_ONCE(file->armed))
		return false;
	/* No barrier: the caller has queued, or there is no waiter to wake. */
	if (!waitqueue_active(&file->wait))
		return due <= twheel_file_now(file);
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

	if (READ_ONCE(file->unread))
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
 * For a reader that leaves events, is killed, closes the file, or may be delayed.
 */
void twheel_file_wake_next(struct twheel_file *file)
{
	if (twheel_file_is_due(file) && wq_has_sleeper(&file->wait))
		wake_up_interruptible_poll(&file->wait, 0);
}
