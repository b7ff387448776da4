// SPDX-License-Identifier: MIT
/*
 * std::multimap in the benchmark: each timer knows its node in the tree
 */
#include <map>
#include <vector>

#include "native.h"

namespace {

struct entry;
using tree = std::multimap<uint64_t, entry *>;

/* A timer as a user of a multimap would have it. */
struct entry {
	uint64_t data;
	uint64_t interval;
	tree::iterator place;
};

struct multimap {
	uint64_t now_ns = BENCH_START_NS;
	tree timers;
	entry *entries;
	uint32_t n;
};

/* A node: three links, a colour, the pair; and the overhead of malloc(). */
constexpr size_t node_bytes = 4 * sizeof(void *) + sizeof(tree::value_type) + 16;

void *multimap_create(uint32_t n)
{
	auto *m = new multimap;

	m->n = n;
	m->entries = static_cast<entry *>(bench_alloc(n * sizeof(entry)));
	bench_fill_heap(n * node_bytes);
	return m;
}

void multimap_add(void *self, const uint64_t *delay, uint32_t n)
{
	auto *m = static_cast<multimap *>(self);

	for (uint32_t i = 0; i < n; i++) {
		entry *e = &m->entries[i];

		e->data = i;
		e->interval = 0;
		e->place = m->timers.emplace(m->now_ns + delay[i], e);
	}
}

void multimap_cancel(void *self, const uint32_t *order, uint32_t n)
{
	auto *m = static_cast<multimap *>(self);

	for (uint32_t i = 0; i < n; i++)
		m->timers.erase(m->entries[order[i]].place);
}

void multimap_expire(void *self, struct outcome *o)
{
	auto *m = static_cast<multimap *>(self);

	while (!m->timers.empty()) {
		o->now = bench_tick(m->timers.begin()->first);
		m->now_ns = o->now * BENCH_TICK_NS;
		for (auto first = m->timers.begin();
		     first != m->timers.end() && first->first <= m->now_ns;
		     first = m->timers.erase(first))
			bench_deliver(o, first->first, first->second->data);
	}
}

void multimap_destroy(void *self)
{
	auto *m = static_cast<multimap *>(self);

	bench_free(m->entries, m->n * sizeof(entry));
	delete m;
}

} /* namespace */

const struct facility bench_multimap = {
	"multimap",
	"std::multimap, timers know their nodes",
	multimap_create,
	multimap_add,
	multimap_cancel,
	multimap_expire,
	multimap_destroy,
};
