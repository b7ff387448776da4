// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adding, modifying and cancelling timers, one or many at a time
 *
 * A single call returns 0 or an errno. A batch is done in chunks, each of them a bounded hold
 * of the lock, up to the first entry that fails. It returns the number of entries that were
 * done, or the errno of the first one. The entries of a chunk are copied in before its hold, and
 * the ids of added timers written after it.
 *
 * A chunk that lacks a level, an entry, or an advance of the wheel ends with enum twheel_need. Its
 * caller provides that with the lock dropped, and retries from the same entry: all checks are
 * repeated, as other threads may have changed the wheel.
 */
#include <linux/limits.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "twheel_compat.h"
#include "twheel_file.h"
#include "twheel_trace.h"

/* Enter to add or modify timers. Returns false during a rewind: nothing can be placed. */
static __always_inline bool enter_to_place(struct twheel_file *file)
{
	return !twheel_file_enter(file, TWHEEL_FEW_STEPS) || !twheel_is_rewinding(&file->wheel);
}

/*
 * Compute the deadline of a timer, and find its level. Returns false if the arguments are not
 * valid, if it is already due, or if no level covers it.
 */
static __always_inline bool find_level(const struct twheel_file *file, u64 time_ns, u32 flags,
				       u32 reserved, u64 *deadline, struct twheel_level **level)
{
	*deadline = time_ns + (flags ? 0 : file->now);
	/* The signed comparison also catches a sum out of range. */
	return likely(!((flags & ~TWHEEL_ABSTIME) | reserved) &&
		      (s64)*deadline > (s64)file->now &&
		      twheel_find_level(&file->wheel, *deadline, level));
}

/* Compute the deadline of any timer; returns false if the arguments are not valid. */
static bool compute_deadline(const struct twheel_file *file, u64 time_ns, u32 flags, u32 reserved,
			     u64 *deadline)
{
	*deadline = flags ? time_ns : min_t(u64, file->now + time_ns, KTIME_MAX);
	return !((flags & ~TWHEEL_ABSTIME) | reserved | time_ns >> 63);
}

/*
 * Return what is needed before a timer can be placed: one of enum twheel_need, or 0. For levels,
 * this increments @growing, which keeps TWHEEL_SETUP away until they exist.
 */
static int need_for(struct twheel_file *file, u64 deadline, u64 interval)
{
	const struct twheel *w = &file->wheel;
	struct twheel_level *level;
	u8 levels;

	/* Timers that have been due for longer expire first. */
	if (deadline <= file->now && twheel_file_next(file) <= file->now)
		return TWHEEL_NEED_ADVANCE;
	if (w->nr_levels && interval <= file->max_delay &&
	    (deadline <= file->now || twheel_find_level(w, deadline, &level)))
		return 0;
	/* A clock that can be set can come to any time; a period begins at any time in a tick. */
	levels = twheel_levels_for(w, twheel_file_can_be_set(file) ? KTIME_MAX : interval);
	levels = max(levels, twheel_levels_until(w, deadline));
	if (levels <= w->nr_levels)
		return 0;
	file->growing++;
	return TWHEEL_NEED_LEVELS + levels;
}

/* Put a timer into the wheel, whose levels cover it. */
static void place(struct twheel_file *file, struct twheel_entry *entry)
{
	if (entry->timer.deadline <= file->now) {
		twheel_expire(&file->wheel, &entry->timer);
		trace_twheel_expire(file, 1);
		file->news = true;
	} else {
		twheel_add(&file->wheel, &entry->timer);
	}
}

/* ---- Adding ---- */

/* Return true if a period is valid, and no longer than @max. */
static __always_inline bool is_period(const struct twheel_file *file, u64 interval, u64 max)
{
	return !interval || (interval >= file->wheel.tick && interval <= max);
}

/* Check a timer of any kind; returns 0 to add it with place(), an errno, or enum twheel_need. */
static noinline int check_add(struct twheel_file *file, const struct twheel_add *add,
			      u64 *deadline)
{
	if (!compute_deadline(file, add->time_ns, add->flags, add->reserved, deadline) ||
	    !is_period(file, add->interval_ns, KTIME_MAX))
		return -EINVAL;
	if (twheel_file_timers(file) >= file->max_timers)
		return -ENOSPC;
	return need_for(file, *deadline, add->interval_ns);
}

/* Add a timer, in the next entry of a run; returns 0, an errno, or one of enum twheel_need. */
static __always_inline int add_entry(struct twheel_file *file, struct twheel_run *run,
				     struct twheel_add *add)
{
	struct twheel_level *level = NULL;
	struct twheel_entry *entry;
	u64 deadline;
	int err;

	if (unlikely(!is_period(file, add->interval_ns, file->max_delay)) ||
	    !find_level(file, add->time_ns, add->flags, add->reserved, &deadline, &level)) {
		err = check_add(file, add, &deadline);
		if (err)
			return err;
		level = NULL;
	}
	add->id = run->id;
	entry = twheel_run_take(run);
	entry->data = add->data;
	entry->interval = add->interval_ns;
	entry->timer.deadline = deadline;
	trace_twheel_add(file, entry);
	if (likely(level)) {
		file->wheel.nr_pending++;
		twheel_enqueue(&file->wheel, level, &entry->timer);
	} else {
		place(file, entry);
	}
	return 0;
}

/*
 * Add up to @n timers with one hold of the lock, and set their ids; returns how many. @err is 0, an
 * errno, or one of enum twheel_need.
 */
static __always_inline unsigned int add_chunk(struct twheel_file *file, struct twheel_add *add,
					      unsigned int n, int *err)
{
	unsigned int done = 0, room;
	struct twheel_add *end;
	struct twheel_run run;
	u64 timers, deadline;

	*err = enter_to_place(file) ? 0 : TWHEEL_NEED_ADVANCE;
	while (done < n && !*err) {
		timers = twheel_file_timers(file);
		room = min(twheel_run_begin(&file->store, &run), n - done);
		if (unlikely(!room || timers >= file->max_timers)) {
			*err = check_add(file, add, &deadline) ?: TWHEEL_NEED_ENTRIES;
			break;
		}
		end = add + min_t(u64, room, file->max_timers - timers);
		do {
			*err = add_entry(file, &run, add);
		} while (likely(!*err) && ++add < end);
		done += twheel_run_end(&file->store, &run);
	}
	file->added += done;
	twheel_file_leave(file);
	return done;
}

/* Cancel a timer whose id cannot be handed back: it was never added, unless it has been read. */
static noinline void withdraw(struct twheel_file *file, u64 id)
{
	struct twheel_entry *entry;

	spin_lock(&file->lock);
	if (twheel_store_find(&file->store, id, &entry)) {
		twheel_cancel(&file->wheel, &entry->timer);
		twheel_store_put(&file->store, entry);
		file->added--;
	}
	twheel_file_leave(file);
}

/* Hand back the ids of @n timers; returns how many. The others are cancelled. */
static __always_inline unsigned int hand_back(struct twheel_file *file,
					      struct twheel_add __user *uadd,
					      const struct twheel_add *add, unsigned int n)
{
	unsigned int done = 0;

	if (user_write_access_begin(uadd, n * sizeof(*uadd))) {
		for (; done < n; done++)
			unsafe_put_user(add[done].id, &uadd[done].id, out);
out:
		user_write_access_end();
	}
	for (; n > done; n--)
		withdraw(file, add[n - 1].id);
	return done;
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

/* Modify a timer of any kind; returns 0, an errno, or one of enum twheel_need. */
static noinline int modify_slowpath(struct twheel_file *file, const struct twheel_modify *mod)
{
	struct twheel_entry *entry;
	u64 deadline;
	int need;

	if (!compute_deadline(file, mod->time_ns, mod->flags, mod->reserved, &deadline))
		return -EINVAL;
	if (!twheel_store_find(&file->store, mod->id, &entry))
		return -ENOENT;
	need = need_for(file, deadline, 0);
	if (need)
		return need;
	twheel_cancel(&file->wheel, &entry->timer);
	entry->timer.deadline = deadline;
	trace_twheel_modify(file, entry);
	place(file, entry);
	return 0;
}

/* Modify a timer; on the fast path if it is pending and the levels cover its new delay. */
static __always_inline int modify(struct twheel_file *file, const struct twheel_modify *mod)
{
	struct twheel *w = &file->wheel;
	struct twheel_entry *entry;
	struct twheel_level *level;
	u64 deadline;

	if (!find_level(file, mod->time_ns, mod->flags, mod->reserved, &deadline, &level) ||
	    unlikely(!twheel_store_find(&file->store, mod->id, &entry)) ||
	    unlikely(!twheel_in_bucket(&entry->timer)))
		return modify_slowpath(file, mod);
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
	unsigned int i = 0;

	*err = enter_to_place(file) ? 0 : TWHEEL_NEED_ADVANCE;
	while (i < n && likely(!*err)) {
		*err = modify(file, mods + i);
		if (likely(!*err))
			i++;
	}
	file->modified += i;
	twheel_file_leave(file);
	return i;
}

/*
 * Cancel @n timers with one hold of the lock; returns how many. That needs no time. But crowds of a
 * wheel that sees only cancels have to be opened ahead of their time, so it is brought up to date
 * once in a jiffy, and while a crowd cascades.
 */
static __always_inline unsigned int cancel_chunk(struct twheel_file *file, const u64 *id,
						 unsigned int n, int *err)
{
	struct twheel_entry *entry;
	unsigned int i;

	spin_lock(&file->lock);
	if (unlikely(time_after(jiffies, file->jiffy) || file->wheel.cascading_levels))
		twheel_file_catch_up(file, TWHEEL_FEW_STEPS);
	for (i = 0; i < n && likely(twheel_store_find(&file->store, id[i], &entry)); i++) {
		trace_twheel_cancel(file, entry);
		twheel_cancel(&file->wheel, &entry->timer);
		twheel_store_put(&file->store, entry);
	}
	*err = i < n ? -ENOENT : 0;
	file->cancelled += i;
	twheel_file_leave(file);
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

/* Entries of a chunk, copied in. */
union chunk {
	struct twheel_add add[DIV_ROUND_UP(TWHEEL_CHUNK, 3)];
	struct twheel_modify mod[DIV_ROUND_UP(TWHEEL_CHUNK, 2)];
	u64 id[TWHEEL_CHUNK];
};

/* Do up to @n entries of @from; returns how many. @err is 0, an errno, or enum twheel_need. */
static __always_inline unsigned int change_chunk(struct twheel_file *file, unsigned int cmd,
						 void __user *from, size_t size, unsigned int n,
						 int *err)
{
	union chunk chunk __uninitialized;
	unsigned int done, added, max;

	max = cmd == TWHEEL_ADD_BATCH ? ARRAY_SIZE(chunk.add) :
	      cmd == TWHEEL_MODIFY_BATCH ? ARRAY_SIZE(chunk.mod) : ARRAY_SIZE(chunk.id);
	n = copy_entries(&chunk, from, min(n, max), size);
	*err = -EFAULT;
	if (!n)
		return 0;
	if (cmd == TWHEEL_CANCEL_BATCH)
		return cancel_chunk(file, chunk.id, n, err);
	if (cmd == TWHEEL_MODIFY_BATCH)
		return modify_chunk(file, chunk.mod, n, err);
	added = add_chunk(file, chunk.add, n, err);
	done = hand_back(file, from, chunk.add, added);
	if (unlikely(done < added)) {
		/* Levels that the next entry needs are counted in @growing until they exist. */
		if (*err > 0)
			twheel_file_provide(file, *err);
		*err = -EFAULT;
	}
	return done;
}

static noinline long change_batch(struct twheel_file *file, unsigned int cmd,
				  struct twheel_batch __user *arg)
{
	size_t size = cmd == TWHEEL_ADD_BATCH ? sizeof(struct twheel_add) :
		      cmd == TWHEEL_MODIFY_BATCH ? sizeof(struct twheel_modify) : sizeof(u64);
	struct twheel_batch batch;
	void __user *entries;
	long done = 0;
	u32 count;
	int err = 0;

	if (copy_from_user(&batch, arg, sizeof(batch)))
		return -EFAULT;
	if (batch.flags)
		return -EINVAL;
	entries = u64_to_user_ptr(batch.entries);
	/* The result is an int in user space. */
	count = min_t(u32, batch.count, INT_MAX);
	/* A signal shows as a short count; task work does not, it runs on the return. */
	while (!err && done < count && !(done && task_sigpending(current))) {
		done += change_chunk(file, cmd, entries + done * size, size, count - done, &err);
		if (err > 0)
			err = twheel_file_provide(file, err);
		cond_resched();
	}
	return done ?: err;
}

static noinline long add_one(struct twheel_file *file, struct twheel_add __user *uadd)
{
	struct twheel_add add;
	int err;

	if (copy_from_user(&add, uadd, sizeof(add)))
		return -EFAULT;
	while (unlikely(!add_chunk(file, &add, 1, &err))) {
		if (err > 0)
			err = twheel_file_provide(file, err);
		if (err)
			return err;
	}
	if (likely(!put_user(add.id, &uadd->id)))
		return 0;
	withdraw(file, add.id);
	return -EFAULT;
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
 * Return: what the ioctl returns.
 */
long twheel_change(struct twheel_file *file, unsigned int cmd, void __user *argp)
{
	u64 id;

	switch (cmd) {
	case TWHEEL_ADD:
		return add_one(file, argp);
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
