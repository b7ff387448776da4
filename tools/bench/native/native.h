/* SPDX-License-Identifier: MIT */
/*
 * What the benchmark in user space and the facilities it compares agree on
 *
 * A facility holds timers, numbered from 0, and does the same work in its own
 * way. Loops are the facility's, so that none pays for being called through a
 * pointer.
 */
#ifndef _BENCH_NATIVE_H
#define _BENCH_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_TICK_NS	1000000ULL
/* Where the clock of each facility starts: as good as any other time. */
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
 * @name: what the table calls it.
 * @about: what it is.
 * @create: make one for a number of timers, with all memory it will need.
 * @add: arm timers 0 to n - 1, timer i @delay[i] nanoseconds from now.
 * @cancel: cancel the timers whose numbers are @order[0] to @order[n - 1].
 * @expire: move the clock from one tick at which there is something to do to
 *	the next one, as a driver would, until no timer is left.
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

/* Zeroed memory that is really there, in huge pages if the system has them. */
void *bench_alloc(size_t bytes);
void bench_free(void *p, size_t bytes);

/* Have malloc() keep this much memory that is really there. */
void bench_fill_heap(size_t bytes);

static inline uint64_t bench_tick(uint64_t deadline)
{
	return (deadline + BENCH_TICK_NS - 1) / BENCH_TICK_NS;
}

/* Look at a timer as the reader of an event would. */
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
