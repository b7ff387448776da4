// SPDX-License-Identifier: MIT
/*
 * TAP test of timer-table.c: runs on the host, needs no wheel.
 */
#include <stdio.h>
#include <string.h>

#include "tap.h"
#include "timer-table.h"

#define MANY	100000

static struct timer *insert(struct timer_table *table, const char *label)
{
	struct timer *timer = timer_table_insert(table, label);

	if (!timer)
		bail_out("no timer");
	return timer;
}

static size_t count(const struct timer_table *table)
{
	const struct timer *timer = timer_table_next(table, NULL);
	size_t n = 0;

	for (; timer; timer = timer_table_next(table, timer))
		n++;
	return n;
}

static void test_empty(void)
{
	struct timer_table table = { 0 };

	tap_result(!timer_table_find(&table, 0) && !timer_table_find(&table, 1) &&
		   !timer_table_next(&table, NULL), "an empty table has nothing");
	timer_table_destroy(&table);
	tap_result(!table.count, "an empty table can be destroyed");
}

static void test_numbers(void)
{
	struct timer_table table = { 0 };
	struct timer *first = insert(&table, "first");
	struct timer *second = insert(&table, "");

	tap_result(first->number == 1 && second->number == 2,
		   "numbers begin with 1 and go up");
	tap_result(!strcmp(first->label, "first") && !strcmp(second->label, ""),
		   "a timer has its label");
	timer_table_remove(&table, second);
	timer_table_remove(&table, first);
	tap_result(!table.count && insert(&table, "third")->number == 3,
		   "a number is used once");
	timer_table_destroy(&table);
}

static void test_many(void)
{
	struct timer_table table = { 0 };
	struct timer *timer;
	bool all = true, none = true, gone = true;
	char label[32];
	uint64_t i;

	for (i = 1; i <= MANY; i++) {
		snprintf(label, sizeof(label), "timer %ju", (uintmax_t)i);
		insert(&table, label);
	}
	for (i = 1; i <= MANY; i++) {
		snprintf(label, sizeof(label), "timer %ju", (uintmax_t)i);
		timer = timer_table_find(&table, i);
		all &= timer && !strcmp(timer->label, label);
	}
	for (i = 1; i < 64; i++)
		none &= !timer_table_find(&table, MANY + i);
	tap_result(all, "each of many timers is found");
	tap_result(none && !timer_table_find(&table, UINT64_MAX),
		   "a number not given out is not found");
	tap_result(count(&table) == MANY, "a walk meets each timer");

	for (i = 1; i <= MANY; i += 2)
		timer_table_remove(&table, timer_table_find(&table, i));
	for (i = 1; i <= MANY; i++)
		gone &= !!timer_table_find(&table, i) == !(i % 2);
	tap_result(gone && count(&table) == MANY / 2,
		   "exactly what was removed is gone");
	timer_table_destroy(&table);
}

int main(void)
{
	puts("TAP version 13");
	test_empty();
	test_numbers();
	test_many();
	return tap_done();
}
