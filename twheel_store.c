// SPDX-License-Identifier: GPL-2.0-only
/*
 * twheel_store.c - the memory of the timers of one wheel, and their ids
 *
 * Timers live in pages, 85 to a page of 4 KiB, that belong to the wheel. A page
 * is the memory of a numbered block. The lower half of an id is the number of
 * the block and the slot of the timer in its page, so that a timer is found in
 * O(1); the upper half is a tag that the block has counted up to, so that an id
 * is never used again:
 *
 *	63                    32 31                         7 6        0
 *	+-----------------------+----------------------------+---------+
 *	| tag, from 1           | block                      | slot    |
 *	+-----------------------+----------------------------+---------+
 *
 * A block whose page falls empty can give the memory back. The block keeps its
 * number and its tag and waits for another page. A block that has used up its
 * tags waits for ever.
 *
 * The caller serialises all calls on one store, but for those that say
 * otherwise: they allocate and are for use without a lock.
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "twheel_store.h"

#define TWHEEL_MAX_BLOCKS	BIT(32 - TWHEEL_SLOT_BITS)

/* Pages that one call takes back at most, so that the lock is not held long. */
#define TWHEEL_TRIM		32

/**
 * twheel_store_init() - make an empty store
 * @store: the store
 */
void twheel_store_init(struct twheel_store *store)
{
	memset(store, 0, sizeof(*store));
	genradix_init(&store->blocks);
	INIT_LIST_HEAD(&store->partial);
	store->bare = TWHEEL_NO_BLOCK;
}

/**
 * twheel_store_destroy() - free a store with all that is in it
 * @store: the store, which nobody else uses any more
 *
 * May sleep.
 */
void twheel_store_destroy(struct twheel_store *store)
{
	u32 nr;

	for (nr = 0; nr < store->nr_blocks; nr++) {
		twheel_page_free(genradix_ptr(&store->blocks, nr)->page);
		cond_resched();
	}
	genradix_free(&store->blocks);
}

/**
 * twheel_store_bytes() - the memory that a store holds
 * @store: the store
 *
 * Return: bytes.
 */
size_t twheel_store_bytes(const struct twheel_store *store)
{
	return (size_t)store->nr_pages * PAGE_SIZE +
	       (size_t)store->nr_blocks * sizeof(struct twheel_block);
}

/**
 * twheel_page_alloc() - make a page of free entries for twheel_store_install()
 * @gfp: how to allocate; with GFP_KERNEL this may sleep
 *
 * Needs no lock.
 *
 * Return: the page; or NULL without memory.
 */
struct twheel_page *twheel_page_alloc(gfp_t gfp)
{
	struct twheel_page *page = (void *)__get_free_page(gfp);
	u16 slot;

	if (!page)
		return NULL;
	page->next = NULL;
	for (slot = 0; slot < TWHEEL_PAGE_ENTRIES; slot++) {
		page->entry[slot].timer.slot = slot;
		page->entry[slot].timer.tag = 0;
		page->entry[slot].data = slot + 1;
	}
	return page;
}

/**
 * twheel_page_free() - free a list of pages that no store has
 * @page: the first one, or NULL
 *
 * Needs no lock.
 */
void twheel_page_free(struct twheel_page *page)
{
	while (page) {
		struct twheel_page *next = page->next;

		free_page((unsigned long)page);
		page = next;
	}
}

/**
 * twheel_store_reserve() - make room for the number of another block
 * @store: the store
 * @gfp: how to allocate; with GFP_KERNEL this may sleep
 *
 * Needs no lock. Somebody else may take the room: see twheel_store_install().
 *
 * Return: false without memory.
 */
bool twheel_store_reserve(struct twheel_store *store, gfp_t gfp)
{
	return genradix_ptr_alloc(&store->blocks, READ_ONCE(store->nr_blocks), gfp);
}

/**
 * twheel_store_install() - give a page to a store
 * @store: the store
 * @page: from twheel_page_alloc()
 *
 * Return: false if the page has not been taken because twheel_store_reserve()
 * has to be called once more.
 */
bool twheel_store_install(struct twheel_store *store, struct twheel_page *page)
{
	struct twheel_block *block;
	u32 nr = store->bare;

	if (nr != TWHEEL_NO_BLOCK) {
		block = genradix_ptr(&store->blocks, nr);
		store->bare = block->bare;
	} else {
		nr = store->nr_blocks;
		block = genradix_ptr(&store->blocks, nr);
		if (!block || nr == TWHEEL_MAX_BLOCKS)
			return false;
		WRITE_ONCE(store->nr_blocks, nr + 1);
		block->tag = 1;
	}
	page->block = nr;
	block->page = page;
	block->used = 0;
	block->free = 0;
	list_add_tail(&block->link, &store->partial);
	store->nr_pages++;
	store->nr_empty++;
	return true;
}

/**
 * twheel_store_trim() - take back pages without an entry in use
 * @store: the store
 * @keep: how many to leave, for what is added next
 *
 * Return: a list of at most TWHEEL_TRIM pages for twheel_page_free(), or NULL.
 */
struct twheel_page *twheel_store_trim(struct twheel_store *store, u32 keep)
{
	struct twheel_page *pages = NULL;
	struct twheel_block *block;
	unsigned int n;

	for (n = 0; n < TWHEEL_TRIM && store->nr_empty > keep; n++) {
		block = list_last_entry(&store->partial, struct twheel_block, link);
		list_del(&block->link);
		block->page->next = pages;
		pages = block->page;
		block->page = NULL;
		store->nr_pages--;
		store->nr_empty--;
		block->bare = store->bare;
		store->bare = pages->block;
	}
	return pages;
}

/**
 * twheel_store_get() - take an entry into use
 * @store: the store
 *
 * O(1).
 *
 * Return: an entry with an id of its own and all else unset; or NULL if there
 * is no free one: give the store a page with twheel_store_install().
 */
struct twheel_entry *twheel_store_get(struct twheel_store *store)
{
	struct twheel_block *block;
	struct twheel_entry *entry;

	block = list_first_entry_or_null(&store->partial, struct twheel_block, link);
	if (!block)
		return NULL;
	entry = &block->page->entry[block->free];
	block->free = entry->data;
	if (!block->used++)
		store->nr_empty--;
	entry->timer.tag = block->tag++;
	/* A full block, or one out of tags, has no more to give. */
	if (unlikely(block->used == TWHEEL_PAGE_ENTRIES || !block->tag))
		list_del_init(&block->link);
	return entry;
}

/**
 * twheel_store_put() - free an entry
 * @store: the store
 * @entry: from twheel_store_get(). Its id is void from now on.
 *
 * O(1).
 */
void twheel_store_put(struct twheel_store *store, struct twheel_entry *entry)
{
	struct twheel_page *page = twheel_entry_page(entry);
	struct twheel_block *block = genradix_ptr(&store->blocks, page->block);

	entry->timer.tag = 0;
	entry->data = block->free;
	block->free = entry->timer.slot;
	if (unlikely(!--block->used && !block->tag)) {
		twheel_page_free(page);
		block->page = NULL;
		store->nr_pages--;
	} else if (unlikely(!block->used)) {
		/* Last to be taken from, first to be freed. */
		list_move_tail(&block->link, &store->partial);
		store->nr_empty++;
	} else if (unlikely(list_empty(&block->link)) && block->tag) {
		list_add(&block->link, &store->partial);
	}
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
struct twheel_entry *twheel_store_find(struct twheel_store *store, u64 id)
{
	u32 slot = id & (BIT(TWHEEL_SLOT_BITS) - 1);
	u32 nr = (u32)id >> TWHEEL_SLOT_BITS;
	u32 tag = id >> 32;
	struct twheel_block *block;
	struct twheel_entry *entry;

	if (nr >= store->nr_blocks || slot >= TWHEEL_PAGE_ENTRIES || !tag)
		return NULL;
	block = genradix_ptr(&store->blocks, nr);
	if (!block->page)
		return NULL;
	entry = &block->page->entry[slot];
	return entry->timer.tag == tag ? entry : NULL;
}
