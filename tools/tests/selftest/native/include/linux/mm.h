/* SPDX-License-Identifier: MIT */
/*
 * Pages of a ring, which can be mapped a second time
 */
#include_next <linux/mm.h>

#ifndef _SELFTEST_LINUX_MM_H
#define _SELFTEST_LINUX_MM_H

void *shared_pages(size_t size);
int munmap(void *pages, size_t size);

#define alloc_pages_exact(size, gfp)	shared_pages(size)
#define free_pages_exact(pages, size)	((void)munmap(pages, size))

#endif /* _SELFTEST_LINUX_MM_H */
