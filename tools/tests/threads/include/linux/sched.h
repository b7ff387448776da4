/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_SCHED_H
#define _DRIVER_LINUX_SCHED_H

#include <linux/bug.h>

#include "../../kernel.h"

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

static inline void cond_resched(void)
{
	may_sleep();
	breathing_space();
}

#endif /* _DRIVER_LINUX_SCHED_H */
