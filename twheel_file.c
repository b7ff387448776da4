// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file: one wheel with its lock, its clock, its waiters and its memory
 *
 * The hrtimer only wakes waiters. The wheel is advanced in process context, by readers, pollers
 * and other calls that need it, on their own CPU time. So a user pays for what its wheels
 * cost.
 *
 * Locking
 *
 * file->lock is a mutex and protects the wheel. User memory is read and written under it, so
 * its holder can sleep in a page fault that another process serves and that may never end. So
 * poll() and calls with @nowait only try to take it, and all other acquisitions are killable.
 * The function that takes it drops it, after a bounded number of steps of the wheel. Pages of
 * timers are allocated without it, and so are levels after TWHEEL_SETUP. The hrtimer takes
 * file->wait.lock, a spinlock inside of file->lock; inside of that are epoll's and hrtimers'.
 *
 * Waiting
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
 *	                                contended? then advance, wake       unlock
 *
 * No wake-up is lost. Waiters queue before they check @due, under the lock under which @due and
 * @armed change. After each column, if there are waiters, a woken one is going to advance the
 * wheel, or the hrtimer fires no later than @due. If @due has become later since, because a
 * timer was cancelled, the early fire only rearms for @due.
 *
 * No wake-up is duplicated. The hrtimer is not armed again for a time that it has fired for.
 * Blocked readers wait exclusively; one that leaves events, or is killed, wakes the next. An
 * unread wheel fires once, and again only for a timer that is added before all others:
 * edge-triggered waiters need that.
 *
 * A poll that does not get the lock sets @contended before it tries once more. The holder
 * checks that after unlocking, so one of the two sees the other. A poll that does not get far
 * enough with one hold of the lock is repeated: the hrtimer wakes its waiter after a pause.
 *
 * A waiter woken on an idle processor is likely to drain the wheel at once and wait again. So
 * the hrtimer restarts itself there for @hint, at which the wheel is likely to be due next:
 * arming it from outside of the interrupt takes 400 instructions more. Nothing relies on the
 * hint: the next waiter arms for an earlier time, and if the wheel is due later, or nobody
 * waits, the expiry is spurious. That happens once at most each time the wheel is drained. On a
 * busy processor, the fires of many wheels would queue up in one interrupt.
 */
#include <linux/math64.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "twheel_compat.h"
#include "twheel_file.h"
#include "twheel_trace.h"

/* The hrtimer restarts itself only for times that are further ahead than this. */
#define TWHEEL_MIN_REARM_NS	NSEC_PER_MSEC
/* The caller of a poll that left work undone runs for this long before the next poll. */
#define TWHEEL_PAUSE_NS		(10 * NSEC_PER_USEC)

/*
 * The account.
 */

/**
 * twheel_file_bytes() - the memory that a file holds
 * @file: the file, locked
 *
 * Return: bytes, rounded up as the allocators do.
 */
size_t twheel_file_bytes(const struct twheel_file *file)
{
	const struct twheel *w = &file->wheel;
	size_t bytes = roundup_pow_of_two(sizeof(*file)) + twheel_store_bytes(&file->store);

	if (file->ring)
		bytes += roundup_pow_of_two(sizeof(*file->ring)) + file->ring->size;
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

/* Uncharge memory that the file does not hold, or no longer holds. */
static void credit(struct twheel_file *file)
{
	size_t bytes = twheel_file_bytes(file);

	twheel_user_uncharge(file->user, file->charged - bytes);
	file->charged = bytes;
}

/*
 * The clock.
 */

/* Advance the wheel; first rewind it if its clock was set back, at two steps for each move. */
static bool advance(struct twheel_file *file, u64 tick, unsigned int steps)
{
	struct twheel *w = &file->wheel;

	if (unlikely(tick < w->now || twheel_is_rewinding(w)) && twheel_rewind(w, tick, steps / 2))
		return true;
	return twheel_advance(w, tick, steps);
}

/**
 * twheel_file_advance() - advance the wheel to the present, or as far as it gets
 * @file: the file, locked
 * @steps: how many steps at most
 * @ahead: also do the work that can wait, unless something has expired
 *
 * Return: true if there is more to do: drop the lock, and call again.
 */
bool twheel_file_advance(struct twheel_file *file, unsigned int steps, bool ahead)
{
	struct twheel *w = &file->wheel;
	u64 expired = w->nr_expired, cascaded = w->cascaded;
	u64 tick;

	lockdep_assert_held(&file->lock);
	/* Before the clock is read: a later fire is for timers that this advance misses. */
	WRITE_ONCE(file->woken, false);
	tick = twheel_floor(w, twheel_file_now(file));
	file->more = advance(file, tick, steps);
	/* Waiters have to be woken again: have the unlock publish. */
	if (file->more && waitqueue_active(&file->wait)) /* no barrier: due is "at once" */
		file->next = 0;
	if (w->cascaded != cascaded)
		trace_twheel_cascade(file, w->cascaded - cascaded);
	if (w->nr_expired != expired)
		trace_twheel_expire(file, w->nr_expired - expired);
	if (ahead && !w->nr_expired)
		return file->more;
	return file->more && twheel_file_is_behind(file, tick);
}

/* Return when the wheel is likely to be due after @next, or 0. */
static u64 wheel_hint(const struct twheel_file *file, u64 next)
{
	return next == TWHEEL_NEVER ? 0 : twheel_next_hint(&file->wheel) * file->wheel.tick.divisor;
}

/*
 * Waking.
 */

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
	WRITE_ONCE(file->woken, true);
	/* Pass no events: io_uring would take them for the result, and not poll. */
	wake_up_locked_poll(&file->wait, 0);
	if (is_idle_task(current) && file->hint > now + TWHEEL_MIN_REARM_NS)
		return file->hint;
	return TWHEEL_NEVER;
}

static enum hrtimer_restart twheel_fire(struct hrtimer *hrtimer)
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
	bool earlier = next < file->next, unread;
	u64 hint = file->hint;

	/* The wheel is being drained, and a reader is likely to wait again: take a new hint. */
	if (READ_ONCE(file->due) <= TWHEEL_AT_ONCE)
		hint = wheel_hint(file, next);
	file->next = next;
	spin_lock_irq(&file->wait.lock);
	file->hint = hint;
	/* The hrtimer has fired, and a woken waiter is going to advance the wheel. */
	if (due && file->woken)
		due = TWHEEL_AT_ONCE;
	/* If it fired for what is unread now, the waiters are awake. */
	unread = file->due != TWHEEL_AT_ONCE && (file->filled || (!due && file->due));
	file->filled = false;
	WRITE_ONCE(file->due, due);
	if (waitqueue_active(&file->wait)) { /* no barrier: wait.lock is held */
		if (unread)
			wake_up_locked_poll(&file->wait, EPOLLIN | EPOLLRDNORM);
		if (due ? !file->woken : earlier)
			arm_if_earlier(file, file->more ? resumption(file, next) : next);
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
	if (twheel_file_can_trim(file)) {
		pages = twheel_store_trim(&file->store, TWHEEL_KEEP_PAGES);
		credit(file);
	}
	publish(file, due, next);
	mutex_unlock(&file->lock);
	twheel_pages_free(pages);
}

/**
 * twheel_file_make_up() - after unlocking, make up for polls that did not get the lock
 * @file: the file
 *
 * Advances the wheel for them, as they may never get the lock of a wheel in heavy use.
 */
void twheel_file_make_up(struct twheel_file *file)
{
	WRITE_ONCE(file->contended, false);
	if (mutex_trylock(&file->lock)) {
		if (twheel_file_is_due(file))
			twheel_file_advance(file, TWHEEL_STEPS, true);
		twheel_file_publish_and_unlock(file, twheel_file_due(file), twheel_file_next(file));
	}
	wake_up_interruptible_poll(&file->wait, 0);
}

/**
 * twheel_file_trylock() - take the lock if it is free
 * @file: the file
 *
 * Return: false if it is not free: then its holder advances the wheel for the caller, and wakes
 * waiters if something is unread after that.
 */
bool twheel_file_trylock(struct twheel_file *file)
{
	if (mutex_trylock(&file->lock))
		return true;
	WRITE_ONCE(file->contended, true);
	/* Pairs with the barrier after unlocking: one of the two sees the other. */
	smp_mb();
	return mutex_trylock(&file->lock);
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
 * For a reader that leaves events, or is killed.
 */
void twheel_file_wake_next(struct twheel_file *file)
{
	if (twheel_file_is_due(file) && wq_has_sleeper(&file->wait))
		wake_up_interruptible_poll(&file->wait, 0);
}

/*
 * Growing. An allocation can take longer than all work under the lock, so pages and levels are
 * allocated without it.
 */

/* Charge for level @nr, and allocate it. Returns an ERR_PTR() on failure. */
static struct twheel_level *alloc_level(struct twheel_file *file, u8 nr)
{
	size_t bytes = twheel_level_bytes(&file->wheel, nr);
	struct twheel_level *level;
	struct mem_cgroup *old;

	if (!twheel_user_charge(file->user, bytes))
		return ERR_PTR(-ENOSPC);
	old = set_active_memcg(file->memcg);
	level = twheel_level_alloc(&file->wheel, nr, TWHEEL_GFP);
	set_active_memcg(old);
	if (level)
		return level;
	twheel_user_uncharge(file->user, bytes);
	return ERR_PTR(-ENOMEM);
}

static void install_level(struct twheel_file *file, struct twheel_level *level)
{
	file->charged += twheel_level_bytes(&file->wheel, level->nr);
	twheel_level_install(&file->wheel, level);
	file->max_delay = twheel_max_delay(&file->wheel);
}

/* Put level @nr on top of the wheel. @growing keeps TWHEEL_SETUP from changing it. */
static int grow_level(struct twheel_file *file, u8 nr, bool nowait)
{
	struct twheel_level *level = alloc_level(file, nr);
	int err = PTR_ERR_OR_ZERO(level);

	if (err)
		goto out;
	err = twheel_file_lock_nowait(file, nowait);
	/* Another thread may have been faster. */
	if (err || file->wheel.nr_levels != nr) {
		twheel_level_free(level);
		twheel_user_uncharge(file->user, twheel_level_bytes(&file->wheel, nr));
	} else {
		install_level(file, level);
	}
	if (!err)
		twheel_file_unlock(file);
out:
	atomic_dec(&file->growing);
	return err;
}

/* Add levels for all of time, so that a timer can be placed whatever the clock is set to. */
static int grow_all_levels(struct twheel_file *file)
{
	while (file->max_delay < KTIME_MAX) {
		struct twheel_level *level = alloc_level(file, file->wheel.nr_levels);

		if (IS_ERR(level))
			return PTR_ERR(level);
		install_level(file, level);
	}
	return 0;
}

/* Add a page of timers, or of their directory, unless another thread has. */
static int grow_store(struct twheel_file *file, bool nowait)
{
	struct mem_cgroup *old = set_active_memcg(file->memcg);
	void *page = (void *)get_zeroed_page(TWHEEL_GFP);
	int err = page ? twheel_file_lock_nowait(file, nowait) : -ENOMEM;

	if (err)
		goto out;
	if (twheel_store_exhausted(&file->store)) {
		err = charge(file, twheel_store_growth(&file->store));
		if (!err)
			err = twheel_store_grow(&file->store, page, TWHEEL_GFP);
		if (!err)
			page = NULL;
		credit(file);
	}
	twheel_file_unlock(file);
out:
	set_active_memcg(old);
	free_page((unsigned long)page);
	return err;
}

/**
 * twheel_file_provide() - provide what a chunk of work lacked
 * @file: the file, not locked
 * @need: one of enum twheel_need, with the number of a level added
 * @nowait: do not wait for the lock
 *
 * Another thread can use it up before the caller has the lock again.
 *
 * Return: 0; or -ENOSPC, -ENOMEM, -EAGAIN if @nowait, or -EINTR when killed.
 */
int twheel_file_provide(struct twheel_file *file, int need, bool nowait)
{
	int err;

	cond_resched();
	if (need >= TWHEEL_NEED_LEVEL)
		return grow_level(file, need - TWHEEL_NEED_LEVEL, nowait);
	if (fatal_signal_pending(current))
		return -EINTR;
	if (need == TWHEEL_NEED_PAGE)
		return grow_store(file, nowait);
	err = twheel_file_lock_nowait(file, nowait);
	if (!err) {
		twheel_file_advance(file, TWHEEL_STEPS, false);
		twheel_file_unlock(file);
	}
	return err;
}

/*
 * Opening, setting up and closing.
 */

static void set_up(struct twheel_file *file, const struct twheel_setup *setup)
{
	struct twheel *w = &file->wheel;

	/* A failed add may have left levels behind. */
	twheel_destroy(w);
	WRITE_ONCE(file->clock_id, setup->clock_id);
	file->max_timers = setup->max_timers;
	file->max_delay = 0;
	hrtimer_setup(&file->hrtimer, twheel_fire, file->clock_id, HRTIMER_MODE_ABS);
	twheel_init(w, setup->tick_ns, setup->wheel_size, 0);
	twheel_forward(w, twheel_floor(w, twheel_file_now(file)));
}

/**
 * twheel_file_set_up() - reinitialise the wheel
 * @file: the file, locked unless it is being opened; it has had no timers
 * @setup: valid parameters
 *
 * Return: 0; or -ENOSPC or -ENOMEM, and the wheel is as it was.
 */
int twheel_file_set_up(struct twheel_file *file, const struct twheel_setup *setup)
{
	const struct twheel_setup old = {
		.tick_ns = file->wheel.tick.divisor,
		.wheel_size = file->wheel.size.divisor,
		.clock_id = file->clock_id,
		.max_timers = file->max_timers,
	};
	int err = 0;

	set_up(file, setup);
	if (twheel_file_can_be_set(file))
		err = grow_all_levels(file);
	if (err)
		set_up(file, &old);
	credit(file);
	return err;
}

/**
 * twheel_file_open() - make a file, with its wheel
 * @uid: the user that it is charged to
 * @setup: valid parameters
 *
 * May sleep. Memory is charged to the control group of the caller from now on.
 *
 * Return: the file for twheel_file_close(); or an ERR_PTR() of -ENOMEM, or of -ENOSPC if
 * the user's wheels hold as much as they may.
 */
struct twheel_file *twheel_file_open(kuid_t uid, const struct twheel_setup *setup)
{
	struct twheel_file *file = kzalloc(sizeof(*file), TWHEEL_GFP);
	int err = -ENOMEM;

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
	set_up(file, setup);
	return file;

put:
	twheel_user_put(file->user);
free:
	kfree(file);
	return ERR_PTR(err);
}

/**
 * twheel_file_close() - free a file, with all of its timers
 * @file: the file, which is no longer in use
 *
 * May sleep.
 */
void twheel_file_close(struct twheel_file *file)
{
	/* No waiter is left that could rearm it. */
	hrtimer_cancel(&file->hrtimer);
	twheel_ring_free(file->ring);
	twheel_destroy(&file->wheel);
	twheel_store_destroy(&file->store);
	mem_cgroup_put(file->memcg);
	twheel_user_uncharge(file->user, file->charged);
	twheel_user_put(file->user);
	kfree(file);
}
