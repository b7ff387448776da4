/* SPDX-License-Identifier: MIT */
/*
 * race.h - the ledger of twheel-race, and its races
 *
 * Every timer of a race has a record, whose number is the timer's data. Workers, which
 * are threads, record the results of their calls there. At the end every timer must have
 * been read once or cancelled once.
 */
#ifndef RACE_H
#define RACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <linux/twheel.h>

#include "chance.h"
#include "helpers.h"
#include "libtwheel-device.h"

#define MAX_WHEELS	4
#define MAX_WORKERS	6
#define MAX_BATCH	32
#define MAX_ERRORS	8

/* The account of one timer */
struct record {
	/* The id that the add returned, or 0. */
	atomic_ullong id;
	atomic_ullong read_id;	/* as its event had it */
	atomic_ushort delivered;	/* how often it was read */
	atomic_ushort cancelled;	/* how often it was cancelled */
	atomic_uchar wheel;	/* the number of its wheel */
};

/* One that calls the device */
struct worker {
	struct ledger *ledger;
	struct chance chance;
	/* How many timers it has added, cancelled, modified or read, and its other calls. */
	uint64_t ops;
	struct twheel_add add[MAX_BATCH];
	uint32_t number[MAX_BATCH];	/* records of the timers being cancelled or modified */
	uint64_t id[MAX_BATCH];
	struct twheel_modify modify[MAX_BATCH];	/* their new deadlines */
	struct twheel_event event[MAX_BATCH];
};

/* A wheel that workers share */
struct wheel {
	int fd;
	clockid_t clock;
	unsigned int nr;
	struct twheel_ring_view ring;	/* its ring, or all zero */
};

/* The account of a race */
struct ledger {
	atomic_bool stop;	/* makes the workers end */
	atomic_uint errors;
	char error[MAX_ERRORS][160];	/* the first errors */
	atomic_uint next;	/* number of the next record */
	uint32_t capacity;	/* number of records */
	struct worker worker[MAX_WORKERS];
	struct wheel wheel[MAX_WHEELS];
	unsigned int wheels;
	pthread_mutex_t taking;	/* held by the worker that takes events from a ring */
	struct record record[];
};

struct ledger *ledger_open(uint32_t capacity, uint64_t seed);
__printf(2, 3) void ledger_error(struct ledger *ledger, const char *format, ...);
struct wheel *ledger_wheel(struct ledger *ledger, int flags, const struct twheel_setup *setup);
void ledger_ring(struct wheel *wheel, uint32_t slots);
void ledger_close_wheels(struct ledger *ledger);
uint64_t ledger_drain(struct ledger *ledger);
bool ledger_balance(struct ledger *ledger);
uint64_t ledger_ops(const struct ledger *ledger);

bool worker_add(struct worker *worker, struct wheel *wheel, unsigned int count);
void worker_cancel(struct worker *worker, struct wheel *wheel, unsigned int count);
void worker_modify(struct worker *worker, struct wheel *wheel, unsigned int count);
unsigned int worker_read(struct worker *worker, struct wheel *wheel, unsigned int max);
int poll_in(int fd, int timeout_ms);

/* The options of all races */
struct race_options {
	uint64_t ops;	/* number of operations, roughly */
	uint64_t seed;	/* the seed of random numbers */
	const char *module;	/* the module's file, or NULL */
	/* The wheels that have a clock of their own have CLOCK_REALTIME or CLOCK_TAI. */
	bool wall;
};

void race_mayhem(const struct race_options *options);
void race_hotplug(const struct race_options *options);
void race_set_clock(const struct race_options *options);
void race_unload(const struct race_options *options);

#endif /* RACE_H */
