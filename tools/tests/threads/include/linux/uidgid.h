/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_UIDGID_H
#define _DRIVER_LINUX_UIDGID_H

#include <linux/types.h>

struct user_namespace;

typedef struct {
	u32 val;
} kuid_t;

static inline u32 __kuid_val(kuid_t uid)
{
	return uid.val;
}

static inline bool uid_eq(kuid_t a, kuid_t b)
{
	return a.val == b.val;
}

static inline u32 from_kuid_munged(struct user_namespace *ns, kuid_t uid)
{
	(void)ns;
	return uid.val;
}

#endif /* _DRIVER_LINUX_UIDGID_H */
