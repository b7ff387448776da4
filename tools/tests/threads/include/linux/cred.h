/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_CRED_H
#define _DRIVER_LINUX_CRED_H

#include <linux/uidgid.h>

struct cred {
	kuid_t uid;
};

#endif /* _DRIVER_LINUX_CRED_H */
