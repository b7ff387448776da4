/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_USER_NAMESPACE_H
#define _DRIVER_LINUX_USER_NAMESPACE_H

struct user_namespace {
	int unused;
};

static struct user_namespace init_user_ns __attribute__((unused));

#endif /* _DRIVER_LINUX_USER_NAMESPACE_H */
