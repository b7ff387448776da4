/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An open file: one wheel with its lock, its clock, its waiters and its memory
 *
 * The comments at the top of twheel_file.c and twheel_wake.c describe how they work together.
 */
#ifndef _TWHEEL_FILE_H
#define _TWHEEL_FILE_H

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/uidgid.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include <uapi/linux/twheel.h>

#include "twheel.h"
#include "twheel_store.h"

/* The tests define all of these, to reach every state with a handful of timers. */
#ifndef TWHEEL_CHUNK
/* The most timers that one hold of the lock cancels; it adds, modifies and reads fewer. */
#define TWHEEL_CHUNK		84
/* The most events that one hold of the lock takes for a read, which copies them together. */
#define TWHEEL_READ_EVENTS	40
/* Empty pages of timers kept for the next adds. */
#define TWHEEL_KEEP_PAGES	16
/* Steps of the wheel with one hold of the lock: of a poll, and of a call that does more. */
#define TWHEEL_STEPS		128
#define TWHEEL_FEW_STEPS	64
/*
 * Delay before waiters look again at a wheel with work left: longer than such a look takes. A task
 * that runs for more than half of the time has to wait for others when it wakes up.
 */
#define TWHEEL_PAUSE_NS		(50 * NSEC_PER_USEC)
#endif
/* One hold may empty this many pages, all of which can be freed at once. */
static_assert(TWHEEL_CHUNK <= TWHEEL_TRIM);

/*
 * Memory is charged to the opener's cgroup. When that is full, the call fails: no
 * process of the group is killed, and nothing is logged.
 */
#define TWHEEL_GFP		(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* A time that never comes, nor does a later one. */
#define TWHEEL_NEVER		((u64)KTIME_MAX)

/*
 * Lacking for a chunk of work, to be passed to twheel_file_provide(): an advance of the wheel; free
 * entries; or levels, whose number is added, and which @growing has been incremented for.
 */
enum twheel_need { TWHEEL_NEED_ADVANCE = 1, TWHEEL_NEED_ENTRIES, TWHEEL_NEED_LEVELS };

/**
 * struct twheel_user - the account of a user with open wheels; see twheel_user.c
 * @node: in the table of users, under users_lock.
 * @uid: the user.
 * @refs: one for each wheel.
 * @bytes: the memory that the wheels hold.
 */
struct twheel_user {
	struct hlist_node node;
	kuid_t uid;
	refcount_t refs;
	atomic_long_t bytes;
};

/**
 * struct twheel_file - an open file
 * @lock: protects all fields except those that open() sets or @wait.lock protects.
 * @wheel: the wheel; its unit of time is the nanosecond.
 * @store: the timers.
 * @now: the time on the wheel's clock at the beginning of this hold: see twheel_file_catch_up().
 * @news: this hold has made something readable that no hrtimer is armed for: a timer that was due
 *	when it was added or modified, an event in the ring, or one that could not be copied.
 * @is_set_up: TWHEEL_SETUP has been done.
 * @unread: something was unread at the last unlock, and waiters know of it; written under both.
 * @clock_id: the clock.
 * @growing: number of calls that allocate levels; TWHEEL_SETUP fails while there are any.
 * @taken: number of timers whose events are being copied, and that are not in the wheel.
 * @ring: the ring, which programs map and can write anything to; or NULL. Once set, it stays.
 * @ring_slots: number of its slots; set before @ring.
 * @ring_tail: the kernel's copy of its tail.
 * @max_timers: how many timers there may be.
 * @max_delay: the longest interval that the existing levels cover.
 * @added: see struct twheel_info.
 * @modified: see struct twheel_info.
 * @cancelled: see struct twheel_info.
 * @delivered: see struct twheel_info.
 * @fires: see struct twheel_info; under @wait.lock.
 * @jiffy: the jiffy of @now.
 * @due: when the wheel has to be advanced next, or TWHEEL_NEVER; written under both locks.
 * @armed: when the hrtimer fires, or TWHEEL_NEVER; written under @wait.lock.
 * @fired: the time for which waiters were last woken; written under @wait.lock.
 * @hrtimer: wakes the waiters, and does nothing else.
 * @wait: readers and pollers; its lock is taken inside of @lock.
 * @charged: bytes charged to @user.
 * @user: the user that the wheel is charged to.
 * @memcg: the cgroup that the memory is charged to: the opener's.
 * @id: its number, unique since the module was loaded.
 */
struct twheel_file {
	spinlock_t lock;	/* see the top of twheel_file.c */
	struct twheel wheel;
	struct twheel_store store;
	u64 now;
	bool news;
	bool is_set_up;
	bool unread;
	u8 clock_id;
	u32 growing;
	u32 taken;
	struct twheel_ring *ring;
	u32 ring_slots;
	u32 ring_tail;
	u64 max_timers;
	u64 max_delay;
	u64 added;
	u64 modified;
	u64 cancelled;
	u64 delivered;
	u64 fires;
	unsigned long jiffy;
	u64 due;
	u64 armed;
	u64 fired;
	struct hrtimer hrtimer;
	wait_queue_head_t wait;
	size_t charged;
	struct twheel_user *user;
	struct mem_cgroup *memcg;
	u64 id;
};

/* This and the next are read without the lock: until TWHEEL_SETUP is done, nothing can be due. */
static inline u64 twheel_file_now(const struct twheel_file *file)
{
	u8 clock_id = READ_ONCE(file->clock_id);

	if (likely(clock_id == CLOCK_MONOTONIC))
		return ktime_get_ns();
	return ktime_get_with_offset(clock_id == CLOCK_BOOTTIME ? TK_OFFS_BOOT :
				     clock_id == CLOCK_REALTIME ? TK_OFFS_REAL : TK_OFFS_TAI);
}

static inline bool twheel_file_can_be_set(const struct twheel_file *file)
{
	u8 clock_id = READ_ONCE(file->clock_id);

	return unlikely(clock_id == CLOCK_REALTIME || clock_id == CLOCK_TAI);
}

static inline u64 twheel_file_timers(const struct twheel_file *file)
{
	return file->wheel.nr_pending + file->wheel.nr_expired + file->taken;
}

/* Return true if waiters have to look without regard to the clock, which may have been set back. */
static inline bool twheel_file_is_told(const struct twheel_file *file, u64 due)
{
	return READ_ONCE(file->unread) || due <= READ_ONCE(file->fired);
}

/* Return true if there is something to read, or to do before a waiter may sleep. */
static inline bool twheel_file_is_due(const struct twheel_file *file)
{
	u64 due = smp_load_acquire(&file->due); /* then @unread, see twheel_file_publish() */

	return twheel_file_is_told(file, due) || due <= twheel_file_now(file);
}

/* Return when the wheel has to be advanced next. */
static __always_inline u64 twheel_file_next(const struct twheel_file *file)
{
	u64 tick;

	return twheel_next(&file->wheel, &tick) ? tick * file->wheel.tick : TWHEEL_NEVER;
}

/* Return the size of the ring's memory, whole pages. */
static inline size_t twheel_ring_bytes(const struct twheel_file *file)
{
	return sizeof(struct twheel_ring) + file->ring_slots * sizeof(struct twheel_event);
}

struct twheel_file *twheel_file_open(kuid_t uid, const struct twheel_setup *setup);
void twheel_file_close(struct twheel_file *file);
int twheel_file_set_up(struct twheel_file *file, const struct twheel_setup *setup);
size_t twheel_file_bytes(const struct twheel_file *file);
void twheel_file_credit(struct twheel_file *file);
int twheel_file_provide(struct twheel_file *file, int need);
bool twheel_file_advance(struct twheel_file *file, unsigned int steps);
void twheel_file_publish_and_unlock(struct twheel_file *file, bool pause)
	__releases(&file->lock);

/**
 * twheel_file_catch_up() - read the clock, and bring the wheel up to it, or as far as it gets
 * @file: the file, locked
 * @steps: how many steps of the wheel at most
 *
 * Everything in this hold of the lock happens at @file->now.
 *
 * Return: true if more is due, or if the wheel has not yet followed a clock that was set back.
 */
static __always_inline bool twheel_file_catch_up(struct twheel_file *file, unsigned int steps)
{
	const struct twheel *w = &file->wheel;

	file->now = twheel_file_now(file);
	file->jiffy = jiffies;
	/* The difference is also too large if the clock was set back. */
	if (likely(file->now - w->time < w->tick && !w->cascading_levels && !twheel_is_due(w)))
		return false;
	return twheel_file_advance(file, steps);
}

/**
 * twheel_file_enter() - take the lock, and catch up
 * @file: the file
 * @steps: how many steps of the wheel at most
 *
 * Return: as twheel_file_catch_up().
 */
static __always_inline bool twheel_file_enter(struct twheel_file *file, unsigned int steps)
	__acquires(&file->lock)
{
	spin_lock(&file->lock);
	return twheel_file_catch_up(file, steps);
}

/**
 * twheel_file_leave() - tell waiters what this hold of the lock has changed, and drop the lock
 * @file: the file, locked
 */
static __always_inline void twheel_file_leave(struct twheel_file *file)
	__releases(&file->lock)
{
	/* Most calls change neither when the wheel is due, nor its memory. */
	if (file->news || twheel_file_next(file) != file->due ||
	    file->unread == !file->wheel.nr_expired ||
	    twheel_store_can_trim(&file->store, TWHEEL_KEEP_PAGES))
		twheel_file_publish_and_unlock(file, false);
	else
		spin_unlock(&file->lock);
}

/* twheel_wake.c */
enum hrtimer_restart twheel_file_fire(struct hrtimer *hrtimer);
int twheel_file_wait(struct twheel_file *file);
bool twheel_file_arm(struct twheel_file *file);
void twheel_file_wake_next(struct twheel_file *file);
void twheel_file_publish(struct twheel_file *file, bool pause);

/* twheel_timers.c */
long twheel_modify_timer(struct twheel_file *file, const struct twheel_modify *mod);
long twheel_cancel_timer(struct twheel_file *file, u64 id);
long twheel_change(struct twheel_file *file, unsigned int cmd, void __user *argp);

/* twheel_read.c */
ssize_t twheel_read(struct file *filp, char __user *to, size_t size, loff_t *pos);
ssize_t twheel_read_iter(struct kiocb *iocb, struct iov_iter *to);
__poll_t twheel_poll(struct file *filp, poll_table *wait);

/* twheel_ring.c */
long twheel_make_ring(struct twheel_file *file, struct twheel_ring_setup __user *arg);
int twheel_mmap(struct file *filp, struct vm_area_struct *vma);
bool twheel_poll_ring(struct twheel_file *file, struct twheel_ring *ring);

/* twheel_show.c */
long twheel_query_timer(struct twheel_file *file, struct twheel_query __user *arg);
long twheel_get_info(struct twheel_file *file, struct twheel_info __user *arg);
long twheel_list_timers(struct twheel_file *file, struct twheel_list __user *arg);
void twheel_show_fdinfo(struct seq_file *m, struct file *filp);

/* twheel_uring.c */
int twheel_uring_cmd(struct io_uring_cmd *ioucmd, unsigned int issue_flags);

/* twheel_user.c */
void twheel_user_init(void);
void twheel_user_show(struct seq_file *m, const struct twheel_user *user);
struct twheel_user *twheel_user_get(kuid_t uid);
void twheel_user_put(struct twheel_user *user);
bool twheel_user_charge(struct twheel_user *user, size_t bytes);
void twheel_user_uncharge(struct twheel_user *user, size_t bytes);

#endif /* _TWHEEL_FILE_H */
