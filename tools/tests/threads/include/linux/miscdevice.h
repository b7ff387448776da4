/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_MISCDEVICE_H
#define _DRIVER_LINUX_MISCDEVICE_H

#include <linux/fs.h>

#include "../../kernel.h"

#define MISC_DYNAMIC_MINOR	255

struct miscdevice {
	int minor;
	const char *name;
	const struct file_operations *fops;
	mode_t mode;
};

static inline int misc_register(struct miscdevice *misc)
{
	if (current && fails_now())
		return -ENOMEM;
	device = misc->fops;
	return 0;
}

static inline void misc_deregister(struct miscdevice *misc)
{
	(void)misc;
	device = NULL;
}

#endif /* _DRIVER_LINUX_MISCDEVICE_H */
