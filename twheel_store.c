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
 *	63                    32 31                         8 7        0
 *	+-----------------------+----------------------------+---------+
 *	| tag, from 1           | block                      | slot    |
 *	+-----------------------+----------------------------+---------+
 *
 * The directory finds the page of a block: an array of chunks of one page each.
 * It grows by a chunk at a time, and the array of chunks to twice its length; it
 * never shrinks, at 8 bytes to 84 timers.
 *
 * A page that falls empty can go back to the kernel. Its block keeps the number
 * and the tag, and waits for another page. One that may run out of tags keeps its
 * page, and is not used again.
 *
 * The caller serialises all calls on one store.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "twheel_store.h"

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
	for (nr = 0; nr < store->nr_chunks; nr++)
		free_page((unsigned long)store->dir[nr]);
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
	return ((size_t)store->nr_pages + store->nr_chunks) * PAGE_SIZE +
	       dir_bytes(store->dir_chunks);
}

/**
 * twheel_store_full() - whether all block numbers have been used up
 * @store: the store
 *
 * Return: true if the store cannot take another page.
 */
bool twheel_store_full(const struct twheel_store *store)
{
	return store->bare == TWHEEL_NO_BLOCK && store->nr_blocks == TWHEEL_NO_BLOCK;
}

/* Whether the next page becomes a chunk of the directory. */
static bool needs_chunk(const struct twheel_store *store)
{
	return store->bare == TWHEEL_NO_BLOCK &&
	       store->nr_blocks == store->nr_chunks * TWHEEL_CHUNK_BLOCKS;
}

/* How many chunks a new directory must have room for, or 0 if this one will do. */
static u32 needs_dir(const struct twheel_store *store)
{
	if (!needs_chunk(store) || store->nr_chunks < store->dir_chunks)
		return 0;
	return store->dir_chunks ? store->dir_chunks * 2 : TWHEEL_DIR_CHUNKS;
}

/**
 * twheel_store_growth() - what twheel_store_grow() takes, the page included
 * @store: the store
 *
 * Return: bytes.
 */
size_t twheel_store_growth(const struct twheel_store *store)
{
	return PAGE_SIZE + dir_bytes(needs_dir(store));
}

static int grow_dir(struct twheel_store *store, u32 chunks, gfp_t gfp)
{
	u64 **dir = kvzalloc(dir_bytes(chunks), gfp);

	if (!dir)
		return -ENOMEM;
	if (store->dir)
		memcpy(dir, store->dir, dir_bytes(store->dir_chunks));
	kvfree(store->dir);
	store->dir = dir;
	store->dir_chunks = chunks;
	return 0;
}

/* Give the page a block with a number of its own. */
static void number_block(struct twheel_store *store, struct twheel_page *page)
{
	page->base = store->nr_blocks++ << TWHEEL_SLOT_BITS;
	page->tag = 1;
}

/* Give the page the block that waits for one. */
static void fill_bare_block(struct twheel_store *store, struct twheel_page *page)
{
	u64 block = *twheel_store_block(store, store->bare);

	page->base = store->bare << TWHEEL_SLOT_BITS;
	page->tag = bare_tag(block);
	store->bare = bare_next(block);
}

/**
 * twheel_store_grow() - add a page
 * @store: the store, for which twheel_store_full() is false
 * @memory: a page of zeros; unless this fails it is the store's from now on
 * @gfp: how to allocate; with GFP_KERNEL this may sleep
 *
 * If a chunk of the directory is needed first, the page becomes that, and there is no free
 * entry yet: see twheel_store_exhausted().
 *
 * Return: 0 or -ENOMEM.
 */
int twheel_store_grow(struct twheel_store *store, void *memory, gfp_t gfp)
{
	/* All zero is what an entry looks like that was never in use. */
	struct twheel_page *page = memory;
	u32 dir_chunks = needs_dir(store);

	if (dir_chunks && grow_dir(store, dir_chunks, gfp))
		return -ENOMEM;
	if (needs_chunk(store)) {
		store->dir[store->nr_chunks++] = memory;
		return 0;
	}
	page->more = -1;
	if (store->bare != TWHEEL_NO_BLOCK)
		fill_bare_block(store, page);
	else
		number_block(store, page);
	*twheel_store_block(store, page_block(page)) = (unsigned long)page;
	list_add_tail(&page->link, &store->partial);
	store->nr_pages++;
	store->nr_empty++;
	return 0;
}

/**
 * twheel_pages_free() - free a list of pages that no store has
 * @page: the first one, or NULL
 */
void twheel_pages_free(struct twheel_page *page)
{
	while (page) {
		struct twheel_page *next = page->next;

		free_page((unsigned long)page);
		page = next;
	}
}

/* The block stays, without a page. */
static void strip_block(struct twheel_store *store, struct twheel_page *page)
{
	u32 nr = page_block(page);

	*twheel_store_block(store, nr) = bare_block(page->tag, store->bare);
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
	bool full = page->more < -1;

	if (full)
		page->more -= TWHEEL_PAGE_FULL;
	if (unlikely(twheel_page_is_spent(page)))
		return;
	if (full) {
		list_add(&page->link, &store->partial);
	} else {
		/* Last to be taken from, first to be freed. */
		list_move_tail(&page->link, &store->partial);
		store->nr_empty++;
	}
}

/**
 * twheel_store_trim() - take back pages without an entry in use
 * @store: the store
 * @keep: how many to leave, for what is added next
 *
 * Return: a list for twheel_pages_free() of at most TWHEEL_TRIM pages, or NULL.
 */
struct twheel_page *twheel_store_trim(struct twheel_store *store, u32 keep)
{
	struct twheel_page *pages = NULL, *page;
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
