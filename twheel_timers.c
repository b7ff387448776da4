// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adding, modifying and cancelling timers, one or many at a time
 *
 * A single call returns 0 or an errno. A batch is done in chunks, each of them a bounded hold
 * of the lock, up to the first entry that fails. It returns the number of entries that were
 * done, or the errno of the first one.
 *
 * A chunk that lacks user memory, a level, a page, or an advance of the wheel ends with enum
 * twheel_need. Its caller provides that with the lock dropped, and retries from the same entry:
 * all checks are repeated, as other threads may have changed the wheel.
 */
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "twheel_compat.h"
#include "twheel_file.h"
#include "twheel_trace.h"

/* Cost of a slow add, in fast ones. */
#define TWHEEL_SLOW_ADD_COST	4

/* Compute a deadline; returns false if the arguments are not valid. */
static bool compute_deadline(u64 time_ns, u32 flags, u32 reserved, u64 now, u64 *deadline)
{
	*deadline = flags ? time_ns : min_t(u64, now + time_ns, KTIME_MAX);
	return !((flags & ~TWHEEL_ABSTIME) | reserved | time_ns >> 63);
}

/*
 * Advance a wheel up to what is due, whose expiry is left to readers, and cascade a part of a
 * crowd. Returns false if the clock is still set back.
 */
static noinline bool visit_slowpath(struct twheel_file *file)
{
	file->visited = jiffies;
	twheel_file_advance(file, twheel_file_next(file) - 1, TWHEEL_FEW);
	return !twheel_file_is_set_back(file);
}

/*
 * Visit a wheel that is about to change if a tick and some time have passed, or while a crowd
 * cascades. So near timers get low levels, and crowds are opened ahead of their time by the
 * calls that come anyway. Returns false if the clock was set back, and the wheel is not yet.
 */
static __always_inline bool visit(struct twheel_file *file, u64 now)
{
	const struct twheel *w = &file->wheel;

	/* The difference is also too large if the clock was set back. */
	return likely(now - w->time < max_t(u64, w->tick.value, TWHEEL_VISIT_NS) &&
		      !w->cascading_levels) ||
	       visit_slowpath(file);
}

/* The same for a call that reads no clock: once in each jiffy. */
static __always_inline void visit_by_jiffies(struct twheel_file *file)
{
	if (unlikely(time_after(jiffies, file->visited) || file->wheel.cascading_levels))
		visit_slowpath(file);
}

/* Whether due timers must expire before another due timer is added. */
static __always_inline bool has_to_advance(const struct twheel_file *file, u64 deadline, u64 now)
{
	u64 next;

	return deadline <= now && twheel_next(&file->wheel, &next) &&
	       next <= twheel_floor(&file->wheel, now);
}

/* Whether to stop between two chunks: a signal shows as a short count. */
static bool interrupted(void)
{
	cond_resched();
	/* Not for task work, which runs on the return to user space. */
	return task_sigpending(current);
}

/*
 * Adding. Most timers take a few instructions each: their entries are read, and their ids
 * written, in user memory, without a copy.
 */

static __always_inline struct twheel_entry *fill(struct twheel_entry *entry, u64 data,
						 u64 interval, u64 deadline)
{
	entry->data = data;
	entry->interval = interval;
	entry->timer.deadline = deadline;
	return entry;
}

/*
 * Add up to @n timers, and stop at one that is not valid or not present, or needs memory or an
 * advance of the wheel. Returns how many were added. The id is written before arming, which then
 * cannot fail. No function may be called while user memory is open: all are inline.
 */
static __always_inline unsigned int add_fast(struct twheel_file *file,
					     struct twheel_add __user *u,
					     unsigned int n, u64 now)
{
	struct twheel_add __user *end;
	/* The flags, followed by the reserved field, which must be zero. */
	const union {
		u32 field[2];
		u64 word;
	} absolute = { .field = { TWHEEL_ABSTIME } };
	struct twheel *w = &file->wheel;
	struct twheel_run run;
	unsigned int past = 0;

	/* Tracepoints are calls. */
	if (trace_twheel_add_enabled() || trace_twheel_expire_enabled())
		return 0;
	n = min(n, twheel_run_begin(&file->store, &run));
	if (!n || !user_access_begin(u, n * sizeof(*u)))
		return 0;
	end = u + n;
	do {
		u64 flags, interval, time, data;
		struct twheel_level *level;
		struct twheel_entry *entry;

		unsafe_get_u64(flags, (u64 __user *)&u->flags, out);
		unsafe_get_u64(interval, &u->interval_ns, out);
		unsafe_get_u64(time, &u->time_ns, out);
		unsafe_get_u64(data, &u->data, out);
		if (likely(!flags))
			time += now;
		else if (flags != absolute.word)
			break;
		if (interval) {
			if (interval < file->wheel.tick.value || interval > file->max_delay)
				break;
			file->has_periods = true;
		}
		/* The deadline has passed, is not valid, or the sum is out of range. */
		if (unlikely((s64)time <= (s64)now)) {
			if ((s64)time < 0 || (!flags && time != now) || !w->nr_levels ||
			    has_to_advance(file, time, now))
				break;
			unsafe_put_user(run.id, &u->id, out);
			entry = fill(twheel_run_take(&run), data, interval, time);
			twheel_expire(&file->wheel, &entry->timer);
			past++;
			continue;
		}
		if (unlikely(!twheel_find_level(w, time, &level)))
			break;
		unsafe_put_user(run.id, &u->id, out);
		entry = fill(twheel_run_take(&run), data, interval, time);
		if (likely(twheel_enqueue_fast(w, level, &entry->timer, true)))
			continue;
		user_access_end();
		twheel_enqueue_slowpath(w, level, &entry->timer, twheel_index(level, time));
		if (!user_access_begin(u, (end - u) * sizeof(*u)))
			goto end;
	} while (++u < end);
out:
	user_access_end();
end:
	n = twheel_run_end(&file->store, &run);
	w->nr_pending += n - past;
	file->added += n;
	return n;
}

/* Put a timer into the wheel, whose levels cover it. */
static void place(struct twheel_file *file, struct twheel_entry *entry, u64 now)
{
	if (entry->timer.deadline <= now) {
		twheel_expire(&file->wheel, &entry->timer);
		trace_twheel_expire(file, 1);
	} else {
		twheel_add(&file->wheel, &entry->timer);
	}
}

/*
 * Return what has to be done before a timer can be placed: one of enum twheel_need, or 0. If it
 * needs levels, this keeps TWHEEL_SETUP away until they exist.
 */
static int need_for(struct twheel_file *file, u64 deadline, u64 interval, u64 now)
{
	const struct twheel *w = &file->wheel;
	/* A clock that can be set can come to any time. */
	u64 delay = twheel_file_can_be_set(file) ? KTIME_MAX : max(deadline, w->time) - w->time;

	if (has_to_advance(file, deadline, now))
		return TWHEEL_NEED_ADVANCE;
	/* The levels have to cover the interval whenever it begins. */
	if (w->nr_levels && interval <= file->max_delay && twheel_covers(w, deadline))
		return 0;
	atomic_inc(&file->growing);
	return TWHEEL_NEED_MEMORY + max_t(u8, w->nr_levels + 1,
					  twheel_levels_for(w, max(delay, interval)));
}

/* Add one timer of any kind; returns 0, an errno, or one of enum twheel_need. */
static noinline int add_slowpath(struct twheel_file *file, struct twheel_add __user *uadd,
				 u64 now)
{
	struct twheel_entry *entry;
	struct twheel_add add;
	struct twheel_run run;
	u64 deadline;
	int need;

	if (copy_from_user(&add, uadd, sizeof(add)))
		return TWHEEL_NEED_USER;
	if (!compute_deadline(add.time_ns, add.flags, add.reserved, now, &deadline))
		return -EINVAL;
	if (add.interval_ns && (add.interval_ns < file->wheel.tick.value ||
				add.interval_ns > KTIME_MAX))
		return -EINVAL;
	if (twheel_file_timers(file) >= file->max_timers)
		return -ENOSPC;
	need = need_for(file, deadline, add.interval_ns, now);
	if (need)
		return need;
	if (!twheel_run_begin(&file->store, &run))
		return TWHEEL_NEED_MEMORY;
	/* A timer whose id its caller cannot know does not exist. */
	if (put_user(run.id, &uadd->id))
		return TWHEEL_NEED_USER;
	entry = fill(twheel_run_take(&run), add.data, add.interval_ns, deadline);
	twheel_run_end(&file->store, &run);
	file->has_periods |= add.interval_ns;
	file->added++;
	trace_twheel_add(file, entry);
	place(file, entry, now);
	return 0;
}

/*
 * Add up to @n timers with one hold of the lock; returns how many. @err is 0, an errno, or
 * one of enum twheel_need.
 */
static unsigned int add_chunk(struct twheel_file *file, struct twheel_add __user *uadd,
			      unsigned int n, int *err)
{
	unsigned int done = 0, fast;
	u64 now, room;

	*err = 0;
	twheel_file_lock(file);
	now = twheel_file_now(file);
	if (unlikely(!visit(file, now))) {
		*err = TWHEEL_NEED_ADVANCE;
		goto unlock;
	}
	do {
		room = file->max_timers - twheel_file_timers(file);
		fast = add_fast(file, uadd + done, min_t(u64, n - done, room), now);
		done += fast;
		if (likely(fast))
			continue;
		*err = add_slowpath(file, uadd + done, now);
		if (*err)
			break;
		done++;
		n -= min(TWHEEL_SLOW_ADD_COST - 1U, n - done);
	} while (done < n && !twheel_store_exhausted(&file->store));
	/* Otherwise the next chunk finds that out, after all its checks. */
	if (!*err && twheel_store_exhausted(&file->store))
		*err = TWHEEL_NEED_MEMORY;
unlock:
	twheel_file_unlock(file);
	return done;
}

/* Bring in an entry, which stays as it is, by access: no other way is certain to be enough. */
static int bring_in(struct twheel_add __user *uadd)
{
	struct twheel_add add;

	if (copy_from_user(&add, uadd, sizeof(add)) || put_user(add.id, &uadd->id))
		return -EFAULT;
	/* It can be gone again, each time. */
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/* Add @count timers, at least one. */
static noinline long add_timers(struct twheel_file *file, struct twheel_add __user *uadd, u32 count)
{
	long done = 0;
	int err;

	do {
		done += add_chunk(file, uadd + done, min_t(u32, count - done, TWHEEL_CHUNK), &err);
		if (err == TWHEEL_NEED_USER)
			err = bring_in(uadd + done);
		else if (err > 0 && done < count)
			err = twheel_file_provide(file, err);
	} while (!err && done < count && !(interrupted() && done));
	return done ?: err;
}

/* Add one timer: on the fast path, or as a batch. */
static noinline long add_one(struct twheel_file *file, struct twheel_add __user *uadd)
{
	unsigned int done = 0;
	u64 now;

	twheel_file_lock(file);
	now = twheel_file_now(file);
	if (likely(visit(file, now) && twheel_file_timers(file) < file->max_timers))
		done = add_fast(file, uadd, 1, now);
	twheel_file_unlock(file);
	return likely(done) ? 0 : min(add_timers(file, uadd, 1), 0L);
}

/* ---- Modifying and cancelling ---- */

/*
 * Copy @n entries of @size bytes from user memory; returns how many were copied whole. On some
 * CPUs a copy stops early, before a missing page. But 0 always means that the first entry
 * is missing.
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

/* Modify one timer of any kind; returns 0, an errno, or one of enum twheel_need. */
static noinline int modify_slowpath(struct twheel_file *file, const struct twheel_modify *mod,
				    u64 now)
{
	struct twheel_entry *entry;
	u64 deadline;
	bool again;
	int need;

	if (!compute_deadline(mod->time_ns, mod->flags, mod->reserved, now, &deadline))
		return -EINVAL;
	if (!twheel_store_find(&file->store, mod->id, &entry))
		return -ENOENT;
	need = need_for(file, deadline, 0, now);
	if (need)
		return need;
	again = twheel_expired(&entry->timer);
	twheel_cancel(&file->wheel, &entry->timer);
	entry->timer.deadline = deadline;
	trace_twheel_modify(file, entry);
	place(file, entry, now);
	/* A waiter that was told of it, and is edge-triggered, is told again. */
	if (again && twheel_expired(&entry->timer))
		twheel_file_publish(file, TWHEEL_FILLED);
	return 0;
}

/* Modify one timer; on the fast path if it is pending and the levels cover its new delay. */
static __always_inline int modify(struct twheel_file *file, const struct twheel_modify *mod,
				  u64 now)
{
	u64 deadline = mod->time_ns + (mod->flags ? 0 : now);
	struct twheel *w = &file->wheel;
	struct twheel_entry *entry;
	struct twheel_level *level;

	/* The signed comparison also catches a sum out of range. */
	if (unlikely(mod->flags & ~TWHEEL_ABSTIME || mod->reserved || (s64)deadline <= (s64)now) ||
	    unlikely(!twheel_find_level(w, deadline, &level)) ||
	    unlikely(!twheel_store_find(&file->store, mod->id, &entry)) ||
	    unlikely(!twheel_in_bucket(&entry->timer)))
		return modify_slowpath(file, mod, now);
	twheel_dequeue(w, w->level[entry->timer.level], &entry->timer);
	entry->timer.deadline = deadline;
	trace_twheel_modify(file, entry);
	twheel_enqueue(w, level, &entry->timer);
	return 0;
}

/*
 * Modify @n timers with one hold of the lock; returns how many. @err is 0, an errno, or one
 * of enum twheel_need.
 */
static __always_inline unsigned int modify_chunk(struct twheel_file *file,
						 const struct twheel_modify *mods,
						 unsigned int n, int *err)
{
	unsigned int i;
	u64 now;

	*err = 0;
	twheel_file_lock(file);
	now = twheel_file_now(file);
	if (unlikely(!visit(file, now))) {
		*err = TWHEEL_NEED_ADVANCE;
		n = 0;
	}
	for (i = 0; i < n; i++) {
		*err = modify(file, mods + i, now);
		if (unlikely(*err))
			break;
	}
	file->modified += i;
	twheel_file_unlock(file);
	return i;
}

static __always_inline unsigned int cancel_chunk(struct twheel_file *file, const u64 *id,
						 unsigned int n, int *err)
{
	struct twheel_entry *entry;
	unsigned int i;

	*err = 0;
	twheel_file_lock(file);
	visit_by_jiffies(file);
	for (i = 0; i < n; i++) {
		if (unlikely(!twheel_store_find(&file->store, id[i], &entry))) {
			*err = -ENOENT;
			break;
		}
		trace_twheel_cancel(file, entry);
		twheel_cancel(&file->wheel, &entry->timer);
		twheel_store_put(&file->store, entry);
	}
	file->cancelled += i;
	twheel_file_unlock(file);
	return i;
}

/**
 * twheel_modify_timer() - modify a timer
 * @file: the file, not locked
 * @mod: its id and its new deadline
 *
 * Return: 0; or -EINVAL, -ENOENT, -ENOSPC, -ENOMEM, or -EINTR when killed, and the timer is as it
 * was.
 */
long twheel_modify_timer(struct twheel_file *file, const struct twheel_modify *mod)
{
	int err;

	do {
		modify_chunk(file, mod, 1, &err);
		if (unlikely(err > 0))
			err = twheel_file_provide(file, err) ?: 1;
	} while (unlikely(err > 0));
	return err;
}

/**
 * twheel_cancel_timer() - cancel a timer
 * @file: the file, not locked
 * @id: the timer's id
 *
 * Return: 0, and the timer will never be read; or -ENOENT.
 */
long twheel_cancel_timer(struct twheel_file *file, u64 id)
{
	int err;

	cancel_chunk(file, &id, 1, &err);
	return err;
}

/* Modify or cancel @count timers, at least one. */
static noinline long change_timers(struct twheel_file *file, const void __user *entries, u32 count,
				   bool cancel)
{
	union {
		struct twheel_modify mod[TWHEEL_CHUNK / 2];
		u64 id[TWHEEL_CHUNK];
	} chunk;
	u32 size = cancel ? sizeof(*chunk.id) : sizeof(*chunk.mod);
	u32 max = cancel ? ARRAY_SIZE(chunk.id) : ARRAY_SIZE(chunk.mod), n;
	long done = 0;
	int err;

	do {
		n = copy_entries(&chunk, entries + done * size,
				 min_t(u32, count - done, max), size);
		if (!n)
			err = -EFAULT;
		else if (cancel)
			done += cancel_chunk(file, chunk.id, n, &err);
		else
			done += modify_chunk(file, chunk.mod, n, &err);
		if (err > 0)
			err = twheel_file_provide(file, err);
	} while (!err && done < count && !(interrupted() && done));
	return done ?: err;
}

static noinline long change_batch(struct twheel_file *file, unsigned int cmd,
				  struct twheel_batch __user *arg)
{
	struct twheel_batch batch;

	if (copy_from_user(&batch, arg, sizeof(batch)))
		return -EFAULT;
	if (batch.flags)
		return -EINVAL;
	if (!batch.count)
		return 0;
	/* The result is an int in user space. */
	batch.count = min_t(u32, batch.count, INT_MAX);
	if (cmd == TWHEEL_ADD_BATCH)
		return add_timers(file, u64_to_user_ptr(batch.entries), batch.count);
	return change_timers(file, u64_to_user_ptr(batch.entries), batch.count,
			     cmd == TWHEEL_CANCEL_BATCH);
}

static noinline long modify_timer(struct twheel_file *file, struct twheel_modify __user *umod)
{
	struct twheel_modify mod;

	if (copy_from_user(&mod, umod, sizeof(mod)))
		return -EFAULT;
	return twheel_modify_timer(file, &mod);
}

/**
 * twheel_change() - execute an ioctl that changes timers
 * @file: the file, not locked
 * @cmd: the ioctl
 * @argp: its argument
 *
 * Tail calls keep it without a stack frame.
 *
 * Return: what the ioctl returns.
 */
long twheel_change(struct twheel_file *file, unsigned int cmd, void __user *argp)
{
	u64 id;

	if (likely(cmd == TWHEEL_ADD))
		return add_one(file, argp);
	switch (cmd) {
	case TWHEEL_CANCEL:
		if (get_user(id, (u64 __user *)argp))
			return -EFAULT;
		return twheel_cancel_timer(file, id);
	case TWHEEL_MODIFY:
		return modify_timer(file, argp);
	case TWHEEL_ADD_BATCH:
	case TWHEEL_CANCEL_BATCH:
	case TWHEEL_MODIFY_BATCH:
		return change_batch(file, cmd, argp);
	default:
		return -ENOTTY;
	}
}
