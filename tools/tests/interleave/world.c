// SPDX-License-Identifier: MIT
/*
 * The memory that a schedule changes; see world.h
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "world.h"

#define ARENA_BYTES	(256 << 10)
#define MAX_BLOCKS	1024
#define NEW		0xa5
#define FREED		0x6b

static char *image;
static char arena[ARENA_BYTES] __attribute__((aligned(4096)));
static size_t used;
static struct block {
	size_t start;
	size_t size;	/* whole words */
	bool freed;
} blocks[MAX_BLOCKS];
static unsigned int nr_blocks;

void world_keep(void)
{
	size_t size = __stop_world - __start_world;

	image = malloc(size);
	if (!image)
		broken("no memory for the world");
	memcpy(image, __start_world, size);
}

void world_restore(void)
{
	memcpy(__start_world, image, __stop_world - __start_world);
	used = 0;
	nr_blocks = 0;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t world_hash_memory(uint64_t hash, const void *start, const void *end)
{
	const uint64_t *word = start, *stop = end;

	for (; stop - word >= 2; word += 2)
		hash = mix(word[0] ^ 0x9e3779b97f4a7c15, word[1] ^ hash);
	if (word < stop)
		hash = mix(word[0] ^ 0xc2b2ae3d27d4eb4f, hash);
	return hash + (stop - (const uint64_t *)start);
}

uint64_t world_hash(void)
{
	size_t size = (__stop_world - __start_world) / 8 * 8;
	uint64_t hash = world_hash_memory(0, __start_world, __start_world + size);
	const struct block *block;

	for (block = blocks; block < blocks + nr_blocks; block++) {
		hash = mix(hash ^ block->freed, block->start + 0x9e3779b97f4a7c15);
		hash = world_hash_memory(hash, arena + block->start,
					 arena + block->start + block->size);
	}
	return hash;
}

static bool is_untouched(const struct block *block)
{
	const char *p = arena + block->start;

	/* Whether all bytes are equal to the first one. */
	return !block->size || (*p == FREED && !memcmp(p, p + 1, block->size - 1));
}

void world_check_freed(void)
{
	const struct block *block;

	for (block = blocks; block < blocks + nr_blocks; block++) {
		if (!block->freed)
			broken("memory has leaked");
		if (!is_untouched(block))
			broken("memory was written after it was freed");
	}
}

void *world_aligned_alloc(size_t alignment, size_t size)
{
	struct block *block = &blocks[nr_blocks];

	used = (used + alignment - 1) / alignment * alignment;
	*block = (struct block) { .start = used, .size = (size + 7) / 8 * 8 };
	used += block->size;
	if (++nr_blocks == MAX_BLOCKS || used > sizeof(arena))
		broken("the arena is too small for this schedule");
	return memset(arena + block->start, NEW, block->size);
}

void *world_malloc(size_t size)
{
	return world_aligned_alloc(16, size);
}

void *world_calloc(size_t n, size_t size)
{
	return memset(world_malloc(n * size), 0, n * size);
}

static struct block *block_of(const void *memory)
{
	unsigned int nr = nr_blocks;

	while (nr--) {
		if (arena + blocks[nr].start == memory && !blocks[nr].freed)
			return &blocks[nr];
	}
	broken("memory is freed that is not allocated");
}

void world_free(void *memory)
{
	struct block *block;

	if (!memory)
		return;
	block = block_of(memory);
	block->freed = true;
	memset(memory, FREED, block->size);
}

void *world_realloc(void *memory, size_t size)
{
	void *new = world_malloc(size);
	size_t old = memory ? block_of(memory)->size : 0;

	if (memory)
		memcpy(new, memory, old < size ? old : size);
	world_free(memory);
	return new;
}
