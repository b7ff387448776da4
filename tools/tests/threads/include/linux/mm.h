/* SPDX-License-Identifier: MIT */
/*
 * Pages, how many the machine has, and memory that is mapped
 */
#pragma once

#include <linux/fs.h>
#include <linux/sizes.h>

#include_next <linux/mm.h>

#define get_zeroed_page(gfp)	(out_of_memory() ? 0 : get_zeroed_page(gfp))

/* AddressSanitizer detects accesses beyond them. */
static inline void *alloc_pages_exact(size_t size, gfp_t gfp)
{
	void *pages = out_of_memory() ? NULL : aligned_alloc(PAGE_SIZE, PAGE_ALIGN(size));

	/* The contents of new pages are undefined, unless zeroed. */
	return pages ? memset(pages, gfp & __GFP_ZERO ? 0 : 0xa5, PAGE_ALIGN(size)) : NULL;
}

static inline void free_pages_exact(void *pages, size_t size)
{
	may_call();
	if (!size)
		broken("pages of no size are freed");
	free(pages);
}

#define VM_SHARED	BIT(3)
#define VM_MAYSHARE	BIT(7)
#define VM_DONTCOPY	BIT(17)
#define VM_DONTEXPAND	BIT(18)
#define VM_DONTDUMP	BIT(26)

/* A page is where it is. */
struct page;

/* A mapping of mmap(2): see sys_mmap() */
struct vm_area_struct {
	unsigned long vm_start;	/* its first address in the program */
	unsigned long vm_end;	/* the one behind it */
	unsigned long vm_pgoff;	/* the first page of the file */
	unsigned long vm_flags;	/* VM_SHARED, and what the driver sets */
	struct page **pages;	/* the pages that the driver has inserted */
};

static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	may_sleep();
	vma->vm_flags |= flags;
}

static inline struct page *virt_to_page(void *address)
{
	return (struct page *)((unsigned long)address & PAGE_MASK);
}

/* It takes memory for the page tables of the program. */
static inline int vm_insert_page(struct vm_area_struct *vma, unsigned long address,
				 struct page *page)
{
	unsigned long nr = (address - vma->vm_start) >> PAGE_SHIFT;

	if (address < vma->vm_start || address >= vma->vm_end || address & ~PAGE_MASK)
		broken("a page is inserted where nothing is mapped");
	if (vma->pages[nr])
		broken("a page is inserted on top of another one");
	if (out_of_memory())
		return -ENOMEM;
	vma->pages[nr] = page;
	return 0;
}

struct sysinfo {
	unsigned long totalram, totalhigh;
};

#define si_meminfo(si)	(*(si) = (struct sysinfo) { .totalram = 1UL << (30 - PAGE_SHIFT) })
