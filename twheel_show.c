// SPDX-License-Identifier: GPL-2.0-only
/*
 * Showing a wheel and its timers: TWHEEL_QUERY, TWHEEL_INFO, TWHEEL_LIST, and fdinfo
 *
 * The cursor of a listing is a place in the store: the lower half of an id. A timer never leaves
 * its place and each place is visited once, so a timer that exists throughout is listed exactly
 * once, and no id twice.
 */
#include <linux/fs.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "twheel_compat.h"
#include "twheel_file.h"

/* Number of timers that are listed with one hold of the lock, and copied together. */
#define TWHEEL_LIST_CHUNK	24
/* Places of the store that are searched with one hold of the lock. */
#define TWHEEL_LIST_PLACES	768
/* Number of buckets counted with one hold of the lock. */
#define TWHEEL_SHOW_BUCKETS	1024U

/* Return when the last tick ended: reads return timers due by that, even if the wheel lags. */
static u64 last_tick(const struct twheel_file *file)
{
	return twheel_floor(&file->wheel, file->now) * file->wheel.tick;
}

static u32 state_of(const struct twheel_file *file, const struct twheel_timer *timer, u64 reached)
{
	/* During a rewind, what has expired may be pending again. */
	return timer->deadline <= reached ||
	       (twheel_expired(timer) && !twheel_is_rewinding(&file->wheel)) ?
	       TWHEEL_EXPIRED : TWHEEL_PENDING;
}

/**
 * twheel_query_timer() - TWHEEL_QUERY
 * @file: the file, not locked
 * @arg: the id; filled in
 *
 * Return: 0; or -EFAULT, -EINVAL or -ENOENT.
 */
long twheel_query_timer(struct twheel_file *file, struct twheel_query __user *arg)
{
	struct twheel_query query;
	struct twheel_entry *entry;
	bool found;

	if (copy_from_user(&query, arg, sizeof(query)))
		return -EFAULT;
	if (query.reserved)
		return -EINVAL;
	twheel_file_enter(file, TWHEEL_FEW_STEPS);
	found = twheel_store_find(&file->store, query.id, &entry);
	if (found) {
		query.deadline_ns = entry->timer.deadline;
		query.remaining_ns = max(entry->timer.deadline, file->now) - file->now;
		query.interval_ns = entry->interval;
		query.data = entry->data;
		query.state = state_of(file, &entry->timer, last_tick(file));
	}
	twheel_file_leave(file);
	if (!found)
		return -ENOENT;
	return copy_to_user(arg, &query, sizeof(query)) ? -EFAULT : 0;
}

/*
 * List timers from *@cursor on, until @max are found or enough places have been searched. Returns
 * how many.
 */
static unsigned int list_chunk(struct twheel_file *file, u64 *cursor, struct twheel_listed *to,
			       unsigned int max)
{
	unsigned long slot = array_index_nospec(*cursor & TWHEEL_SLOT_MASK, TWHEEL_PAGE_ENTRIES);
	unsigned long nr = *cursor >> TWHEEL_SLOT_BITS;
	unsigned long places = TWHEEL_LIST_PLACES;
	unsigned int n = 0;
	u64 reached = last_tick(file);

	for (; nr < file->store.nr_blocks && places && n < max; nr++, slot = 0) {
		u64 block = *twheel_store_block(&file->store,
						array_index_nospec(nr, file->store.nr_blocks));
		struct twheel_page *page = (void *)(unsigned long)block;
		/* Includes timers before @slot: then the page is searched to its end. */
		u32 left = twheel_block_is_unbacked(block) ? 0 : page->used;
		unsigned long first = slot, end = min(slot + --places, TWHEEL_PAGE_ENTRIES);

		for (; left && n < max && slot < end; slot++) {
			const struct twheel_entry *entry = page->entry + slot;

			if (!entry->timer.tag)
				continue;
			to[n++] = (struct twheel_listed) {
				.id = twheel_entry_id(entry),
				.data = entry->data,
				.deadline_ns = entry->timer.deadline,
				.interval_ns = entry->interval,
				.state = state_of(file, &entry->timer, reached),
			};
			left--;
		}
		places -= slot - first;
		if (left && slot < TWHEEL_PAGE_ENTRIES)
			break;
	}
	*cursor = (u64)nr << TWHEEL_SLOT_BITS | slot;
	return n;
}

/**
 * twheel_list_timers() - TWHEEL_LIST
 * @file: the file, not locked
 * @arg: the cursor and the array to fill, in user memory; the cursor is updated
 *
 * Return: how many were listed; 0 at the end; or -EFAULT or -EINVAL.
 */
long twheel_list_timers(struct twheel_file *file, struct twheel_list __user *arg)
{
	struct twheel_listed listed[TWHEEL_LIST_CHUNK] __uninitialized;
	struct twheel_listed __user *to;
	unsigned int n, fit, missing = 0;
	struct twheel_list list;
	u64 from, done = 0;

	if (copy_from_user(&list, arg, sizeof(list)))
		return -EFAULT;
	if (list.flags || list.cursor > U32_MAX ||
	    (list.cursor & TWHEEL_SLOT_MASK) >= TWHEEL_PAGE_ENTRIES)
		return -EINVAL;
	to = u64_to_user_ptr(list.entries);
	list.count = min_t(u32, list.count, INT_MAX);
	while (done < list.count &&
	       !(done ? signal_pending(current) : fatal_signal_pending(current))) {
		from = list.cursor;
		twheel_file_enter(file, TWHEEL_FEW_STEPS);
		n = list_chunk(file, &list.cursor, listed,
			       min_t(u64, list.count - done, TWHEEL_LIST_CHUNK));
		twheel_file_leave(file);
		missing = copy_to_user(to + done, listed, n * sizeof(*listed));
		if (missing) {
			fit = n - DIV_ROUND_UP(missing, sizeof(*listed));
			/* See copy_entries(): one may fit. */
			fit = fit ?: !copy_to_user(to + done, listed, sizeof(*listed));
			done += fit;
			if (fit < n)
				list.cursor = (u32)listed[fit].id;
			break;
		}
		done += n;
		/* No progress: the end. */
		if (list.cursor == from)
			break;
		cond_resched();
	}
	if (done ? put_user(list.cursor, &arg->cursor) : missing)
		return -EFAULT;
	return done;
}

static void fill_info(struct twheel_file *file, struct twheel_info *info)
{
	const struct twheel *w = &file->wheel;

	lockdep_assert_held(&file->lock);
	*info = (struct twheel_info) {
		.tick_ns = w->tick,
		.max_timers = file->max_timers,
		.wheel_size = w->size,
		.clock_id = file->clock_id,
		.now_ns = file->now,
		.pending = w->nr_pending,
		.expired = w->nr_expired,
		.added = file->added,
		.modified = file->modified,
		.cancelled = file->cancelled,
		.delivered = file->delivered,
		.cascaded = w->cascaded,
		.fires = READ_ONCE(file->fires),
		.memory = file->charged,
		.levels = max_t(u32, w->nr_levels, 1),
	};
}

/**
 * twheel_get_info() - TWHEEL_INFO
 * @file: the file, not locked
 * @arg: filled in
 *
 * Advances the wheel first: what is due counts as expired.
 *
 * Return: 0; or -EFAULT, or -EINTR when killed.
 */
long twheel_get_info(struct twheel_file *file, struct twheel_info __user *arg)
{
	struct twheel_info info;
	bool more;

	do {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		more = twheel_file_enter(file, TWHEEL_STEPS);
		if (!more)
			fill_info(file, &info);
		twheel_file_leave(file);
	} while (more);
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

/* Count the timers and the busy buckets of a level, in bounded holds of the lock. */
static void show_level(struct seq_file *m, struct twheel_file *file, unsigned int nr)
{
	const struct twheel_level *level;
	u32 i = 0, end, size, busy;
	u64 timers = 0;

	do {
		cond_resched();
		spin_lock(&file->lock);
		/* NULL if TWHEEL_SETUP has freed it. */
		level = file->wheel.level[nr];
		busy = level ? level->nr_busy : 0;
		size = busy ? level->size : 0;
		for (end = min(i + TWHEEL_SHOW_BUCKETS, size); i < end; i++)
			timers += level->bucket[i].count;
		spin_unlock(&file->lock);
	} while (i < size);
	seq_printf(m, "twheel-level-%u-timers:\t%llu\n", nr, timers);
	seq_printf(m, "twheel-level-%u-busy:\t%u\n", nr, busy);
}

/**
 * twheel_show_fdinfo() - write the lines of an open file in /proc/PID/fdinfo
 * @m: the output
 * @filp: the file
 */
void twheel_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct twheel_file *file = filp->private_data;
	struct twheel_info info;
	unsigned int nr;

	twheel_file_enter(file, TWHEEL_FEW_STEPS);
	fill_info(file, &info);
	twheel_file_leave(file);
	seq_printf(m, "twheel-id:\t%llu\n", file->id);
	seq_printf(m, "twheel-tick-ns:\t%llu\n", info.tick_ns);
	seq_printf(m, "twheel-wheel-size:\t%u\n", info.wheel_size);
	seq_printf(m, "twheel-clock-id:\t%u\n", info.clock_id);
	seq_printf(m, "twheel-max-timers:\t%llu\n", info.max_timers);
	seq_printf(m, "twheel-levels:\t%u\n", info.levels);
	seq_printf(m, "twheel-now-ns:\t%llu\n", info.now_ns);
	seq_printf(m, "twheel-pending:\t%llu\n", info.pending);
	seq_printf(m, "twheel-expired:\t%llu\n", info.expired);
	seq_printf(m, "twheel-added:\t%llu\n", info.added);
	seq_printf(m, "twheel-modified:\t%llu\n", info.modified);
	seq_printf(m, "twheel-cancelled:\t%llu\n", info.cancelled);
	seq_printf(m, "twheel-delivered:\t%llu\n", info.delivered);
	seq_printf(m, "twheel-cascaded:\t%llu\n", info.cascaded);
	seq_printf(m, "twheel-fires:\t%llu\n", info.fires);
	seq_printf(m, "twheel-memory:\t%llu\n", info.memory);
	twheel_user_show(m, file->user);
	for (nr = 0; info.added && nr < info.levels; nr++)
		show_level(m, file, nr);
}
