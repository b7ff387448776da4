/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_MODULE_H
#define _DRIVER_LINUX_MODULE_H

#include <stdio.h>

#include <linux/moduleparam.h>

#include "../../kernel.h"

#define KBUILD_MODNAME		"twheel"
#define THIS_MODULE		NULL
#define __exit

/* Enabled options are 1. */
#define IS_ENABLED(CONFIG_option)	(CONFIG_option)
#define PTR_IF(cond, ptr)	((cond) ? (ptr) : NULL)

#define MODULE_AUTHOR(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)
#define MODULE_VERSION(text)

#define module_init(function)	int module_load(void) { return function(); }
#define module_exit(function)	void module_unload(void) { function(); }

#define pr_err(format, ...)	fprintf(stderr, pr_fmt(format), ##__VA_ARGS__)

#endif /* _DRIVER_LINUX_MODULE_H */
