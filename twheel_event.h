/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking the event of the timer that expired first; inline, as it is hot in read()
 */
#ifndef _TWHEEL_EVENT_H
#define _TWHEEL_EVENT_H

#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/math64.h>

#include "twheel_file.h"
#include "twheel_trace.h"

/* Return true if a read would return an event without another advance. */
static inline bool twheel_has_event(const struct twheel_file *file)
{
	/* What had expired may be pending again after a clock was set back. */
	return file->wheel.nr_expired && !twheel_is_rewinding(&file->wheel);
}

static inline struct twheel_timer *twheel_first_expired(const struct twheel_file *file)
{
	return list_first_entry(&file->wheel.expired, struct twheel_timer, node);
}

/*
 * Return how many periods of an expired timer have passed: all whose tick has ended. If the wheel
 * lags behind, its clock is not the present; but no more than leave the next deadline within the
 * levels, which cover @max_delay from the wheel's clock on. A later event counts the others.
 */
static inline u64 twheel_periods(const struct twheel_file *file, const struct twheel_entry *entry)
{
	const struct twheel *w = &file->wheel;
	u64 last = w->time;

	if (unlikely(twheel_is_due(w)))
		last = min(twheel_floor(w, file->now) * w->tick.value,
			   w->time + (file->max_delay - entry->interval));
	if (last <= entry->timer.deadline)
		return 1;
	return div64_u64(last - entry->timer.deadline, entry->interval) + 1;
}

/*
 * Take the event of the timer that expired first. A periodic timer is rearmed: the levels cover its
 * next deadline, see twheel_periods(). Any other one is out of the wheel, and its entry has to be
 * freed. Returns that entry; or NULL if it was periodic.
 */
static __always_inline struct twheel_entry *twheel_take(struct twheel_file *file,
							struct twheel_event *event)
{
	struct twheel_entry *entry = to_entry(twheel_pop(&file->wheel));
	u64 count = likely(!entry->interval) ? 1 : twheel_periods(file, entry);

	lockdep_assert_held(&file->lock);
	/* It may be memory that the program writes to: it is not read. */
	*event = (struct twheel_event) {
		.id = twheel_entry_id(entry),
		.data = entry->data,
		.deadline_ns = entry->timer.deadline,
		.count = count,
	};
	file->delivered++;
	trace_twheel_deliver(file, entry);
	if (likely(!entry->interval))
		return entry;
	entry->timer.deadline = min_t(u64, KTIME_MAX,
				      entry->timer.deadline + count * entry->interval);
	twheel_add(&file->wheel, &entry->timer);
	return NULL;
}

#endif /* _TWHEEL_EVENT_H */
