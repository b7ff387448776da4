/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_EXPORT_H
#define _LIBTWHEEL_LINUX_EXPORT_H

/* What the library exports is in its header. */
#define EXPORT_SYMBOL_GPL(name)	struct __twheel_nothing

#endif /* _LIBTWHEEL_LINUX_EXPORT_H */
