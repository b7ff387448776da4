/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differences between kernel versions and processors, and nothing else
 */
#ifndef _TWHEEL_COMPAT_H
#define _TWHEEL_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

/* There, no more than 32 bits can be read without the checks of get_user(). */
#ifdef CONFIG_ARM
#define unsafe_get_u64(x, ptr, label)	unsafe_op_wrap(get_user(x, ptr), label)
#else
#define unsafe_get_u64(x, ptr, label)	unsafe_get_user(x, ptr, label)
#endif

#endif /* _TWHEEL_COMPAT_H */
