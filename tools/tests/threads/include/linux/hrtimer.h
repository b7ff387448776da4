/* SPDX-License-Identifier: MIT */
/*
 * Hrtimers: one thread is their interrupt, see kernel.c
 */
#pragma once

#include <linux/limits.h>
#include <linux/list.h>
#include <linux/timerqueue.h>

#include "../../kernel.h"

#define KTIME_MAX	((s64)(U64_MAX >> 1))

enum hrtimer_restart { HRTIMER_NORESTART };
enum hrtimer_mode { HRTIMER_MODE_ABS };

struct hrtimer {
	struct list_head node;	/* among those that are queued; empty if it is not */
	u64 expires;
	clockid_t clock;
	enum hrtimer_restart (*function)(struct hrtimer *timer);
};

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	if (timer->function && !list_empty(&timer->node))
		broken("an hrtimer is set up while it is queued");
	*timer = (struct hrtimer) { LIST_HEAD_INIT(timer->node), 0, clock, function };
}

static inline bool hrtimer_is_queued(const struct hrtimer *timer)
{
	return !list_empty(&timer->node);
}

/* The time until a timer is due. */
static inline u64 hrtimer_get_remaining(const struct hrtimer *timer)
{
	u64 now = clock_now(timer->clock);

	return timer->expires > now ? timer->expires - now : 0;
}

/* The one of a list that is due first, on whatever clock; NULL if there is none. */
static inline struct hrtimer *hrtimer_earliest(struct list_head *timers)
{
	struct hrtimer *timer, *first = NULL;

	list_for_each_entry(timer, timers, node) {
		if (!first || hrtimer_get_remaining(timer) < hrtimer_get_remaining(first))
			first = timer;
	}
	return first;
}

void hrtimer_start(struct hrtimer *timer, ktime_t time, enum hrtimer_mode mode);
void hrtimer_cancel(struct hrtimer *timer);
