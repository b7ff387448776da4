/* SPDX-License-Identifier: MIT */
/*
 * One wheel as the command uses it: timers with labels, expiries printed
 *
 * Functions that fail print why on standard error and return an exit status of
 * the command, or where documented set errno.
 */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/twheel.h>

#include "timer-table.h"

/* Stands for "not given" in struct session_options, where 0 is no value. */
#define NOT_GIVEN	0

/* Room for the sentence that session_explain() writes. */
#define REASON_TEXT	192

/**
 * struct session_options - the parameters of a new wheel
 * @device: the device to open.
 * @tick_ns: the tick, or NOT_GIVEN.
 * @max_timers: the limit, or NOT_GIVEN.
 * @wheel_size: the number of buckets in a level, or NOT_GIVEN.
 * @clock_id: the clock, when @has_clock.
 * @has_clock: a clock was given.
 */
struct session_options {
	const char *device;
	uint64_t tick_ns;
	uint64_t max_timers;
	uint32_t wheel_size;
	uint32_t clock_id;
	bool has_clock;
};

/**
 * struct session - an open wheel
 * @fd: the wheel.
 * @tick_ns: its tick.
 * @clock_id: its clock.
 * @timers: the timers that have events to come.
 */
struct session {
	int fd;
	uint64_t tick_ns;
	uint32_t clock_id;
	struct timer_table timers;
};

/**
 * struct session_timer - a timer to add
 * @from_ns: when the delay begins, on the wheel's clock.
 * @delay_ns: the delay.
 * @periodic: it expires every @delay_ns, else once.
 * @times: events until a periodic timer is cancelled, or 0 for no end.
 * @label: its label.
 */
struct session_timer {
	uint64_t from_ns;
	uint64_t delay_ns;
	bool periodic;
	uint64_t times;
	const char *label;
};

int session_open(struct session *session,
		 const struct session_options *options);
void session_close(struct session *session);

int session_now(const struct session *session, uint64_t *now_ns);
struct timer *session_add(struct session *session,
			  const struct session_timer *what);
int session_cancel(struct session *session, struct timer *timer);
int session_modify(struct session *session, struct timer *timer,
		   uint64_t delay_ns);
char *session_explain(const struct session *session, int err,
		      char reason[REASON_TEXT]);
int session_print_info(const struct session *session);

int session_wait(struct session *session, int input, bool *ready);

#endif /* SESSION_H */
