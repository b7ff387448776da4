/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_SCHED_H
#define _DRIVER_LINUX_SCHED_H

#include <linux/bug.h>

#include "../../kernel.h"

#define TASK_INTERRUPTIBLE	1

static inline bool signal_pending(struct task_struct *task)
{
	return READ_ONCE(task->signalled);
}

/* No task has task work here, so these two differ only in the kind of signal. */
static inline bool task_sigpending(struct task_struct *task)
{
	return READ_ONCE(task->signalled);
}

static inline bool fatal_signal_pending(struct task_struct *task)
{
	return READ_ONCE(task->killed);
}

/* Interrupts come both when the processor is idle and when it is not. */
static inline bool is_idle_task(struct task_struct *task)
{
	return task->in_irq && one_in(2);
}

static inline void cond_resched(void)
{
	may_sleep();
	breathing_space();
}

static inline void schedule(void)
{
	task_sleep();
}

#endif /* _DRIVER_LINUX_SCHED_H */
