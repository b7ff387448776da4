/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_JIFFIES_H
#define _DRIVER_LINUX_JIFFIES_H

#include <linux/timekeeping.h>

#define jiffies	((unsigned long)ktime_get_ns())

#endif /* _DRIVER_LINUX_JIFFIES_H */
