// SPDX-License-Identifier: MIT
/*
 * All kinds of memory for arguments; see fuzz.h
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "tap.h"

#define SIZE	(64 * 1024)

/* A mapping of the file, with no memory after it. */
static char *view(int file, int protection, int flags)
{
	char *map = mmap(NULL, SIZE + sysconf(_SC_PAGESIZE), PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED ||
	    mmap(map, SIZE, protection, flags | MAP_FIXED, file, 0) != map)
		bail_out("cannot map memory");
	return map;
}

void memory_open(struct memory *memory)
{
	int file = memfd_create("twheel-fuzz", MFD_CLOEXEC);

	if (file < 0 || ftruncate(file, SIZE))
		bail_out("cannot create memory");
	memory->alias = view(file, PROT_READ | PROT_WRITE, MAP_SHARED);
	memory->shared = view(file, PROT_READ | PROT_WRITE, MAP_SHARED);
	memory->read_only = view(file, PROT_READ, MAP_SHARED);
	memory->private = view(file, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	close(file);
}

/* Addresses without memory of ours: low, beyond user space, or in the kernel. */
static void *wild_pointer(struct chance *chance)
{
	const uint64_t pointer[] = {
		chance_below(chance, 4096),
		0x00007ffffffff000ULL - chance_below(chance, 64),
		1ULL << 63 | chance_next(chance),
		-chance_below(chance, 1 << 20),
	};

	/* The lower halves of the others may be ours. */
	if (sizeof(void *) < sizeof(*pointer))
		return (void *)(uintptr_t)*pointer;
	return (void *)(uintptr_t)pointer[chance_below(chance, ARRAY_SIZE(pointer))];
}

/*
 * A place for @size bytes. One in eight is nowhere, or ends too early, or cannot
 * be written.
 */
struct spot memory_spot(const struct memory *memory, struct chance *chance, size_t size)
{
	unsigned int dice = chance_below(chance, 24);
	size_t offset = chance_below(chance, SIZE - size + 1);
	struct spot spot;

	if (dice == 0)
		return (struct spot) { .at = wild_pointer(chance) };
	if (dice == 1)
		offset = SIZE - chance_below(chance, size + 1);
	else if (dice < 6)
		offset = SIZE - size;
	else if (dice < 18)
		offset &= ~7UL;
	spot.fill = memory->alias + offset;
	spot.readable = SIZE - offset;
	spot.writable = spot.readable;
	if (dice == 2) {
		spot.at = memory->read_only + offset;
		spot.writable = 0;
	} else if (dice < 8) {
		spot.at = memory->private + offset;
		/* Only now and then, as all CPUs wait while a call brings pages in. */
		if (!chance_below(chance, 50))
			madvise(memory->private, SIZE, MADV_DONTNEED);
		else
			spot.fill = spot.at;
	} else {
		spot.at = memory->shared + offset;
		if (!chance_below(chance, 1000))
			madvise(memory->shared, SIZE, MADV_DONTNEED);
	}
	return spot;
}

/* Write an argument, or a part of it, to memory, as far as there is memory. */
void memory_fill(const struct spot *spot, size_t begin, const void *from, size_t size)
{
	if (spot->fill && begin < spot->readable)
		memcpy(spot->fill + begin, from,
		       size < spot->readable - begin ? size : spot->readable - begin);
}
