// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/twheel: a hierarchical timing wheel behind a descriptor
 *
 * Each open file has a wheel of its own (twheel_core.c), the memory of its
 * timers (twheel_store.c) and one hrtimer, which fires when the first bucket of
 * the wheel has to be opened. This file brings them together with the clock, the
 * lock and user space.
 *
 * Locking
 *
 * file->lock protects everything in struct twheel_file but what open() sets. It
 * is held for a bounded number of steps only, whatever the wheel holds: longer
 * work is cut into chunks, and what the hrtimer leaves over goes on in a work
 * item, where it can be preempted. Memory is allocated and freed outside the
 * lock; file->grow, taken first, keeps that in order.
 *
 * User memory is written with the lock held and page faults disabled, so that a
 * timer and its id, or an event and its delivery, happen together or not at all;
 * and what is to be added is read there and then. When the page is not there,
 * nothing has happened: the lock is dropped, the page is brought in, and it is
 * tried again.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <uapi/linux/twheel.h>

#include "twheel.h"
#include "twheel_compat.h"
#include "twheel_store.h"
#include "twheel_user.h"

/* Timers worked through before the lock is given up; and ids, and events. */
#define TWHEEL_ADD_CHUNK	192
/* How many less of them for one that takes as long as several. */
#define TWHEEL_ADD_EXTRA	3
#define TWHEEL_CHUNK		32
#define TWHEEL_CANCEL_CHUNK	128
#define TWHEEL_READ_CHUNK	96
/* Each of them may be the last one in its page: all those pages go back. */
static_assert(TWHEEL_CANCEL_CHUNK <= TWHEEL_TRIM && TWHEEL_READ_CHUNK <= TWHEEL_TRIM);
/* Steps of the wheel before the lock is given up. */
#define TWHEEL_BUDGET		64
/* Rounds of work on one wheel before it is the turn of another. */
#define TWHEEL_ROUNDS		16
/* How long wheels may expire one after the other, and the pause that ends that. */
#define TWHEEL_BURST_NS		(50 * NSEC_PER_USEC)
#define TWHEEL_BURST_GAP_NS	(10 * NSEC_PER_USEC)
/* Empty pages of timers kept for what is added next. */
#define TWHEEL_KEEP_PAGES	16
/* How often to bring in a page that goes away again before giving up. */
#define TWHEEL_FAULT_TRIES	16
/*
 * The opener's control group pays. When it is full, the caller is told so: no
 * process of the group is killed for it, and nothing is written to the log.
 */
#define TWHEEL_GFP		(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
/* file->armed when the hrtimer is not. */
#define TWHEEL_UNARMED		U64_MAX

static ulong tick_ns = TWHEEL_TICK_DEFAULT_NS;
module_param(tick_ns, ulong, 0444);
MODULE_PARM_DESC(tick_ns, "Default tick in nanoseconds (1000 to 3600000000000)");

static uint wheel_size = TWHEEL_SIZE_DEFAULT;
module_param(wheel_size, uint, 0444);
MODULE_PARM_DESC(wheel_size, "Default number of buckets in a level (2 to 65536)");

static ulong max_timers = 1UL << 24;
module_param(max_timers, ulong, 0644);
MODULE_PARM_DESC(max_timers, "Timers that one wheel may hold");

static ulong max_user_bytes;
module_param(max_user_bytes, ulong, 0644);
MODULE_PARM_DESC(max_user_bytes,
		 "Bytes that the wheels of one user may hold (0 when loaded: 4% of low memory)");

static struct workqueue_struct *twheel_wq;

/**
 * struct twheel_file - an open file: one wheel
 * @lock: see the top of this file.
 * @wheel: the wheel; its unit of time is the nanosecond.
 * @store: the timers.
 * @armed: the tick before which the hrtimer is to fire, or TWHEEL_UNARMED.
 * @behind: the wheel's clock could not be brought to the time within a budget:
 *	@work is on it, and the hrtimer need not be armed.
 * @reached: the last time by which all that was due had expired.
 * @is_set_up: TWHEEL_SETUP has been done.
 * @tick_ns: the tick.
 * @max_timers: how many timers there may be.
 * @clock_id: the clock.
 * @had_expired: nr_expired of the wheel when the lock was taken.
 * @added: see struct twheel_info; so with the next four.
 * @modified: see struct twheel_info.
 * @cancelled: see struct twheel_info.
 * @delivered: see struct twheel_info.
 * @fires: see struct twheel_info.
 * @hrtimer: fires when the first bucket has to be opened.
 * @wait: readers and pollers.
 * @work: carries on where the hrtimer ran out of budget.
 * @grow: serialises the allocation of levels and pages.
 * @charged: bytes charged to @user.
 * @user: whose wheel it is.
 * @memcg: who pays for the memory: the control group of the opener.
 */
struct twheel_file {
	spinlock_t lock;	/* all but what open() sets: see the top */
	struct twheel wheel;
	struct twheel_store store;
	u64 armed;
	bool behind;
	u64 reached;
	bool is_set_up;
	u64 tick_ns;
	u64 max_timers;
	clockid_t clock_id;
	u64 had_expired;
	u64 added;
	u64 modified;
	u64 cancelled;
	u64 delivered;
	u64 fires;
	struct hrtimer hrtimer;
	wait_queue_head_t wait;
	struct work_struct work;
	struct mutex grow;	/* levels and pages on their way in */
	atomic_long_t charged;
	struct twheel_user *user;
	struct mem_cgroup *memcg;
};

/* Why an operation has to be tried again once the lock has been dropped. */
enum twheel_retry {
	TWHEEL_ROOM = 1,	/* a level or a page of timers is missing */
	TWHEEL_FAULT,		/* the page for the answer is missing */
	TWHEEL_BEHIND,		/* the wheel has yet to catch up with the clock */
};

static struct twheel_entry *to_entry(struct twheel_timer *timer)
{
	return container_of(timer, struct twheel_entry, timer);
}

static u64 file_now(const struct twheel_file *file)
{
	if (file->clock_id == CLOCK_BOOTTIME)
		return ktime_get_boottime_ns();
	return ktime_get_ns();
}

static u64 file_timers(const struct twheel_file *file)
{
	return file->wheel.nr_pending + file->wheel.nr_expired;
}

/* Have the hrtimer fire for the first bucket, and not at all without one. */
static void file_arm(struct twheel_file *file)
{
	u64 tick;

	if (unlikely(!twheel_next(&file->wheel, &tick))) {
		if (file->armed != TWHEEL_UNARMED) {
			hrtimer_try_to_cancel(&file->hrtimer);
			file->armed = TWHEEL_UNARMED;
		}
		return;
	}
	/* Should the first bucket have become a later one, it fires once in vain. */
	if (likely(tick >= file->armed) || file->behind)
		return;
	file->armed = tick;
	/*
	 * No deadline is later than KTIME_MAX and no tick is longer than an hour: when a
	 * tick ends can be later than that, but not overflow.
	 */
	hrtimer_start(&file->hrtimer, min_t(u64, tick * file->tick_ns, KTIME_MAX),
		      HRTIMER_MODE_ABS_SOFT);
}

static void file_lock(struct twheel_file *file)
	__acquires(&file->lock)
{
	spin_lock_bh(&file->lock);
	file->had_expired = file->wheel.nr_expired;
}

static void file_wake(struct twheel_file *file)
{
	if (wq_has_sleeper(&file->wait))
		wake_up_interruptible_poll(&file->wait, EPOLLIN | EPOLLRDNORM);
}

static void file_uncharge(struct twheel_file *file, size_t bytes)
{
	atomic_long_sub(bytes, &file->charged);
	twheel_user_uncharge(file->user, bytes);
}

/* Give pages back that the lock's holder took out of the store. */
static void file_free_pages(struct twheel_file *file, struct twheel_page *pages)
{
	struct twheel_page *page;
	size_t bytes = 0;

	for (page = pages; page; page = page->next)
		bytes += PAGE_SIZE;
	twheel_page_free(pages);
	file_uncharge(file, bytes);
}

/* Drop the lock, and leave everything behind as it has to be without it. */
static void file_unlock(struct twheel_file *file)
	__releases(&file->lock)
{
	struct twheel_page *pages = NULL;
	bool wake;

	file_arm(file);
	wake = file->wheel.nr_expired > file->had_expired;
	if (unlikely(file->store.nr_empty > TWHEEL_KEEP_PAGES))
		pages = twheel_store_trim(&file->store, TWHEEL_KEEP_PAGES);
	spin_unlock_bh(&file->lock);

	if (wake)
		file_wake(file);
	if (unlikely(pages))
		file_free_pages(file, pages);
}

/*
 * Bring the wheel to the time @now. Returns true if there is work left that no
 * hrtimer is going to see to.
 */
static bool file_advance(struct twheel_file *file, u64 now)
{
	u64 tick = twheel_floor(&file->wheel, now);
	u64 next;
	bool more;

	more = twheel_advance(&file->wheel, tick, TWHEEL_BUDGET);
	file->behind = more && twheel_next(&file->wheel, &next) && next <= tick;
	if (!file->behind)
		file->reached = now;
	return more;
}

static void file_advance_or_queue(struct twheel_file *file, u64 now)
{
	if (file_advance(file, now))
		queue_work(twheel_wq, &file->work);
}

/* Let all that is due expire, once for everything that is done at the time @now. */
static void file_reach(struct twheel_file *file, u64 now)
{
	if (file->reached != now)
		file_advance_or_queue(file, now);
}

/**
 * struct twheel_burst - wheels on one CPU that fire one after the other
 * @began: when the first one did, in nanoseconds of CLOCK_MONOTONIC.
 * @ended: when the last one was done.
 *
 * Bottom halves are off all the while: past TWHEEL_BURST_NS, what there is to do
 * is left to work items, which can be preempted.
 */
struct twheel_burst {
	u64 began;
	u64 ended;
};

static DEFINE_PER_CPU(struct twheel_burst, twheel_bursts);

static bool burst_goes_on(void)
{
	struct twheel_burst *burst = this_cpu_ptr(&twheel_bursts);
	u64 now = ktime_get_ns();

	if (now - burst->ended > TWHEEL_BURST_GAP_NS)
		burst->began = now;
	burst->ended = now;
	return now - burst->began < TWHEEL_BURST_NS;
}

static enum hrtimer_restart twheel_fire(struct hrtimer *hrtimer)
{
	struct twheel_file *file = container_of(hrtimer, struct twheel_file, hrtimer);

	file_lock(file);
	file->fires++;
	file->armed = TWHEEL_UNARMED;
	if (likely(burst_goes_on())) {
		file_advance_or_queue(file, file_now(file));
	} else {
		file->behind = true;
		queue_work(twheel_wq, &file->work);
	}
	/* Starts the hrtimer again, if need be: it must not restart itself. */
	file_unlock(file);
	this_cpu_write(twheel_bursts.ended, ktime_get_ns());
	return HRTIMER_NORESTART;
}

static void twheel_carry_on(struct work_struct *work)
{
	struct twheel_file *file = container_of(work, struct twheel_file, work);
	unsigned int rounds = 0;
	bool more;

	do {
		file_lock(file);
		more = file_advance(file, file_now(file));
		file_unlock(file);
		cond_resched();
	} while (more && ++rounds < TWHEEL_ROUNDS);
	/* It is the turn of the other wheels. */
	if (more)
		queue_work(twheel_wq, &file->work);
}

/*
 * Growing: levels and pages of timers. The lock is not held.
 */

static int file_charge(struct twheel_file *file, size_t bytes)
{
	if (!twheel_user_charge(file->user, bytes, READ_ONCE(max_user_bytes)))
		return -ENOSPC;
	atomic_long_add(bytes, &file->charged);
	return 0;
}

static int file_grow_level(struct twheel_file *file, u8 nr)
{
	size_t bytes = twheel_level_bytes(&file->wheel);
	struct twheel_level *level;
	int err;

	err = file_charge(file, bytes);
	if (err)
		return err;
	level = twheel_level_alloc(&file->wheel, nr, TWHEEL_GFP);
	if (!level) {
		file_uncharge(file, bytes);
		return -ENOMEM;
	}
	file_lock(file);
	twheel_level_install(&file->wheel, level);
	file_unlock(file);
	return 0;
}

/* Give the store a page; @block says whether it needs a block, and is set for the next. */
static int file_grow_store(struct twheel_file *file, bool *block)
{
	struct twheel_page *page;
	size_t bytes;
	void *old;
	int err;

	if (*block && twheel_store_full(&file->store))
		return -ENOSPC;
	bytes = twheel_page_bytes(&file->store, *block);
	err = file_charge(file, bytes);
	if (err)
		return err;
	page = twheel_page_alloc(&file->store, *block, TWHEEL_GFP);
	if (!page) {
		file_uncharge(file, bytes);
		return -ENOMEM;
	}
	file_lock(file);
	old = twheel_store_install(&file->store, page);
	*block = twheel_store_wants_block(&file->store);
	file_unlock(file);
	kvfree(old);
	return 0;
}

/* The levels that a timer needs, now and whenever its period makes it start anew. */
static u8 file_levels_for(const struct twheel_file *file, u64 deadline, u64 interval)
{
	const struct twheel *w = &file->wheel;
	u8 levels = twheel_levels_for(w, w->now, deadline);

	if (!interval)
		return levels;
	/* Its next deadline can be a period and part of a tick after the clock. */
	return max(levels, twheel_levels_within(w, twheel_tick(w, interval) + 1));
}

/*
 * Make what an operation that ended with TWHEEL_ROOM was missing. If that is pages,
 * make those for all of @timers, at least one, as far as none would be trimmed for it.
 */
static int file_make_room(struct twheel_file *file, u64 deadline, u64 interval, u32 timers)
{
	struct mem_cgroup *old = set_active_memcg(file->memcg);
	u32 more = (timers - 1) / TWHEEL_PAGE_ENTRIES;
	u8 have, need;
	bool full, block;
	int err = 0;

	mutex_lock(&file->grow);
	file_lock(file);
	have = file->wheel.nr_levels;
	need = file_levels_for(file, deadline, interval);
	full = list_empty(&file->store.partial);
	block = twheel_store_wants_block(&file->store);
	file_unlock(file);

	for (; have < need && !err; have++)
		err = file_grow_level(file, have);
	if (full && !err) {
		err = file_grow_store(file, &block);
		/* These can wait, if need be. */
		for (more = min(more, TWHEEL_KEEP_PAGES - 1U); more && !err; more--) {
			if (file_grow_store(file, &block))
				break;
		}
	}
	mutex_unlock(&file->grow);
	set_active_memcg(old);
	return err;
}

static int file_catch_up(struct twheel_file *file, u64 now)
{
	bool behind;

	do {
		file_lock(file);
		file_advance_or_queue(file, now);
		behind = file->behind;
		file_unlock(file);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	} while (behind);
	return 0;
}

/*
 * What adding and modifying have in common.
 */

static u64 deadline_of(u64 time_ns, u32 flags, u64 now)
{
	s64 deadline = now + time_ns;

	if (flags & TWHEEL_ABSTIME)
		return time_ns;
	return likely(deadline >= 0) ? deadline : KTIME_MAX;
}

static bool time_is_valid(u64 time_ns, u32 flags, u32 reserved)
{
	return !((flags & ~TWHEEL_ABSTIME) | reserved | time_ns >> 63);
}

/* Take the lock, and bring the wheel's clock forward before timers are placed. */
static u64 file_begin(struct twheel_file *file)
	__acquires(&file->lock)
{
	u64 now;

	file_lock(file);
	now = file_now(file);
	twheel_forward(&file->wheel, twheel_floor(&file->wheel, now));
	return now;
}

/* Do without the lock what the operation on one entry has been waiting for. */
static int file_retry(struct twheel_file *file, int why, u64 deadline, u64 interval,
		      u64 now, u32 timers)
{
	switch (why) {
	case TWHEEL_ROOM:
		return file_make_room(file, deadline, interval, timers);
	case TWHEEL_BEHIND:
		return file_catch_up(file, now);
	default:
		return why;
	}
}

/*
 * Adding. Entries are read and ids are written where they are, in user memory, while
 * the lock is held: no copies are made of them.
 */

/* The flags of an entry with the reserved field behind them, which has to be zero. */
static u64 flags_word(u32 flags)
{
	const union {
		u32 field[2];
		u64 word;
	} both = { .field = { flags } };

	static_assert(offsetof(struct twheel_add, reserved) ==
		      offsetof(struct twheel_add, flags) + sizeof(u32));
	return both.word;
}

/*
 * Add timers, @n at most, as long as each takes a few instructions: they are valid,
 * expire once, are not due yet, and need no memory. What some take beyond that is added
 * to @extra, in timers, which are then fewer. Returns how many that were.
 */
static __always_inline unsigned int add_quickly(struct twheel_file *file,
						struct twheel_add __user *uadd,
						unsigned int n, unsigned int *extra, u64 now)
{
	struct twheel_add __user *u = uadd, *end;
	u64 absolute = flags_word(TWHEEL_ABSTIME);
	struct twheel *w = &file->wheel;
	struct twheel_entry *entry;
	struct twheel_run run;
	u64 link;

	n = min(n, twheel_run_begin(&file->store, &run));
	if (!n)
		return 0;
	end = uadd + n;
	pagefault_disable();
	if (!user_access_begin(uadd, n * sizeof(*uadd)))
		goto enable;
	do {
		u64 flags, interval, time, data, deadline;

		unsafe_get_u64(flags, (u64 __user *)&u->flags, fault);
		unsafe_get_u64(interval, &u->interval_ns, fault);
		unsafe_get_u64(time, &u->time_ns, fault);
		unsafe_get_u64(data, &u->data, fault);
		deadline = now + time;
		flags |= interval;
		if (flags) {
			/* Or else it is periodic, or not valid. */
			if (interval || flags != absolute)
				break;
			deadline = time;
		}
		/* It has passed, or is not valid, or later than any. */
		if (unlikely((s64)deadline <= (s64)now))
			break;

		entry = twheel_run_entry(&run);
		link = entry->data;
		entry->data = data;
		entry->interval = 0;
		entry->timer.deadline = deadline;
		if (unlikely(!twheel_add_quickly(w, &entry->timer))) {
			bool added;

			user_access_end();
			added = twheel_add(w, &entry->timer);
			if (!added)
				goto restore;
			*extra += TWHEEL_ADD_EXTRA;
			end -= min_t(size_t, TWHEEL_ADD_EXTRA, end - u - 1);
			if (!user_access_begin(uadd, n * sizeof(*uadd)))
				goto cancel;
		}
		unsafe_put_user(twheel_run_id(&run), &u->id, no_answer);
		twheel_run_take(&run, entry, link);
	} while (++u < end);
fault:
	user_access_end();
	goto enable;
no_answer:
	user_access_end();
cancel:
	twheel_cancel(w, &entry->timer);
restore:
	entry->data = link;
enable:
	pagefault_enable();
	twheel_run_end(&file->store, &run);
	return u - uadd;
}

/* Queue a timer that is due already behind all that has expired by @now. */
static int file_expire(struct twheel_file *file, struct twheel_timer *timer, u64 now)
{
	file_reach(file, now);
	if (unlikely(file->behind))
		return TWHEEL_BEHIND;
	twheel_expire(&file->wheel, timer);
	return 0;
}

/* A period has to have at least a tick, and the levels for starting anew. */
static int check_interval(const struct twheel_file *file, u64 interval)
{
	if (interval < file->tick_ns || interval > KTIME_MAX)
		return -EINVAL;
	if (!twheel_serves(&file->wheel, twheel_tick(&file->wheel, interval) + 1))
		return TWHEEL_ROOM;
	return 0;
}

/* Put a timer into the wheel, whatever it is like. */
static int add_timer_entry(struct twheel_file *file, struct twheel_entry *entry,
			   const struct twheel_add *add, u64 now)
{
	u64 deadline = deadline_of(add->time_ns, add->flags, now);

	entry->data = add->data;
	entry->interval = add->interval_ns;
	entry->timer.deadline = deadline;
	if (deadline <= now)
		return file_expire(file, &entry->timer, now);
	return twheel_add(&file->wheel, &entry->timer) ? 0 : TWHEEL_ROOM;
}

/* Add one timer of any kind; @add is set to what user memory says of it. */
static int add_one(struct twheel_file *file, struct twheel_add __user *uadd,
		   struct twheel_add *add, u64 now)
{
	struct twheel_entry *entry;
	int err;

	if (copy_from_user(add, uadd, sizeof(*add)))
		return TWHEEL_FAULT;
	if (!time_is_valid(add->time_ns, add->flags, add->reserved))
		return -EINVAL;
	if (add->interval_ns) {
		err = check_interval(file, add->interval_ns);
		if (err)
			return err;
	}
	entry = twheel_store_get(&file->store, &add->id);
	if (!entry)
		return TWHEEL_ROOM;
	err = add_timer_entry(file, entry, add, now);
	if (!err) {
		if (!put_user(add->id, &uadd->id))
			return 0;
		/* Nobody would know its id: it never existed. */
		twheel_cancel(&file->wheel, &entry->timer);
		err = TWHEEL_FAULT;
	}
	twheel_store_put(&file->store, entry);
	return err;
}

/* Returns how many of @n were done; with @err, the next one, @add, waits for that. */
static unsigned int add_chunk(struct twheel_file *file, struct twheel_add __user *uadd,
			      unsigned int n, struct twheel_add *add, u64 *now, int *err)
{
	unsigned int extra = 0;
	unsigned int i;

	*now = file_begin(file);
	n = min_t(u64, n, file->max_timers - file_timers(file));
	if (unlikely(!n))
		*err = -ENOSPC;
	for (i = 0; i + extra < n; i++) {
		i += add_quickly(file, uadd + i, n - i - extra, &extra, *now);
		/* At least one is done, or fails. */
		if (likely(i + extra >= n && i))
			break;
		pagefault_disable();
		*err = add_one(file, uadd + i, add, *now);
		pagefault_enable();
		if (*err)
			break;
		extra += TWHEEL_ADD_EXTRA;
	}
	file->added += i;
	file_unlock(file);
	return i;
}

/* Bring in the page of an entry, or the two, for its being read and for the id. */
static int fault_in_entry(struct twheel_add __user *uadd, unsigned int *faults)
{
	if (++*faults > TWHEEL_FAULT_TRIES ||
	    fault_in_readable((char __user *)uadd, sizeof(*uadd)) ||
	    fault_in_writeable((char __user *)&uadd->id, sizeof(uadd->id)))
		return -EFAULT;
	return 0;
}

/* Add timers up to the first that cannot be; returns how many, or its errno for none. */
static long twheel_add_many(struct twheel_file *file, struct twheel_add __user *uadd,
			    u32 count)
{
	unsigned int faults = 0;
	struct twheel_add add = { };
	long done = 0;
	int err = 0;

	while (done < count) {
		unsigned int n = min_t(u32, count - done, TWHEEL_ADD_CHUNK);
		u64 now;

		n = add_chunk(file, uadd + done, n, &add, &now, &err);
		done += n;
		if (n)
			faults = 0;
		/* What cannot be read is told of first, also where there is no room. */
		if (err == -ENOSPC && fault_in_readable((char __user *)(uadd + done),
							sizeof(*uadd)))
			err = -EFAULT;
		if (err == TWHEEL_FAULT)
			err = fault_in_entry(uadd + done, &faults);
		else if (err)
			err = file_retry(file, err, deadline_of(add.time_ns, add.flags, now),
					 add.interval_ns, now, count - done);
		/* Once something is done, a signal is told of by its number. */
		if (err || (done && signal_pending(current)))
			break;
		cond_resched();
	}
	return done ?: err;
}

/* Most timers that are added one by one need nothing of all that. */
static long twheel_add_single(struct twheel_file *file, struct twheel_add __user *uadd)
{
	unsigned int extra = 0, done = 0;
	long err;
	u64 now;

	now = file_begin(file);
	if (likely(file_timers(file) < file->max_timers))
		done = add_quickly(file, uadd, 1, &extra, now);
	file->added += done;
	file_unlock(file);
	if (likely(done))
		return 0;
	err = twheel_add_many(file, uadd, 1);
	return min(err, 0L);
}

/*
 * Modifying and cancelling. A batch goes through the kernel in chunks.
 */

/*
 * Copy @n entries of @size in; returns how many there were before a page that is
 * missing. Some processors stop a few entries ahead of it, so that there can be
 * more; but there is none only when the first one is not there.
 */
static unsigned int copy_entries(void *to, const void __user *from, unsigned int n,
				 size_t size)
{
	size_t missing = copy_from_user(to, from, n * size);

	if (likely(!missing))
		return n;
	n -= DIV_ROUND_UP(missing, size);
	return n ?: !copy_from_user(to, from, size);
}

static int modify_one(struct twheel_file *file, const struct twheel_modify *mod, u64 now)
{
	struct twheel *w = &file->wheel;
	struct twheel_entry *entry;
	u64 deadline;

	if (unlikely(!time_is_valid(mod->time_ns, mod->flags, mod->reserved)))
		return -EINVAL;
	entry = twheel_store_find(&file->store, mod->id);
	if (unlikely(!entry))
		return -ENOENT;

	deadline = deadline_of(mod->time_ns, mod->flags, now);
	if (unlikely(deadline <= now)) {
		/* First catch up, for what is due already goes before it. */
		file_reach(file, now);
		if (file->behind)
			return TWHEEL_BEHIND;
	} else if (unlikely(!twheel_covers(w, deadline))) {
		return TWHEEL_ROOM;
	}

	twheel_cancel(w, &entry->timer);
	entry->timer.deadline = deadline;
	if (deadline <= now)
		twheel_expire(w, &entry->timer);
	else
		twheel_add(w, &entry->timer);
	file->modified++;
	return 0;
}

static unsigned int modify_chunk(struct twheel_file *file, const struct twheel_modify *mod,
				 unsigned int n, u64 *now, int *err)
{
	unsigned int i;

	*now = file_begin(file);
	for (i = 0; i < n; i++) {
		*err = modify_one(file, &mod[i], *now);
		if (unlikely(*err))
			break;
	}
	file_unlock(file);
	return i;
}

static unsigned int modify_all(struct twheel_file *file, const struct twheel_modify *mod,
			       unsigned int n, int *err)
{
	unsigned int i = 0;
	u64 now;

	for (;;) {
		i += modify_chunk(file, mod + i, n - i, &now, err);
		if (likely(!*err))
			return i;
		*err = file_retry(file, *err,
				  deadline_of(mod[i].time_ns, mod[i].flags, now),
				  0, now, 1);
		if (*err)
			return i;
	}
}

static long twheel_modify_one(struct twheel_file *file, struct twheel_modify __user *umod)
{
	struct twheel_modify mod;
	int err = 0;

	if (copy_from_user(&mod, umod, sizeof(mod)))
		return -EFAULT;
	modify_all(file, &mod, 1, &err);
	return err;
}

static long twheel_modify_many(struct twheel_file *file, struct twheel_modify __user *umod,
			       u32 count)
{
	struct twheel_modify chunk[TWHEEL_CHUNK];
	long done = 0;
	int err = 0;

	while (done < count && !err) {
		unsigned int n = min_t(u32, count - done, TWHEEL_CHUNK);

		n = copy_entries(chunk, umod + done, n, sizeof(*chunk));
		if (n)
			done += modify_all(file, chunk, n, &err);
		else
			err = -EFAULT;
		if (signal_pending(current))
			break;
		cond_resched();
	}
	return done ?: err;
}

static unsigned int cancel_chunk(struct twheel_file *file, const u64 *id,
				 unsigned int n, int *err)
{
	struct twheel_entry *entry;
	unsigned int i;

	file_lock(file);
	for (i = 0; i < n; i++) {
		if (unlikely(!twheel_store_has(&file->store, id[i], &entry))) {
			*err = -ENOENT;
			break;
		}
		twheel_cancel(&file->wheel, &entry->timer);
		twheel_store_put(&file->store, entry);
	}
	file->cancelled += i;
	file_unlock(file);
	return i;
}

static long twheel_cancel_one(struct twheel_file *file, u64 __user *uid)
{
	struct twheel_entry *entry;
	u64 id;

	if (get_user(id, uid))
		return -EFAULT;
	file_lock(file);
	entry = twheel_store_find(&file->store, id);
	if (likely(entry)) {
		twheel_cancel(&file->wheel, &entry->timer);
		twheel_store_put(&file->store, entry);
		file->cancelled++;
	}
	file_unlock(file);
	return entry ? 0 : -ENOENT;
}

static long twheel_cancel_many(struct twheel_file *file, u64 __user *uid, u32 count)
{
	u64 chunk[TWHEEL_CANCEL_CHUNK];
	long done = 0;
	int err = 0;

	while (done < count && !err) {
		unsigned int n = min_t(u32, count - done, TWHEEL_CANCEL_CHUNK);

		n = copy_entries(chunk, uid + done, n, sizeof(*chunk));
		if (n)
			done += cancel_chunk(file, chunk, n, &err);
		else
			err = -EFAULT;
		if (signal_pending(current))
			break;
		cond_resched();
	}
	return done ?: err;
}

static long twheel_batch(struct twheel_file *file, unsigned int cmd,
			 struct twheel_batch __user *arg)
{
	struct twheel_batch batch;
	void __user *entries;

	if (copy_from_user(&batch, arg, sizeof(batch)))
		return -EFAULT;
	if (batch.flags)
		return -EINVAL;
	/* The answer is an int in user space. */
	batch.count = min_t(u32, batch.count, INT_MAX);
	entries = u64_to_user_ptr(batch.entries);

	switch (cmd) {
	case TWHEEL_ADD_BATCH:
		return twheel_add_many(file, entries, batch.count);
	case TWHEEL_CANCEL_BATCH:
		return twheel_cancel_many(file, entries, batch.count);
	default:
		return twheel_modify_many(file, entries, batch.count);
	}
}

/*
 * Setting up and looking at a wheel.
 */

static int setup_check(const struct twheel_setup *setup)
{
	if (setup->flags || memchr_inv(setup->reserved, 0, sizeof(setup->reserved)))
		return -EINVAL;
	if (setup->tick_ns < TWHEEL_TICK_MIN_NS || setup->tick_ns > TWHEEL_TICK_MAX_NS)
		return -EINVAL;
	if (setup->wheel_size < TWHEEL_SIZE_MIN || setup->wheel_size > TWHEEL_SIZE_MAX)
		return -EINVAL;
	if (setup->clock_id != CLOCK_MONOTONIC && setup->clock_id != CLOCK_BOOTTIME)
		return -EINVAL;
	if (setup->max_timers > READ_ONCE(max_timers))
		return -ENOSPC;
	return 0;
}

static void file_set_up(struct twheel_file *file, const struct twheel_setup *setup)
{
	file->reached = 0;
	file->tick_ns = setup->tick_ns;
	file->clock_id = setup->clock_id;
	file->max_timers = setup->max_timers ?: READ_ONCE(max_timers);
	hrtimer_setup(&file->hrtimer, twheel_fire, file->clock_id, HRTIMER_MODE_ABS_SOFT);
	twheel_init(&file->wheel, setup->tick_ns, setup->wheel_size, 0);
	twheel_forward(&file->wheel, twheel_floor(&file->wheel, file_now(file)));
}

static long twheel_set_up(struct twheel_file *file, struct twheel_setup __user *arg)
{
	struct twheel_setup setup;
	struct twheel old = { };
	int err;

	if (copy_from_user(&setup, arg, sizeof(setup)))
		return -EFAULT;
	err = setup_check(&setup);
	if (err)
		return err;

	mutex_lock(&file->grow);
	file_lock(file);
	if (file->is_set_up || file->added) {
		err = -EBUSY;
	} else {
		/* An add that failed half-way can have left levels behind. */
		old = file->wheel;
		file_set_up(file, &setup);
		file->is_set_up = true;
	}
	file_unlock(file);
	file_uncharge(file, old.nr_levels * twheel_level_bytes(&old));
	twheel_destroy(&old);
	mutex_unlock(&file->grow);
	return err;
}

static long twheel_look(struct twheel_file *file, struct twheel_query __user *arg)
{
	struct twheel_query query = { };
	struct twheel_entry *entry;
	u64 now;

	if (get_user(query.id, &arg->id))
		return -EFAULT;

	file_lock(file);
	now = file_now(file);
	entry = twheel_store_find(&file->store, query.id);
	if (entry) {
		query.deadline_ns = entry->timer.deadline;
		query.remaining_ns = max(query.deadline_ns, now) - now;
		query.interval_ns = entry->interval;
		query.data = entry->data;
		if (twheel_expired(&file->wheel, &entry->timer))
			query.state = TWHEEL_EXPIRED;
	}
	file_unlock(file);

	if (!entry)
		return -ENOENT;
	return copy_to_user(arg, &query, sizeof(query)) ? -EFAULT : 0;
}

static void file_info(struct twheel_file *file, struct twheel_info *info)
{
	const struct twheel *w = &file->wheel;

	memset(info, 0, sizeof(*info));
	file_lock(file);
	info->tick_ns = file->tick_ns;
	info->max_timers = file->max_timers;
	info->wheel_size = w->size.divisor;
	info->clock_id = file->clock_id;
	info->now_ns = file_now(file);
	info->pending = w->nr_pending;
	info->expired = w->nr_expired;
	info->added = file->added;
	info->modified = file->modified;
	info->cancelled = file->cancelled;
	info->delivered = file->delivered;
	info->cascaded = w->cascaded;
	info->fires = file->fires;
	info->memory = sizeof(*file) + twheel_store_bytes(&file->store) +
		       w->nr_levels * twheel_level_bytes(w);
	info->levels = max_t(u32, w->nr_levels, 1);
	file_unlock(file);
}

static long twheel_get_info(struct twheel_file *file, struct twheel_info __user *arg)
{
	struct twheel_info info;

	file_info(file, &info);
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

static void twheel_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct twheel_info info;

	file_info(filp->private_data, &info);
	seq_printf(m, "twheel-tick-ns:\t%llu\n", info.tick_ns);
	seq_printf(m, "twheel-wheel-size:\t%u\n", info.wheel_size);
	seq_printf(m, "twheel-clock-id:\t%u\n", info.clock_id);
	seq_printf(m, "twheel-levels:\t%u\n", info.levels);
	seq_printf(m, "twheel-pending:\t%llu\n", info.pending);
	seq_printf(m, "twheel-expired:\t%llu\n", info.expired);
	seq_printf(m, "twheel-memory:\t%llu\n", info.memory);
}

static long twheel_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct twheel_file *file = filp->private_data;
	void __user *argp = (void __user *)arg;

	switch (cmd) {
	case TWHEEL_ADD:
		return twheel_add_single(file, argp);
	case TWHEEL_CANCEL:
		return twheel_cancel_one(file, argp);
	case TWHEEL_MODIFY:
		return twheel_modify_one(file, argp);
	case TWHEEL_ADD_BATCH:
	case TWHEEL_CANCEL_BATCH:
	case TWHEEL_MODIFY_BATCH:
		return twheel_batch(file, cmd, argp);
	case TWHEEL_SETUP:
		return twheel_set_up(file, argp);
	case TWHEEL_QUERY:
		return twheel_look(file, argp);
	case TWHEEL_INFO:
		return twheel_get_info(file, argp);
	default:
		return -ENOTTY;
	}
}

/*
 * Reading what has expired.
 */

static bool file_has_expired(struct twheel_file *file)
{
	bool has;

	spin_lock_bh(&file->lock);
	has = file->wheel.nr_expired;
	spin_unlock_bh(&file->lock);
	return has;
}

/* How many periods of a timer that has expired are over: 1 if it has none. */
static u64 file_periods(const struct twheel_file *file, const struct twheel_entry *entry)
{
	u64 now = file->wheel.now * file->tick_ns;

	if (likely(!entry->interval) || entry->timer.deadline >= now)
		return 1;
	return div64_u64(now - entry->timer.deadline, entry->interval) + 1;
}

static __always_inline struct twheel_event file_event(const struct twheel_file *file,
						      const struct twheel_entry *entry)
{
	return (struct twheel_event) {
		.id = twheel_entry_id(entry),
		.data = entry->data,
		.deadline_ns = entry->timer.deadline,
		.count = file_periods(file, entry),
	};
}

/*
 * Tell of timers that have expired, at most @max. Returns of how many, and the last
 * one; they are not taken yet.
 */
static unsigned int put_events(struct twheel_file *file, struct twheel_event __user *uevent,
			       unsigned int max, struct twheel_timer **last)
{
	struct twheel_timer *timer = list_entry(&file->wheel.expired, struct twheel_timer, node);
	unsigned int n = 0;

	max = min_t(u64, max, file->wheel.nr_expired);
	pagefault_disable();
	if (!user_write_access_begin(uevent, max * sizeof(*uevent)))
		goto enable;
	for (; n < max; n++, uevent++) {
		struct twheel_timer *next = list_next_entry(timer, node);
		struct twheel_event event = file_event(file, to_entry(next));

		unsafe_put_user(event.id, &uevent->id, end);
		unsafe_put_user(event.data, &uevent->data, end);
		unsafe_put_user(event.deadline_ns, &uevent->deadline_ns, end);
		unsafe_put_user(event.count, &uevent->count, end);
		timer = next;
	}
end:
	user_write_access_end();
enable:
	pagefault_enable();
	*last = timer;
	return n;
}

/* The same for whatever else can be read into. */
static unsigned int copy_events(struct twheel_file *file, struct iov_iter *to,
				unsigned int max, struct twheel_timer **last)
{
	struct twheel_event event;
	struct twheel_timer *timer;
	unsigned int n = 0;
	size_t copied;

	max = min_t(unsigned int, max, TWHEEL_CHUNK);
	pagefault_disable();
	list_for_each_entry(timer, &file->wheel.expired, node) {
		event = file_event(file, to_entry(timer));
		copied = copy_to_iter(&event, sizeof(event), to);
		if (copied < sizeof(event)) {
			iov_iter_revert(to, copied);
			break;
		}
		*last = timer;
		if (++n == max)
			break;
	}
	pagefault_enable();
	return n;
}

static unsigned int file_tell(struct twheel_file *file, struct iov_iter *to,
			      unsigned int max, struct twheel_timer **last)
{
	unsigned int n;

	if (!iter_is_ubuf(to))
		return copy_events(file, to, max, last);
	n = put_events(file, to->ubuf + to->iov_offset, max, last);
	iov_iter_advance(to, n * sizeof(struct twheel_event));
	return n;
}

/* Its next deadline is later than the wheel's clock, and by a period at most. */
static void file_start_anew(struct twheel_file *file, struct twheel_entry *entry)
{
	entry->timer.deadline = min_t(u64, KTIME_MAX, entry->timer.deadline +
				      file_periods(file, entry) * entry->interval);
	if (WARN_ON_ONCE(!twheel_add(&file->wheel, &entry->timer)))
		twheel_expire(&file->wheel, &entry->timer);
}

/* The first @n timers, up to @last, have been told of: take them. */
static void file_take(struct twheel_file *file, struct twheel_timer *last, unsigned int n)
{
	struct twheel_timer *timer = list_first_entry(&file->wheel.expired,
						      struct twheel_timer, node);

	if (!n)
		return;
	twheel_take(&file->wheel, last, n);
	file->delivered += n;
	while (n--) {
		struct twheel_entry *entry = to_entry(timer);

		timer = list_next_entry(timer, node);
		if (unlikely(entry->interval))
			file_start_anew(file, entry);
		else
			twheel_store_put(&file->store, entry);
	}
}

/*
 * Bring the wheel to the present before events are read, or as far as it takes for
 * @max of them. A reader of a wheel that is behind sees to it himself: to wait for the
 * work item would be to wake up for each round of it.
 */
static void file_begin_read(struct twheel_file *file, unsigned int max)
	__acquires(&file->lock)
{
	for (;;) {
		file_lock(file);
		if (file->behind && file->wheel.nr_expired >= max)
			break;
		file_advance_or_queue(file, file_now(file));
		if (!file->behind || signal_pending(current))
			break;
		file_unlock(file);
		cond_resched();
	}
}

/* Returns how many events were read, and in @left whether there may be others. */
static int twheel_read_chunk(struct twheel_file *file, struct iov_iter *to, bool *left)
{
	const size_t size = sizeof(struct twheel_event);
	struct twheel_timer *last = NULL;
	unsigned int faults = 0;
	unsigned int max, n;

	max = min_t(size_t, iov_iter_count(to) / size, TWHEEL_READ_CHUNK);
	do {
		file_begin_read(file, max);
		if (!file->wheel.nr_expired) {
			file_unlock(file);
			return 0;
		}
		n = file_tell(file, to, max, &last);
		file_take(file, last, n);
		*left = file->wheel.nr_expired || file->behind;
		file_unlock(file);
		if (n)
			return n;
		/* Some processors copy less than they could next to a missing page. */
		max = 1;
	} while (faults++ < TWHEEL_FAULT_TRIES &&
		 !fault_in_iov_iter_writeable(to, size));
	return -EFAULT;
}

/* Returns the size of what was read without waiting for more. */
static ssize_t twheel_read_ready(struct twheel_file *file, struct iov_iter *to)
{
	bool left = false;
	ssize_t done = 0;
	int n;

	do {
		n = twheel_read_chunk(file, to, &left);
		if (n <= 0)
			break;
		done += n * sizeof(struct twheel_event);
		cond_resched();
	} while (left && iov_iter_count(to) >= sizeof(struct twheel_event) &&
		 !signal_pending(current));

	/* One reader is woken at a time: pass on what is left. */
	if (left)
		file_wake(file);
	return done ?: n;
}

static ssize_t twheel_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct twheel_file *file = iocb->ki_filp->private_data;
	bool nonblock = (iocb->ki_filp->f_flags & O_NONBLOCK) ||
			(iocb->ki_flags & IOCB_NOWAIT);
	ssize_t done;
	int err;

	if (iov_iter_count(to) < sizeof(struct twheel_event))
		return -EINVAL;

	for (;;) {
		done = twheel_read_ready(file, to);
		if (done)
			return done;
		if (nonblock)
			return -EAGAIN;
		err = wait_event_interruptible_exclusive(file->wait, file_has_expired(file));
		if (err)
			return err;
	}
}

static __poll_t twheel_poll(struct file *filp, poll_table *wait)
{
	struct twheel_file *file = filp->private_data;

	poll_wait(filp, &file->wait, wait);
	return file_has_expired(file) ? EPOLLIN | EPOLLRDNORM : 0;
}

/*
 * Opening and closing.
 */

static int twheel_open(struct inode *inode, struct file *filp)
{
	const struct twheel_setup setup = {
		.tick_ns = tick_ns,
		.wheel_size = wheel_size,
		.clock_id = CLOCK_MONOTONIC,
	};
	struct twheel_file *file;
	int err;

	file = kzalloc(sizeof(*file), TWHEEL_GFP);
	if (!file)
		return -ENOMEM;
	file->user = twheel_user_get(filp->f_cred->uid);
	if (!file->user) {
		err = -ENOMEM;
		goto free;
	}
	err = file_charge(file, sizeof(*file));
	if (err)
		goto put;

	spin_lock_init(&file->lock);
	mutex_init(&file->grow);
	init_waitqueue_head(&file->wait);
	INIT_WORK(&file->work, twheel_carry_on);
	twheel_store_init(&file->store);
	file->armed = TWHEEL_UNARMED;
	file->memcg = get_mem_cgroup_from_mm(current->mm);
	file_set_up(file, &setup);

	filp->private_data = file;
	filp->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, filp);

put:
	twheel_user_put(file->user);
free:
	kfree(file);
	return err;
}

static int twheel_release(struct inode *inode, struct file *filp)
{
	struct twheel_file *file = filp->private_data;

	/* Without buckets to open, neither the hrtimer nor the work starts anew. */
	spin_lock_bh(&file->lock);
	twheel_forget(&file->wheel);
	spin_unlock_bh(&file->lock);
	hrtimer_cancel(&file->hrtimer);
	cancel_work_sync(&file->work);

	twheel_destroy(&file->wheel);
	twheel_store_destroy(&file->store);
	mem_cgroup_put(file->memcg);
	twheel_user_uncharge(file->user, atomic_long_read(&file->charged));
	twheel_user_put(file->user);
	kfree(file);
	return 0;
}

static const struct file_operations twheel_fops = {
	.owner		= THIS_MODULE,
	.open		= twheel_open,
	.release	= twheel_release,
	.read_iter	= twheel_read_iter,
	.poll		= twheel_poll,
	.unlocked_ioctl	= twheel_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= twheel_show_fdinfo,
};

static struct miscdevice twheel_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &twheel_fops,
	.mode	= 0666,
};

static int __init twheel_check_parameters(void)
{
	struct sysinfo si;

	if (tick_ns < TWHEEL_TICK_MIN_NS || tick_ns > TWHEEL_TICK_MAX_NS) {
		pr_err("tick_ns=%lu is not within %llu to %llu\n", tick_ns,
		       TWHEEL_TICK_MIN_NS, TWHEEL_TICK_MAX_NS);
		return -EINVAL;
	}
	if (wheel_size < TWHEEL_SIZE_MIN || wheel_size > TWHEEL_SIZE_MAX) {
		pr_err("wheel_size=%u is not within %u to %u\n", wheel_size,
		       TWHEEL_SIZE_MIN, TWHEEL_SIZE_MAX);
		return -EINVAL;
	}
	if (!max_user_bytes) {
		si_meminfo(&si);
		max_user_bytes = ((si.totalram - si.totalhigh) / 25) << PAGE_SHIFT;
	}
	return 0;
}

static int __init twheel_module_init(void)
{
	int err;

	err = twheel_check_parameters();
	if (err)
		return err;
	/* More at a time would only take the CPUs from each other. */
	twheel_wq = alloc_workqueue("twheel", WQ_UNBOUND, num_possible_cpus());
	if (!twheel_wq)
		return -ENOMEM;
	err = misc_register(&twheel_misc);
	if (err)
		destroy_workqueue(twheel_wq);
	return err;
}
module_init(twheel_module_init);

static void __exit twheel_module_exit(void)
{
	misc_deregister(&twheel_misc);
	destroy_workqueue(twheel_wq);
}
module_exit(twheel_module_exit);

MODULE_AUTHOR("The twheel maintainers");
MODULE_DESCRIPTION("Hierarchical timing wheels behind a file descriptor");
MODULE_LICENSE("GPL");
