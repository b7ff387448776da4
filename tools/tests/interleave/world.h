/* SPDX-License-Identifier: MIT */
/*
 * The memory that a schedule changes
 *
 * All of it is restored before the next schedule, and hashed to recognise a state that has been
 * seen: variables marked WORLD, allocated memory, and the stacks of the coroutines.
 *
 * Memory is never reused within a schedule. New and freed memory is filled with patterns: a
 * read after free gets garbage, and a write after free is found at the end.
 */
#ifndef INTERLEAVE_WORLD_H
#define INTERLEAVE_WORLD_H

#include <stddef.h>
#include <stdint.h>

/* Defined by the linker. */
extern char __start_world[], __stop_world[];

/* Save the current contents of WORLD variables as those of the beginning. */
void world_keep(void);
/* Restore them, and free all allocated memory. */
void world_restore(void);

uint64_t world_hash(void);
/* Hash whole words of memory. */
uint64_t world_hash_memory(uint64_t hash, const void *start, const void *end);

/* End the schedule with broken() if memory is left, or was written after it was freed. */
void world_check_freed(void);

/* The allocator: see INTERLEAVE_WORLD in tools/Makefile. */
void *world_malloc(size_t size);
void *world_calloc(size_t n, size_t size);
void *world_realloc(void *memory, size_t size);
void *world_aligned_alloc(size_t alignment, size_t size);
void world_free(void *memory);

#endif /* INTERLEAVE_WORLD_H */
