// SPDX-License-Identifier: MIT
/*
 * Reports during the day, and at its end
 */
#include <stdio.h>
#include <stdlib.h>

#include "demo.h"

/* Report an error of the wheel: the first ones, and how many there are at the end. */
void wrong(const char *what)
{
	if (shop.faults++ < 10)
		printf("WRONG: %s\n", what);
}

uint64_t held(void)
{
	return shop.placed - shop.paid - shop.expired;
}

void print_plan(void)
{
	printf("A shop takes %ju reservations within %g minutes and holds each for %g\n"
	       "minutes, all on one wheel: %ju%% are paid, %d%% ask for a third more.\n\n",
	       option.count, option.window_ns / 60e9, option.hold_ns / 60e9, option.paid_percent,
	       EXTEND_PERCENT);
	printf("%10s %12s %12s %12s %12s %12s\n", "time", "placed", "held", "paid", "extended",
	       "expired");
	fflush(stdout);
}

/* Print a line for every tenth of the reservations, then one for every minute. */
void print_progress(uint64_t now)
{
	static uint64_t next_placed, next_minute = 1;
	const uint64_t seconds = now / SEC;

	if (shop.placed < next_placed && seconds / 60 < next_minute)
		return;
	next_placed = shop.placed < option.count ?
		      (shop.placed * 10 / option.count + 1) * option.count / 10 :
		      UINT64_MAX;
	next_minute = seconds / 60 + 1;
	printf("%7ju:%02ju %12ju %12ju %12ju %12ju %12ju\n", seconds / 60, seconds % 60,
	       shop.placed, held(), shop.paid, shop.extended, shop.expired);
	fflush(stdout);
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Print how late expiries were read, and return the 99.9th percentile. */
static uint64_t print_lateness(void)
{
	uint64_t *late = allocate(shop.expired + 1, sizeof(*late));
	uint64_t n = 0, p999;

	for (uint64_t i = 0; i < option.count; i++) {
		const struct reservation *r = &shop.reservation[i];

		if (r->state == EXPIRED)
			late[n++] = r->settled > r->deadline ? r->settled - r->deadline : 0;
	}
	qsort(late, n, sizeof(*late), compare);
	p999 = late[n * 999 / 1000];
	printf("\nExpiries were read %.1f us after their deadlines at the median, %.1f us at\n"
	       "p99.9 and %.1f us at most; the tick is %g us.\n", late[n / 2] / 1e3, p999 / 1e3,
	       late[n ? n - 1 : 0] / 1e3, shop.fullest.tick_ns / 1e3);
	free(late);
	return p999;
}

/* Print the results of the day, and return true if all was well. */
bool report(void)
{
	const struct twheel_info *info = &shop.fullest;
	uint64_t p999 = print_lateness();
	bool conserved = true;

	for (const struct product *p = shop.product; p < shop.product + PRODUCTS; p++)
		conserved &= p->initial == p->on_shelf + p->sold;
	printf("%ju were paid after the deadline, before the expiry was read; %ju payments and\n"
	       "%ju extensions came too late.\n",
	       shop.paid_late, shop.late_payments, shop.late_extensions);
	printf("The wheel held %llu timers in %.1f MB. Its %u levels moved timers %llu times, and\n"
	       "its hrtimer fired %llu times.\n", info->pending + info->expired,
	       info->memory / 1e6, info->levels, info->cascaded, info->fires);
	if (shop.faults)
		printf("WRONG: %ju errors of the wheel\n", shop.faults);
	printf("demo: placed=%ju paid=%ju expired=%ju lost=%ju early=%ju ", shop.placed, shop.paid,
	       shop.expired, held(), shop.early);
	printf("late_p999_ns=%ju stock=%s\n", p999, conserved ? "conserved" : "BROKEN");
	return shop.placed == option.count && !held() && !shop.early && !shop.faults && conserved;
}
