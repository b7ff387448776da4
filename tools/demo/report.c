// SPDX-License-Identifier: MIT
/*
 * Reports during the day, and at its end
 */
#include <stdio.h>
#include <stdlib.h>

#include "demo.h"

static const char *const fault_names[FAULTS] = {
	[UNKNOWN] = "events of timers that the shop never had",
	[TWICE] = "events of reservations that had already expired",
	[AFTER_PAYMENT] = "events of reservations that had been paid",
	[WRONG_RECORD] = "events with another deadline or count than in the books",
	[CANCEL_TWICE] = "timers cancelled although they had been read",
};

/* A number with separators, in one of several buffers that take turns. */
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

/* A span of time, in minutes if that is a whole number. */
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

uint64_t held(void)
{
	return shop.placed - shop.paid - shop.expired;
}

void tell_plan(void)
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
void tell_progress(uint64_t now)
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

/* The report */

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a;
	const uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The smallest of @count sorted values that @permille of them do not exceed. */
static uint64_t percentile(const uint64_t *sorted, uint64_t count, uint64_t permille)
{
	return count ? sorted[(count * permille + 999) / 1000 - 1] : 0;
}

/*
 * Sort and print the lateness of the reads: after the deadline, or with a @tick_ns above
 * 1 after the deadline's tick boundary. Return the 99.9th percentile.
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
	       "(nanoseconds on the clock; in the counting machine, that is instructions)\n"
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

/* Print the results of the day, and whether all was well. */
bool report(void)
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
