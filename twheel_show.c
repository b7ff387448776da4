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

#include "twheel_file.h"

/* Number of timers listed with one hold of the lock. */
#define TWHEEL_LIST_CHUNK	(4 * TWHEEL_CHUNK)
/* Number of blocks searched with one hold of the lock: a page with few timers takes longest. */
#define TWHEEL_LIST_BLOCKS	16
/* Number of buckets counted with one hold of the lock. */
#define TWHEEL_SHOW_BUCKETS	1024U

/* ---- One timer ---- */

/* What decides whether a timer has expired. */
struct moment {
	u64 reached;	/* a read would return timers due by this, even before an advance */
	u8 set_back;	/* expired ones may be pending again; no bool, as in twheel_level */
};

static struct moment this_moment(const struct twheel_file *file, u64 now)
{
	return (struct moment) {
		.reached = twheel_floor(&file->wheel, now) * file->wheel.tick.value,
		.set_back = twheel_file_is_set_back(file),
	};
}

static __always_inline u32 state_of(const struct twheel_timer *timer, const struct moment *moment)
{
	return (twheel_expired(timer) && !moment->set_back) || timer->deadline <= moment->reached ?
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
	struct moment moment;
	bool found;
	u64 now;

	if (copy_from_user(&query, arg, sizeof(query)))
		return -EFAULT;
	if (query.reserved)
		return -EINVAL;
	twheel_file_lock(file);
	found = twheel_store_find(&file->store, query.id, &entry);
	if (found) {
		now = twheel_file_now(file);
		moment = this_moment(file, now);
		query.deadline_ns = entry->timer.deadline;
		query.remaining_ns = max(entry->timer.deadline, now) - now;
		query.interval_ns = entry->interval;
		query.data = entry->data;
		query.state = state_of(&entry->timer, &moment);
	}
	twheel_file_unlock(file);
	if (!found)
		return -ENOENT;
	return copy_to_user(arg, &query, sizeof(query)) ? -EFAULT : 0;
}

/* ---- All timers ---- */

/*
 * List up to @max timers from *@cursor on, with the lock held. Returns how many, -EFAULT, or
 * -EAGAIN if the memory is not present. No function may be called while user memory is open: all
 * are inline.
 */
static int list_chunk(struct twheel_file *file, u64 *cursor, struct twheel_listed __user *to,
		      unsigned int max)
{
	unsigned long slot = array_index_nospec(*cursor & TWHEEL_SLOT_MASK, TWHEEL_PAGE_ENTRIES);
	unsigned long nr = *cursor >> TWHEEL_SLOT_BITS, blocks = TWHEEL_LIST_BLOCKS;
	struct moment moment = this_moment(file, twheel_file_now(file));
	struct twheel_listed __user *u = to, *end = to + max;
	struct twheel_entry *entry;
	int err = -EAGAIN;

	if (!user_write_access_begin(to, max * sizeof(*to)))
		return -EFAULT;
	for (; u < end && blocks-- && nr < file->store.nr_blocks; nr++, slot = 0) {
		struct twheel_page *page = twheel_store_page(&file->store, nr);
		u32 room = end - u, base = page ? page->base : 0;
		/* Includes timers before @slot: then the page is searched to its end. */
		u32 left = page ? min(room, twheel_page_timers(page)) : 0;

		entry = page->entry + slot;
		for (; left && entry < page->entry + TWHEEL_PAGE_ENTRIES; entry++) {
			if (!entry->timer.tag)
				continue;
			slot = twheel_entry_slot(page, entry);
			unsafe_put_user((u64)entry->timer.tag << 32 | base | slot, &u->id, out);
			unsafe_put_user(entry->data, &u->data, out);
			unsafe_put_user(entry->timer.deadline, &u->deadline_ns, out);
			unsafe_put_user(entry->interval, &u->interval_ns, out);
			unsafe_put_user(state_of(&entry->timer, &moment), &u->state, out);
			unsafe_put_user(0, &u->reserved, out);
			left--;
			u++;
		}
		if (u == end && ++slot < TWHEEL_PAGE_ENTRIES)
			break;
	}
	err = 0;
out:
	user_write_access_end();
	*cursor = (u64)nr << TWHEEL_SLOT_BITS | slot;
	return u > to ? u - to : err;
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
	struct twheel_listed __user *to;
	struct twheel_list list;
	long done = 0;
	bool missing;
	u64 from;
	int n;

	if (copy_from_user(&list, arg, sizeof(list)))
		return -EFAULT;
	if (list.flags || list.cursor > U32_MAX ||
	    (list.cursor & TWHEEL_SLOT_MASK) >= TWHEEL_PAGE_ENTRIES)
		return -EINVAL;
	if (!list.count)
		return 0;
	list.count = min_t(u32, list.count, INT_MAX);
	to = u64_to_user_ptr(list.entries);
	do {
		cond_resched();
		from = list.cursor;
		twheel_file_lock(file);
		n = list_chunk(file, &list.cursor, to + done,
			       min_t(long, list.count - done, TWHEEL_LIST_CHUNK));
		twheel_file_unlock(file);
		missing = n == -EAGAIN;
		if (missing) /* bring it in by access: no other way is certain to be enough */
			n = clear_user(to + done, sizeof(*to)) ? -EFAULT : 0;
		if (n < 0)
			break;
		done += n;
		/* Otherwise the cursor stays only at the end. */
	} while ((missing || list.cursor != from) && done < list.count &&
		 !(done ? signal_pending(current) : fatal_signal_pending(current)));
	if (done && put_user(list.cursor, &arg->cursor))
		return -EFAULT;
	return done ?: n;
}

/* ---- The wheel ---- */

static void fill_info(struct twheel_file *file, struct twheel_info *info)
{
	const struct twheel *w = &file->wheel;

	lockdep_assert_held(&file->lock);
	*info = (struct twheel_info) {
		.tick_ns = w->tick.value,
		.max_timers = file->max_timers,
		.wheel_size = w->size.value,
		.clock_id = file->clock_id,
		.now_ns = twheel_file_now(file),
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
		twheel_file_lock(file);
		more = twheel_file_advance(file, TWHEEL_NEVER, TWHEEL_STEPS);
		if (!more)
			fill_info(file, &info);
		twheel_file_unlock(file);
	} while (more);
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

/* Count the timers and the busy buckets of a level, in bounded holds of the lock. */
static void show_level(struct seq_file *m, struct twheel_file *file, unsigned int nr)
{
	u32 i = 0, end, size, busy;
	u64 timers = 0;

	do {
		const struct twheel_level *level = NULL;

		cond_resched();
		twheel_file_lock(file);
		/* TWHEEL_SETUP can have freed it. */
		if (nr < file->wheel.nr_levels)
			level = file->wheel.level[nr];
		busy = level ? level->nr_busy : 0;
		size = busy ? level->size : 0;
		end = min(i + TWHEEL_SHOW_BUCKETS, size);
		while (i < end)
			timers += level->bucket[i++].count;
		twheel_file_unlock(file);
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

	twheel_file_lock(file);
	fill_info(file, &info);
	twheel_file_unlock(file);
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
