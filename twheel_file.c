// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file: one wheel with its lock, its clock, its waiters and its memory
 *
 * Locking
 *
 * file->lock is a mutex and protects the wheel. User memory is read and written under it, so
 * its holder can sleep in a page fault that another process serves and that may never end. So
 * poll() and calls with @nowait only try to take it, and all other acquisitions are killable.
 * The function that takes it drops it, after a bounded number of steps of the wheel. Pages of
 * timers are allocated without it, and so are levels after TWHEEL_SETUP. The hrtimer takes
 * file->wait.lock, a spinlock inside of file->lock; inside of that are epoll's and hrtimers'.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "twheel_compat.h"
#include "twheel_file.h"
#include "twheel_trace.h"

/* ---- The account ---- */

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

/**
 * twheel_file_credit() - uncharge memory that the file does not hold, or no longer holds
 * @file: the file, locked
 */
void twheel_file_credit(struct twheel_file *file)
{
	size_t bytes = twheel_file_bytes(file);

	twheel_user_uncharge(file->user, file->charged - bytes);
	file->charged = bytes;
}

/* ---- The clock ---- */

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
		twheel_file_credit(file);
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

/* ---- Opening, setting up and closing ---- */

static void set_up(struct twheel_file *file, const struct twheel_setup *setup)
{
	struct twheel *w = &file->wheel;

	/* A failed add may have left levels behind. */
	twheel_destroy(w);
	WRITE_ONCE(file->clock_id, setup->clock_id);
	file->max_timers = setup->max_timers;
	file->max_delay = 0;
	hrtimer_setup(&file->hrtimer, twheel_file_fire, file->clock_id, HRTIMER_MODE_ABS);
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
	twheel_file_credit(file);
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
