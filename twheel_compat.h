/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differences between kernel versions, and nothing else
 */
#ifndef _TWHEEL_COMPAT_H
#define _TWHEEL_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/io_uring.h>
#include <linux/mm.h>
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

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#include <linux/io_uring/cmd.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define uring_cmd_data(ioucmd)			((ioucmd)->cmd)
#else
#define uring_cmd_data(ioucmd)			((const void *)(ioucmd)->sqe->cmd)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define uring_cmd_done(ioucmd, ret, flags)	io_uring_cmd_done(ioucmd, ret, 0, flags)
#else
#define uring_cmd_done(ioucmd, ret, flags)	io_uring_cmd_done(ioucmd, ret, flags)
#endif

/* For large arrays, which some kernels would zero on the stack. */
#ifndef __uninitialized
#define __uninitialized
#endif

#endif /* _TWHEEL_COMPAT_H */
