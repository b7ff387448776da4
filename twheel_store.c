// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of the timers of one wheel, and their ids
 *
 * Timers live in pages, 84 to a page of 4 KiB, that belong to the wheel. A page
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
 * The directory finds the page of a block: an array of chunks of one page each.
 * It grows by a chunk at a time, and the array of chunks to twice its length; it
 * never shrinks, at 8 bytes to 84 timers.
 *
 * A page that falls empty can go back to the kernel. Its block keeps the number
 * and the tag, and waits for another page. A block that has used up its tags
 * waits for ever.
 *
 * The caller serialises all calls on one store. Those that allocate memory need
 * no lock, only that there is one of them at a time.
 */
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "twheel_store.h"

/* Chunks that the first directory has room for. */
#define TWHEEL_DIR_CHUNKS	8

static u64 bare_block(u32 tag, u32 next)
{
	return (u64)tag << 32 | next << 1 | 1;
}

static u32 bare_tag(u64 block)
{
	return block >> 32;
}

static u32 bare_next(u64 block)
{
	return (u32)block >> 1;
}

static u32 page_block(const struct twheel_page *page)
{
	return page->base >> TWHEEL_SLOT_BITS;
}

/**
 * twheel_store_init() - make an empty store
 * @store: the store
 */
void twheel_store_init(struct twheel_store *store)
{
	memset(store, 0, sizeof(*store));
	store->bare = TWHEEL_NO_BLOCK;
	INIT_LIST_HEAD(&store->partial);
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
		u64 block = *twheel_store_block(store, nr);

		if (!twheel_block_is_bare(block))
			free_page(block);
		cond_resched();
	}
	for (nr = 0; nr < store->nr_blocks; nr += TWHEEL_CHUNK_BLOCKS)
		free_page((unsigned long)store->dir[nr >> TWHEEL_CHUNK_BITS]);
	kvfree(store->dir);
}

static size_t dir_bytes(u32 chunks)
{
	return chunks * sizeof(u64 *);
}

/**
 * twheel_store_bytes() - the memory that a store holds
 * @store: the store
 *
 * Return: bytes.
 */
size_t twheel_store_bytes(const struct twheel_store *store)
{
	size_t chunks = DIV_ROUND_UP(store->nr_blocks, TWHEEL_CHUNK_BLOCKS);

	return (store->nr_pages + chunks) * PAGE_SIZE + dir_bytes(store->dir_chunks);
}

/**
 * twheel_store_wants_block() - whether the next page needs a new block
 * @store: the store
 *
 * Return: true if no block waits for a page.
 */
bool twheel_store_wants_block(const struct twheel_store *store)
{
	return store->bare == TWHEEL_NO_BLOCK;
}

/**
 * twheel_store_full() - whether all block numbers have been used up
 * @store: the store
 *
 * Needs no lock, but that no page is installed meanwhile.
 *
 * Return: true if the store cannot take a page that needs a new block.
 */
bool twheel_store_full(const struct twheel_store *store)
{
	return store->nr_blocks == TWHEEL_NO_BLOCK;
}

/* Whether a new block begins a new chunk. */
static bool needs_chunk(const struct twheel_store *store)
{
	return !(store->nr_blocks % TWHEEL_CHUNK_BLOCKS);
}

static u32 next_dir_chunks(const struct twheel_store *store)
{
	return store->dir_chunks ? store->dir_chunks * 2 : TWHEEL_DIR_CHUNKS;
}

/* How many chunks a new directory must have room for, or 0 if this one will do. */
static u32 needs_dir(const struct twheel_store *store)
{
	if (!needs_chunk(store) ||
	    store->nr_blocks >> TWHEEL_CHUNK_BITS < store->dir_chunks)
		return 0;
	return next_dir_chunks(store);
}

/**
 * twheel_page_bytes() - what twheel_page_alloc() is going to allocate
 * @store: the store
 * @block: what twheel_store_wants_block() said
 *
 * Needs no lock, but that no page is installed meanwhile.
 *
 * Return: bytes.
 */
size_t twheel_page_bytes(const struct twheel_store *store, bool block)
{
	size_t bytes = PAGE_SIZE;

	if (block && needs_chunk(store))
		bytes += PAGE_SIZE + dir_bytes(needs_dir(store));
	return bytes;
}

/**
 * twheel_page_alloc() - make a page of free entries for twheel_store_install()
 * @store: the store
 * @block: what twheel_store_wants_block() said. Blocks may lose their pages since
 *	then: the page brings along what it takes to do without those.
 * @gfp: how to allocate; with GFP_KERNEL this may sleep
 *
 * Needs no lock, but that no other page is made before this one is installed
 * or freed.
 *
 * Return: the page; or NULL without memory.
 */
struct twheel_page *twheel_page_alloc(const struct twheel_store *store, bool block, gfp_t gfp)
{
	u32 chunks = needs_dir(store);
	struct twheel_page *page;

	/* All zero is what an entry looks like that was never in use. */
	page = (void *)get_zeroed_page(gfp);
	if (!page)
		return NULL;
	page->more = -1;
	if (!block || !needs_chunk(store))
		return page;
	page->chunk = (void *)get_zeroed_page(gfp);
	if (!page->chunk)
		goto free;
	if (chunks) {
		page->dir = kvzalloc(dir_bytes(chunks), gfp);
		if (!page->dir)
			goto free;
		if (store->dir)
			memcpy(page->dir, store->dir, dir_bytes(store->dir_chunks));
	}
	return page;

free:
	twheel_page_free(page);
	return NULL;
}

/**
 * twheel_page_free() - free a list of pages that no store has
 * @page: the first one, or NULL
 *
 * Needs no lock. May sleep if a page was not installed.
 */
void twheel_page_free(struct twheel_page *page)
{
	while (page) {
		struct twheel_page *next = page->next;

		free_page((unsigned long)page->chunk);
		kvfree(page->dir);
		free_page((unsigned long)page);
		page = next;
	}
}

/* Take what the page brought along for a block with a number of its own. */
static void *number_block(struct twheel_store *store, struct twheel_page *page)
{
	u64 **old = NULL;

	if (page->dir) {
		old = store->dir;
		store->dir = page->dir;
		store->dir_chunks = next_dir_chunks(store);
		page->dir = NULL;
	}
	if (page->chunk) {
		store->dir[store->nr_blocks >> TWHEEL_CHUNK_BITS] = page->chunk;
		page->chunk = NULL;
	}
	page->base = store->nr_blocks++ << TWHEEL_SLOT_BITS;
	page->tag = 1;
	return old;
}

/**
 * twheel_store_install() - give a page to a store
 * @store: the store
 * @page: from twheel_page_alloc(). If that was told that it needs a new block,
 *	twheel_store_full() must be false.
 *
 * Return: what has become superfluous, for kvfree() without the lock; or NULL.
 */
void *twheel_store_install(struct twheel_store *store, struct twheel_page *page)
{
	void *old = NULL;
	u64 block;

	/* Pages may have been trimmed since it was seen that a chunk was needed. */
	if (store->bare != TWHEEL_NO_BLOCK && !page->chunk) {
		page->base = store->bare << TWHEEL_SLOT_BITS;
		block = *twheel_store_block(store, store->bare);
		page->tag = bare_tag(block);
		store->bare = bare_next(block);
	} else {
		old = number_block(store, page);
	}
	*twheel_store_block(store, page_block(page)) = (unsigned long)page;
	list_add_tail(&page->link, &store->partial);
	store->nr_pages++;
	store->nr_empty++;
	return old;
}

/* The block stays, without a page; without a tag it is never used again. */
static void strip_block(struct twheel_store *store, struct twheel_page *page)
{
	u32 nr = page_block(page);

	*twheel_store_block(store, nr) = bare_block(page->tag, store->bare);
	if (page->tag)
		store->bare = nr;
	store->nr_pages--;
}

/**
 * twheel_store_page_turned() - a page has its first free entry, or has fallen empty
 * @store: the store
 * @page: the page
 *
 * For twheel_store_put() only.
 */
void twheel_store_page_turned(struct twheel_store *store, struct twheel_page *page)
{
	if (page->more < -1) {
		page->more -= TWHEEL_PAGE_FULL;
		if (likely(page->tag))
			list_add(&page->link, &store->partial);
	} else if (likely(page->tag)) {
		/* Last to be taken from, first to be freed. */
		list_move_tail(&page->link, &store->partial);
		store->nr_empty++;
	} else {
		strip_block(store, page);
		free_page((unsigned long)page);
	}
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
	struct twheel_page *page;
	unsigned int n;

	for (n = 0; n < TWHEEL_TRIM && store->nr_empty > keep; n++) {
		page = list_last_entry(&store->partial, struct twheel_page, link);
		list_del(&page->link);
		strip_block(store, page);
		store->nr_empty--;
		page->next = pages;
		pages = page;
	}
	return pages;
}
