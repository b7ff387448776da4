/* SPDX-License-Identifier: MIT */
#ifndef _NATIVE_LINUX_PREFETCH_H
#define _NATIVE_LINUX_PREFETCH_H

#define prefetch(address)	__builtin_prefetch(address)
#define prefetchw(address)	__builtin_prefetch(address, 1)

#endif /* _NATIVE_LINUX_PREFETCH_H */
