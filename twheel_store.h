/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of the timers of one wheel, and their ids
 *
 * The comment at the top of twheel_store.c describes how it works.
 */
#ifndef _TWHEEL_STORE_H
#define _TWHEEL_STORE_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/types.h>

#include "twheel.h"

/**
 * struct twheel_entry - a timer, as the driver stores it
 * @timer: the wheel's part. Its tag is the generation of the id, and zero while
 *	the entry is free; its slot is the entry's place in the page.
 * @data: the caller's data. While the entry is free: the distance from the slot after it to the
 *	next free slot, modulo 2^64. A page of zeros is thus a list of all its entries.
 * @interval: period in nanoseconds, or 0.
 */
struct twheel_entry {
	struct twheel_timer timer;
	u64 data;
	u64 interval;
};

static_assert(sizeof(struct list_head) != 16 || sizeof(struct twheel_entry) == 48);

/**
 * struct twheel_page - the memory of a block: a page of entries
 * @link: on the store's list of pages with free entries; else empty.
 * @next: links pages that have been taken out of the store.
 * @base: number of the block, shifted to its place in an id.
 * @generation: the generation that the next entry taken gets.
 * @used: number of entries in use.
 * @free: the slot of the first free entry, or TWHEEL_PAGE_ENTRIES.
 * @entry: the entries.
 */
struct twheel_page {
	struct list_head link;
	struct twheel_page *next;
	u32 base;
	u32 generation;
	u32 used;
	u16 free;
	struct twheel_entry entry[] __aligned(8);
};

#define TWHEEL_PAGE_ENTRIES \
	((PAGE_SIZE - offsetof(struct twheel_page, entry)) / sizeof(struct twheel_entry))

/* The bits of an id that number the entries of a page: a byte for pages of 4 KiB. */
#ifndef TWHEEL_SLOT_BITS
#define TWHEEL_SLOT_BITS	(PAGE_SHIFT - 4)
#endif
#define TWHEEL_SLOT_MASK	(BIT(TWHEEL_SLOT_BITS) - 1)

/* A leaf of the directory fills a page. */
#define TWHEEL_LEAF_BITS	(PAGE_SHIFT - 3)
#define TWHEEL_LEAF_BLOCKS	BIT(TWHEEL_LEAF_BITS)

/* Number of leaves that the first directory has room for. */
#define TWHEEL_DIR_MIN_LEAVES	8

/**
 * struct twheel_store - the timers of one wheel
 * @dir: the directory: leaves of blocks, by number. A block is the address of
 *	its page, or as twheel_block_is_unbacked() describes.
 * @dir_leaves: how many leaves the directory has room for.
 * @nr_leaves: how many it has.
 * @nr_blocks: how many blocks have been numbered.
 * @nr_pages: how many pages there are.
 * @nr_empty: how many of the pages have no entry in use, and generations left.
 * @unbacked: the block without a page that gets the next one, or TWHEEL_NO_BLOCK.
 * @partial: pages with free entries; empty pages are last.
 */
struct twheel_store {
	u64 **dir;
	u32 dir_leaves;
	u32 nr_leaves;
	u32 nr_blocks;
	u32 nr_pages;
	u32 nr_empty;
	u32 unbacked;
	struct list_head partial;
};

/* The most pages that one call takes back, so that the lock is not held long. */
#define TWHEEL_TRIM		128

#define TWHEEL_NO_BLOCK		(U32_MAX >> TWHEEL_SLOT_BITS)

void twheel_store_init(struct twheel_store *store);
void twheel_store_destroy(struct twheel_store *store);

size_t twheel_store_growth(const struct twheel_store *store);
int twheel_store_grow(struct twheel_store *store, void *memory, gfp_t gfp);
struct twheel_page *twheel_store_trim(struct twheel_store *store, u32 keep);
void twheel_pages_free(struct twheel_page *page);
void twheel_store_page_changed(struct twheel_store *store, struct twheel_page *page);

static __always_inline struct twheel_page *twheel_entry_page(const struct twheel_entry *entry)
{
	return (struct twheel_page *)((unsigned long)entry & PAGE_MASK);
}

/* Return how many bytes of memory a store holds. */
static inline size_t twheel_store_bytes(const struct twheel_store *store)
{
	return ((size_t)store->nr_pages + store->nr_leaves) * PAGE_SIZE +
	       store->dir_leaves * sizeof(*store->dir);
}

static inline u64 *twheel_store_block(const struct twheel_store *store, unsigned long nr)
{
	return &store->dir[nr >> TWHEEL_LEAF_BITS][nr % TWHEEL_LEAF_BLOCKS];
}

static inline bool twheel_store_can_trim(const struct twheel_store *store, u32 keep)
{
	return store->nr_empty > keep;
}

/* An unbacked block is an odd number: its generation, the next such block in 31 bits, a one. */
static inline bool twheel_block_is_unbacked(u64 block)
{
	return block & 1;
}

/*
 * Return true if a page may not have a generation left for each of its entries, after four billion
 * timers. Then no more entries are taken from it, and it is kept when it falls empty.
 */
static inline bool twheel_page_out_of_generations(const struct twheel_page *page)
{
	return page->generation > U32_MAX - TWHEEL_PAGE_ENTRIES;
}

static __always_inline u32 twheel_entry_slot(const struct twheel_page *page,
					     const struct twheel_entry *entry)
{
	/* A large page has more entries than a byte can number. */
	if (TWHEEL_PAGE_ENTRIES > U8_MAX)
		return entry - page->entry;
	return entry->timer.slot;
}

/**
 * twheel_entry_id() - the id of a timer
 * @entry: an entry in use
 *
 * Return: the id, never zero.
 */
static __always_inline u64 twheel_entry_id(const struct twheel_entry *entry)
{
	struct twheel_page *page = twheel_entry_page(entry);

	return (u64)entry->timer.tag << 32 | page->base | twheel_entry_slot(page, entry);
}

/**
 * struct twheel_run - free entries of one page, to be taken one after the other
 * @page: their page.
 * @id: the id that the next entry gets.
 *
 * A run reads the fields of the page once. Between twheel_run_begin() and
 * twheel_run_end(), the store must not be used otherwise.
 */
struct twheel_run {
	struct twheel_page *page;
	u64 id;
};

/**
 * twheel_run_begin() - begin to take entries
 * @store: the store
 * @run: set to the free entries of one page
 *
 * Return: how many entries it has; or 0 if there is no free entry: see twheel_store_grow().
 */
static inline u32 twheel_run_begin(const struct twheel_store *store, struct twheel_run *run)
{
	struct twheel_page *page = list_first_entry(&store->partial, struct twheel_page, link);

	run->page = page;
	if (list_entry_is_head(page, &store->partial, link))
		return 0;
	run->id = (u64)page->generation << 32 | page->base | page->free;
	return TWHEEL_PAGE_ENTRIES - page->used;
}

/**
 * twheel_run_take() - take the next entry into use
 * @run: the run, with an entry left
 *
 * Return: the entry.
 */
static __always_inline struct twheel_entry *twheel_run_take(struct twheel_run *run)
{
	struct twheel_entry *entry = &run->page->entry[run->id & TWHEEL_SLOT_MASK];

	/* Otherwise the compiler recomputes the address for each field. */
	OPTIMIZER_HIDE_VAR(entry);
	entry->timer.tag = run->id >> 32;
	entry->timer.slot = run->id;
	/* The next generation, and the slot of the next free entry. */
	run->id += BIT_ULL(32) + 1 + entry->data;
	return entry;
}

/**
 * twheel_run_end() - account for the entries that have been taken
 * @store: the store
 * @run: the run
 *
 * Return: how many entries were taken.
 */
static inline u32 twheel_run_end(struct twheel_store *store, const struct twheel_run *run)
{
	struct twheel_page *page = run->page;
	u32 n = (run->id >> 32) - page->generation;

	if (!n)
		return 0;
	if (!page->used)
		store->nr_empty--;
	page->free = run->id & TWHEEL_SLOT_MASK;
	page->generation += n;
	page->used += n;
	if (unlikely(page->used == TWHEEL_PAGE_ENTRIES || twheel_page_out_of_generations(page)))
		list_del_init(&page->link);
	return n;
}

/**
 * twheel_store_put() - free an entry, in O(1)
 * @store: the store
 * @entry: from twheel_run_take(). Its id is void from now on.
 */
static inline void twheel_store_put(struct twheel_store *store, struct twheel_entry *entry)
{
	struct twheel_page *page = twheel_entry_page(entry);
	u32 slot = twheel_entry_slot(page, entry);

	entry->timer.tag = 0;
	entry->data = (u64)page->free - slot - 1;
	page->free = slot;
	/* The page was full, and is not listed; or it has fallen empty. */
	if (unlikely(!--page->used || list_empty(&page->link)))
		twheel_store_page_changed(store, page);
}

/**
 * twheel_store_find() - find an entry by its id, in O(1)
 * @store: the store
 * @id: any number
 * @found: set to the entry in use that has this id, if there is one
 *
 * Return: whether there is one.
 */
static __always_inline bool twheel_store_find(const struct twheel_store *store, u64 id,
					      struct twheel_entry **found)
{
	unsigned long slot = id & TWHEEL_SLOT_MASK;
	unsigned long nr = (id & U32_MAX) >> TWHEEL_SLOT_BITS;
	u32 generation = id >> 32;
	struct twheel_entry *entry;
	unsigned long mask;
	u64 block;

	/* All ones if both are valid, else zero, also under speculation. */
	mask = array_index_mask_nospec(nr, store->nr_blocks) &
	       array_index_mask_nospec(slot, TWHEEL_PAGE_ENTRIES);
	if (unlikely(!(mask & generation)))
		return false;
	block = *twheel_store_block(store, nr & mask);
	if (unlikely(twheel_block_is_unbacked(block)))
		return false;
	entry = &((struct twheel_page *)(unsigned long)block)->entry[slot & mask];
	/* Otherwise the compiler recomputes the address for each field. */
	OPTIMIZER_HIDE_VAR(entry);
	*found = entry;
	return likely(entry->timer.tag == generation);
}

#endif /* _TWHEEL_STORE_H */
