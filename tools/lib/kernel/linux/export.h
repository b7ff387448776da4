/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_EXPORT_H
#define _LIBTWHEEL_LINUX_EXPORT_H

/* libtwheel.map lists the exported symbols. */
#define EXPORT_SYMBOL_GPL(name)	struct __twheel_nothing

#endif /* _LIBTWHEEL_LINUX_EXPORT_H */
