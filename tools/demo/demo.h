/* SPDX-License-Identifier: MIT */
/*
 * The shop's ledger, and the parts of the demo
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <linux/twheel.h>

#include "chance.h"
#include "clock.h"

#define SLOT_NS		(5 * MSEC)
#define PRODUCTS	1000
/* Two in a hundred customers ask for another third of the hold. */
#define EXTEND_PERCENT	2
#define EXTENSION(hold)	((hold) / 3)

enum state { PLANNED, HELD, PAID, EXPIRED };

struct reservation {
	uint64_t timer;		/* id of the timer that holds it */
	uint64_t deadline;	/* on the shop's clock */
	uint64_t settled;	/* when the shop learned that it was paid or had expired */
	uint16_t product;
	uint8_t units;
	uint8_t state;
};

struct product {
	uint64_t initial;
	uint64_t on_shelf;
	uint64_t sold;
};

/* Actions of customers, slot by slot; those of a slot in the order of actions. */
enum action { ARRIVE, EXTEND, PAY, ACTIONS };

#define ACTION_SHIFT	30
#define CUSTOMER_MASK	((1U << ACTION_SHIFT) - 1)

struct calendar {
	uint32_t *first;	/* index in @entry of each slot's first entry */
	uint32_t *entry;	/* customer and, above ACTION_SHIFT, action */
};

extern struct demo_options {
	uint64_t count;
	uint64_t hold_ns;
	uint64_t window_ns;
	uint64_t paid_percent;
	uint64_t seed;
	bool restart;
} option;

extern struct shop {
	struct reservation *reservation;
	struct product product[PRODUCTS];
	struct calendar calendar;
	uint32_t slots;
	uint64_t closing;	/* the last deadline, on the shop's clock */

	uint64_t placed;
	uint64_t paid;
	uint64_t expired;
	uint64_t extended;
	uint64_t late_extensions;
	uint64_t late_payments;
	uint64_t paid_late;	/* paid past the deadline, before it was read */
	uint64_t early;
	uint64_t faults;	/* errors of the wheel */
	struct twheel_info fullest;
} shop;

extern uint64_t opening;	/* CLOCK_MONOTONIC when the shop's clock is 0 */

static inline uint64_t shop_time(void)
{
	return now_ns() - opening;
}

/* plan.c */
void *allocate(size_t count, size_t size);
void plan(void);

/* shop.c */
void open_wheel(void);
void run_shop(void);

/* restart.c */
bool run_restarts(void);

/* report.c */
void wrong(const char *what);
uint64_t held(void);
void print_plan(void);
void print_progress(uint64_t now);
bool report(void);
