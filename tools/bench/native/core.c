// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wheel in the benchmark: the core with its timers in one array, and the
 * core with its timers in the store, found by their ids, as in the driver
 */
#include <stdlib.h>

#include "twheel.h"
#include "twheel_store.h"
#include "native.h"

#define WHEEL_SIZE	256
#define LEVELS		4
/* Steps at a time, as in the driver. */
#define BUDGET		64

struct core {
	struct twheel wheel;
	u64 now_ns;
	u32 n;
	struct twheel_entry *entry;
	struct twheel_store store;
	u64 *id;
};

static struct core *new_core(uint32_t n)
{
	struct core *c = calloc(1, sizeof(*c));
	u8 nr;

	if (!c)
		abort();
	c->n = n;
	c->now_ns = BENCH_START_NS;
	twheel_init(&c->wheel, BENCH_TICK_NS, WHEEL_SIZE, BENCH_START_NS / BENCH_TICK_NS);
	for (nr = 0; nr < LEVELS; nr++) {
		struct twheel_level *level = twheel_level_alloc(&c->wheel, nr, GFP_KERNEL);

		if (!level)
			abort();
		twheel_level_install(&c->wheel, level);
	}
	return c;
}

static void add(struct core *c, struct twheel_entry *entry, u64 delay, u32 number)
{
	entry->timer.deadline = c->now_ns + delay;
	entry->data = number;
	entry->interval = 0;
	if (!twheel_add(&c->wheel, &entry->timer))
		abort();
}

/* The next timer to expire, whenever that is. */
static struct twheel_entry *next_expired(struct core *c, struct outcome *o)
{
	struct twheel_timer *timer;
	u64 tick;

	while (!(timer = twheel_pop(&c->wheel))) {
		if (!twheel_next(&c->wheel, &tick))
			return NULL;
		o->now = tick;
		while (twheel_advance(&c->wheel, o->now, BUDGET))
			;
		twheel_forward(&c->wheel, o->now);
	}
	bench_deliver(o, timer->deadline, container_of(timer, struct twheel_entry, timer)->data);
	return container_of(timer, struct twheel_entry, timer);
}

static void *core_create(uint32_t n)
{
	struct core *c = new_core(n);

	c->entry = bench_alloc(n * sizeof(*c->entry));
	return c;
}

static void core_add(void *self, const uint64_t *delay, uint32_t n)
{
	struct core *c = self;
	uint32_t i;

	for (i = 0; i < n; i++)
		add(c, &c->entry[i], delay[i], i);
}

static void core_cancel(void *self, const uint32_t *order, uint32_t n)
{
	struct core *c = self;
	uint32_t i;

	for (i = 0; i < n; i++)
		twheel_cancel(&c->wheel, &c->entry[order[i]].timer);
}

static void core_expire(void *self, struct outcome *o)
{
	struct core *c = self;

	while (next_expired(c, o))
		;
	c->now_ns = c->wheel.now * BENCH_TICK_NS;
}

static void core_destroy(void *self)
{
	struct core *c = self;

	twheel_destroy(&c->wheel);
	bench_free(c->entry, c->n * sizeof(*c->entry));
	free(c);
}

const struct facility bench_core = {
	.name = "core",
	.about = "the wheel, timers in an array of 48-byte entries",
	.create = core_create,
	.add = core_add,
	.cancel = core_cancel,
	.expire = core_expire,
	.destroy = core_destroy,
};

static void *store_create(uint32_t n)
{
	struct core *c = new_core(n);

	c->id = bench_alloc(n * sizeof(*c->id));
	bench_fill_heap((n / TWHEEL_PAGE_ENTRIES + 1) * (PAGE_SIZE + 64));
	twheel_store_init(&c->store);
	while (c->store.nr_pages * TWHEEL_PAGE_ENTRIES < n) {
		void *page = (void *)get_zeroed_page(GFP_KERNEL);

		if (!page || twheel_store_grow(&c->store, page, GFP_KERNEL))
			abort();
	}
	return c;
}

static void store_add(void *self, const uint64_t *delay, uint32_t n)
{
	struct core *c = self;
	uint32_t i;

	for (i = 0; i < n; i++)
		add(c, twheel_store_get(&c->store, &c->id[i]), delay[i], i);
}

static void store_cancel(void *self, const uint32_t *order, uint32_t n)
{
	struct core *c = self;
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct twheel_entry *entry;

		if (!twheel_store_find(&c->store, c->id[order[i]], &entry))
			continue;
		twheel_cancel(&c->wheel, &entry->timer);
		twheel_store_put(&c->store, entry);
	}
}

static void store_expire(void *self, struct outcome *o)
{
	struct core *c = self;
	struct twheel_entry *entry;

	while ((entry = next_expired(c, o)))
		twheel_store_put(&c->store, entry);
	c->now_ns = c->wheel.now * BENCH_TICK_NS;
}

static void store_destroy(void *self)
{
	struct core *c = self;

	twheel_destroy(&c->wheel);
	twheel_store_destroy(&c->store);
	bench_free(c->id, c->n * sizeof(*c->id));
	free(c);
}

const struct facility bench_store = {
	.name = "core+store",
	.about = "the wheel, timers in the driver's store and found by id",
	.create = store_create,
	.add = store_add,
	.cancel = store_cancel,
	.expire = store_expire,
	.destroy = store_destroy,
};
