// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for a wheel, and waking its waiters
 *
 * The hrtimer only wakes waiters. The wheel is advanced in process context, by readers, pollers
 * and other calls that need it, on their own CPU time. So a user pays for what its wheels
 * cost.
 *
 * A clock comparison decides whether there is something to read: file->due is when the wheel is
 * due next. It is 0 while something is unread, and TWHEEL_AT_ONCE while a woken waiter has
 * not advanced the wheel yet, or an advance stopped with more to do.
 *
 *	reader, poller                  every change of the wheel           hrtimer
 *	--------------                  -------------------------           -------
 *	                                file->lock
 *	                                  change it
 *	wait.lock                         wait.lock                         wait.lock
 *	  queue                             due = ...                         armed = never
 *	unlock                              any waiters?                      any waiters?
 *	due <= now? then advance, read        due < armed? then arm             due > now? then arm
 *	due < armed? then arm             unlock                                else due = at once,
 *	sleep                           unlock                                  and wake
 *	                                                                    unlock
 *
 * No wake-up is lost. Waiters queue before they check @due, under the lock under which @due and
 * @armed change. After each column, if there are waiters, a woken one is going to advance the
 * wheel, or the hrtimer fires no later than @due. If @due has become later since, because a
 * timer was cancelled, the early fire only rearms for @due.
 *
 * No wake-up is duplicated. The hrtimer is not armed again for a time that it has fired for.
 * Blocked readers wait exclusively; one that leaves events, is killed, or waits for its memory,
 * wakes the next. An unread wheel fires once, and again only for a timer that is added before all
 * others: edge-triggered waiters need that.
 *
 * A poll that does not get far enough with one hold of the lock is repeated: the hrtimer wakes
 * its waiter after a pause.
 *
 * A waiter woken on an idle processor is likely to drain the wheel at once and wait again. So
 * the hrtimer restarts itself there for @hint, at which the wheel is likely to be due next:
 * arming it from outside of the interrupt takes 400 instructions more. Nothing relies on the
 * hint: the next waiter arms for an earlier time, and if the wheel is due later, or nobody
 * waits, the expiry is spurious. That happens once at most each time the wheel is drained. On a
 * busy processor, the fires of many wheels would queue up in one interrupt.
 */
#include <linux/math64.h>
#include <linux/sched.h>

#include "twheel_compat.h"
#include "twheel_file.h"
#include "twheel_trace.h"

/* The hrtimer restarts itself only for times that are further ahead than this. */
#define TWHEEL_MIN_REARM_NS	NSEC_PER_MSEC
/* The caller of a poll that left work undone runs for this long before the next poll. */
#define TWHEEL_PAUSE_NS		(10 * NSEC_PER_USEC)

/* Return when the wheel is likely to be due after @next, or 0. */
static u64 wheel_hint(const struct twheel_file *file, u64 next)
{
	return next == TWHEEL_NEVER ? 0 : twheel_next_hint(&file->wheel) * file->wheel.tick.divisor;
}

static void arm_if_earlier(struct twheel_file *file, u64 time)
{
	lockdep_assert_held(&file->wait.lock);
	if (time >= file->armed)
		return;
	WRITE_ONCE(file->armed, time);
	trace_twheel_arm(file);
	hrtimer_start(&file->hrtimer, min_t(u64, time, KTIME_MAX), HRTIMER_MODE_ABS);
}

/* Wake the waiters; returns when to fire again. */
static u64 fire(struct twheel_file *file)
{
	/* A lower bound of the time, which saves a clock read. */
	u64 now = file->armed;

	file->fires++;
	if (!waitqueue_active(&file->wait)) /* no barrier: wait.lock is held */
		return TWHEEL_NEVER;
	if (file->due > now)
		return file->due;
	/* Spare the woken task a clock read. */
	if (file->due > TWHEEL_AT_ONCE)
		WRITE_ONCE(file->due, TWHEEL_AT_ONCE);
	WRITE_ONCE(file->progress, TWHEEL_WOKEN);
	/* Pass no events: io_uring would take them for the result, and not poll. */
	wake_up_locked_poll(&file->wait, 0);
	if (is_idle_task(current) && file->hint > now + TWHEEL_MIN_REARM_NS)
		return file->hint;
	return TWHEEL_NEVER;
}

/**
 * twheel_file_fire() - wake the waiters
 * @hrtimer: the one that has expired
 *
 * Return: whether it has been restarted.
 */
enum hrtimer_restart twheel_file_fire(struct hrtimer *hrtimer)
{
	struct twheel_file *file = container_of(hrtimer, struct twheel_file, hrtimer);
	enum hrtimer_restart restart = HRTIMER_NORESTART;
	unsigned long flags;

	spin_lock_irqsave(&file->wait.lock, flags);
	/* If it has just been rearmed, it fires again. */
	if (!hrtimer_is_queued(hrtimer)) {
		WRITE_ONCE(file->armed, fire(file));
		if (file->armed <= KTIME_MAX) {
			trace_twheel_arm(file);
			hrtimer_set_expires(hrtimer, file->armed);
			restart = HRTIMER_RESTART;
		}
	}
	spin_unlock_irqrestore(&file->wait.lock, flags);
	return restart;
}

/*
 * Return when to resume work that a poll has left, while the wheel is due at @next. Work ahead
 * of its time is spread over twice the polls that it takes. Usually, the hrtimer fires for other
 * timers first, and those polls do it.
 */
static u64 resumption(const struct twheel_file *file, u64 next)
{
	u64 now = twheel_file_now(file), tick;
	u32 polls = twheel_cascading(&file->wheel, &tick) / TWHEEL_STEPS + 1;
	u64 end = tick * file->wheel.tick.divisor;

	next = min(next, now + div64_u64(max(end, now) - now, 2 * polls));
	return max_t(u64, next, now + TWHEEL_PAUSE_NS);
}

/* Publish when the wheel is due, and wake waiters or arm for them. */
static void publish(struct twheel_file *file, u64 due, u64 next)
{
	bool earlier = next < file->next, woken, unread;
	u64 hint = file->hint;

	/* The wheel is being drained, and a reader is likely to wait again: take a new hint. */
	if (READ_ONCE(file->due) <= TWHEEL_AT_ONCE)
		hint = wheel_hint(file, next);
	file->next = next;
	spin_lock_irq(&file->wait.lock);
	file->hint = hint;
	/* The hrtimer may have fired just now. */
	woken = file->progress == TWHEEL_WOKEN;
	if (due && woken)
		due = TWHEEL_AT_ONCE;
	/* If it fired for what is unread now, the waiters are awake. */
	unread = file->due != TWHEEL_AT_ONCE && (file->filled || (!due && file->due));
	file->filled = false;
	WRITE_ONCE(file->due, due);
	if (waitqueue_active(&file->wait)) { /* no barrier: wait.lock is held */
		if (unread)
			wake_up_locked_poll(&file->wait, EPOLLIN | EPOLLRDNORM);
		if (due ? !woken : earlier)
			arm_if_earlier(file, file->progress == TWHEEL_UNFINISHED ?
					     resumption(file, next) : next);
	}
	spin_unlock_irq(&file->wait.lock);
}

/**
 * twheel_file_publish_and_unlock() - drop the lock of a file that has changed
 * @file: the file
 * @due: when it is due, as its field of that name
 * @next: when the wheel has to be advanced next
 *
 * Publishes the due time, wakes waiters or arms the hrtimer for them, and frees unused memory.
 */
void twheel_file_publish_and_unlock(struct twheel_file *file, u64 due, u64 next)
{
	struct twheel_page *pages = NULL;

	lockdep_assert_held(&file->lock);
	if (twheel_store_can_trim(&file->store, TWHEEL_KEEP_PAGES)) {
		pages = twheel_store_trim(&file->store, TWHEEL_KEEP_PAGES);
		twheel_file_credit(file);
	}
	publish(file, due, next);
	twheel_file_unlock_unchanged(file);
	twheel_pages_free(pages);
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
 * Return: true if the wheel is due: no waiter will be woken for that.
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
 * twheel_file_wait() - sleep until the wheel is due
 * @file: the file, not locked
 *
 * Return: 0; or -ERESTARTSYS for a signal.
 */
int twheel_file_wait(struct twheel_file *file)
{
	int err;

	if (READ_ONCE(file->due) <= TWHEEL_AT_ONCE)
		return 0;
	spin_lock_irq(&file->wait.lock);
	err = wait_event_interruptible_exclusive_locked_irq(file->wait, due_or_armed(file));
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
