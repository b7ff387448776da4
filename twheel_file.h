/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An open file: one wheel with its lock, its clock, its waiters and its memory
 *
 * The comment at the top of twheel_file.c says how they go together.
 */
#ifndef _TWHEEL_FILE_H
#define _TWHEEL_FILE_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/timekeeping.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include <uapi/linux/twheel.h>

#include "twheel.h"
#include "twheel_store.h"
#include "twheel_user.h"

/* Timers that one hold of the lock adds, modifies, cancels or reads. */
#define TWHEEL_CHUNK		84
/* Each of them may be the last one in its page: all those pages go back. */
static_assert(TWHEEL_CHUNK <= TWHEEL_TRIM);
/* Empty pages of timers kept for the next adds. */
#define TWHEEL_KEEP_PAGES	16
/* Steps of the wheel with one hold of the lock, and when events are read with it, too. */
#define TWHEEL_STEPS		192
#define TWHEEL_FEW_STEPS	64

/* A time that has come, whatever the clock shows; and one that never comes. */
#define TWHEEL_AT_ONCE		1
#define TWHEEL_NEVER		U64_MAX

/*
 * What a chunk of work lacks: see twheel_file_provide(). The number of the missing level is
 * added, and @growing has been incremented for it.
 */
enum twheel_need { TWHEEL_NEED_PAGE = 1, TWHEEL_NEED_ADVANCE, TWHEEL_NEED_LEVEL };

/**
 * struct twheel_file - an open file
 * @lock: protects all fields except those that open() sets or @wait.lock protects.
 * @wheel: the wheel; its unit of time is the nanosecond.
 * @store: the timers.
 * @next: when the wheel has to be advanced next, in ns, as of the last unlock.
 * @is_set_up: TWHEEL_SETUP has been done.
 * @has_periods: there may have been a periodic timer.
 * @more: the last advance stopped with more to do.
 * @woken: waiters have been woken, and the wheel has not been advanced since. Set under
 *	@wait.lock, cleared under @lock.
 * @contended: a poll could not have @lock. Set without a lock.
 * @clock_id: the clock.
 * @growing: calls that need a level, for which TWHEEL_SETUP has to wait.
 * @readers: how many tasks are blocked in read(); under @wait.lock.
 * @max_timers: how many timers there may be.
 * @max_delay: the longest interval that the existing levels cover.
 * @added: see struct twheel_info; so with the next four.
 * @modified: see struct twheel_info.
 * @cancelled: see struct twheel_info.
 * @delivered: see struct twheel_info.
 * @fires: see struct twheel_info; under @wait.lock.
 * @due: the time from when on there is something to read or to do, or TWHEEL_NEVER; 0 while
 *	something is unread, TWHEEL_AT_ONCE while @woken or @more. Written under @wait.lock,
 *	and except by the hrtimer with @lock held; read without.
 * @hint: when the wheel is likely to be due after @due, or 0; under @wait.lock.
 * @armed: when the hrtimer fires, or TWHEEL_NEVER; written under @wait.lock.
 * @hrtimer: wakes the waiters, and does nothing else.
 * @wait: readers and pollers; its lock is taken inside of @lock.
 * @charged: bytes charged to @user.
 * @user: the user that the wheel is charged to.
 * @memcg: the control group that the memory is charged to: the opener's.
 * @id: its number, which no other has had since the module was loaded.
 */
struct twheel_file {
	struct mutex lock;	/* see the top of twheel_file.c */
	struct twheel wheel;
	struct twheel_store store;
	u64 next;
	bool is_set_up:1;
	bool has_periods:1;
	bool more:1;
	bool woken;
	bool contended;
	clockid_t clock_id;
	atomic_t growing;
	unsigned int readers;
	u64 max_timers;
	u64 max_delay;
	u64 added;
	u64 modified;
	u64 cancelled;
	u64 delivered;
	u64 fires;
	u64 due;
	u64 hint;
	u64 armed;
	struct hrtimer hrtimer;
	wait_queue_head_t wait;
	size_t charged;
	struct twheel_user *user;
	struct mem_cgroup *memcg;
	u64 id;
};

static inline struct twheel_entry *to_entry(struct twheel_timer *timer)
{
	return container_of(timer, struct twheel_entry, timer);
}

static inline u64 twheel_file_now(const struct twheel_file *file)
{
	/* Read without the lock: until TWHEEL_SETUP is done, nothing can be due. */
	if (READ_ONCE(file->clock_id) == CLOCK_BOOTTIME)
		return ktime_get_boottime_ns();
	return ktime_get_ns();
}

static inline u64 twheel_file_timers(const struct twheel_file *file)
{
	return file->wheel.nr_pending + file->wheel.nr_expired;
}

/* Take the lock; -EINTR if the caller was killed while it waited. */
static inline int __must_check twheel_file_lock(struct twheel_file *file)
{
	return mutex_lock_killable(&file->lock);
}

/* There is something to read, or to do before a waiter may sleep. */
static inline bool twheel_file_is_due(const struct twheel_file *file)
{
	u64 due = READ_ONCE(file->due);

	/* The clock need not be read most of the time. */
	return due <= TWHEEL_AT_ONCE || due <= twheel_file_now(file);
}

/* A timer that was due by the tick @now is still pending. */
static inline bool twheel_file_is_behind(const struct twheel_file *file, u64 now)
{
	u64 next;

	return twheel_next(&file->wheel, &next) && next <= now;
}

/* The levels cover a deadline, and an interval whenever it begins. */
static inline bool twheel_file_covers(const struct twheel_file *file, u64 deadline, u64 interval)
{
	return interval <= file->max_delay && twheel_covers(&file->wheel, deadline);
}

static inline bool twheel_file_can_trim(const struct twheel_file *file)
{
	return twheel_store_can_trim(&file->store, TWHEEL_KEEP_PAGES);
}

/* When the wheel has to be advanced next. */
static __always_inline u64 twheel_file_next(const struct twheel_file *file)
{
	u64 tick;

	/*
	 * No deadline is later than KTIME_MAX and no tick is longer than an hour: when a
	 * tick ends can be later than that, but not overflow.
	 */
	return twheel_next(&file->wheel, &tick) ? tick * file->wheel.tick.divisor : TWHEEL_NEVER;
}

/* What to publish in @due. */
static __always_inline u64 twheel_file_due(struct twheel_file *file)
{
	if (!file->wheel.nr_expired)
		return file->more ? TWHEEL_AT_ONCE : twheel_file_next(file);
	/* Without waiters, "at once" need not be changed. No barrier: new ones see it. */
	return READ_ONCE(file->due) == TWHEEL_AT_ONCE && !waitqueue_active(&file->wait) ?
	       TWHEEL_AT_ONCE : 0;
}

struct twheel_file *twheel_file_open(kuid_t uid, const struct twheel_setup *setup);
void twheel_file_close(struct twheel_file *file);
void twheel_file_set_up(struct twheel_file *file, const struct twheel_setup *setup);
bool twheel_file_trylock(struct twheel_file *file);
void twheel_file_publish_and_unlock(struct twheel_file *file, u64 due, u64 next);
void twheel_file_make_up(struct twheel_file *file);

/* Drop the lock. Most calls change neither when the wheel is due, nor its memory. */
static __always_inline void twheel_file_unlock(struct twheel_file *file)
{
	u64 due = twheel_file_due(file), next = twheel_file_next(file);

	if (due != READ_ONCE(file->due) || next != file->next || twheel_file_can_trim(file))
		twheel_file_publish_and_unlock(file, due, next);
	else
		mutex_unlock(&file->lock);
	/* Pairs with the barrier in twheel_file_trylock(). */
	smp_mb();
	if (unlikely(READ_ONCE(file->contended)))
		twheel_file_make_up(file);
}

int twheel_file_wait(struct twheel_file *file);
bool twheel_file_arm(struct twheel_file *file);
void twheel_file_wake_next(struct twheel_file *file);

bool twheel_file_advance(struct twheel_file *file, unsigned int steps, bool ahead);
int twheel_file_provide(struct twheel_file *file, int need);
size_t twheel_file_bytes(const struct twheel_file *file);

/* twheel_timers.c */
long twheel_add_timer(struct twheel_file *file, struct twheel_add __user *uadd);
long twheel_add_timers(struct twheel_file *file, struct twheel_add __user *uadd, u32 count);
long twheel_modify_timer(struct twheel_file *file, struct twheel_modify __user *umod);
long twheel_cancel_timer(struct twheel_file *file, u64 __user *uid);
long twheel_change_timers(struct twheel_file *file, const void __user *entries, u32 count,
			  bool cancel);

/* twheel_read.c */
ssize_t twheel_read(struct file *filp, char __user *to, size_t size, loff_t *pos);
ssize_t twheel_read_iter(struct kiocb *iocb, struct iov_iter *to);
__poll_t twheel_poll(struct file *filp, poll_table *wait);

/* twheel_fdinfo.c */
void twheel_fill_info(struct twheel_file *file, struct twheel_info *info);
void twheel_show_fdinfo(struct seq_file *m, struct file *filp);

#endif /* _TWHEEL_FILE_H */
