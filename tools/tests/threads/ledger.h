/* SPDX-License-Identifier: MIT */
/*
 * The ledger: proves that each timer was read once or cancelled once
 *
 * Time goes in rounds. A round ends when all of its timers have ended and nothing is left
 * in the wheels; only waiters read the last of them. So after a lost wake-up, the round
 * does not end.
 *
 * The ledger must not order accesses that the driver has to order: it is read and
 * written with relaxed atomic operations and without locks, except at the end of a round.
 */
#ifndef _DRIVER_LEDGER_H
#define _DRIVER_LEDGER_H

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

/* The account of one timer of this round */
struct record {
	u64 id;	/* the id that the add returned, or 0 */
	u64 read_id;	/* the id in its event */
	u64 deadline;	/* the deadline of the add; 0 if it was relative, or modified since */
	u32 delivered;	/* how often it was read */
	u32 cancelled;	/* how often it was cancelled */
	u32 wheel;
	bool periodic;
	bool long_lived;	/* the thread that added it cancels it before the round ends */
};

/* An open file, and its account */
struct wheel {
	struct file *filp;
	struct twheel_setup setup;	/* its set-up, unless a timer comes first */
	clockid_t slow_clock;	/* its clock or, while that is not known, one that is never ahead */
	/* Its clock or, while that is not known, one that is never behind. */
	clockid_t fast_clock;
	bool limited;	/* a timer may not fit */
	struct twheel_ring *ring;	/* its ring, once it has been mapped */
	u32 slots;	/* how many slots the ring has */
	pthread_mutex_t taking;	/* held while events are taken from it */
	u32 set_up;	/* how often it was set up */
	int awake;	/* how many of its waiters wait again at once */
	u64 added;
	u64 delivered;
	u64 cancelled;
};

/* The possible errors, each of which is a test. */
enum fault { LEDGER, WAKING, ANSWERS, LEFTOVERS, NR_FAULTS };

/* The events that a meaningful run has to cover. */
enum event {
	ADDED, MODIFIED, CANCELLED, READ, PERIODIC, SET_UP, QUERIED,
	NO_MEMORY, NO_SPACE, NOT_THERE, INTERRUPTED, KILLED, CLOCK_SET,
	WOKEN_BY_POLL, WOKEN_BY_EPOLL, BLOCKED_READ, LOCK_BUSY, CLOSED_ARMED,
	RING_MADE, RING_TAKEN, RING_FULL, RING_REFUSED, VANDALISED, FAILED, NR_EVENTS
};

extern struct wheel wheels[NR_WHEELS];
extern struct record records[MAX_RECORDS];
extern u32 round_nr;
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

__attribute__((format(printf, 2, 3)))
void wrong(enum fault fault, const char *format, ...);
/* Count an error, and print it. */
u32 faults_tell(enum fault fault);

static inline bool has_ended(const struct record *record)
{
	if (!READ_ONCE(record->id) || READ_ONCE(record->cancelled))
		return true;
	return READ_ONCE(record->delivered) && !READ_ONCE(record->periodic);
}

u64 record_data(u32 nr);
void record_event(u32 wheel, const struct twheel_event *event);
/* Check that the file is charged for exactly what it holds; its user has no other. */
void check_charge(struct file *filp);
/* Count an errno among those events. */
void record_error(long err);

void ledger_begin_round(void);
/* Returns false if the round does not end within so many seconds. */
bool ledger_end_round(unsigned int patience);

#endif /* _DRIVER_LEDGER_H */
