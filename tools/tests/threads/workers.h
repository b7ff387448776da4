/* SPDX-License-Identifier: MIT */
/*
 * Those who use the wheels: some add, modify and cancel, some wait and read
 */
#ifndef _DRIVER_WORKERS_H
#define _DRIVER_WORKERS_H

#include "books.h"

/* Those who wait are to come back for good. */
extern bool leaving;
extern unsigned int nr_adders;

/**
 * struct role - what somebody who waits does all the time
 * @wheel: for which wheel he waits.
 * @wait: his loop.
 */
struct role {
	u32 wheel;
	void (*wait)(u32 wheel);
};

#define NR_ROLES	10

extern const struct role roles[NR_ROLES];

/* Read up to @max events without harm done, and book them; a negative errno or how many. */
int read_some(u32 nr, unsigned int max, int flags);

/* What one adder does in one round. */
void add_for_a_round(unsigned int adder);

/* Open, use for a moment, and close, while the hrtimer is armed. */
void open_and_close(u32 uid);

/* What chance seldom brings about. */
void play_cases(void);

#endif /* _DRIVER_WORKERS_H */
