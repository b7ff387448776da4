// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file: one wheel with its lock, its clock, those who wait, and its memory
 *
 * The hrtimer only wakes. Whoever waits advances the wheel, in process context and on his
 * own account: a reader, a poller, and who adds a timer that is due behind others. What
 * one user's wheels cost, that user pays.
 *
 * Locking
 *
 * file->lock may sleep: user memory is read and written under it. It is held for a bounded
 * number of steps of the wheel, and given up between two chunks of longer work. Levels and
 * pages of timers are allocated without it, only their directory with it. Everybody who takes
 * it can be killed while waiting for it. Inside of it comes file->wait.lock, a spin lock, which
 * the hrtimer takes too; inside of that come the locks of epoll, and of the hrtimer's base.
 *
 * Waiting
 *
 * Whether there is something to read is a clock comparison: file->due is when the wheel is
 * due next, and 0 while something is unread.
 *
 *	reader, poller                  everybody who changes the wheel      hrtimer
 *	--------------                  -------------------------------      -------
 *	                                file->lock
 *	                                  change it
 *	wait.lock                         wait.lock                          wait.lock
 *	  queue                             due = ...                          armed = never
 *	unlock                              somebody waits?                    somebody waits?
 *	due <= now? then do not sleep         due < armed? then arm              due > now? then arm
 *	due < armed? then arm             unlock                                 else due = at once,
 *	sleep                           unlock                                   and wake, and arm
 *	                                                                         again for a reader
 *	                                                                     unlock
 *
 * So no wake-up is lost: who changes @due or @armed does so under the lock under which those
 * who wait have queued before they look, and after each of the three, if somebody waits and
 * @due is in the future, the hrtimer fires no later than then. When it does and @due has
 * become later, because what it was armed for has been cancelled, it fires again at @due and
 * nobody is woken. None is given twice: one that is blocked in read() waits exclusively, so
 * that one is woken at a time, and passes on what he leaves, be it that his buffer is full,
 * or that he is killed before he has read.
 *
 * A wheel that is not read fires once and never again, until he who drains it arms it, or
 * a timer is added that is due before all others; that is news to those who wait for edges.
 * A timer that was due when it was added wakes at once, if nothing was unread before.
 *
 * Whom the hrtimer wakes in read() does read. So it need not wait to be armed by him, but
 * starts itself for @after, at which the wheel is likely to be due next: from outside of the
 * interrupt, that takes 400 instructions more. Nothing relies on the guess. Who waits next
 * arms for an earlier time; and if it is later in the end, or if nobody does wait, it fires in
 * vain.
 *
 * A clock that jumps fires the hrtimer like any other time that passes; after a suspend,
 * only CLOCK_BOOTTIME has.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "twheel_compat.h"
#include "twheel_file.h"
#include "twheel_trace.h"

/* Steps of the wheel before the lock is given up. */
#define TWHEEL_BUDGET		64
/* Empty pages of timers kept for what is added next. */
#define TWHEEL_KEEP_PAGES	16
/* Who is woken reads sooner than this, in ns. */
#define TWHEEL_SOON		NSEC_PER_MSEC
/*
 * The opener's control group pays. When it is full, the caller is told so: no
 * process of the group is killed for it, and nothing is written to the log.
 */
#define TWHEEL_GFP		(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * The account.
 */

/**
 * twheel_file_bytes() - the memory that a file holds
 * @file: the file, locked
 *
 * Return: bytes, as many as the allocators take.
 */
size_t twheel_file_bytes(const struct twheel_file *file)
{
	const struct twheel *w = &file->wheel;
	size_t bytes = roundup_pow_of_two(sizeof(*file)) + twheel_store_bytes(&file->store);

	if (w->nr_levels)
		bytes += twheel_level_bytes(w, 0) + (w->nr_levels - 1) * twheel_level_bytes(w, 1);
	return bytes;
}

/* Charge for memory that is about to be allocated. */
static int charge(struct twheel_file *file, size_t bytes)
{
	if (!twheel_user_charge(file->user, bytes))
		return -ENOSPC;
	file->charged += bytes;
	return 0;
}

/* Credit what has been charged and is not held, or no longer. */
static void credit(struct twheel_file *file)
{
	size_t bytes = twheel_file_bytes(file);

	twheel_user_uncharge(file->user, file->charged - bytes);
	file->charged = bytes;
}

/*
 * The clock, and waking.
 */

static void arm(struct twheel_file *file, u64 time)
{
	lockdep_assert_held(&file->wait.lock);
	WRITE_ONCE(file->armed, time);
	trace_twheel_arm(file);
	hrtimer_start(&file->hrtimer, min_t(u64, time, KTIME_MAX), HRTIMER_MODE_ABS);
}

static void arm_if_earlier(struct twheel_file *file, u64 time)
{
	lockdep_assert_held(&file->wait.lock);
	if (time < file->armed)
		arm(file, time);
}

/* Somebody is blocked in read(), so that what the wheel wakes for is read at once. */
static bool has_reader(const struct twheel_file *file)
{
	/* Such queue behind those who poll, unless that is exclusively. */
	return list_last_entry(&file->wait.head, struct wait_queue_entry, entry)->func ==
	       autoremove_wake_function;
}

/* Returns when to fire again. */
static u64 fire(struct twheel_file *file)
{
	/* It is this time at least: that saves reading the clock. */
	u64 now = file->armed;
	u64 again = TWHEEL_NEVER;

	file->fires++;
	if (!waitqueue_active(&file->wait)) /* no barrier: wait.lock is held */
		return TWHEEL_NEVER;
	if (file->due > now)
		return file->due;
	if (now > TWHEEL_AT_ONCE && file->after > now + TWHEEL_SOON && has_reader(file))
		again = file->after;
	/* Who is woken need not look at the clock. */
	if (file->due > TWHEEL_AT_ONCE)
		WRITE_ONCE(file->due, TWHEEL_AT_ONCE);
	/* No events: io_uring takes those for the answer, and does not ask. */
	wake_up_locked_poll(&file->wait, 0);
	return again;
}

static enum hrtimer_restart twheel_fire(struct hrtimer *hrtimer)
{
	struct twheel_file *file = container_of(hrtimer, struct twheel_file, hrtimer);
	enum hrtimer_restart restart = HRTIMER_NORESTART;
	unsigned long flags;

	spin_lock_irqsave(&file->wait.lock, flags);
	/* If it has been armed anew meanwhile, it comes again. */
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

/* When the wheel has to be advanced next. */
static u64 wheel_next(const struct twheel_file *file)
{
	u64 tick;

	/*
	 * No deadline is later than KTIME_MAX and no tick is longer than an hour: when a
	 * tick ends can be later than that, but not overflow.
	 */
	return twheel_next(&file->wheel, &tick) ? tick * file->wheel.tick.divisor : TWHEEL_NEVER;
}

/* When the wheel is likely to be due after @next, or 0. */
static u64 wheel_after(const struct twheel_file *file, u64 next)
{
	return next == TWHEEL_NEVER ? 0 : twheel_next_hint(&file->wheel) * file->wheel.tick.divisor;
}

/* Tell those who wait when the wheel is due, now that it has changed. */
static noinline void settle_and_unlock(struct twheel_file *file, u64 due, u64 next)
{
	bool earlier = next < file->next, news;
	u64 after = file->after;

	/* Whoever has read is likely to wait again. */
	if (READ_ONCE(file->due) <= TWHEEL_AT_ONCE)
		after = wheel_after(file, next);

	file->next = next;
	spin_lock_irq(&file->wait.lock);
	/* Something is unread, and the hrtimer has not fired for it. */
	news = !due && file->due > TWHEEL_AT_ONCE;
	file->after = after;
	WRITE_ONCE(file->due, due);
	if (waitqueue_active(&file->wait)) { /* no barrier: wait.lock is held */
		if (news)
			wake_up_locked_poll(&file->wait, EPOLLIN | EPOLLRDNORM);
		if (due || earlier)
			arm_if_earlier(file, due ?: next);
	}
	spin_unlock_irq(&file->wait.lock);
	mutex_unlock(&file->lock);
}

static noinline void trim_and_unlock(struct twheel_file *file, u64 due, u64 next)
{
	struct twheel_page *pages = twheel_store_trim(&file->store, TWHEEL_KEEP_PAGES);

	credit(file);
	settle_and_unlock(file, due, next);
	twheel_pages_free(pages);
}

/**
 * twheel_file_unlock() - drop the lock
 * @file: the file
 *
 * Those who wait learn what has changed, and memory that is no longer needed goes.
 */
void twheel_file_unlock(struct twheel_file *file)
{
	u64 next = wheel_next(file);
	u64 due = next;

	lockdep_assert_held(&file->lock);
	if (file->wheel.cascading_levels)
		due = TWHEEL_AT_ONCE;
	if (file->wheel.nr_expired)
		due = 0;
	/* Most often neither, and then it takes no more than this, nor the stack. */
	if (unlikely(twheel_store_can_trim(&file->store, TWHEEL_KEEP_PAGES)))
		trim_and_unlock(file, due, next);
	else if (due != READ_ONCE(file->due) || next != file->next)
		settle_and_unlock(file, due, next);
	else
		mutex_unlock(&file->lock);
}

/**
 * twheel_file_watch() - see to it that who has queued in @wait is woken
 * @file: the file, not locked
 *
 * Return: true if the wheel is due, and nobody will be woken for that.
 */
bool twheel_file_watch(struct twheel_file *file)
{
	u64 due = READ_ONCE(file->due);
	bool is_due;

	if (due <= TWHEEL_AT_ONCE)
		return true;
	/* If it has just changed, he who changed it arms. */
	if (due >= READ_ONCE(file->armed))
		return false;
	spin_lock_irq(&file->wait.lock);
	is_due = twheel_file_is_due(file);
	if (!is_due)
		arm_if_earlier(file, file->due);
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
	bool signalled = false;
	DEFINE_WAIT(wait);

	if (READ_ONCE(file->due) <= TWHEEL_AT_ONCE)
		return 0;
	do {
		prepare_to_wait_exclusive(&file->wait, &wait, TASK_INTERRUPTIBLE);
		if (twheel_file_watch(file))
			break;
		signalled = signal_pending(current);
		if (signalled)
			break;
		schedule();
	} while (!twheel_file_is_due(file));
	finish_wait(&file->wait, &wait);
	/* Who has been woken reads, or nobody would. */
	return signalled && !twheel_file_is_due(file) ? -ERESTARTSYS : 0;
}

/**
 * twheel_file_pass_on() - wake the next reader if there is something left for him
 * @file: the file, not locked
 */
void twheel_file_pass_on(struct twheel_file *file)
{
	if (twheel_file_is_due(file) && wq_has_sleeper(&file->wait))
		wake_up_interruptible_poll(&file->wait, 0);
}

/*
 * Advancing. The lock is held, and given up between two chunks; a caller who is killed then
 * gets -EINTR, and no longer holds it.
 */

/* Advance the wheel in a bounded number of steps; returns whether there is more to do. */
static bool advance(struct twheel_file *file, u64 tick)
{
	struct twheel *w = &file->wheel;
	u64 expired = w->nr_expired, cascaded = w->cascaded;
	bool more = twheel_advance(w, tick, TWHEEL_BUDGET);

	if (w->cascaded != cascaded)
		trace_twheel_cascade(file, w->cascaded - cascaded);
	if (w->nr_expired != expired)
		trace_twheel_expire(file, w->nr_expired - expired);
	return more;
}

/*
 * Let others have the lock for a moment. Those who wait are told nothing of what has changed, as
 * the caller goes on with the work; but if he is killed, somebody has to look.
 */
static int __must_check breathe(struct twheel_file *file)
{
	mutex_unlock(&file->lock);
	cond_resched();
	if (!twheel_file_lock(file))
		return 0;
	spin_lock_irq(&file->wait.lock);
	if (file->due > TWHEEL_AT_ONCE)
		WRITE_ONCE(file->due, TWHEEL_AT_ONCE);
	wake_up_locked_poll(&file->wait, 0);
	spin_unlock_irq(&file->wait.lock);
	return -EINTR;
}

/**
 * twheel_file_advance() - bring the wheel to the present, or as far as it takes
 * @file: the file, locked
 * @enough: how many expired timers are enough, or TWHEEL_ALL; 0 for a few steps and no more
 *
 * What cascades ahead of its time comes last, and only if nothing has expired. When enough
 * has, only the periods of periodic timers need the clock.
 *
 * Return: 0; or -EINTR, and the file is not locked.
 */
int twheel_file_advance(struct twheel_file *file, u64 enough)
{
	lockdep_assert_held(&file->lock);
	if (enough && file->wheel.nr_expired >= enough && !file->has_periods)
		return 0;
	for (;;) {
		u64 tick = twheel_floor(&file->wheel, twheel_file_now(file));
		bool more = advance(file, tick);
		u64 expired = file->wheel.nr_expired;

		if ((expired || enough == TWHEEL_ALL) && !twheel_file_is_behind(file, tick))
			more = false;
		if (!enough || (!more && expired < TWHEEL_BUDGET))
			return 0;
		/* Also before so many are read: that takes as long again. */
		if (breathe(file))
			return -EINTR;
		if (!more || file->wheel.nr_expired >= enough)
			return 0;
	}
}

/*
 * Growing: levels and pages of timers. To find them can take the kernel longer than all that
 * is done under the lock, so that is done without it.
 */

/**
 * twheel_file_grow_level() - put a level on top of the wheel
 * @file: the file, locked; the lock is given up meanwhile
 *
 * Another thread may be faster.
 *
 * Return: 0, -ENOSPC or -ENOMEM; or -EINTR, and the file is not locked.
 */
int twheel_file_grow_level(struct twheel_file *file)
{
	u8 nr = file->wheel.nr_levels;
	size_t bytes = twheel_level_bytes(&file->wheel, nr);
	struct twheel_level *level;
	struct mem_cgroup *old;
	int err;

	lockdep_assert_held(&file->lock);
	if (!twheel_user_charge(file->user, bytes))
		return -ENOSPC;
	twheel_file_unlock(file);
	old = set_active_memcg(file->memcg);
	level = twheel_level_alloc(&file->wheel, nr, TWHEEL_GFP);
	set_active_memcg(old);
	err = twheel_file_lock(file);
	if (!err && level && file->wheel.nr_levels == nr) {
		twheel_level_install(&file->wheel, level);
		file->longest = twheel_max_delay(&file->wheel);
		file->charged += bytes;
		return 0;
	}
	twheel_user_uncharge(file->user, bytes);
	if (!err && !level)
		err = -ENOMEM;
	twheel_level_free(level);
	return err;
}

/**
 * twheel_file_grow_store() - have a page of timers more, or of their directory
 * @file: the file, locked; the lock is given up meanwhile
 *
 * Return: 0, -ENOSPC or -ENOMEM; or -EINTR, and the file is not locked.
 */
int twheel_file_grow_store(struct twheel_file *file)
{
	struct mem_cgroup *old;
	void *page;
	int err;

	lockdep_assert_held(&file->lock);
	twheel_file_unlock(file);
	old = set_active_memcg(file->memcg);
	page = (void *)get_zeroed_page(TWHEEL_GFP);
	err = twheel_file_lock(file);
	if (!err) {
		err = page ? charge(file, twheel_store_growth(&file->store)) : -ENOMEM;
		if (!err)
			err = twheel_store_grow(&file->store, page, TWHEEL_GFP);
		credit(file);
	}
	set_active_memcg(old);
	if (err)
		free_page((unsigned long)page);
	return err;
}

/*
 * Opening, setting up and closing.
 */

/**
 * twheel_file_set_up() - make the wheel anew
 * @file: the file, locked unless nobody else knows it; it has had no timers
 * @setup: valid parameters
 */
void twheel_file_set_up(struct twheel_file *file, const struct twheel_setup *setup)
{
	struct twheel *w = &file->wheel;

	/* An add that failed half-way can have left levels behind. */
	twheel_destroy(w);
	WRITE_ONCE(file->clock_id, setup->clock_id);
	file->max_timers = setup->max_timers;
	file->longest = 0;
	hrtimer_setup(&file->hrtimer, twheel_fire, file->clock_id, HRTIMER_MODE_ABS);
	twheel_init(w, setup->tick_ns, setup->wheel_size, 0);
	twheel_forward(w, twheel_floor(w, twheel_file_now(file)));
	credit(file);
}

/**
 * twheel_file_open() - make a file, with its wheel
 * @uid: whose it is
 * @setup: valid parameters
 *
 * May sleep. The control group of the caller pays from now on.
 *
 * Return: the file for twheel_file_close(); or an ERR_PTR() of -ENOMEM, or of -ENOSPC if
 * the user's wheels hold as much as they may.
 */
struct twheel_file *twheel_file_open(kuid_t uid, const struct twheel_setup *setup)
{
	struct twheel_file *file;
	int err = -ENOMEM;

	file = kzalloc(sizeof(*file), TWHEEL_GFP);
	if (!file)
		return ERR_PTR(-ENOMEM);
	file->user = twheel_user_get(uid);
	if (!file->user)
		goto free;
	err = charge(file, roundup_pow_of_two(sizeof(*file)));
	if (err)
		goto put;

	mutex_init(&file->lock);
	init_waitqueue_head(&file->wait);
	twheel_store_init(&file->store);
	file->next = TWHEEL_NEVER;
	file->due = TWHEEL_NEVER;
	file->armed = TWHEEL_NEVER;
	file->memcg = get_mem_cgroup_from_mm(current->mm);
	twheel_file_set_up(file, setup);
	return file;

put:
	twheel_user_put(file->user);
free:
	kfree(file);
	return ERR_PTR(err);
}

/**
 * twheel_file_close() - free a file, with all of its timers
 * @file: the file, which nobody else uses any more
 *
 * May sleep.
 */
void twheel_file_close(struct twheel_file *file)
{
	/* Nobody waits any more: it is not started anew. */
	hrtimer_cancel(&file->hrtimer);
	twheel_destroy(&file->wheel);
	twheel_store_destroy(&file->store);
	mem_cgroup_put(file->memcg);
	twheel_user_uncharge(file->user, file->charged);
	twheel_user_put(file->user);
	kfree(file);
}
