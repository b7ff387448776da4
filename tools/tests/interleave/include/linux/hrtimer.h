/* SPDX-License-Identifier: MIT */
#ifndef _INTERLEAVE_LINUX_HRTIMER_H
#define _INTERLEAVE_LINUX_HRTIMER_H

#include_next <linux/hrtimer.h>

#define hrtimer_setup(timer, function, clock, mode)			\
do {									\
	if ((timer)->queued)						\
		broken("an hrtimer is set up while it is queued");	\
	hrtimer_setup(timer, function, clock, mode);			\
} while (0)

#endif /* _INTERLEAVE_LINUX_HRTIMER_H */
