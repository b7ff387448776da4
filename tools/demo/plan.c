// SPDX-License-Identifier: MIT
/*
 * Plans the actions of all customers
 */
#include <err.h>
#include <stdlib.h>

#include "demo.h"

#define UNITS_MAX	3
/* One paying customer in a thousand pays this close to the deadline. */
#define LAST_MOMENT_IN	1000
#define LAST_MOMENT_NS	(10 * MSEC)
#define NEVER		UINT32_MAX

static struct chance customers;

void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		errx(1, "out of memory: try fewer reservations with --count");
	return memory;
}

static uint64_t random_between(uint64_t from, uint64_t to)
{
	return from + chance_below(&customers, to - from);
}

static void plan_customer(uint32_t nr, uint32_t *slot[ACTIONS])
{
	struct reservation *r = &shop.reservation[nr];
	uint64_t arrival = chance_below(&customers, option.window_ns);
	uint64_t deadline = arrival + option.hold_ns, from = arrival, moment;

	r->deadline = deadline;
	r->product = chance_below(&customers, PRODUCTS);
	r->units = 1 + chance_below(&customers, UNITS_MAX);
	shop.product[r->product].initial += r->units;
	slot[ARRIVE][nr] = arrival / SLOT_NS;
	slot[EXTEND][nr] = NEVER;
	slot[PAY][nr] = NEVER;

	if (chance_hit(&customers, EXTEND_PERCENT)) {
		from = random_between(arrival + option.hold_ns / 2, deadline);
		slot[EXTEND][nr] = from / SLOT_NS;
		deadline += EXTENSION(option.hold_ns);
	}
	if (deadline > shop.closing)
		shop.closing = deadline;
	if (!chance_hit(&customers, option.paid_percent))
		return;
	if (chance_below(&customers, LAST_MOMENT_IN))
		moment = random_between(from, deadline);
	else
		moment = random_between(deadline - LAST_MOMENT_NS, deadline + LAST_MOMENT_NS);
	slot[PAY][nr] = moment / SLOT_NS;
}

/* Sort the actions of all customers by their slot: a counting sort. */
static void fill_calendar(struct calendar *c, uint32_t *slot[ACTIONS])
{
	uint32_t *next = c->first = allocate(shop.slots + 2, sizeof(*c->first));

	/* Count two slots ahead, so that the starts are right after filling. */
	for (int a = 0; a < ACTIONS; a++)
		for (uint64_t i = 0; i < option.count; i++)
			if (slot[a][i] != NEVER)
				next[slot[a][i] + 2]++;
	for (uint32_t s = 2; s < shop.slots + 2; s++)
		next[s] += next[s - 1];
	c->entry = allocate(next[shop.slots + 1] + 1, sizeof(*c->entry));
	for (uint32_t a = 0; a < ACTIONS; a++)
		for (uint64_t i = 0; i < option.count; i++)
			if (slot[a][i] != NEVER)
				c->entry[next[slot[a][i] + 1]++] = a << ACTION_SHIFT | i;
}

void plan(void)
{
	uint32_t *slot[ACTIONS];

	/* The same seed gives the same plan everywhere. */
	chance_init(&customers, option.seed, 0);
	shop.reservation = allocate(option.count, sizeof(*shop.reservation));
	for (int a = 0; a < ACTIONS; a++)
		slot[a] = allocate(option.count, sizeof(*slot[a]));
	for (uint64_t i = 0; i < option.count; i++)
		plan_customer(i, slot);

	shop.slots = (shop.closing + LAST_MOMENT_NS) / SLOT_NS + 1;
	fill_calendar(&shop.calendar, slot);
	for (int a = 0; a < ACTIONS; a++)
		free(slot[a]);

	/* Enough stock of everything, so that some stays on the shelf. */
	for (int p = 0; p < PRODUCTS; p++) {
		shop.product[p].initial += chance_below(&customers, 100);
		shop.product[p].on_shelf = shop.product[p].initial;
	}
}
