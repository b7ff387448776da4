// SPDX-License-Identifier: MIT
/*
 * Arguments of calls: valid and nearly valid
 */
#include <string.h>

#include "clock.h"
#include "fuzz.h"

/* Times of every size, many of them soon, some at the edge of the valid range. */
static uint64_t any_time(struct fuzzer *fuzzer, uint32_t flags)
{
	struct chance *chance = &fuzzer->chance;
	unsigned int dice = chance_below(chance, 100);
	uint64_t time;

	if (dice < 60)
		time = chance_below(chance, 10 * MSEC);
	else if (dice < 70)
		time = 0;
	else if (dice < 95)
		time = chance_any_size(chance) >> 1;
	else if (dice < 98)
		return TWHEEL_TIME_MAX_NS - 2 + chance_below(chance, 5);
	else
		return chance_next(chance);
	if (flags & TWHEEL_ABSTIME && dice < 90)
		time += now_on(fuzzer->model.clock) - 5 * MSEC;
	return time;
}

static uint32_t any_flags(struct chance *chance)
{
	if (chance_hit(chance, 3))
		return 1U << chance_below(chance, 32);
	return chance_below(chance, 2) ? TWHEEL_ABSTIME : 0;
}

uint32_t any_reserved(struct chance *chance)
{
	return chance_hit(chance, 2) ? 1U << chance_below(chance, 32) : 0;
}

/* The id of a timer that exists, existed, or never will. */
uint64_t any_id(struct fuzzer *fuzzer)
{
	const struct model *model = &fuzzer->model;
	struct chance *chance = &fuzzer->chance;
	unsigned int dice = chance_below(chance, 100);
	uint64_t id;

	if (dice < 80 && model->count)
		id = model->timer[chance_below(chance, model->count)].id;
	else if (dice < 95 && model->nr_dead)
		id = model->dead[chance_below(chance, model->nr_dead) % FUZZ_DEAD];
	else
		id = chance_any_size(chance);
	if (chance_hit(chance, 3))
		id ^= 1ULL << chance_below(chance, 64);
	return id;
}

static void any_add(struct fuzzer *fuzzer, struct twheel_add *add)
{
	struct chance *chance = &fuzzer->chance;

	add->id = chance_next(chance);
	add->flags = any_flags(chance);
	add->time_ns = any_time(fuzzer, add->flags);
	if (chance_hit(chance, 20))
		add->interval_ns = MSEC + chance_below(chance, 100 * MSEC);
	else if (chance_hit(chance, 5))
		add->interval_ns = chance_any_size(chance);
	else if (chance_hit(chance, 2))
		add->interval_ns = fuzzer->model.tick_ns - 1 + chance_below(chance, 3);
	else if (chance_hit(chance, 2))
		add->interval_ns = TWHEEL_TIME_MAX_NS - 2 + chance_below(chance, 5);
	add->data = chance_next(chance);
	add->reserved = any_reserved(chance);
}

static void any_modify(struct fuzzer *fuzzer, struct twheel_modify *modify)
{
	modify->id = any_id(fuzzer);
	modify->flags = any_flags(&fuzzer->chance);
	modify->time_ns = any_time(fuzzer, modify->flags);
	modify->reserved = any_reserved(&fuzzer->chance);
}

void any_entry(struct fuzzer *fuzzer, uint32_t cmd, union entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	if (cmd == TWHEEL_ADD)
		any_add(fuzzer, &entry->add);
	else if (cmd == TWHEEL_MODIFY)
		any_modify(fuzzer, &entry->modify);
	else
		entry->id = any_id(fuzzer);
}

static uint64_t any_tick(struct chance *chance)
{
	const uint64_t odd[] = {
		chance_any_size(chance),
		TWHEEL_TICK_MIN_NS - 1 + chance_below(chance, 3),
		TWHEEL_TICK_MAX_NS - 1 + chance_below(chance, 3),
	};
	unsigned int dice = chance_below(chance, 8);

	return dice < ARRAY_SIZE(odd) ? odd[dice] :
	       TWHEEL_TICK_MIN_NS + chance_below(chance, 2 * MSEC);
}

static uint32_t any_wheel_size(struct chance *chance)
{
	const uint32_t odd[] = {
		chance_any_size(chance),
		TWHEEL_SIZE_MAX - 1 + chance_below(chance, 3),
		TWHEEL_SIZE_MIN - 1 + chance_below(chance, 3),
		TWHEEL_SIZE_MIN - 1 + chance_below(chance, 3),
	};
	unsigned int dice = chance_below(chance, 16);

	return dice < ARRAY_SIZE(odd) ? odd[dice] :
	       1U << (1 + chance_below(chance, 10)) |
	       chance_below(chance, 2) * chance_below(chance, 1000);
}

struct twheel_setup any_setup(struct chance *chance)
{
	struct twheel_setup setup = {
		.tick_ns = any_tick(chance),
		.wheel_size = any_wheel_size(chance),
		.clock_id = chance_hit(chance, 50) ? CLOCK_BOOTTIME : CLOCK_MONOTONIC,
		.flags = any_reserved(chance),
	};

	if (chance_hit(chance, 5))
		setup.clock_id = chance_below(chance, 12);
	else if (chance_hit(chance, 10))
		setup.clock_id = chance_hit(chance, 50) ? CLOCK_REALTIME : CLOCK_TAI;
	if (chance_hit(chance, 30))
		setup.max_timers = chance_below(chance, 100);
	else if (chance_hit(chance, 5))
		setup.max_timers = chance_any_size(chance);
	setup.reserved[chance_below(chance, 3)] = any_reserved(chance);
	return setup;
}

struct twheel_ring_setup any_ring(struct chance *chance)
{
	struct twheel_ring_setup setup = {
		.slots = chance_hit(chance, 70) ? chance_below(chance, 300) :
			 chance_hit(chance, 50) ? chance_below(chance, 4) :
			 TWHEEL_RING_SLOTS_MAX - 1 + chance_below(chance, 3),
		.size = chance_next(chance),
		.flags = any_reserved(chance),
		.reserved = any_reserved(chance),
	};

	if (chance_hit(chance, 5))
		setup.slots = chance_next(chance);
	return setup;
}
