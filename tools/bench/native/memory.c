// SPDX-License-Identifier: MIT
/*
 * Memory for the facilities, populated before anything is measured
 */
#include <err.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "native.h"

#define HUGE_PAGE	(2UL << 20)

static size_t map_bytes(size_t bytes)
{
	return (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

void *bench_alloc(size_t bytes)
{
	size_t length = map_bytes(bytes);
	void *p = mmap(NULL, length, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "%zu bytes of memory", length);
	/* The kernel maps its memory with huge pages, too. It may fail. */
	if (bytes >= HUGE_PAGE)
		madvise(p, length, MADV_HUGEPAGE);
	memset(p, 0, bytes);
	return p;
}

void bench_free(void *p, size_t bytes)
{
	munmap(p, map_bytes(bytes));
}

void bench_fill_heap(size_t bytes)
{
	char *p;

	mallopt(M_MMAP_THRESHOLD, INT32_MAX);
	mallopt(M_TRIM_THRESHOLD, INT32_MAX);
	p = malloc(bytes);
	if (!p)
		err(1, "%zu bytes of memory", bytes);
	madvise((void *)map_bytes((size_t)p), bytes & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
	memset(p, 0, bytes);
	/* Keep the compiler from removing it as unused. */
	__asm__ volatile("" : : "r"(p) : "memory");
	free(p);
}
