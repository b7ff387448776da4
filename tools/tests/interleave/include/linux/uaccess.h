/* SPDX-License-Identifier: MIT */
/*
 * A point before each access to user memory, which is always there
 *
 * Memory that is opened once has one point for all of its accesses: others only see that the
 * lock is held.
 */
#ifndef _INTERLEAVE_LINUX_UACCESS_H
#define _INTERLEAVE_LINUX_UACCESS_H

#define page_is_gone()	false
#include_next <linux/uaccess.h>

#define copy_from_user(to, from, n)	({ POINT("copy_from_user"); copy_from_user(to, from, n); })
#define copy_to_user(to, from, n)	({ POINT("copy_to_user"); copy_to_user(to, from, n); })
#define user_access_begin(p, n)		({ POINT("user_access_begin"); user_access_begin(p, n); })

#endif /* _INTERLEAVE_LINUX_UACCESS_H */
