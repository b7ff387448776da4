/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * twheel_store.h - the memory of the timers of one wheel, and their ids
 *
 * See the comment at the top of twheel_store.c.
 */
#ifndef _TWHEEL_STORE_H
#define _TWHEEL_STORE_H

#include <linux/build_bug.h>
#include <linux/generic-radix-tree.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/types.h>

#include "twheel.h"

/**
 * struct twheel_entry - what the driver keeps of a timer
 * @timer: the wheel's part. Its slot is the entry's place in its page; its tag
 *	is the generation half of the id, and zero while the entry is free.
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
 * struct twheel_page - a page of entries
 * @block: number of the block that this page is the memory of.
 * @next: links pages that are on their way out.
 * @entry: the entries.
 */
struct twheel_page {
	u32 block;
	struct twheel_page *next;
	struct twheel_entry entry[];
};

#define TWHEEL_PAGE_ENTRIES \
	((PAGE_SIZE - sizeof(struct twheel_page)) / sizeof(struct twheel_entry))

/* An entry has at least 32 bytes, so this many bits number those of a page. */
#define TWHEEL_SLOT_BITS	(PAGE_SHIFT - 5)

#define TWHEEL_NO_BLOCK		U32_MAX

/**
 * struct twheel_block - a numbered group of entries, with or without memory
 * @link: on the store's list of blocks with free entries.
 * @page: the memory, or NULL.
 * @tag: the tag that the next entry taken gets. It outlives the page, so that
 *	an id is never used twice.
 * @used: with memory: number of entries in use.
 * @free: with memory: the first free slot, if there is one.
 * @bare: without memory: the next block without memory, or TWHEEL_NO_BLOCK.
 */
struct twheel_block {
	struct list_head link;
	struct twheel_page *page;
	u32 tag;
	union {
		struct {
			u16 used;
			u16 free;
		};
		u32 bare;
	};
};

/**
 * struct twheel_store - the timers of one wheel
 * @blocks: the blocks, by number.
 * @nr_blocks: how many blocks have been numbered.
 * @nr_pages: how many of them have memory.
 * @nr_empty: how many of those have no entry in use.
 * @partial: blocks with memory and free entries; those without an entry in use
 *	are at the tail.
 * @bare: the first block without memory, or TWHEEL_NO_BLOCK.
 */
struct twheel_store {
	GENRADIX(struct twheel_block) blocks;
	u32 nr_blocks;
	u32 nr_pages;
	u32 nr_empty;
	struct list_head partial;
	u32 bare;
};

void twheel_store_init(struct twheel_store *store);
void twheel_store_destroy(struct twheel_store *store);
size_t twheel_store_bytes(const struct twheel_store *store);

struct twheel_page *twheel_page_alloc(gfp_t gfp);
void twheel_page_free(struct twheel_page *page);
bool twheel_store_reserve(struct twheel_store *store, gfp_t gfp);
bool twheel_store_install(struct twheel_store *store, struct twheel_page *page);
struct twheel_page *twheel_store_trim(struct twheel_store *store, u32 keep);

struct twheel_entry *twheel_store_get(struct twheel_store *store);
void twheel_store_put(struct twheel_store *store, struct twheel_entry *entry);
struct twheel_entry *twheel_store_find(struct twheel_store *store, u64 id);

static inline struct twheel_page *twheel_entry_page(const struct twheel_entry *entry)
{
	return (struct twheel_page *)((unsigned long)entry & PAGE_MASK);
}

/**
 * twheel_entry_id() - the id of a timer
 * @entry: an entry in use
 *
 * Return: the id, never zero.
 */
static inline u64 twheel_entry_id(const struct twheel_entry *entry)
{
	return (u64)entry->timer.tag << 32 |
	       twheel_entry_page(entry)->block << TWHEEL_SLOT_BITS |
	       entry->timer.slot;
}

#endif /* _TWHEEL_STORE_H */
