// SPDX-License-Identifier: MIT
/*
 * A binary heap in the benchmark: an array of deadlines and timers, each of
 * which knows where in the array it is, so that it can be cancelled in O(log n)
 */
#include <stdlib.h>

#include "native.h"

/* A timer as a user of a heap would have it. */
struct entry {
	uint64_t data;
	uint64_t interval;
	uint32_t place;
};

/* Deadlines are in the array: comparing them touches no timer. */
struct slot {
	uint64_t deadline;
	struct entry *entry;
};

struct heap {
	uint64_t now_ns;
	uint32_t n;
	uint32_t count;
	struct slot *slot;
	struct entry *entry;
};

static void put(struct heap *h, uint32_t place, struct slot s)
{
	h->slot[place] = s;
	s.entry->place = place;
}

static void sift_up(struct heap *h, uint32_t place, struct slot s)
{
	while (place) {
		uint32_t parent = (place - 1) / 2;

		if (h->slot[parent].deadline <= s.deadline)
			break;
		put(h, place, h->slot[parent]);
		place = parent;
	}
	put(h, place, s);
}

static void sift_down(struct heap *h, uint32_t place, struct slot s)
{
	uint32_t child;

	while ((child = 2 * place + 1) < h->count) {
		if (child + 1 < h->count &&
		    h->slot[child + 1].deadline < h->slot[child].deadline)
			child++;
		if (h->slot[child].deadline >= s.deadline)
			break;
		put(h, place, h->slot[child]);
		place = child;
	}
	put(h, place, s);
}

/* The last one takes the place of the removed one. */
static void take(struct heap *h, uint32_t place)
{
	struct slot last = h->slot[--h->count];

	if (place == h->count)
		return;
	if (place && last.deadline < h->slot[(place - 1) / 2].deadline)
		sift_up(h, place, last);
	else
		sift_down(h, place, last);
}

static void *heap_create(uint32_t n)
{
	struct heap *h = calloc(1, sizeof(*h));

	if (!h)
		abort();
	h->n = n;
	h->now_ns = BENCH_START_NS;
	h->slot = bench_alloc(n * sizeof(*h->slot));
	h->entry = bench_alloc(n * sizeof(*h->entry));
	return h;
}

static void heap_add(void *self, const uint64_t *delay, uint32_t n)
{
	struct heap *h = self;
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct slot s = { h->now_ns + delay[i], &h->entry[i] };

		s.entry->data = i;
		s.entry->interval = 0;
		sift_up(h, h->count++, s);
	}
}

static void heap_cancel(void *self, const uint32_t *order, uint32_t n)
{
	struct heap *h = self;
	uint32_t i;

	for (i = 0; i < n; i++)
		take(h, h->entry[order[i]].place);
}

static void heap_expire(void *self, struct outcome *o)
{
	struct heap *h = self;

	while (h->count) {
		o->now = bench_tick(h->slot[0].deadline);
		h->now_ns = o->now * BENCH_TICK_NS;
		while (h->count && h->slot[0].deadline <= h->now_ns) {
			bench_deliver(o, h->slot[0].deadline, h->slot[0].entry->data);
			take(h, 0);
		}
	}
}

static void heap_destroy(void *self)
{
	struct heap *h = self;

	bench_free(h->slot, h->n * sizeof(*h->slot));
	bench_free(h->entry, h->n * sizeof(*h->entry));
	free(h);
}

const struct facility bench_heap = {
	.name = "heap",
	.about = "a binary heap in an array, timers know their places",
	.create = heap_create,
	.add = heap_add,
	.cancel = heap_cancel,
	.expire = heap_expire,
	.destroy = heap_destroy,
};
