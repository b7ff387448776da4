// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file: one wheel with its lock, its clock, its waiters and its memory
 *
 * Locking
 *
 * file->lock is a spinlock and protects the wheel. The function that takes it drops it, after a
 * bounded number of steps of the wheel. Its holder never sleeps: pages and levels are allocated and
 * freed without it, and user memory is read and written under it only where it is present. Another
 * process may serve a page fault, and never end it, so a call brings in its memory without the
 * lock, and then does the same work again. The hrtimer takes file->wait.lock, a spinlock inside of
 * file->lock; inside of that are epoll's and hrtimers'.
 */
#include <linux/jiffies.h>
#include <linux/math64.h>
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

	if (w->nr_levels)
		bytes += twheel_level_bytes(w, 0) + (w->nr_levels - 1) * twheel_level_bytes(w, 1);
	if (file->ring)
		bytes += twheel_ring_bytes(file);
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

/**
 * twheel_file_advance() - advance the wheel to the present, or as far as it gets
 * @file: the file, locked
 * @until: the time to stop at, in ns, if that is earlier
 * @steps: how many steps at most; a move of a timer that the clock was set back for is two
 *
 * Return: true if more is due: drop the lock, and call again.
 */
bool twheel_file_advance(struct twheel_file *file, u64 until, unsigned int steps)
{
	struct twheel *w = &file->wheel;
	u64 expired = w->nr_expired, cascaded = w->cascaded;
	u64 now = twheel_file_now(file);
	u64 tick = twheel_floor(w, now);
	bool more = true;

	lockdep_assert_held(&file->lock);
	if (likely(tick >= w->now && !twheel_is_rewinding(w)) ||
	    !twheel_rewind(w, tick, steps / 2))
		more = twheel_advance(w, until < now ? twheel_floor(w, until) : tick, steps);
	if (w->cascaded != cascaded)
		trace_twheel_cascade(file, w->cascaded - cascaded);
	if (w->nr_expired != expired)
		trace_twheel_expire(file, w->nr_expired - expired);
	return more;
}

/**
 * twheel_file_publish_and_unlock() - drop the lock of a file that has changed
 * @file: the file
 * @outcome: what its holder has done
 *
 * Also frees unused memory.
 */
void twheel_file_publish_and_unlock(struct twheel_file *file, enum twheel_outcome outcome)
	__releases(&file->lock)
{
	struct twheel_page *pages = NULL;

	lockdep_assert_held(&file->lock);
	if (twheel_store_can_trim(&file->store, TWHEEL_KEEP_PAGES)) {
		pages = twheel_store_trim(&file->store, TWHEEL_KEEP_PAGES);
		twheel_file_credit(file);
	}
	twheel_file_publish(file, outcome);
	twheel_file_unlock_unchanged(file);
	twheel_pages_free(pages);
}

/* ---- Growing ---- */

/* Add a page to a store without free entries, which may use it for its directory. */
static int grow_store(struct twheel_file *file, void **page)
{
	int err = charge(file, twheel_store_growth(&file->store));

	/* With the lock held, only the directory is allocated: 8 bytes for 43,008 timers. */
	if (!err)
		err = twheel_store_grow(&file->store, *page, GFP_ATOMIC | __GFP_NOWARN);
	if (!err)
		*page = NULL;
	return err;
}

/*
 * Provide @nr_levels levels in all, and free entries. Another thread may be faster: then what is
 * not needed any more is freed. @growing has been incremented if levels are needed.
 */
static int provide_memory(struct twheel_file *file, u8 nr_levels)
{
	struct mem_cgroup *old = set_active_memcg(file->memcg);
	struct twheel_level *level[TWHEEL_MAX_LEVELS];
	struct twheel *w = &file->wheel;
	u8 first = READ_ONCE(w->nr_levels), nr = first, i;
	void *page[2] = {};
	int err = 0;

	for (; nr < nr_levels && !err; nr++) {
		if (!twheel_user_charge(file->user, twheel_level_bytes(w, nr))) {
			err = -ENOSPC;
			break;
		}
		level[nr] = twheel_level_alloc(w, nr, TWHEEL_GFP);
		err = level[nr] ? 0 : -ENOMEM;
	}
	/* The first page of a store becomes its directory. */
	for (i = data_race(file->store.nr_chunks) ? 1 : 0;
	     i < 2 && !err && twheel_store_exhausted(&file->store); i++) {
		page[i] = (void *)get_zeroed_page(TWHEEL_GFP);
		err = page[i] ? 0 : -ENOMEM;
	}
	set_active_memcg(old);

	twheel_file_lock(file);
	for (i = first; i < nr; i++) {
		file->charged += twheel_level_bytes(w, i);
		if (!err && w->nr_levels == i) {
			twheel_level_install(w, level[i]);
			level[i] = NULL;
		}
	}
	if (nr > first)
		file->max_delay = twheel_max_delay(w);
	for (i = 0; i < 2 && !err && twheel_store_exhausted(&file->store); i++)
		err = page[i] ? grow_store(file, &page[i]) : 0;
	twheel_file_credit(file);
	twheel_file_unlock(file);
	if (nr_levels)
		atomic_dec(&file->growing);
	for (i = first; i < nr; i++)
		kvfree(level[i]);
	for (i = 0; i < 2; i++)
		free_page((unsigned long)page[i]);
	return err;
}

/**
 * twheel_file_provide() - provide what a chunk of work lacked
 * @file: the file, not locked
 * @need: one of enum twheel_need, with the number of levels added; but not user memory
 *
 * Another thread can use it up before the caller has the lock again.
 *
 * Return: 0; or -ENOSPC, -ENOMEM, or -EINTR when killed.
 */
int twheel_file_provide(struct twheel_file *file, int need)
{
	cond_resched();
	if (need >= TWHEEL_NEED_MEMORY)
		return provide_memory(file, need - TWHEEL_NEED_MEMORY);
	if (fatal_signal_pending(current))
		return -EINTR;
	twheel_file_lock(file);
	twheel_file_advance(file, TWHEEL_NEVER, TWHEEL_STEPS);
	twheel_file_unlock(file);
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

	twheel_file_lock(file);
	if (!file->is_set_up && !file->added && !atomic_read(&file->growing)) {
		/* A failed add may have left levels behind. */
		old = file->wheel;
		init_wheel(file, setup);
		file->is_set_up = true;
		trace_twheel_set_up(file);
		twheel_file_credit(file);
		err = 0;
	}
	twheel_file_unlock(file);
	twheel_destroy(&old);
	return err;
}

/**
 * twheel_file_open() - make a file, with its wheel
 * @uid: the user that it is charged to
 * @setup: valid parameters
 *
 * May sleep. Memory is charged to the cgroup of the caller from now on.
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

	spin_lock_init(&file->lock);
	init_waitqueue_head(&file->wait);
	twheel_store_init(&file->store);
	file->due = TWHEEL_NEVER;
	file->armed = TWHEEL_NEVER;
	file->visited = jiffies;
	file->memcg = get_mem_cgroup_from_mm(current->mm);
	init_wheel(file, setup);
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
	if (file->ring)
		free_pages_exact(file->ring, twheel_ring_bytes(file));
	twheel_destroy(&file->wheel);
	twheel_store_destroy(&file->store);
	mem_cgroup_put(file->memcg);
	twheel_user_uncharge(file->user, file->charged);
	twheel_user_put(file->user);
	kfree(file);
}
