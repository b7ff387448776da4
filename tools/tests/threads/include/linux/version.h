/* SPDX-License-Identifier: MIT */
/*
 * A kernel that has everything the driver needs
 */
#ifndef _DRIVER_LINUX_VERSION_H
#define _DRIVER_LINUX_VERSION_H

#define KERNEL_VERSION(a, b, c)	((a) << 16 | (b) << 8 | (c))
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 18, 0)

#endif /* _DRIVER_LINUX_VERSION_H */
