// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listing the timers of a wheel
 *
 * The cursor is a place in the store: the lower half of an id. A timer never leaves its place
 * and each place is visited once, so a timer that exists throughout is listed exactly once,
 * and no id twice.
 */
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "twheel_file.h"

/* Number of timers listed with one hold of the lock. */
#define TWHEEL_LIST_CHUNK	(4 * TWHEEL_CHUNK)
/* Number of blocks searched with one hold of the lock: a page with few timers takes longest. */
#define TWHEEL_LIST_BLOCKS	16

/*
 * List up to @max timers from *@cursor on, with the lock held; returns how many, -EFAULT, or
 * -EAGAIN if the memory is not there now. No function may be called while user memory is open: all
 * are inline.
 */
static int list_chunk(struct twheel_file *file, u64 *cursor, struct twheel_listed __user *to,
		      unsigned int max)
{
	/* A read would return timers due by this, even if the wheel has not been advanced. */
	u64 reached = twheel_floor(&file->wheel, twheel_file_now(file)) *
		      file->wheel.tick.divisor;
	bool set_back = twheel_file_is_set_back(file);
	unsigned long slot = array_index_nospec(*cursor & TWHEEL_SLOT_MASK, TWHEEL_PAGE_ENTRIES);
	unsigned long nr = *cursor >> TWHEEL_SLOT_BITS, blocks = TWHEEL_LIST_BLOCKS;
	struct twheel_listed __user *u = to, *end = to + max;
	struct twheel_entry *entry;
	int err = -EAGAIN;
	bool expired;

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
			expired = (twheel_expired(&entry->timer) && !set_back) ||
				  entry->timer.deadline <= reached;
			unsafe_put_user((u64)entry->timer.tag << 32 | base | slot, &u->id, out);
			unsafe_put_user(entry->data, &u->data, out);
			unsafe_put_user(entry->timer.deadline, &u->deadline_ns, out);
			unsafe_put_user(entry->interval, &u->interval_ns, out);
			unsafe_put_user(expired ? TWHEEL_EXPIRED : TWHEEL_PENDING, &u->state, out);
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
