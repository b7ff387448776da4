/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The differences between kernel versions that twheel_compat.h does not need
 */
#ifndef _BENCH_COMPAT_H
#define _BENCH_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define timer_delete_sync(timer)	del_timer_sync(timer)
#endif

#endif /* _BENCH_COMPAT_H */
