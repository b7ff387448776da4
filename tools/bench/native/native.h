/* SPDX-License-Identifier: MIT */
/*
 * The interface between the benchmark in user space and its facilities
 *
 * A facility holds timers, numbered from 0. The loops are in the facility, so that none
 * pays for calls through a pointer.
 */
#ifndef _BENCH_NATIVE_H
#define _BENCH_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_TICK_NS	1000000ULL
/* The start time of each facility's clock, chosen arbitrarily. */
#define BENCH_START_NS	86412345678901ULL

/**
 * struct outcome - what expired
 * @count: number of timers.
 * @sum: sum of their numbers.
 * @wrong: number of those that were early, or after one of a later tick.
 * @now: the time, in ticks.
 * @last: the tick of the timer that expired last.
 */
struct outcome {
	uint64_t count;
	uint64_t sum;
	uint64_t wrong;
	uint64_t now;
	uint64_t last;
};

/**
 * struct facility - something that holds timers
 * @name: its name in the table.
 * @about: a description.
 * @create: make one for a number of timers, with all the memory that it needs.
 * @add: arm timers 0 to n - 1, timer i @delay[i] nanoseconds from now.
 * @cancel: cancel the timers whose numbers are @order[0] to @order[n - 1].
 * @expire: as a driver would, move the clock from one tick with something to do to the
 *	next, until no timer is left.
 * @destroy: free it.
 */
struct facility {
	const char *name;
	const char *about;
	void *(*create)(uint32_t n);
	void (*add)(void *self, const uint64_t *delay, uint32_t n);
	void (*cancel)(void *self, const uint32_t *order, uint32_t n);
	void (*expire)(void *self, struct outcome *outcome);
	void (*destroy)(void *self);
};

extern const struct facility bench_core, bench_store, bench_heap, bench_multimap;

/* Zeroed, populated memory, in huge pages if the system has them. */
void *bench_alloc(size_t bytes);
void bench_free(void *p, size_t bytes);

/* Have malloc() keep this much populated memory. */
void bench_fill_heap(size_t bytes);

static inline uint64_t bench_tick(uint64_t deadline)
{
	return (deadline + BENCH_TICK_NS - 1) / BENCH_TICK_NS;
}

/* Touch a timer as the reader of its event would. */
static inline void bench_deliver(struct outcome *o, uint64_t deadline, uint64_t number)
{
	uint64_t tick = bench_tick(deadline);

	o->count++;
	o->sum += number;
	o->wrong += tick > o->now || tick < o->last;
	o->last = tick;
}

#ifdef __cplusplus
}
#endif

#endif /* _BENCH_NATIVE_H */
