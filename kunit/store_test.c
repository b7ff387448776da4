// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite of the store: the memory of the timers and their ids
 *
 * The store is the driver's own and not exported, so a module tests a copy of it.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>

#ifdef MODULE
#include "../twheel_store.c"
#else
#include "../twheel_store.h"
#endif

static struct twheel_store store;

static int store_test_init(struct kunit *test)
{
	twheel_store_init(&store);
	return 0;
}

static void store_test_exit(struct kunit *test)
{
	twheel_store_destroy(&store);
}

static struct twheel_page *grow(struct kunit *test)
{
	size_t bytes = twheel_store_bytes(&store);
	size_t dir = store.dir_leaves * sizeof(u64 *);
	u32 pages = store.nr_pages;
	size_t growth = 0;
	void *memory;

	/* A leaf of the directory may come first. */
	while (store.nr_pages == pages) {
		growth += twheel_store_growth(&store);
		memory = (void *)get_zeroed_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, memory);
		KUNIT_ASSERT_EQ(test, twheel_store_grow(&store, memory, GFP_KERNEL), 0);
	}
	/* A new directory takes the place of the one before. */
	if (store.dir_leaves * sizeof(u64 *) > dir)
		growth -= dir;
	KUNIT_EXPECT_EQ(test, twheel_store_bytes(&store), bytes + growth);
	return list_last_entry(&store.partial, struct twheel_page, link);
}

static void trim(u32 keep)
{
	twheel_pages_free(twheel_store_trim(&store, keep));
}

static struct twheel_entry *find(u64 id)
{
	struct twheel_entry *entry;

	return twheel_store_find(&store, id, &entry) ? entry : NULL;
}

/* Begin a run, with room made for it if there is none. Return how many entries it has. */
static u32 run_begin(struct kunit *test, struct twheel_run *run)
{
	if (list_empty(&store.partial))
		grow(test);
	return twheel_run_begin(&store, run);
}

/* Take the next entry of a run, with data that would be a wild link. */
static struct twheel_entry *run_get(struct kunit *test, struct twheel_run *run)
{
	u64 id = run->id;
	struct twheel_entry *entry = twheel_run_take(run);

	entry->data = U64_MAX / 3;
	KUNIT_EXPECT_NE(test, id, 0);
	KUNIT_EXPECT_EQ(test, id, twheel_entry_id(entry));
	KUNIT_EXPECT_PTR_EQ(test, entry, find(id));
	return entry;
}

static struct twheel_entry *get(struct kunit *test)
{
	struct twheel_entry *entry;
	struct twheel_run run;

	KUNIT_ASSERT_GT(test, run_begin(test, &run), 0);
	entry = run_get(test, &run);
	twheel_run_end(&store, &run);
	return entry;
}

static void a_timer_costs_56_bytes_at_most(struct kunit *test)
{
	unsigned int n = 0;

	for (grow(test); !list_empty(&store.partial); n++)
		get(test);
	KUNIT_EXPECT_EQ(test, n, TWHEEL_PAGE_ENTRIES);
	/* 56 bytes to a timer at most, the page's own share included. */
	KUNIT_EXPECT_LE(test, PAGE_SIZE, n * 56);
}

static void ids_near_a_real_one_find_nothing(struct kunit *test) /* SECURITY: wheels */
{
	u64 id = twheel_entry_id(get(test));
	unsigned int bit;

	for (bit = 0; bit < 64; bit++)
		KUNIT_EXPECT_NULL_MSG(test, find(id ^ BIT_ULL(bit)), "bit %u", bit);
	/* A slot that was never in use, and the generation of such a slot. */
	KUNIT_EXPECT_NULL(test, find((u32)id + 1));
}

static void a_stale_id_outlives_its_page(struct kunit *test) /* SECURITY: wheels */
{
	struct twheel_entry *entry = get(test);
	u64 id = twheel_entry_id(entry);

	twheel_store_put(&store, entry);
	trim(0);
	KUNIT_EXPECT_EQ(test, store.nr_pages, 0);
	KUNIT_EXPECT_NULL(test, find(id));

	/* The block gets another page, and the slot another timer. */
	entry = get(test);
	KUNIT_EXPECT_EQ(test, (u32)twheel_entry_id(entry), (u32)id);
	KUNIT_EXPECT_NE(test, twheel_entry_id(entry), id);
	KUNIT_EXPECT_NULL(test, find(id));
}

/* With one entry in use, or with all; empty, it stays for good. */
static void a_page_out_of_generations_is_not_used_again(struct kunit *test) /* SECURITY: wheels */
{
	struct twheel_entry *entry[TWHEEL_PAGE_ENTRIES];
	struct twheel_run run;
	unsigned int n, i;

	for (n = 1; n <= TWHEEL_PAGE_ENTRIES; n += TWHEEL_PAGE_ENTRIES - 1) {
		grow(test)->generation = U32_MAX - TWHEEL_PAGE_ENTRIES;
		KUNIT_ASSERT_EQ(test, twheel_run_begin(&store, &run), TWHEEL_PAGE_ENTRIES);
		for (i = 0; i < n; i++)
			entry[i] = run_get(test, &run);
		twheel_run_end(&store, &run);
		for (i = 0; i < n; i++) {
			u64 id = twheel_entry_id(entry[i]);

			KUNIT_EXPECT_EQ(test, id >> 32, U32_MAX - TWHEEL_PAGE_ENTRIES + i);
			KUNIT_EXPECT_TRUE(test, list_empty(&store.partial));
			twheel_store_put(&store, entry[i]);
			KUNIT_EXPECT_NULL(test, find(id));
		}
		KUNIT_EXPECT_TRUE(test, list_empty(&store.partial));
		KUNIT_EXPECT_EQ(test, store.nr_empty, 0);
		KUNIT_EXPECT_NULL(test, twheel_store_trim(&store, 0));
	}
	KUNIT_EXPECT_EQ(test, store.nr_pages, 2);
}

static void trimming_leaves_what_is_to_be_kept(struct kunit *test) /* SECURITY: unread timers */
{
	unsigned int i;
	u32 before;

	for (i = 0; i < 2 * TWHEEL_TRIM; i++)
		grow(test);
	get(test);
	KUNIT_EXPECT_EQ(test, store.nr_empty, 2 * TWHEEL_TRIM - 1);
	do {
		before = store.nr_pages;
		trim(5);
		KUNIT_EXPECT_LE(test, before - store.nr_pages, TWHEEL_TRIM);
	} while (store.nr_pages < before);
	KUNIT_EXPECT_EQ(test, store.nr_empty, 5);
	KUNIT_EXPECT_EQ(test, store.nr_pages, 6);
	/* Blocks without a page get the next ones. */
	while (store.nr_pages < 2 * TWHEEL_TRIM)
		grow(test);
	KUNIT_EXPECT_EQ(test, store.nr_blocks, 2 * TWHEEL_TRIM);
}

/* More blocks than fit the first directory, so that it has to grow. */
static void the_directory_grows(struct kunit *test) /* SECURITY: bytes of a user */
{
	const u32 blocks = TWHEEL_DIR_MIN_LEAVES * TWHEEL_LEAF_BLOCKS + 3;
	u64 first = twheel_entry_id(get(test));
	size_t bytes;
	u32 nr;

	for (nr = 1; nr < blocks; nr++) {
		grow(test);
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, store.dir_leaves, 2 * TWHEEL_DIR_MIN_LEAVES);
	bytes = twheel_store_bytes(&store);
	KUNIT_EXPECT_GE(test, bytes, blocks * PAGE_SIZE);
	KUNIT_EXPECT_LE(test, bytes, (blocks + 20) * PAGE_SIZE);

	KUNIT_EXPECT_NOT_NULL(test, find(first));
	/* Use up the first page, then take from another one. */
	for (nr = 0; nr < TWHEEL_PAGE_ENTRIES; nr++)
		get(test);
}

/* All block numbers are used: only a block without a page can get another page. */
static void a_store_is_full_without_a_block_to_give(struct kunit *test)
{
	void *page;
	u32 blocks;

	grow(test);
	blocks = store.nr_blocks;
	store.nr_blocks = TWHEEL_NO_BLOCK;
	KUNIT_EXPECT_EQ(test, twheel_store_grow(&store, NULL, GFP_KERNEL), -ENOSPC);
	trim(0);
	page = (void *)get_zeroed_page(GFP_KERNEL);
	KUNIT_EXPECT_EQ(test, twheel_store_grow(&store, page, GFP_KERNEL), 0);
	KUNIT_EXPECT_EQ(test, twheel_store_grow(&store, NULL, GFP_KERNEL), -ENOSPC);
	store.nr_blocks = blocks;
}

#define MODEL_SLOTS	1000

/*
 * Take in runs, and free, at random: entries in use are found, and no others; and those that were
 * freed are used before memory grows.
 */
static void random_use_matches_a_model(struct kunit *test)
{
	static struct twheel_entry *entry[MODEL_SLOTS];
	static u64 id[MODEL_SLOTS];
	struct twheel_run run;
	struct rnd_state rnd;
	unsigned int i;

	memset(entry, 0, sizeof(entry));
	memset(id, 0, sizeof(id));
	prandom_seed_state(&rnd, 7);
	for (i = 0; i < 200000; i++) {
		unsigned int n = prandom_u32_state(&rnd) % MODEL_SLOTS;
		u32 left;

		if (id[n])
			KUNIT_ASSERT_PTR_EQ(test, entry[n], find(id[n]));
		if (entry[n]) {
			twheel_store_put(&store, entry[n]);
			entry[n] = NULL;
		} else {
			left = run_begin(test, &run);
			left = min_t(u32, left, prandom_u32_state(&rnd) % 8 + 1);
			for (; left && n < MODEL_SLOTS && !entry[n]; left--, n++) {
				entry[n] = run_get(test, &run);
				id[n] = twheel_entry_id(entry[n]);
			}
			twheel_run_end(&store, &run);
		}
		KUNIT_ASSERT_LE(test, store.nr_pages, MODEL_SLOTS / TWHEEL_PAGE_ENTRIES + 1);
		if (!(i % 100))
			trim(1);
	}
}

static struct kunit_case store_test_cases[] = {
	KUNIT_CASE(a_timer_costs_56_bytes_at_most),
	KUNIT_CASE(ids_near_a_real_one_find_nothing),
	KUNIT_CASE(a_stale_id_outlives_its_page),
	KUNIT_CASE(a_page_out_of_generations_is_not_used_again),
	KUNIT_CASE(trimming_leaves_what_is_to_be_kept),
	KUNIT_CASE(the_directory_grows),
	KUNIT_CASE(a_store_is_full_without_a_block_to_give),
	KUNIT_CASE(random_use_matches_a_model),
	{}
};

static struct kunit_suite store_test_suite = {
	.name = "twheel_store",
	.init = store_test_init,
	.exit = store_test_exit,
	.test_cases = store_test_cases,
};

kunit_test_suite(store_test_suite);

MODULE_DESCRIPTION("KUnit tests of the timing wheel");
MODULE_LICENSE("GPL");
