/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_LIMITS_H
#define _LIBTWHEEL_LINUX_LIMITS_H

#include <linux/types.h>

#endif /* _LIBTWHEEL_LINUX_LIMITS_H */
