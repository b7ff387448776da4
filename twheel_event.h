/* SPDX-License-Identifier: GPL-2.0-only */
/* Taking the events of expired timers: for reads, and for polls that fill a ring */
#ifndef _TWHEEL_EVENT_H
#define _TWHEEL_EVENT_H

#include "twheel_file.h"
#include "twheel_trace.h"

/* Return true if a read would return an event now: none while the clock is being set back. */
static inline bool has_expired(const struct twheel_file *file)
{
	return file->wheel.nr_expired && !twheel_is_rewinding(&file->wheel);
}

static inline struct twheel_entry *first_expired(const struct twheel_file *file)
{
	return list_first_entry(&file->wheel.expired, struct twheel_entry, timer.node);
}

/*
 * Return how many periods of an expired timer have passed: all whose tick has ended. If the wheel
 * lags behind, its clock is not the present; but no more than leave the next deadline within the
 * levels, which cover @max_delay from the wheel's clock on. A later event counts the others.
 */
static inline u64 count_periods(const struct twheel_file *file, const struct twheel_entry *entry)
{
	const struct twheel *w = &file->wheel;
	u64 last = w->time;

	if (unlikely(file->now - w->time >= w->tick))
		last = min(twheel_floor(w, file->now) * w->tick,
			   w->time + (file->max_delay - entry->interval));
	if (last <= entry->timer.deadline)
		return 1;
	return div64_u64(last - entry->timer.deadline, entry->interval) + 1;
}

static inline u64 next_deadline(u64 deadline, u64 count, u64 interval)
{
	return min_t(u64, KTIME_MAX, deadline + count * interval);
}

/*
 * Take the event of the timer that expired first. A periodic timer is rearmed: the levels cover its
 * next deadline, see count_periods(). Returns the entry of any other one, to be freed; or NULL.
 */
static __always_inline struct twheel_entry *take(struct twheel_file *file,
						 struct twheel_event *event)
{
	struct twheel_entry *entry = first_expired(file);
	u64 interval = entry->interval, count = likely(!interval) ? 1 : count_periods(file, entry);

	lockdep_assert_held(&file->lock);
	/* As twheel_pop(), which would ask once more whether there is one. */
	twheel_unlink(&entry->timer);
	file->wheel.nr_expired--;
	/* It may be memory that the program writes to: it is not read. */
	*event = (struct twheel_event) {
		.id = twheel_entry_id(entry),
		.data = entry->data,
		.deadline_ns = entry->timer.deadline,
		.count = count,
	};
	trace_twheel_deliver(file, entry);
	if (likely(!interval))
		return entry;
	entry->timer.deadline = next_deadline(entry->timer.deadline, count, interval);
	twheel_add(&file->wheel, &entry->timer);
	return NULL;
}

#endif /* _TWHEEL_EVENT_H */
