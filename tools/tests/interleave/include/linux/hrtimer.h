/* SPDX-License-Identifier: MIT */
#ifndef _INTERLEAVE_LINUX_HRTIMER_H
#define _INTERLEAVE_LINUX_HRTIMER_H

#include_next <linux/hrtimer.h>

/* The tree of queued hrtimers is sorted by it. */
static inline void hrtimer_set_expires_checked(struct hrtimer *timer, ktime_t time)
{
	if (timer->queued)
		broken("the time of a queued hrtimer is changed");
	hrtimer_set_expires(timer, time);
}

#define hrtimer_setup(timer, function, clock, mode)			\
do {									\
	if ((timer)->queued)						\
		broken("an hrtimer is set up while it is queued");	\
	hrtimer_setup(timer, function, clock, mode);			\
} while (0)

#define hrtimer_set_expires(timer, time)	hrtimer_set_expires_checked(timer, time)

#endif /* _INTERLEAVE_LINUX_HRTIMER_H */
