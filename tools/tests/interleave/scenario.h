/* SPDX-License-Identifier: MIT */
/*
 * Scenarios: a waiter of each kind, the actions of other tasks on its wheel, and the ledger: each
 * timer is read once or cancelled once, not early, and not late
 */
#pragma once

#include <uapi/linux/twheel.h>

#include "calls.h"
#include "schedule.h"

/* A way to wait for a wheel, and to read */
struct waiter {
	const char *name;	/* the first part of the names of its scenarios */
	const char *about;
	void (*run)(void);	/* waits and reads until it is killed; or NULL if nothing waits */
	bool reads;	/* it does not poll, so it cannot wait for a ring */
	bool shares;	/* alone it is like another one */
};

#define TICK_NS		1000ULL
#define MAX_DUE		12
#define MAX_ACTIONS	4

/* A call, and its arguments */
struct step {
	void (*call)(const struct step *step);
	unsigned int nr;	/* the number of a timer, which is its data, or of the first one */
	int ticks;	/* from the beginning, or from now */
	unsigned int n;	/* the number of timers, or another number */
};

/* The actions of other tasks */
struct act {
	const char *name;	/* the last part of the names of its scenarios */
	/* When the first timers are due; they are added before all else. */
	unsigned char due[MAX_DUE];
	struct step one[MAX_ACTIONS], other[MAX_ACTIONS];	/* of two tasks, or less */
	unsigned int period;	/* of the first timers, in ticks */
	unsigned int tick;	/* of the wheel, in those ticks; 0 stands for one */
	unsigned int waiters;	/* the number of waiters of the kind; 0 stands for one */
	bool is_wall;	/* the wheel is on CLOCK_REALTIME, not on CLOCK_MONOTONIC */
	bool is_bare;	/* it has not been set up */
	bool has_ring;
	bool has_uring;	/* adds and cancels are io_uring commands */
	const char *only;	/* the only way to wait that it is explored with, or NULL */
	void (*also)(void);	/* another waiter, or NULL */
};

struct scenario {
	const char *name;
	const char *about;
	const struct waiter *waiter;
	const struct act *act;
};

extern struct scenario scenarios[];
/* acts.c: ends with an entry without a name. */
extern const struct act acts[];

/* Make all scenarios, once, and load the module; return how many there are. */
unsigned int scenarios_init(void);
/* Open its wheel and start its coroutines. */
void scenario_begin(const struct scenario *scenario);
/* Time may pass now, or nothing more can happen. */
void scenario_idle(void);
/* Nothing more has happened: end all coroutines, read the rest, and check the ledger. */
void scenario_end(void);

/*
 * The ledger: all calls that change or read timers go through here.
 */

/* Open the wheel, with the first timers. */
void ledger_open(const struct act *act);

/* Steps: they may fail only for lack of memory, because of a signal, or as it is too late. */
void add(const struct step *step);
void add_batch(const struct step *step);
void modify(const struct step *step);
void query(const struct step *step);
void cancel(const struct step *step);
void set_up(const struct step *step);
void add_to_the_limit(const struct step *step);

/* Check, while time stands still, that every sleeping waiter will be woken in time. */
void ledger_check_idle(void);
/* Read the rest, check every timer and all memory, and close. */
void ledger_close(void);
