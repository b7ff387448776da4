/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of the timers of one wheel, and their ids
 *
 * The comment at the top of twheel_store.c says how it works. What every
 * operation on a timer goes through is inline: it is a few instructions, and a
 * call would cost as much again.
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
 * struct twheel_entry - what the driver keeps of a timer
 * @timer: the wheel's part. Its tag is the upper half of the id, and zero while
 *	the entry is free; its slot is the entry's place in the page.
 * @data: the caller's data; the next free slot while the entry is free.
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
 * @link: on the store's list of pages with free entries.
 * @next: links pages that have been taken out of the store.
 * @chunk: what a new page brings along to put its block into, or NULL.
 * @dir: what a new page brings along to put @chunk into, or NULL.
 * @base: number of the block, where an id has it.
 * @tag: the tag that the next entry taken gets; 0 when all have been used.
 * @used: number of entries in use.
 * @fresh: number of entries that have ever been in use.
 * @free: the entry that was freed last, or TWHEEL_NO_SLOT.
 * @entry: the entries.
 */
struct twheel_page {
	struct list_head link;
	struct twheel_page *next;
	u64 *chunk;
	u64 **dir;
	u32 base;
	u32 tag;
	u16 used;
	u16 fresh;
	u16 free;
	struct twheel_entry entry[] __aligned(8);
};

#define TWHEEL_PAGE_ENTRIES \
	((PAGE_SIZE - offsetof(struct twheel_page, entry)) / sizeof(struct twheel_entry))
#define TWHEEL_NO_SLOT		U16_MAX

/* An entry has at least 32 bytes, so this many bits number those of a page. */
#define TWHEEL_SLOT_BITS	(PAGE_SHIFT - 5)

/* A chunk of the directory fills a page. */
#define TWHEEL_CHUNK_BITS	(PAGE_SHIFT - 3)
#define TWHEEL_CHUNK_BLOCKS	BIT(TWHEEL_CHUNK_BITS)

/**
 * struct twheel_store - the timers of one wheel
 * @dir: the directory: chunks of blocks, by number. A block is the address of
 *	its page, or without a page twheel_bare_block().
 * @dir_chunks: how many chunks the directory has room for.
 * @nr_blocks: how many blocks have been numbered.
 * @nr_pages: how many pages there are.
 * @nr_empty: how many of those have no entry in use.
 * @bare: the block without a page that is to get the next one, or
 *	TWHEEL_NO_BLOCK.
 * @partial: pages with free entries; those without an entry in use are last.
 */
struct twheel_store {
	u64 **dir;
	u32 dir_chunks;
	u32 nr_blocks;
	u32 nr_pages;
	u32 nr_empty;
	u32 bare;
	struct list_head partial;
};

/* Pages that one call takes back at most, so that the lock is not held long. */
#define TWHEEL_TRIM		128

#define TWHEEL_NO_BLOCK		(U32_MAX >> TWHEEL_SLOT_BITS)

void twheel_store_init(struct twheel_store *store);
void twheel_store_destroy(struct twheel_store *store);
size_t twheel_store_bytes(const struct twheel_store *store);

bool twheel_store_wants_block(const struct twheel_store *store);
bool twheel_store_full(const struct twheel_store *store);
size_t twheel_page_bytes(const struct twheel_store *store, bool block);
struct twheel_page *twheel_page_alloc(const struct twheel_store *store, bool block, gfp_t gfp);
void twheel_page_free(struct twheel_page *page);
void *twheel_store_install(struct twheel_store *store, struct twheel_page *page);
struct twheel_page *twheel_store_trim(struct twheel_store *store, u32 keep);
void twheel_store_fell_empty(struct twheel_store *store, struct twheel_page *page);

static inline struct twheel_page *twheel_entry_page(const struct twheel_entry *entry)
{
	return (struct twheel_page *)((unsigned long)entry & PAGE_MASK);
}

static inline u64 *twheel_store_block(const struct twheel_store *store, u32 nr)
{
	return &store->dir[nr >> TWHEEL_CHUNK_BITS][nr % TWHEEL_CHUNK_BLOCKS];
}

/* A block without a page, as an odd number, remembers its tag and a successor. */
static inline bool twheel_block_is_bare(u64 block)
{
	return block & 1;
}

static inline u32 twheel_entry_slot(const struct twheel_page *page,
				    const struct twheel_entry *entry)
{
	/* A large page has more than fit into a byte. */
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
static inline u64 twheel_entry_id(const struct twheel_entry *entry)
{
	struct twheel_page *page = twheel_entry_page(entry);

	return (u64)entry->timer.tag << 32 | page->base | twheel_entry_slot(page, entry);
}

/**
 * twheel_store_get() - take an entry into use
 * @store: the store
 * @id: set to the id of the entry, unless there is none
 *
 * O(1).
 *
 * Return: an entry with an id of its own and all else unset; or NULL if there
 * is no free one: give the store a page with twheel_store_install().
 */
static inline struct twheel_entry *twheel_store_get(struct twheel_store *store, u64 *id)
{
	struct twheel_entry *entry;
	struct twheel_page *page;
	u32 slot, tag, used;

	page = list_first_entry(&store->partial, struct twheel_page, link);
	if (unlikely(list_entry_is_head(page, &store->partial, link)))
		return NULL;
	slot = page->free;
	if (slot != TWHEEL_NO_SLOT) {
		entry = &page->entry[slot];
		page->free = entry->data;
	} else {
		slot = page->fresh++;
		entry = &page->entry[slot];
		entry->timer.slot = slot;
	}
	tag = page->tag;
	page->tag = tag + 1;
	entry->timer.tag = tag;
	*id = (u64)tag << 32 | page->base | slot;

	used = ++page->used;
	if (unlikely(used == 1))
		store->nr_empty--;
	/* A full page, or one out of tags, has no more to give. */
	if (unlikely(used == TWHEEL_PAGE_ENTRIES || tag == U32_MAX))
		list_del_init(&page->link);
	return entry;
}

/**
 * struct twheel_run - entries side by side that were never in use, to be taken
 * @page: their page, or NULL.
 * @entry: the next one.
 * @id: its id.
 * @left: how many there are.
 *
 * To take many entries from a store one by one costs half as much with a run: what
 * the page says is worked out once. All of it starts as zero; between the first
 * twheel_run_get() and twheel_run_end(), the store is for nothing else.
 */
struct twheel_run {
	struct twheel_page *page;
	struct twheel_entry *entry;
	u64 id;
	u32 left;
};

/**
 * twheel_run_end() - tell the store what has been taken
 * @store: the store
 * @run: the run, which is empty from now on
 */
static inline void twheel_run_end(struct twheel_store *store, struct twheel_run *run)
{
	struct twheel_page *page = run->page;
	u32 n;

	if (!page)
		return;
	run->page = NULL;
	run->left = 0;
	n = (u32)(run->id >> 32) - page->tag;
	if (!n)
		return;
	if (!page->used)
		store->nr_empty--;
	page->tag += n;
	page->fresh += n;
	page->used += n;
	if (page->used == TWHEEL_PAGE_ENTRIES)
		list_del_init(&page->link);
}

/* Where there is no run: begin one, unless there are freed entries to be used first. */
static inline bool twheel_run_begin(struct twheel_store *store, struct twheel_run *run)
{
	struct twheel_page *page;
	u32 left;

	twheel_run_end(store, run);
	page = list_first_entry(&store->partial, struct twheel_page, link);
	if (list_entry_is_head(page, &store->partial, link) || page->free != TWHEEL_NO_SLOT)
		return false;
	/* The last tag is none for a run: a page that has used it is special. */
	left = min_t(u32, TWHEEL_PAGE_ENTRIES - page->fresh, U32_MAX - page->tag);
	if (!left)
		return false;
	run->page = page;
	run->entry = &page->entry[page->fresh];
	run->id = (u64)page->tag << 32 | page->base | page->fresh;
	run->left = left;
	return true;
}

/**
 * twheel_run_get() - take an entry into use
 * @store: the store
 * @run: what is left of a run; a new one is begun where there can be one
 * @id: set to the id of the entry, unless there is none
 *
 * Return: as twheel_store_get().
 */
static __always_inline struct twheel_entry *twheel_run_get(struct twheel_store *store,
							   struct twheel_run *run, u64 *id)
{
	struct twheel_entry *entry;

	if (unlikely(!run->left) && !twheel_run_begin(store, run))
		return twheel_store_get(store, id);
	run->left--;
	entry = run->entry++;
	entry->timer.tag = run->id >> 32;
	entry->timer.slot = run->id % BIT(TWHEEL_SLOT_BITS);
	*id = run->id;
	run->id += BIT_ULL(32) + 1;
	return entry;
}

/**
 * twheel_store_put() - free an entry
 * @store: the store
 * @entry: from twheel_store_get(). Its id is void from now on.
 *
 * O(1).
 */
static inline void twheel_store_put(struct twheel_store *store, struct twheel_entry *entry)
{
	struct twheel_page *page = twheel_entry_page(entry);

	entry->timer.tag = 0;
	entry->data = page->free;
	page->free = twheel_entry_slot(page, entry);
	if (unlikely(!--page->used))
		twheel_store_fell_empty(store, page);
	else if (unlikely(list_empty(&page->link)) && page->tag)
		list_add(&page->link, &store->partial);
}

/**
 * twheel_run_put() - free the entry that was taken last
 * @store: the store
 * @run: the run
 * @entry: from twheel_run_get()
 */
static inline void twheel_run_put(struct twheel_store *store, struct twheel_run *run,
				  struct twheel_entry *entry)
{
	if (!run->page || entry != run->entry - 1) {
		twheel_store_put(store, entry);
		return;
	}
	entry->timer.tag = 0;
	run->entry--;
	run->id -= BIT_ULL(32) + 1;
	run->left++;
}

/**
 * twheel_store_find() - find an entry by its id
 * @store: the store
 * @id: any number
 *
 * O(1).
 *
 * Return: the entry in use that has this id, or NULL.
 */
static inline struct twheel_entry *twheel_store_find(const struct twheel_store *store, u64 id)
{
	u32 slot = id & (BIT(TWHEEL_SLOT_BITS) - 1);
	u32 nr = (id & U32_MAX) >> TWHEEL_SLOT_BITS;
	u32 tag = id >> 32;
	struct twheel_entry *entry;
	u64 block;

	if (unlikely(nr >= store->nr_blocks || slot >= TWHEEL_PAGE_ENTRIES || !tag))
		return NULL;
	nr = array_index_nospec(nr, store->nr_blocks);
	slot = array_index_nospec(slot, TWHEEL_PAGE_ENTRIES);
	block = *twheel_store_block(store, nr);
	if (unlikely(twheel_block_is_bare(block)))
		return NULL;
	entry = &((struct twheel_page *)(unsigned long)block)->entry[slot];
	/* Or the compiler works out the address again for each field. */
	OPTIMIZER_HIDE_VAR(entry);
	return likely(entry->timer.tag == tag) ? entry : NULL;
}

#endif /* _TWHEEL_STORE_H */
