// SPDX-License-Identifier: MIT
/*
 * Arguments of calls: valid and nearly valid
 */
#include <string.h>

#include "clock.h"
#include "fuzz.h"

/* Times of every size, many of them soon, some at the edge of the valid range. */
static uint64_t any_time(struct fuzzer *fuzzer, clockid_t clock, uint32_t flags)
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
	return flags & TWHEEL_ABSTIME && dice < 90 ? now_on(clock) + time - 5 * MSEC : time;
}

static uint32_t any_flags(struct chance *chance)
{
	if (chance_hit(chance, 3))
		return 1U << chance_below(chance, 32);
	return chance_below(chance, 2) ? TWHEEL_ABSTIME : 0;
}

uint32_t any_reserved(struct chance *chance)
{
	return chance_hit(chance, 2) ? chance_next(chance) : 0;
}

void any_add(struct fuzzer *fuzzer, clockid_t clock, struct twheel_add *add)
{
	struct chance *chance = &fuzzer->chance;

	add->id = chance_next(chance);
	add->flags = any_flags(chance);
	add->time_ns = any_time(fuzzer, clock, add->flags);
	add->interval_ns = 0;
	if (chance_hit(chance, 20))
		add->interval_ns = MSEC + chance_below(chance, 100 * MSEC);
	else if (chance_hit(chance, 5))
		add->interval_ns = chance_any_size(chance);
	add->data = chance_next(chance);
	add->reserved = any_reserved(chance);
}

void any_modify(struct fuzzer *fuzzer, clockid_t clock, struct twheel_modify *modify)
{
	modify->flags = any_flags(&fuzzer->chance);
	modify->time_ns = any_time(fuzzer, clock, modify->flags);
	modify->reserved = any_reserved(&fuzzer->chance);
}

static uint64_t any_tick(struct chance *chance)
{
	switch (chance_below(chance, 8)) {
	case 0:
		return chance_any_size(chance);
	case 1:
		return TWHEEL_TICK_MIN_NS - 1 + chance_below(chance, 3);
	case 2:
		return TWHEEL_TICK_MAX_NS - 1 + chance_below(chance, 3);
	default:
		return TWHEEL_TICK_MIN_NS + chance_below(chance, 2 * MSEC);
	}
}

static uint32_t any_wheel_size(struct chance *chance)
{
	switch (chance_below(chance, 16)) {
	case 0:
		return chance_any_size(chance);
	case 1:
		return TWHEEL_SIZE_MAX - 1 + chance_below(chance, 3);
	case 2:
	case 3:
		return TWHEEL_SIZE_MIN - 1 + chance_below(chance, 3);
	default:
		return 1U << (1 + chance_below(chance, 10)) |
		       chance_below(chance, 2) * chance_below(chance, 1000);
	}
}

void any_setup(struct fuzzer *fuzzer, struct twheel_setup *setup)
{
	struct chance *chance = &fuzzer->chance;

	memset(setup, 0, sizeof(*setup));
	setup->tick_ns = any_tick(chance);
	setup->wheel_size = any_wheel_size(chance);
	setup->clock_id = chance_hit(chance, 50) ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
	if (chance_hit(chance, 5))
		setup->clock_id = chance_below(chance, 12);
	else if (chance_hit(chance, 10))
		setup->clock_id = chance_hit(chance, 50) ? CLOCK_REALTIME : CLOCK_TAI;
	if (chance_hit(chance, 30))
		setup->max_timers = chance_below(chance, 100);
	else if (chance_hit(chance, 5))
		setup->max_timers = chance_any_size(chance);
	setup->flags = any_reserved(chance);
	setup->reserved[chance_below(chance, 3)] = any_reserved(chance);
}
