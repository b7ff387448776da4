/* SPDX-License-Identifier: MIT */
#ifndef _NATIVE_LINUX_SCHED_H
#define _NATIVE_LINUX_SCHED_H

static inline void cond_resched(void)
{
}

#endif /* _NATIVE_LINUX_SCHED_H */
