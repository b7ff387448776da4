// SPDX-License-Identifier: MIT
/*
 * The memory that a schedule changes; see schedule.h
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

#define NEW		0xa5
#define FREED		0x6b

static char *image;
static char arena[256 << 10] __attribute__((aligned(4096)));
static char *top WORLD = arena;
/* Before each block of memory. */
static struct block {
	struct block *previous;
	size_t size;	/* whole words */
	size_t freed;
} *newest WORLD;

void world_restore(void)
{
	size_t size = __stop_world - __start_world;

	if (image)
		memcpy(__start_world, image, size);
	else
		image = memcpy(malloc(size), __start_world, size);
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

	return world_hash_memory(hash, arena, top);
}

/* Return true if all bytes are equal to the first one, which marks freed memory. */
static bool is_untouched(const struct block *block)
{
	const char *p = (const char *)(block + 1);

	return !block->size || (*p == FREED && !memcmp(p, p + 1, block->size - 1));
}

void world_check_freed(void)
{
	const struct block *block;

	for (block = newest; block; block = block->previous) {
		if (!block->freed)
			broken("memory has leaked");
		if (!is_untouched(block))
			broken("memory was written after it was freed");
	}
}

void *world_aligned_alloc(size_t alignment, size_t size)
{
	size_t start = top - arena + sizeof(*newest);
	struct block *block;

	start = (start + alignment - 1) / alignment * alignment;
	block = (struct block *)(arena + start) - 1;
	size = (size + 7) / 8 * 8;
	if (start + size > sizeof(arena))
		broken("the arena is too small for this schedule");
	memset(top, 0, (char *)block - top);
	*block = (struct block) { newest, size };
	newest = block;
	top = arena + start + size;
	return memset(arena + start, NEW, size);
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
	struct block *block;

	for (block = newest; block; block = block->previous) {
		if (block + 1 == memory && !block->freed)
			return block;
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
