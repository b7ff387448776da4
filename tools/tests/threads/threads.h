/* SPDX-License-Identifier: MIT */
/*
 * The ledger, which proves that each timer was read once or cancelled once, and the threads that
 * use the wheels: some add, modify and cancel, some wait and read
 *
 * Time goes in rounds. A round ends when all of its timers have ended and nothing is left
 * in the wheels; only waiters read the last of them. So after a lost wake-up, the round
 * does not end.
 *
 * The ledger must not order accesses that the driver has to order: it is read and
 * written with relaxed atomic operations and without locks, except at the end of a round.
 */
#ifndef _DRIVER_THREADS_H
#define _DRIVER_THREADS_H

#include <uapi/linux/twheel.h>

#include "calls.h"

#define NR_WHEELS	8
/* Wheels from this number on have a ring. */
#define FIRST_RING	5
#define MAX_ADDERS	16
/* Timers that one adder adds in a round, and in one batch. */
#define MAX_ADDS	400
#define MAX_BATCH	200
#define MAX_RECORDS	(MAX_ADDERS * MAX_ADDS)
/* How far the wall clocks are set forward, at most. */
#define CLOCK_SET_MAX	5000000

/* The account of one timer of this round */
struct record {
	u64 id;	/* the id that the add returned, or 0 */
	u32 delivered;	/* how often it was read */
	u32 cancelled;	/* how often it was cancelled */
	u32 wheel;
	u64 interval;	/* of a periodic timer, or 0 */
	bool long_lived;	/* the thread that added it cancels it before the round ends */
};

/* An open file, and its account */
struct wheel {
	struct file *filp;
	struct twheel_setup setup;	/* its set-up, unless a timer comes first */
	bool limited;	/* a timer may not fit */
	struct twheel_ring *ring;	/* its ring, once it has been mapped */
	u32 slots;	/* how many slots the ring has */
	pthread_mutex_t taking;	/* held while events are taken from it */
	u64 delivered;
};

/* The possible errors, each of which is a test. */
enum fault { LEDGER, WAKING, ANSWERS, LEFTOVERS, NR_FAULTS };

/* The events that a meaningful run has to cover. */
enum event {
	ADDED, CANCELLED, MODIFIED, READ, PERIODIC, SET_UP, QUERIED,
	NO_SPACE, NOT_THERE, INTERRUPTED,
	WOKEN_BY_POLL, WOKEN_BY_EPOLL, LOCK_BUSY, CLOSED_ARMED,
	RING_TAKEN, RING_FULL, RING_REFUSED, FAILED, NR_EVENTS
};

extern struct wheel wheels[NR_WHEELS];
extern struct record records[MAX_RECORDS];
extern u32 faults[NR_FAULTS];
extern u64 happened[NR_EVENTS];
extern const char *const event_name[NR_EVENTS];

static inline void count(u64 *what, u64 n)
{
	__atomic_fetch_add(what, n, __ATOMIC_RELAXED);
}

static inline void happens(enum event event)
{
	count(&happened[event], 1);
}

/* Count an error, and print it. */
__attribute__((format(printf, 2, 3)))
void wrong(enum fault fault, const char *format, ...);

u64 record_data(u32 nr);
bool has_ended(const struct record *record);
void record_event(u32 wheel, const struct twheel_event *event);
/* Count an errno among those events. */
void record_error(long err);

void ledger_begin_round(void);
/* Return false if the round does not end, or there has been an error. */
bool ledger_end_round(void);

/*
 * Threads.
 */

/* Makes waiters return for good. */
extern bool leaving;
extern uint64_t nr_adders;

/* A waiter */
struct role {
	u32 wheel;	/* the wheel that it waits for */
	void (*wait)(u32 wheel);
};

#define NR_ROLES	16

extern const struct role roles[NR_ROLES];

/* Read up to @max events, and record them; a negative errno or how many. */
int read_some(u32 nr, unsigned int max, int flags);

/* ring.c: make the ring of a wheel, unless it has one, and map it. */
void map_ring(u32 nr);
/* Take up to @max events and record them; -EAGAIN if a poll finds no more, or how many. */
int take_some(u32 nr, unsigned int max);

/* The work of one adder in one round. */
void add_for_a_round(u32 adder);

/* Open, use for a moment, and close, while the hrtimer is armed. */
void open_and_close(void);

/* Calls without memory, and ahead of a crowd. */
void fail_each_step(void);

#endif /* _DRIVER_THREADS_H */
