/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_SCHED_MM_H
#define _DRIVER_LINUX_SCHED_MM_H

#include <linux/memcontrol.h>

#endif /* _DRIVER_LINUX_SCHED_MM_H */
