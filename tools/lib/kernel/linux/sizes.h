/* SPDX-License-Identifier: MIT */
#ifndef _LIBTWHEEL_LINUX_SIZES_H
#define _LIBTWHEEL_LINUX_SIZES_H

#define SZ_64K	0x10000
#define SZ_1M	0x100000

#endif /* _LIBTWHEEL_LINUX_SIZES_H */
