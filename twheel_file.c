// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file: one wheel with its lock, its clock, its waiters and its memory
 *
 * Locking
 *
 * file->lock is a spinlock and protects the wheel. Each hold of it is bounded and begins alike:
 * twheel_file_enter() reads the clock, and brings the wheel up to it within a number of steps. All
 * that the hold counts, rearms or delivers uses that time. It ends with twheel_file_leave(), which
 * tells waiters once what has changed. Only cancelling needs no time.
 *
 * Its holder never sleeps, and touches no user memory: userfaultfd or FUSE may block a fault
 * forever. So arguments are copied in before, ids and events out after it, and memory is
 * allocated and freed without it. The hrtimer takes file->wait.lock, a spinlock inside of
 * file->lock; inside of that are epoll's and hrtimers'.
 */
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "twheel_compat.h"
#include "twheel_file.h"
#include "twheel_trace.h"

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

	if (w->nr_levels)
		bytes += twheel_level_bytes(w, 0) + (w->nr_levels - 1) * twheel_level_bytes(w, 1);
	if (file->ring)
		bytes += twheel_ring_bytes(file);
	return bytes;
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

/**
 * twheel_file_advance() - bring the wheel to @file->now, or as far as it gets
 * @file: the file, locked
 * @steps: how many steps at most; a move of a timer that the clock was set back for is two
 *
 * Return: true if more is due: drop the lock, and call again.
 */
bool twheel_file_advance(struct twheel_file *file, unsigned int steps)
{
	struct twheel *w = &file->wheel;
	u64 expired = w->nr_expired, cascaded = w->cascaded;
	u64 tick = twheel_floor(w, file->now);
	bool more = true;

	lockdep_assert_held(&file->lock);
	if (likely(tick >= w->now && !twheel_is_rewinding(w)) ||
	    !twheel_rewind(w, tick, steps / 2))
		more = twheel_advance(w, tick, steps);
	if (w->cascaded != cascaded)
		trace_twheel_cascade(file, w->cascaded - cascaded);
	if (w->nr_expired != expired)
		trace_twheel_expire(file, w->nr_expired - expired);
	return more;
}

/**
 * twheel_file_publish_and_unlock() - drop the lock of a file that has changed
 * @file: the file, locked
 * @pause: leave what is due for later
 *
 * For a look that has found nothing, too: see twheel_file_publish(). Also frees unused memory.
 */
void twheel_file_publish_and_unlock(struct twheel_file *file, bool pause)
	__releases(&file->lock)
{
	struct twheel_page *pages = NULL;

	lockdep_assert_held(&file->lock);
	if (twheel_store_can_trim(&file->store, TWHEEL_KEEP_PAGES)) {
		pages = twheel_store_trim(&file->store, TWHEEL_KEEP_PAGES);
		twheel_file_credit(file);
	}
	twheel_file_publish(file, pause);
	spin_unlock(&file->lock);
	twheel_pages_free(pages);
}

/* ---- Growing ---- */

/* Provide free entries, unless another thread has: a page, or first a directory for it. */
static int provide_entries(struct twheel_file *file)
{
	struct mem_cgroup *old = set_active_memcg(file->memcg);
	void *page = (void *)get_zeroed_page(TWHEEL_GFP);
	int err = page ? 0 : -ENOMEM;
	size_t bytes;

	if (err)
		goto out;
	spin_lock(&file->lock);
	if (list_empty(&file->store.partial)) {
		bytes = twheel_store_growth(&file->store);
		err = -ENOSPC;
		if (!twheel_user_charge(file->user, bytes))
			goto unlock;
		file->charged += bytes;
		/* Under the lock, only the directory is allocated: 8 bytes for 43,008 timers. */
		err = twheel_store_grow(&file->store, page,
					GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
		if (!err)
			page = NULL;
		twheel_file_credit(file);
	}
unlock:
	spin_unlock(&file->lock);
	free_page((unsigned long)page);
out:
	set_active_memcg(old);
	return err;
}

/* Provide levels up to @nr_levels in all, unless another thread has. */
static int provide_levels(struct twheel_file *file, u8 nr_levels)
{
	struct twheel_level *level[TWHEEL_MAX_LEVELS];
	struct twheel *w = &file->wheel;
	u8 first = READ_ONCE(w->nr_levels), nr = first;
	struct mem_cgroup *old;
	size_t bytes = 0;
	int err = 0;
	u8 i;

	/* Charge for all of them before allocating any: a refused call takes no room of others. */
	for (i = first; i < nr_levels; i++)
		bytes += twheel_level_bytes(w, i);
	if (bytes && !twheel_user_charge(file->user, bytes)) {
		bytes = 0;
		err = -ENOSPC;
	}
	old = set_active_memcg(file->memcg);
	for (; nr < nr_levels && !err; nr++) {
		level[nr] = twheel_level_alloc(w, nr, TWHEEL_GFP);
		if (!level[nr])
			err = -ENOMEM;
	}
	set_active_memcg(old);

	spin_lock(&file->lock);
	file->charged += bytes;
	for (i = first; i < nr && !err; i++) {
		if (w->nr_levels == i) {
			twheel_level_install(w, level[i]);
			level[i] = NULL;
		}
	}
	file->max_delay = twheel_max_delay(w);
	file->growing--;
	twheel_file_credit(file);
	spin_unlock(&file->lock);
	for (i = first; i < nr; i++)
		kvfree(level[i]);
	return err;
}

/**
 * twheel_file_provide() - provide what a chunk of work lacked
 * @file: the file, not locked
 * @need: one of enum twheel_need, with the number of levels added
 *
 * Another thread can use it up before the caller has the lock again.
 *
 * Return: 0; or -ENOSPC, -ENOMEM, or -EINTR when killed.
 */
int twheel_file_provide(struct twheel_file *file, int need)
{
	cond_resched();
	if (need > TWHEEL_NEED_LEVELS)
		return provide_levels(file, need - TWHEEL_NEED_LEVELS);
	if (fatal_signal_pending(current))
		return -EINTR;
	if (need == TWHEEL_NEED_ENTRIES)
		return provide_entries(file);
	twheel_file_enter(file, TWHEEL_STEPS);
	twheel_file_leave(file);
	return 0;
}

/* ---- Opening, setting up and closing ---- */

/* Make a wheel that has had no timers, with valid parameters. */
static void init_wheel(struct twheel_file *file, const struct twheel_setup *setup)
{
	WRITE_ONCE(file->clock_id, setup->clock_id);
	twheel_init(&file->wheel, setup->tick_ns, setup->wheel_size,
		    div64_u64(twheel_file_now(file), setup->tick_ns));
	file->max_timers = setup->max_timers;
	file->max_delay = 0;
	hrtimer_setup(&file->hrtimer, twheel_file_fire, file->clock_id, HRTIMER_MODE_ABS);
}

/**
 * twheel_file_set_up() - TWHEEL_SETUP
 * @file: the file, not locked
 * @setup: valid parameters
 *
 * Return: 0; or -EBUSY, and the wheel is as it was.
 */
int twheel_file_set_up(struct twheel_file *file, const struct twheel_setup *setup)
{
	struct twheel old = {};
	int err = -EBUSY;

	spin_lock(&file->lock);
	if (!file->is_set_up && !file->added && !file->growing) {
		/*
		 * A failed add may have left levels behind, and a waiter may have armed the hrtimer
		 * for its timer. It stays cancelled, as nothing is due; it takes no file->lock.
		 */
		hrtimer_cancel(&file->hrtimer);
		spin_lock_irq(&file->wait.lock);
		WRITE_ONCE(file->armed, TWHEEL_NEVER);
		spin_unlock_irq(&file->wait.lock);
		old = file->wheel;
		init_wheel(file, setup);
		file->is_set_up = true;
		trace_twheel_set_up(file);
		twheel_file_credit(file);
		err = 0;
	}
	spin_unlock(&file->lock);
	twheel_destroy(&old);
	return err;
}

/**
 * twheel_file_open() - make a file, charged to the cgroup of the caller; may sleep
 * @uid: the user that it is charged to
 * @setup: valid parameters
 *
 * Return: the file for twheel_file_close(); or an ERR_PTR() of -ENOMEM, or of -ENOSPC if
 * the user's wheels hold as much as they may.
 */
struct twheel_file *twheel_file_open(kuid_t uid, const struct twheel_setup *setup)
{
	struct twheel_file *file = kzalloc(sizeof(*file), TWHEEL_GFP);
	int err = -ENOMEM;

	if (!file)
		goto free;
	file->user = twheel_user_get(uid);
	if (!file->user)
		goto free;
	file->charged = roundup_pow_of_two(sizeof(*file));
	err = -ENOSPC;
	if (!twheel_user_charge(file->user, file->charged))
		goto put;

	spin_lock_init(&file->lock);
	init_waitqueue_head(&file->wait);
	twheel_store_init(&file->store);
	file->due = TWHEEL_NEVER;
	file->armed = TWHEEL_NEVER;
	file->memcg = get_mem_cgroup_from_mm(current->mm);
	init_wheel(file, setup);
	return file;

put:
	twheel_user_put(file->user);
free:
	kfree(file);
	trace_twheel_refuse(0, 0, err);
	return ERR_PTR(err);
}

/**
 * twheel_file_close() - free a file, with all of its timers; may sleep
 * @file: the file, which is no longer in use
 */
void twheel_file_close(struct twheel_file *file)
{
	/* No waiter is left that could rearm it. */
	hrtimer_cancel(&file->hrtimer);
	if (file->ring)
		free_pages_exact(file->ring, twheel_ring_bytes(file));
	twheel_destroy(&file->wheel);
	twheel_store_destroy(&file->store);
	mem_cgroup_put(file->memcg);
	twheel_user_uncharge(file->user, file->charged);
	twheel_user_put(file->user);
	kfree(file);
}
