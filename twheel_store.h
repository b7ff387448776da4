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
 * @data: the caller's data. While the entry is free: how much further on than the
 *	slot after it the next free one is, modulo 2^64. A page of zeros is thus a
 *	list of all its entries.
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
 * @base: number of the block, where an id has it.
 * @tag: the tag that the next entry taken gets.
 * @more: how many entries more than one are in use: -1 if none is. TWHEEL_PAGE_FULL
 *	is added if all are, so that both a page's falling empty and its being full no
 *	more show in the sign.
 * @free: the slot of the first free entry, or TWHEEL_PAGE_ENTRIES.
 * @entry: the entries.
 */
struct twheel_page {
	struct list_head link;
	struct twheel_page *next;
	u32 base;
	u32 tag;
	s32 more;
	u16 free;
	struct twheel_entry entry[] __aligned(8);
};

#define TWHEEL_PAGE_ENTRIES \
	((PAGE_SIZE - offsetof(struct twheel_page, entry)) / sizeof(struct twheel_entry))

#define TWHEEL_PAGE_FULL	S32_MIN

/* This many bits number the entries of a page, and in one of 4 KiB fill a byte. */
#define TWHEEL_SLOT_BITS	(PAGE_SHIFT - 4)
#define TWHEEL_SLOT_MASK	(BIT(TWHEEL_SLOT_BITS) - 1)

/* A chunk of the directory fills a page. */
#define TWHEEL_CHUNK_BITS	(PAGE_SHIFT - 3)
#define TWHEEL_CHUNK_BLOCKS	BIT(TWHEEL_CHUNK_BITS)

/* Chunks that the first directory has room for. */
#define TWHEEL_DIR_CHUNKS	8

/**
 * struct twheel_store - the timers of one wheel
 * @dir: the directory: chunks of blocks, by number. A block is the address of
 *	its page, or without a page as twheel_block_is_bare() says.
 * @dir_chunks: how many chunks the directory has room for.
 * @nr_chunks: how many it has.
 * @nr_blocks: how many blocks have been numbered.
 * @nr_pages: how many pages there are.
 * @nr_empty: how many of those have no entry in use, and tags left.
 * @bare: the block without a page that is to get the next one, or
 *	TWHEEL_NO_BLOCK.
 * @partial: pages with free entries; those without an entry in use are last.
 */
struct twheel_store {
	u64 **dir;
	u32 dir_chunks;
	u32 nr_chunks;
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

size_t twheel_store_growth(const struct twheel_store *store);
int twheel_store_grow(struct twheel_store *store, void *memory, gfp_t gfp);
struct twheel_page *twheel_store_trim(struct twheel_store *store, u32 keep);
void twheel_pages_free(struct twheel_page *page);
void twheel_store_page_turned(struct twheel_store *store, struct twheel_page *page);

static __always_inline struct twheel_page *twheel_entry_page(const struct twheel_entry *entry)
{
	return (struct twheel_page *)((unsigned long)entry & PAGE_MASK);
}

static inline u64 *twheel_store_block(const struct twheel_store *store, unsigned long nr)
{
	return &store->dir[nr >> TWHEEL_CHUNK_BITS][nr % TWHEEL_CHUNK_BLOCKS];
}

/* There are more empty pages than are to be kept. */
static inline bool twheel_store_can_trim(const struct twheel_store *store, u32 keep)
{
	return store->nr_empty > keep;
}

/**
 * twheel_store_exhausted() - whether there is no free entry
 * @store: the store; while others use it, the answer may be an old one
 *
 * Return: true if the store needs twheel_store_grow().
 */
static inline bool twheel_store_exhausted(const struct twheel_store *store)
{
	return data_race(store->partial.next) == &store->partial; /* an old one will do */
}

/* A block without a page is an odd number: its tag, 31 bits of the next such block, a one. */
static inline bool twheel_block_is_bare(u64 block)
{
	return block & 1;
}

/*
 * It may have no tag for each of its entries: it gives out no more of them, and is left alone
 * when it falls empty, after four billion timers.
 */
static inline bool twheel_page_is_spent(const struct twheel_page *page)
{
	return page->tag > U32_MAX - TWHEEL_PAGE_ENTRIES;
}

static __always_inline u32 twheel_entry_slot(const struct twheel_page *page,
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
static __always_inline u64 twheel_entry_id(const struct twheel_entry *entry)
{
	struct twheel_page *page = twheel_entry_page(entry);

	return (u64)entry->timer.tag << 32 | page->base | twheel_entry_slot(page, entry);
}

/**
 * struct twheel_run - free entries of one page, to be taken one after the other
 * @page: their page.
 * @id: the id that the next one is going to have.
 *
 * A run works out once what the page says. Between twheel_run_begin() and
 * twheel_run_end(), the store is for nothing else.
 */
struct twheel_run {
	struct twheel_page *page;
	u64 id;
};

/**
 * twheel_run_begin() - begin to take entries
 * @store: the store
 * @run: set to the first run that there is
 *
 * Return: how many there are; or 0 if there is no free entry: see twheel_store_grow().
 */
static inline u32 twheel_run_begin(const struct twheel_store *store, struct twheel_run *run)
{
	struct twheel_page *page = list_first_entry(&store->partial, struct twheel_page, link);

	run->page = page;
	if (list_entry_is_head(page, &store->partial, link))
		return 0;
	run->id = (u64)page->tag << 32 | page->base | page->free;
	return TWHEEL_PAGE_ENTRIES - 1 - page->more;
}

/**
 * twheel_run_take() - take the next entry into use
 * @run: the run, in which there is one left
 *
 * Return: the entry.
 */
static __always_inline struct twheel_entry *twheel_run_take(struct twheel_run *run)
{
	struct twheel_entry *entry = &run->page->entry[run->id & TWHEEL_SLOT_MASK];

	/* Or the compiler works out the address again for each field. */
	OPTIMIZER_HIDE_VAR(entry);
	entry->timer.tag = run->id >> 32;
	entry->timer.slot = run->id;
	/* The next tag, and the slot of the next one that is free. */
	run->id += BIT_ULL(32) + 1 + entry->data;
	return entry;
}

/**
 * twheel_run_end() - tell the store what has been taken
 * @store: the store
 * @run: the run
 *
 * Return: how many that were.
 */
static inline u32 twheel_run_end(struct twheel_store *store, const struct twheel_run *run)
{
	struct twheel_page *page = run->page;
	u32 n = (run->id >> 32) - page->tag;
	bool full;

	if (!n)
		return 0;
	if (page->more < 0)
		store->nr_empty--;
	page->free = run->id & TWHEEL_SLOT_MASK;
	page->tag += n;
	page->more += n;
	full = page->more == TWHEEL_PAGE_ENTRIES - 1;
	if (unlikely(full || twheel_page_is_spent(page))) {
		page->more += full ? TWHEEL_PAGE_FULL : 0;
		list_del_init(&page->link);
	}
	return n;
}

/**
 * twheel_store_get() - take an entry into use
 * @store: the store
 * @id: set to the id of the entry, unless there is none
 *
 * O(1).
 *
 * Return: an entry with an id of its own and all else unset; or NULL if there
 * is no free one: give the store pages with twheel_store_grow().
 */
static inline struct twheel_entry *twheel_store_get(struct twheel_store *store, u64 *id)
{
	struct twheel_entry *entry;
	struct twheel_run run;

	if (!twheel_run_begin(store, &run))
		return NULL;
	*id = run.id;
	entry = twheel_run_take(&run);
	twheel_run_end(store, &run);
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
	u32 slot = twheel_entry_slot(page, entry);

	entry->timer.tag = 0;
	entry->data = (u64)page->free - slot - 1;
	page->free = slot;
	/* The page was full, or has fallen empty. */
	if (unlikely(--page->more < 0))
		twheel_store_page_turned(store, page);
}

/**
 * twheel_store_find() - find an entry by its id
 * @store: the store
 * @id: any number
 * @found: set to the entry in use that has this id, if there is one
 *
 * O(1).
 *
 * Return: whether there is one.
 */
static __always_inline bool twheel_store_find(const struct twheel_store *store, u64 id,
					      struct twheel_entry **found)
{
	unsigned long slot = id & TWHEEL_SLOT_MASK;
	unsigned long nr = (id & U32_MAX) >> TWHEEL_SLOT_BITS;
	u32 tag = id >> 32;
	struct twheel_entry *entry;
	unsigned long mask;
	u64 block;

	/* All ones if both are valid, else zero, also for what is done on speculation. */
	mask = array_index_mask_nospec(nr, store->nr_blocks) &
	       array_index_mask_nospec(slot, TWHEEL_PAGE_ENTRIES);
	if (unlikely(!mask || !tag))
		return false;
	block = *twheel_store_block(store, nr & mask);
	if (unlikely(twheel_block_is_bare(block)))
		return false;
	entry = &((struct twheel_page *)(unsigned long)block)->entry[slot & mask];
	/* Or the compiler works out the address again for each field. */
	OPTIMIZER_HIDE_VAR(entry);
	*found = entry;
	return likely(entry->timer.tag == tag);
}

#endif /* _TWHEEL_STORE_H */
