/* SPDX-License-Identifier: MIT */
/*
 * The wait queues of the suite threads, with a point before each lockless check
 */
#ifndef _INTERLEAVE_LINUX_WAIT_H
#define _INTERLEAVE_LINUX_WAIT_H

#include_next <linux/wait.h>

#define waitqueue_active(wq)						\
({									\
	if ((wq)->lock.owner != current)				\
		POINT("waitqueue_active");				\
	waitqueue_active(wq);						\
})

#define wq_has_sleeper(wq)	({ POINT("wq_has_sleeper"); wq_has_sleeper(wq); })

#endif /* _INTERLEAVE_LINUX_WAIT_H */
