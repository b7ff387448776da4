/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_MM_H
#define _LIBTWHEEL_LINUX_MM_H

#define PAGE_SIZE		4096UL
#define PAGE_ALIGN(bytes)	(((bytes) + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1))

#endif /* _LIBTWHEEL_LINUX_MM_H */
