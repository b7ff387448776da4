/* SPDX-License-Identifier: MIT */
/*
 * Nobody to keep a secret from
 */
#ifndef _NATIVE_LINUX_NOSPEC_H
#define _NATIVE_LINUX_NOSPEC_H

#define array_index_mask_nospec(index, size)	(-((unsigned long)(index) < (size)))

#endif /* _NATIVE_LINUX_NOSPEC_H */
