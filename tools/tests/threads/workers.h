/* SPDX-License-Identifier: MIT */
/*
 * The threads that use the wheels: some add, modify and cancel, some wait and read
 */
#ifndef _DRIVER_WORKERS_H
#define _DRIVER_WORKERS_H

#include "ledger.h"

/* Makes waiters return for good. */
extern bool leaving;
extern uint64_t nr_adders;

/* A waiter */
struct role {
	u32 wheel;	/* the wheel that it waits for */
	void (*wait)(u32 wheel);
};

#define NR_ROLES	15

extern const struct role roles[NR_ROLES];

/* Read up to @max events, and record them; a negative errno or how many. */
int read_some(u32 nr, unsigned int max, int flags);

/* ring.c: make the ring of a wheel, unless it has one, and map it. */
void map_ring(u32 nr);
/* Take up to @max events and record them; -EAGAIN, or how many. */
int take_some(u32 nr, unsigned int max);
/* Take all events, and poll as long as there are more. */
void take_all(u32 nr);

/* A wheel with a ring: one thread writes garbage to it, while another one uses it. */
void vandal_open(void);
void vandal_write(void);
void vandal_use(void);
void vandal_close(void);

/* The work of one adder in one round. */
void add_for_a_round(unsigned int adder);

/* Open, use for a moment, and close, while the hrtimer is armed. */
void open_and_close(void);

/* The rare cases. */
void play_cases(void);
/* Calls without memory. */
void fail_each_step(void);

#endif /* _DRIVER_WORKERS_H */
