/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_JIFFIES_H
#define _DRIVER_LINUX_JIFFIES_H

#include <linux/timekeeping.h>

#define jiffies	((unsigned long)ktime_get_ns())
#define time_after(a, b)	((long)((b) - (a)) < 0)

#endif /* _DRIVER_LINUX_JIFFIES_H */
