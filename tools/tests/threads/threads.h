/* SPDX-License-Identifier: MIT */
/*
 * Threads that use wheels, some of which add, modify and cancel, while others wait and read; and
 * the ledger, which proves that each timer was read once or cancelled once
 *
 * A round begins with new wheels. It ends when all timers have ended; only waiters read the last
 * of them. So after a lost wake-up, the round does not end.
 *
 * The ledger must not order accesses that the driver has to order: it is read and
 * written with relaxed atomic operations and without locks, except at the end of a round.
 */
#pragma once

#include <unistd.h>

#include "calls.h"

#define NR_WHEELS	8
/* Wheels from this number on have a ring. */
#define FIRST_RING	5
#define MAX_ADDERS	16
/* Timers that one adder adds in a round, and in one batch. */
#define MAX_ADDS	5000
#define MAX_BATCH	200
#define MAX_RECORDS	(MAX_ADDERS * MAX_ADDS)

/* The account of one timer; its data is its number. */
struct record {
	u64 id;	/* the id that the add returned, or 0 */
	u32 delivered;	/* how often it was read */
	u32 cancelled;	/* how often it was cancelled */
	u32 wheel;
	bool is_periodic;
	bool long_lived;	/* the thread that added it cancels it before the round ends */
};

/* An open file, and its account */
struct wheel {
	struct file *filp;
	struct twheel_setup setup;	/* its set-up, unless a timer comes first */
	bool limited;	/* a timer may not fit */
	struct twheel_ring *ring;	/* its ring, once it has been mapped */
	struct mutex taking;	/* held while events are taken from it */
	u64 delivered;
};

extern struct wheel wheels[NR_WHEELS];
extern struct record records[MAX_RECORDS];
extern uint64_t nr_adders;

/* An event that a meaningful run has to cover, and how often it has happened */
struct happening {
	const char *what;
	u64 times;
};

/* Defined by the linker. */
extern struct happening __start_happenings[], __stop_happenings[];

#define HAPPENS(text, n)							\
do {									\
	static struct happening __happening				\
		__attribute__((section("happenings"))) = { text };	\
									\
	count(&__happening.times, n);				\
} while (0)

static inline void count(u64 *what, u64 n)
{
	__atomic_fetch_add(what, n, __ATOMIC_RELAXED);
}

/* Report an error, and abort. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Let this thread use a wheel. */
void use_wheel(u32 nr);
bool has_ended(const struct record *record);
/* Note an errno that has to occur. */
void record_error(long err);

/*
 * Wait for others for 100 us. Return false after 10 s of an idle machine. This counts turns: a busy
 * machine gives this thread fewer of them, as it does the others.
 */
static inline bool wait_a_turn(u32 *turns)
{
	usleep(100);
	return ++*turns < 100000;
}

/* Wait until all timers have ended. */
void ledger_wait(void);
/* Check each timer, and each wheel's counters, when no thread uses them. */
void ledger_check(void);

/* The work of one adder in one round. */
void add_for_a_round(u32 adder);

/*
 * Send a waiter a signal, half of them fatal, and set the wall clocks. Only adders do: what follows
 * must not hide a lost wake-up.
 */
void disturb(void);

/* faults.c, which is not for ThreadSanitizer: no other thread runs. */
void fail_each_step(void);
