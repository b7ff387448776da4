/* SPDX-License-Identifier: MIT */
/*
 * race.h - the accountant of twheel-race, and its races
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

/**
 * struct record - the account of one timer
 * @id: the id that the add returned; 0 means that there is no such timer.
 * @read_id: as its event had it.
 * @delivered: how often it was read.
 * @cancelled: how often it was cancelled.
 * @wheel: the number of its wheel.
 */
struct record {
	atomic_ullong id;
	atomic_ullong read_id;
	atomic_ushort delivered;
	atomic_ushort cancelled;
	atomic_uchar wheel;
};

/**
 * struct worker - one that calls the device
 * @books: where it writes.
 * @chance: decides what it does.
 * @ops: how many timers it has added, cancelled, modified or read, and how many
 *	other calls it has made.
 * @add: timers being added.
 * @number: records of the timers being cancelled or modified.
 * @id: their ids.
 * @modify: their new deadlines.
 * @event: events being read.
 */
struct worker {
	struct books *books;
	struct chance chance;
	uint64_t ops;
	struct twheel_add add[MAX_BATCH];
	uint32_t number[MAX_BATCH];
	uint64_t id[MAX_BATCH];
	struct twheel_modify modify[MAX_BATCH];
	struct twheel_event event[MAX_BATCH];
};

/**
 * struct wheel - a wheel that workers share
 * @fd: its descriptor.
 * @clock: its clock.
 * @nr: its number.
 * @ring: its ring, or all zero.
 */
struct wheel {
	int fd;
	clockid_t clock;
	unsigned int nr;
	struct twheel_ring_view ring;
};

/**
 * struct books - the account of a race
 * @stop: makes the workers end.
 * @errors: number of errors.
 * @error: the first errors.
 * @next: number of the next record.
 * @capacity: number of records.
 * @worker: the workers.
 * @wheel: the wheels.
 * @wheels: how many there are.
 * @taking: held by the worker that takes events from a ring.
 * @record: the records.
 */
struct books {
	atomic_bool stop;
	atomic_uint errors;
	char error[MAX_ERRORS][160];
	atomic_uint next;
	uint32_t capacity;
	struct worker worker[MAX_WORKERS];
	struct wheel wheel[MAX_WHEELS];
	unsigned int wheels;
	pthread_mutex_t taking;
	struct record record[];
};

struct books *books_open(uint32_t capacity, uint64_t seed);
__printf(2, 3) void books_error(struct books *books, const char *format, ...);
struct wheel *books_wheel(struct books *books, int flags, const struct twheel_setup *setup);
void books_ring(struct wheel *wheel, uint32_t slots);
void books_close_wheels(struct books *books);
uint64_t books_drain(struct books *books);
bool books_balance(struct books *books);
uint64_t books_ops(const struct books *books);

bool worker_add(struct worker *worker, struct wheel *wheel, unsigned int count);
void worker_cancel(struct worker *worker, struct wheel *wheel, unsigned int count);
void worker_modify(struct worker *worker, struct wheel *wheel, unsigned int count);
unsigned int worker_read(struct worker *worker, struct wheel *wheel, unsigned int max);
int poll_in(int fd, int timeout_ms);

/**
 * struct race_options - the options of all races
 * @ops: number of operations, roughly.
 * @seed: the seed of random numbers.
 * @module: the module's file, or NULL.
 * @wall: the wheels that have a clock of their own have CLOCK_REALTIME or CLOCK_TAI.
 */
struct race_options {
	uint64_t ops;
	uint64_t seed;
	const char *module;
	bool wall;
};

void race_mayhem(const struct race_options *options);
void race_hotplug(const struct race_options *options);
void race_set_clock(const struct race_options *options);
void race_unload(const struct race_options *options);

#endif /* RACE_H */
