/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_SCHED_SIGNAL_H
#define _DRIVER_LINUX_SCHED_SIGNAL_H

#include <linux/sched.h>

#endif /* _DRIVER_LINUX_SCHED_SIGNAL_H */
