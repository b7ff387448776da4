/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_SCHED_H
#define _LIBTWHEEL_LINUX_SCHED_H

static inline void cond_resched(void)
{
}

#endif /* _LIBTWHEEL_LINUX_SCHED_H */
