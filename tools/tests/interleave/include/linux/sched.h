/* SPDX-License-Identifier: MIT */
#ifndef _INTERLEAVE_LINUX_SCHED_H
#define _INTERLEAVE_LINUX_SCHED_H

#include_next <linux/sched.h>

/* The scenario decides. */
extern bool processor_is_idle;
#define is_idle_task(task)	((task)->in_irq && processor_is_idle)

#endif /* _INTERLEAVE_LINUX_SCHED_H */
