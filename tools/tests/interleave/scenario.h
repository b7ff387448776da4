/* SPDX-License-Identifier: MIT */
/*
 * Scenarios: a waiter of each kind, and the actions of others on its wheel
 */
#ifndef INTERLEAVE_SCENARIO_H
#define INTERLEAVE_SCENARIO_H

#include <uapi/linux/twheel.h>

#include "schedule.h"

/* A way to wait for a wheel, and to read */
struct waiter {
	const char *name;	/* the first part of the names of its scenarios */
	void (*run)(void);	/* waits and reads until it is killed */
	void (*worker)(void);	/* the kernel's worker, if there is one; or NULL */
	bool reads;	/* it does not poll, so it cannot wait for a ring */
};

/* The work of a coroutine. */
typedef void (*run_t)(void);

#define MAX_RUNS	3
#define MAX_DUE		12

/* The actions of others */
struct act {
	const char *name;	/* the last part of the names of its scenarios */
	clockid_t clock_id;	/* the clock of the wheel; or -1 if it has not been set up */
	/* When the first timers are due; they are added before all else. */
	unsigned char due[MAX_DUE];
	run_t run[MAX_RUNS];	/* coroutines, up to the first NULL */
	unsigned int waiters;	/* the number of waiters of the kind */
	bool has_ring;
	void (*prepare)(void);	/* further preparation, the same in every schedule; or NULL */
	/* In lone_acts, the only way to wait that it is explored with, or NULL. */
	const char *only;
	const char *also;	/* and one waiter more, or NULL */
};

struct scenario {
	const char *name;
	const struct waiter *waiter;	/* or NULL */
	const struct act *act;
};

extern const struct scenario *scenarios;
extern unsigned int nr_scenarios;

/* waiters.c, acts.c: end with an entry without a name. */
extern const struct waiter waiters[];
extern const struct act acts[], lone_acts[];

/* Make all scenarios, once; load the module. */
void scenarios_init(void);
/* Open its wheel and start its coroutines. */
void scenario_begin(const struct scenario *scenario);
/* Time may pass now, or nothing more can happen. */
void scenario_idle(void);
/* Nothing more has happened: end all coroutines, read the rest, and check the account. */
void scenario_end(void);

#endif /* INTERLEAVE_SCENARIO_H */
