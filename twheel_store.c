// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of the timers of one wheel, and their ids
 *
 * Timers live in pages that belong to the wheel, 84 to a page of 4 KiB. A page is the memory of
 * a numbered block. The lower half of an id is the number of the block and the slot of the timer
 * in its page, so that a timer is found in O(1). The upper half is a generation, which the block
 * counts up for each timer, so that no id is used twice:
 *
 *	63                    32 31                         8 7        0
 *	+-----------------------+----------------------------+---------+
 *	| generation, from 1    | block                      | slot    |
 *	+-----------------------+----------------------------+---------+
 *
 * The directory finds the page of a block: an array of leaves of one page each.
 * It grows by a leaf at a time, and the array of leaves to twice its length. It
 * never shrinks; that costs 8 bytes per 84 timers.
 *
 * A page that falls empty can go back to the kernel. Its block keeps the number and the
 * generation, and is unbacked until it gets another page. A block that may run out of generations
 * keeps its page, and is not used again.
 *
 * The caller serialises all calls on one store.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "twheel_store.h"

/**
 * twheel_store_init() - make an empty store
 * @store: the store
 */
void twheel_store_init(struct twheel_store *store)
{
	memset(store, 0, sizeof(*store));
	store->unbacked = TWHEEL_NO_BLOCK;
	INIT_LIST_HEAD(&store->partial);
}

/**
 * twheel_store_destroy() - free a store with all that is in it; may sleep
 * @store: the store, which has no other user
 */
void twheel_store_destroy(struct twheel_store *store)
{
	u32 nr;

	for (nr = 0; nr < store->nr_blocks; nr++) {
		u64 block = *twheel_store_block(store, nr);

		if (!twheel_block_is_unbacked(block))
			free_page(block);
		cond_resched();
	}
	for (nr = 0; nr < store->nr_leaves; nr++)
		free_page((unsigned long)store->dir[nr]);
	kfree(store->dir);
}

/* Return true if the next page becomes a leaf of the directory. */
static bool needs_leaf(const struct twheel_store *store)
{
	return store->unbacked == TWHEEL_NO_BLOCK &&
	       store->nr_blocks == store->nr_leaves * TWHEEL_LEAF_BLOCKS;
}

/* Return how many leaves a new directory must have room for, or 0 if this one is large enough. */
static u32 needs_dir(const struct twheel_store *store)
{
	if (!needs_leaf(store) || store->nr_leaves < store->dir_leaves)
		return 0;
	return store->dir_leaves ? store->dir_leaves * 2 : TWHEEL_DIR_MIN_LEAVES;
}

/**
 * twheel_store_growth() - how much memory twheel_store_grow() takes, the page included
 * @store: the store
 *
 * Return: bytes.
 */
size_t twheel_store_growth(const struct twheel_store *store)
{
	return PAGE_SIZE + needs_dir(store) * sizeof(*store->dir);
}

/**
 * twheel_store_grow() - add a page
 * @store: the store
 * @memory: a page of zeros; unless this fails it is the store's from now on
 * @gfp: how to allocate; with GFP_KERNEL this may sleep
 *
 * If a leaf of the directory is needed first, the page becomes that, and @partial stays empty.
 *
 * Return: 0; -ENOMEM, or -ENOSPC if all block numbers have been used up.
 */
int twheel_store_grow(struct twheel_store *store, void *memory, gfp_t gfp)
{
	/* An entry that was never in use is all zeros. */
	struct twheel_page *page = memory;
	u32 nr = store->unbacked, dir_leaves = needs_dir(store);
	u64 **dir;

	if (nr == TWHEEL_NO_BLOCK && store->nr_blocks == TWHEEL_NO_BLOCK)
		return -ENOSPC;
	if (dir_leaves) {
		dir = krealloc(store->dir, dir_leaves * sizeof(*dir), gfp);
		if (!dir)
			return -ENOMEM;
		store->dir = dir;
		store->dir_leaves = dir_leaves;
	}
	if (needs_leaf(store)) {
		store->dir[store->nr_leaves++] = memory;
		return 0;
	}
	if (nr != TWHEEL_NO_BLOCK) {
		u64 block = *twheel_store_block(store, nr);

		page->generation = block >> 32;
		store->unbacked = (u32)block >> 1;
	} else {
		nr = store->nr_blocks++;
		page->generation = 1;
	}
	page->base = nr << TWHEEL_SLOT_BITS;
	*twheel_store_block(store, nr) = (unsigned long)page;
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

/**
 * twheel_store_page_changed() - list a page that is no longer full, or has fallen empty
 * @store: the store
 * @page: the page
 */
void twheel_store_page_changed(struct twheel_store *store, struct twheel_page *page)
{
	if (unlikely(twheel_page_out_of_generations(page)))
		return;
	if (page->used) {
		list_add(&page->link, &store->partial);
	} else {
		/* Empty pages are used last and freed first. */
		list_move_tail(&page->link, &store->partial);
		store->nr_empty++;
	}
}

/**
 * twheel_store_trim() - take back pages without an entry in use
 * @store: the store
 * @keep: how many to leave, for the next adds
 *
 * Return: a list for twheel_pages_free() of at most TWHEEL_TRIM pages, or NULL.
 */
struct twheel_page *twheel_store_trim(struct twheel_store *store, u32 keep)
{
	struct twheel_page *pages = NULL, *page;
	unsigned int n;
	u32 nr;

	for (n = 0; n < TWHEEL_TRIM && store->nr_empty > keep; n++) {
		page = list_last_entry(&store->partial, struct twheel_page, link);
		list_del(&page->link);
		nr = page->base >> TWHEEL_SLOT_BITS;
		*twheel_store_block(store, nr) = (u64)page->generation << 32 |
						 store->unbacked << 1 | 1;
		store->unbacked = nr;
		store->nr_pages--;
		store->nr_empty--;
		page->next = pages;
		pages = page;
	}
	return pages;
}
