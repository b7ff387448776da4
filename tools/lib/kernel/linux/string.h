/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_STRING_H
#define _LIBTWHEEL_LINUX_STRING_H

#include <string.h>

#endif /* _LIBTWHEEL_LINUX_STRING_H */
