/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: describing the timer that expired first, and taking it
 *
 * An event is written first, to user memory or to a ring, and its timer is taken after that, with
 * one hold of the lock. Inline, as reading many events is mostly this.
 */
#ifndef _TWHEEL_EVENT_H
#define _TWHEEL_EVENT_H

#include <linux/list.h>
#include <linux/math64.h>

#include "twheel_file.h"
#include "twheel_trace.h"

static inline struct twheel_timer *twheel_first_expired(const struct twheel_file *file)
{
	return list_first_entry(&file->wheel.expired, struct twheel_timer, node);
}

/* Return how many periods of an expired timer have passed: 1 if it is not periodic. */
static __always_inline u64 twheel_periods(const struct twheel_file *file,
					  const struct twheel_entry *entry)
{
	if (likely(!entry->interval) || entry->timer.deadline >= file->wheel.time)
		return 1;
	return div64_u64(file->wheel.time - entry->timer.deadline, entry->interval) + 1;
}

static __always_inline struct twheel_event twheel_event_of(const struct twheel_file *file,
							   const struct twheel_entry *entry)
{
	return (struct twheel_event) {
		.id = twheel_entry_id(entry),
		.data = entry->data,
		.deadline_ns = entry->timer.deadline,
		.count = twheel_periods(file, entry),
	};
}

/* Rearm a periodic timer: its next deadline is up to a period later than the wheel's clock. */
static inline void twheel_rearm(struct twheel_file *file, struct twheel_entry *entry)
{
	entry->timer.deadline = min_t(u64, KTIME_MAX, entry->timer.deadline +
				      twheel_periods(file, entry) * entry->interval);
	if (WARN_ON_ONCE(!twheel_add(&file->wheel, &entry->timer)))
		twheel_expire(&file->wheel, &entry->timer);
}

/* Take the first expired timer, @entry, whose event has been written. */
static __always_inline void twheel_take(struct twheel_file *file, struct twheel_entry *entry)
{
	twheel_pop(&file->wheel);
	file->delivered++;
	trace_twheel_deliver(file, entry);
	if (unlikely(entry->interval))
		twheel_rearm(file, entry);
	else
		twheel_store_put(&file->store, entry);
}

#endif /* _TWHEEL_EVENT_H */
