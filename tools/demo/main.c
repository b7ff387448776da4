// SPDX-License-Identifier: MIT
/*
 * twheel-demo - an order system that reserves stock, on one timing wheel
 *
 * Customers reserve stock within the first minute. Each reservation is held by
 * a timer for half an hour; most are paid before that (the timer is cancelled),
 * some are extended once (modified), the rest run out (the expiry is read and
 * the stock goes back on the shelf).
 *
 * The shop keeps its own books and never trusts the wheel: every answer and
 * every event of the wheel is held against them. The exit status is 0 only
 * when at the end every reservation is either paid or expired, no event was
 * early or wrong, and every unit of stock is on the shelf or sold.
 *
 * What customers do is planned beforehand, as calendars of short slots. The
 * shop is a single thread that sleeps in ppoll() on the wheel until the next
 * slot with something in it is over, and then does what came in during it.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <linux/twheel.h>

#include "chance.h"
#include "clock.h"
#include "options.h"

#define DEVICE		"/dev/twheel"
#define SLOT_NS		(5 * MSEC)
#define BATCH_MAX	1024
#define READ_MAX	256
#define PRODUCTS	1000
#define UNITS_MAX	3

/* Two in a hundred customers ask for another third of the hold. */
#define EXTEND_PERCENT	2
#define EXTENSION(hold)	((hold) / 3)

/* One paying customer in a thousand pays this close to the deadline. */
#define LAST_MOMENT_IN	1000
#define LAST_MOMENT_NS	(10 * MSEC)

/* How long after the last deadline an expiry may come before it is lost. */
#define GRACE_NS	SEC

#define NEVER		UINT32_MAX

enum state { PLANNED, HELD, PAID, EXPIRED };

struct reservation {
	uint64_t timer;		/* id of the timer that holds it */
	uint64_t deadline;	/* on the shop's clock */
	uint64_t settled;	/* when the shop knew it paid or expired */
	uint16_t product;
	uint8_t units;
	uint8_t state;
};

struct product {
	uint64_t initial;
	uint64_t on_shelf;
	uint64_t sold;
};

/* What customers do, and which of them do it in which slot of time. */
enum action { ARRIVE, EXTEND, PAY, ACTIONS };

struct calendar {
	uint32_t *first;	/* index in @who of each slot's first customer */
	uint32_t *who;		/* reservations, slot by slot */
};

/* An operation on the wheel: how to ask for it, and what it has cost so far. */
struct cost {
	uint64_t ns;
	uint64_t calls;
	uint64_t done;
};

enum operation { ADD, CANCEL, MODIFY, READ, OPERATIONS };

static struct {
	const char *name;
	unsigned long single;
	unsigned long batch;
	struct cost alone;	/* one in a call */
	struct cost grouped;	/* several in a call */
} operations[OPERATIONS] = {
	[ADD] = { "add", TWHEEL_ADD, TWHEEL_ADD_BATCH, {0}, {0} },
	[CANCEL] = { "cancel", TWHEEL_CANCEL, TWHEEL_CANCEL_BATCH, {0}, {0} },
	[MODIFY] = { "modify", TWHEEL_MODIFY, TWHEEL_MODIFY_BATCH, {0}, {0} },
	[READ] = { "read", 0, 0, {0}, {0} },
};

/* What the wheel must not do. */
enum fault {
	UNKNOWN, TWICE, AFTER_PAYMENT, WRONG_RECORD, CANCEL_TWICE, FAULTS
};

static const char *const fault_names[FAULTS] = {
	[UNKNOWN] = "events of timers that the shop never had",
	[TWICE] = "events of reservations that had already expired",
	[AFTER_PAYMENT] = "events of reservations that had been paid",
	[WRONG_RECORD] = "events with another deadline or count than in the books",
	[CANCEL_TWICE] = "timers cancelled although they had been read",
};

static struct {
	uint64_t count;
	uint64_t hold_ns;
	uint64_t window_ns;
	uint64_t paid_percent;
	uint64_t seed;
} option = {
	.count = 1000000,
	.hold_ns = 30 * MINUTE,
	.window_ns = MINUTE,
	.paid_percent = 95,
	.seed = 1,
};

static struct {
	struct reservation *reservation;
	struct product product[PRODUCTS];
	struct calendar calendar[ACTIONS];
	uint32_t slots;
	uint64_t closing;	/* the last deadline, on the shop's clock */

	uint64_t placed;
	uint64_t paid;
	uint64_t expired;
	uint64_t extended;
	uint64_t late_extensions;
	uint64_t late_payments;
	uint64_t photo_finishes;	/* paid past the deadline, before it was read */
	uint64_t early;
	uint64_t fault[FAULTS];
	struct twheel_info fullest;
} shop;

static int wheel;
static struct chance customers;	/* the same seed gives the same everywhere */
static uint64_t opening;	/* CLOCK_MONOTONIC when the shop's clock is 0 */
static uint64_t clock_cost;	/* of reading the clock, within a measurement */

static uint64_t shop_time(void)
{
	return now_ns() - opening;
}

/* Reading the clock takes part of what it measures: the least of many tries. */
static uint64_t measure_clock(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t start = now_ns();
		uint64_t took = now_ns() - start;

		if (took < least)
			least = took;
	}
	return least;
}

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		errx(1, "out of memory: try fewer reservations with --count");
	return memory;
}

static uint64_t random_between(uint64_t from, uint64_t to)
{
	return from + chance_below(&customers, to - from);
}

/* Planning: who does what when */

static void plan_customer(uint32_t who, uint32_t *slot[ACTIONS])
{
	struct reservation *r = &shop.reservation[who];
	uint64_t arrival = chance_below(&customers, option.window_ns);
	uint64_t deadline = arrival + option.hold_ns;
	uint64_t from = arrival;
	uint64_t moment;

	r->deadline = deadline;
	r->product = chance_below(&customers, PRODUCTS);
	r->units = 1 + chance_below(&customers, UNITS_MAX);
	shop.product[r->product].initial += r->units;
	slot[ARRIVE][who] = arrival / SLOT_NS;
	slot[EXTEND][who] = NEVER;
	slot[PAY][who] = NEVER;

	if (chance_hit(&customers, EXTEND_PERCENT)) {
		from = random_between(arrival + option.hold_ns / 2, deadline);
		slot[EXTEND][who] = from / SLOT_NS;
		deadline += EXTENSION(option.hold_ns);
	}
	if (deadline > shop.closing)
		shop.closing = deadline;
	if (!chance_hit(&customers, option.paid_percent))
		return;
	if (chance_below(&customers, LAST_MOMENT_IN))
		moment = random_between(from, deadline);
	else
		moment = random_between(deadline - LAST_MOMENT_NS,
					deadline + LAST_MOMENT_NS);
	slot[PAY][who] = moment / SLOT_NS;
}

/* A counting sort of the customers by their slot. */
static void fill_calendar(struct calendar *c, const uint32_t *slot)
{
	uint32_t *next = c->first = allocate(shop.slots + 2, sizeof(*c->first));

	/* Two slots ahead now, so that the starts are in place when filled. */
	for (uint64_t i = 0; i < option.count; i++)
		if (slot[i] != NEVER)
			next[slot[i] + 2]++;
	for (uint32_t s = 2; s < shop.slots + 2; s++)
		next[s] += next[s - 1];
	c->who = allocate(next[shop.slots + 1] + 1, sizeof(*c->who));
	for (uint64_t i = 0; i < option.count; i++)
		if (slot[i] != NEVER)
			c->who[next[slot[i] + 1]++] = i;
}

static void plan(void)
{
	uint32_t *slot[ACTIONS];

	shop.reservation = allocate(option.count, sizeof(*shop.reservation));
	for (int a = 0; a < ACTIONS; a++)
		slot[a] = allocate(option.count, sizeof(*slot[a]));
	for (uint64_t i = 0; i < option.count; i++)
		plan_customer(i, slot);

	shop.slots = (shop.closing + LAST_MOMENT_NS) / SLOT_NS + 1;
	for (int a = 0; a < ACTIONS; a++) {
		fill_calendar(&shop.calendar[a], slot[a]);
		free(slot[a]);
	}

	/* Enough of everything, and some of it stays on the shelf. */
	for (int p = 0; p < PRODUCTS; p++) {
		shop.product[p].initial += chance_below(&customers, 100);
		shop.product[p].on_shelf = shop.product[p].initial;
	}
}

/* The wheel: calls that measure themselves */

static void account(enum operation op, uint64_t start, int64_t done)
{
	struct cost *cost = done > 1 ? &operations[op].grouped :
				       &operations[op].alone;
	uint64_t took = now_ns() - start;

	cost->ns += took > clock_cost ? took - clock_cost : 0;
	cost->calls++;
	cost->done += done;
}

/*
 * Asks for an operation on @count entries, and returns how many were done, or
 * -1 with the first one's errno.
 */
static int submit(enum operation op, void *entries, uint32_t count)
{
	struct twheel_batch batch = {
		.entries = (uintptr_t)entries,
		.count = count,
	};
	uint64_t start = now_ns();
	int done;

	if (count > 1)
		done = ioctl(wheel, operations[op].batch, &batch);
	else
		done = ioctl(wheel, operations[op].single, entries) ? -1 : 1;
	if (done > 0)
		account(op, start, done);
	return done;
}

static void get_info(struct twheel_info *info)
{
	if (ioctl(wheel, TWHEEL_INFO, info))
		err(1, "asking %s for its counters", DEVICE);
}

static void open_wheel(void)
{
	wheel = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (wheel < 0 && (errno == ENOENT || errno == ENODEV || errno == ENXIO))
		errx(1, "no %s: is the module loaded? sudo modprobe twheel", DEVICE);
	if (wheel < 0)
		err(1, "cannot open %s", DEVICE);
}

/* The shop: what customers and the wheel make of the books */

static void place(const uint32_t *who, uint32_t count)
{
	static struct twheel_add add[BATCH_MAX];
	int done;

	for (uint32_t i = 0; i < count; i++) {
		add[i] = (struct twheel_add) {
			.time_ns = opening + shop.reservation[who[i]].deadline,
			.data = who[i],
			.flags = TWHEEL_ABSTIME,
		};
	}
	for (uint32_t i = 0; i < count; i += done) {
		done = submit(ADD, &add[i], count - i);
		if (done <= 0)
			err(1, "after %llu reservations the wheel takes no more",
			    (unsigned long long)shop.placed);
		for (uint32_t k = i; k < i + done; k++) {
			struct reservation *r = &shop.reservation[who[k]];

			r->timer = add[k].id;
			r->state = HELD;
			shop.product[r->product].on_shelf -= r->units;
			shop.placed++;
		}
	}
}

static void take_payment(struct reservation *r, uint64_t now)
{
	if (r->state != HELD) {
		shop.fault[CANCEL_TWICE]++;
		return;
	}
	r->state = PAID;
	r->settled = now;
	shop.product[r->product].sold += r->units;
	shop.paid++;
	if (now > r->deadline)
		shop.photo_finishes++;
}

/*
 * Whether a payment is in time, the wheel decides: a timer is either cancelled
 * or read. ENOENT for a reservation that the books still hold means that the
 * wheel has lost its timer; it stays held, and that comes out in the end.
 */
static void pay(const uint32_t *who, uint32_t count)
{
	static uint64_t id[BATCH_MAX];
	uint32_t i = 0;

	for (uint32_t k = 0; k < count; k++)
		id[k] = shop.reservation[who[k]].timer;
	while (i < count) {
		int done = submit(CANCEL, &id[i], count - i);
		uint64_t now = shop_time();

		if (done < 0 && errno == ENOENT) {
			shop.late_payments++;
			i++;
			continue;
		}
		if (done <= 0)
			err(1, "cancelling");
		while (done--)
			take_payment(&shop.reservation[who[i++]], now);
	}
}

static void extend(const uint32_t *who, uint32_t count)
{
	static struct twheel_modify modify[BATCH_MAX];
	const uint64_t extension = EXTENSION(option.hold_ns);
	uint32_t i = 0;

	for (uint32_t k = 0; k < count; k++) {
		const struct reservation *r = &shop.reservation[who[k]];

		modify[k] = (struct twheel_modify) {
			.id = r->timer,
			.time_ns = opening + r->deadline + extension,
			.flags = TWHEEL_ABSTIME,
		};
	}
	while (i < count) {
		int done = submit(MODIFY, &modify[i], count - i);

		if (done < 0 && errno == ENOENT) {
			shop.late_extensions++;
			i++;
			continue;
		}
		if (done <= 0)
			err(1, "extending");
		shop.extended += done;
		while (done--)
			shop.reservation[who[i++]].deadline += extension;
	}
}

static void run_out(const struct twheel_event *event, uint64_t now)
{
	struct reservation *r;

	if (event->data >= option.count ||
	    shop.reservation[event->data].timer != event->id) {
		shop.fault[UNKNOWN]++;
		return;
	}
	r = &shop.reservation[event->data];
	if (r->state != HELD) {
		shop.fault[r->state == PAID ? AFTER_PAYMENT : TWICE]++;
		return;
	}
	if (event->deadline_ns != opening + r->deadline || event->count != 1)
		shop.fault[WRONG_RECORD]++;
	if (now < r->deadline)
		shop.early++;
	r->state = EXPIRED;
	r->settled = now;
	shop.product[r->product].on_shelf += r->units;
	shop.expired++;
}

static void read_expiries(void)
{
	static struct twheel_event event[READ_MAX];
	ssize_t count;

	do {
		uint64_t start = now_ns();
		ssize_t bytes = read(wheel, event, sizeof(event));
		uint64_t now = shop_time();

		if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (bytes <= 0 || bytes % sizeof(event[0]))
			err(1, "reading %s returned %zd", DEVICE, bytes);
		count = bytes / sizeof(event[0]);
		account(READ, start, count);
		for (ssize_t i = 0; i < count; i++)
			run_out(&event[i], now);
	} while (count == READ_MAX);
}

/* Telling */

/* A number with separators, in one of a few buffers that take turns. */
static const char *commas(uint64_t number)
{
	static char buffers[16][32];
	static unsigned int turn;
	char *buffer = buffers[turn++ % 16];
	char *at = buffer + 31;
	int digits = 0;

	*at = '\0';
	do {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = '0' + number % 10;
		number /= 10;
		digits++;
	} while (number);
	return at;
}

static const char *plural(uint64_t number)
{
	return number == 1 ? "" : "s";
}

/* A span of time, in minutes where that gives a whole number. */
static const char *span(uint64_t ns)
{
	static char buffers[4][32];
	static unsigned int turn;
	char *buffer = buffers[turn++ % 4];
	uint64_t minutes = ns / MINUTE;

	if (minutes && ns % MINUTE == 0)
		snprintf(buffer, 32, "%s minute%s", commas(minutes), plural(minutes));
	else
		snprintf(buffer, 32, "%g second%s", ns / 1e9,
			 plural(ns / SEC));
	return buffer;
}

static uint64_t held(void)
{
	return shop.placed - shop.paid - shop.expired;
}

static void tell_plan(void)
{
	printf("A shop takes %s reservation%s within %s and holds each for %s,\n"
	       "all on one timing wheel: %llu%% will be paid before that, %d%% ask for %s more.\n\n",
	       commas(option.count), plural(option.count),
	       span(option.window_ns), span(option.hold_ns),
	       (unsigned long long)option.paid_percent, EXTEND_PERCENT,
	       span(EXTENSION(option.hold_ns)));
	printf("%10s %12s %12s %12s %12s %12s\n", "time", "placed", "held",
	       "paid", "extended", "ran out");
	fflush(stdout);
}

/* A line for every tenth of the reservations, then one for every minute. */
static void tell_progress(uint64_t now)
{
	static uint64_t next_placed, next_minute = 1;
	const uint64_t seconds = now / SEC;

	if (shop.placed < next_placed && seconds / 60 < next_minute)
		return;
	next_placed = shop.placed < option.count ?
		      (shop.placed * 10 / option.count + 1) * option.count / 10 :
		      UINT64_MAX;
	next_minute = seconds / 60 + 1;
	printf("%4llu:%02llu:%02llu %12s %12s %12s %12s %12s\n",
	       (unsigned long long)seconds / 3600,
	       (unsigned long long)seconds / 60 % 60,
	       (unsigned long long)seconds % 60, commas(shop.placed),
	       commas(held()), commas(shop.paid), commas(shop.extended),
	       commas(shop.expired));
	fflush(stdout);
}

/* The day: sleep until customers or the wheel want something */

static bool slot_empty(uint32_t slot)
{
	for (int a = 0; a < ACTIONS; a++) {
		const struct calendar *c = &shop.calendar[a];

		if (c->first[slot] != c->first[slot + 1])
			return false;
	}
	return true;
}

static void serve_slot(uint32_t slot)
{
	static void (*const serve[ACTIONS])(const uint32_t *, uint32_t) = {
		[ARRIVE] = place,
		[EXTEND] = extend,
		[PAY] = pay,
	};

	for (int a = 0; a < ACTIONS; a++) {
		const struct calendar *c = &shop.calendar[a];
		uint32_t i = c->first[slot];
		uint32_t end = c->first[slot + 1];

		while (i < end) {
			uint32_t count = end - i < BATCH_MAX ? end - i : BATCH_MAX;

			serve[a](&c->who[i], count);
			i += count;
		}
	}
}

/* Reads what expires, until the shop's clock has come to @until. */
static void wait_until(uint64_t until)
{
	struct pollfd pollfd = { .fd = wheel, .events = POLLIN };
	uint64_t now;

	while ((now = shop_time()) < until) {
		struct timespec left = timespec_of(until - now);
		int ready = ppoll(&pollfd, 1, &left, NULL);

		if (ready < 0 && errno != EINTR)
			err(1, "poll");
		if (ready > 0)
			read_expiries();
	}
}

static void run_shop(void)
{
	struct twheel_info info;
	uint64_t placed;

	for (uint32_t slot = 0; slot < shop.slots; slot++) {
		if (slot_empty(slot))
			continue;
		wait_until((slot + 1) * SLOT_NS);
		placed = shop.placed;
		serve_slot(slot);
		if (shop.placed > placed && shop.placed == option.count)
			get_info(&shop.fullest);
		tell_progress(shop_time());
	}
	while (held() && shop_time() < shop.closing + GRACE_NS) {
		wait_until(shop_time() + SEC / 4);
		tell_progress(shop_time());
	}
	get_info(&info);
	shop.fullest.cascaded = info.cascaded;
	shop.fullest.fires = info.fires;
}

/* The report */

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a;
	const uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The least of @count sorted values that @permille of them do not exceed. */
static uint64_t percentile(const uint64_t *sorted, uint64_t count, uint64_t permille)
{
	return count ? sorted[(count * permille + 999) / 1000 - 1] : 0;
}

/*
 * Sorts and tells how long after its deadline, or with a @tick_ns above 1 after
 * the deadline's tick boundary, each expiry was read. Returns the 99.9th
 * percentile.
 */
static uint64_t tell_lateness(const char *since, uint64_t tick_ns)
{
	uint64_t *late = allocate(shop.expired + 1, sizeof(*late));
	uint64_t n = 0;
	uint64_t p999;

	for (uint64_t i = 0; i < option.count; i++) {
		const struct reservation *r = &shop.reservation[i];
		uint64_t due = opening + r->deadline;

		if (r->state != EXPIRED)
			continue;
		due = (due + tick_ns - 1) / tick_ns * tick_ns;
		late[n++] = opening + r->settled > due ?
			    opening + r->settled - due : 0;
	}
	qsort(late, n, sizeof(*late), compare);
	p999 = percentile(late, n, 999);
	printf("  %-32s %10.1f %10.1f %10.1f %10.1f\n", since,
	       percentile(late, n, 500) / 1e3, percentile(late, n, 990) / 1e3,
	       p999 / 1e3, percentile(late, n, 1000) / 1e3);
	free(late);
	return p999;
}

static void tell_cost(const char *name, const char *how, const struct cost *cost)
{
	if (!cost->calls)
		return;
	printf("  %-8s %-12s %10.0f %14s %14s %10.1f\n", name, how,
	       (double)cost->ns / cost->done, commas(cost->done),
	       commas(cost->calls), (double)cost->done / cost->calls);
}

static void tell_costs(void)
{
	printf("\nWhat an operation cost, its share of the system call included\n"
	       "(nanoseconds on the clock; in the counting VM, that is instructions)\n"
	       "  %-21s %10s %14s %14s %10s\n",
	       "", "each", "operations", "calls", "per call");
	for (int op = 0; op < OPERATIONS; op++) {
		tell_cost(operations[op].name, "alone", &operations[op].alone);
		tell_cost(operations[op].name, "in groups", &operations[op].grouped);
	}
}

static void tell_story(void)
{
	printf("\nWhat happened\n"
	       "  %9s reservations were placed\n"
	       "  %9s were paid in time: the timer was cancelled\n"
	       "  %9s of these after the deadline, but before the expiry was read\n"
	       "  %9s ran out: the expiry was read, the stock went back on the shelf\n"
	       "  %9s were extended once by %s; %s asked too late\n"
	       "  %9s payments came too late and were sent back\n",
	       commas(shop.placed), commas(shop.paid),
	       commas(shop.photo_finishes), commas(shop.expired),
	       commas(shop.extended), span(EXTENSION(option.hold_ns)),
	       commas(shop.late_extensions), commas(shop.late_payments));
}

static void tell_wheel(void)
{
	const struct twheel_info *info = &shop.fullest;
	uint64_t timers = info->pending + info->expired;

	printf("\nThe wheel held %s timers after %s, in %.1f MB: %.1f bytes each.\n"
	       "In the end %u levels had moved timers %s times from one to the next,\n"
	       "and the one hrtimer below it all had fired %s times.\n",
	       commas(timers), span(option.window_ns), info->memory / 1e6,
	       timers ? (double)info->memory / timers : 0.0, info->levels,
	       commas(info->cascaded), commas(info->fires));
}

static uint64_t tell_faults(void)
{
	uint64_t sum = 0;

	for (int f = 0; f < FAULTS; f++) {
		if (shop.fault[f])
			printf("WRONG: %s %s\n", commas(shop.fault[f]), fault_names[f]);
		sum += shop.fault[f];
	}
	return sum;
}

static bool stock_conserved(void)
{
	for (int p = 0; p < PRODUCTS; p++) {
		const struct product *product = &shop.product[p];

		if (product->initial != product->on_shelf + product->sold)
			return false;
	}
	return true;
}

/* Tells how the day went, and whether all was well. */
static bool report(void)
{
	const uint64_t lost = held();
	const bool conserved = stock_conserved();
	const uint64_t closed = shop_time();
	uint64_t faults, p999;
	char boundary[48];

	snprintf(boundary, sizeof(boundary), "past the tick boundary (%g ms)",
		 shop.fullest.tick_ns / 1e6);
	tell_story();
	printf("\nHow late expiries were read, in microseconds\n"
	       "  %-32s %10s %10s %10s %10s\n", "", "p50", "p99", "p99.9", "max");
	p999 = tell_lateness("past the deadline", 1);
	tell_lateness(boundary, shop.fullest.tick_ns);
	tell_costs();
	tell_wheel();
	printf("The shop was open for %.1f minutes.\n", closed / 60e9);
	faults = tell_faults();
	printf("demo: placed=%llu paid=%llu expired=%llu lost=%llu early=%llu",
	       (unsigned long long)shop.placed, (unsigned long long)shop.paid,
	       (unsigned long long)shop.expired, (unsigned long long)lost,
	       (unsigned long long)shop.early);
	printf(" late_p999_ns=%llu stock=%s\n", (unsigned long long)p999,
	       conserved ? "conserved" : "BROKEN");
	return shop.placed == option.count && !lost && !shop.early && !faults &&
	       conserved;
}

/* The command line */

static void usage(void)
{
	printf("Usage: twheel-demo [OPTION]...\n"
	       "Runs an order system that reserves stock on one timing wheel, and checks the\n"
	       "wheel against its books. It takes hold + a third + window of (guest) time.\n"
	       "\n"
	       "  --count N         reservations, 1 to 10000000 (1000000)\n"
	       "  --hold SECONDS    how long each is held, 1 to 86400 (1800)\n"
	       "  --window SECONDS  within what time they arrive, 1 to 3600 (60)\n"
	       "  --paid-percent N  how many of them are paid, 0 to 100 (95)\n"
	       "  --seed N          which customers come (1)\n"
	       "  --help            show this help\n"
	       "\n"
	       "Exit status: 0 when the books balance, nothing was early and nothing lost;\n"
	       "1 when not, or when the wheel failed; 2 for a wrong command line.\n");
}

static void parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "count", required_argument, NULL, 'c' },
		{ "hold", required_argument, NULL, 't' },
		{ "window", required_argument, NULL, 'w' },
		{ "paid-percent", required_argument, NULL, 'p' },
		{ "seed", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int which;

	while ((which = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (which) {
		case 'c':
			option.count = number_or_exit("--count", optarg, 1, 10000000);
			break;
		case 't':
			option.hold_ns = SEC * number_or_exit("--hold", optarg, 1, 86400);
			break;
		case 'w':
			option.window_ns = SEC * number_or_exit("--window", optarg, 1, 3600);
			break;
		case 'p':
			option.paid_percent = number_or_exit("--paid-percent", optarg, 0, 100);
			break;
		case 's':
			option.seed = number_or_exit("--seed", optarg, 0, UINT64_MAX);
			break;
		case 'h':
			usage();
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind < argc)
		errx(2, "unexpected \"%s\"; see --help", argv[optind]);
}

int main(int argc, char **argv)
{
	parse_options(argc, argv);
	open_wheel();
	/* Sleep exactly, not with the default slack of 50 us. */
	prctl(PR_SET_TIMERSLACK, 1);

	tell_plan();
	chance_init(&customers, option.seed, 0);
	plan();
	clock_cost = measure_clock();
	opening = now_ns();
	run_shop();
	return report() ? 0 : 1;
}
