/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_IO_URING_H
#define _DRIVER_LINUX_IO_URING_H

#include <linux/types.h>

#endif /* _DRIVER_LINUX_IO_URING_H */
