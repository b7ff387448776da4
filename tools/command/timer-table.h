/* SPDX-License-Identifier: MIT */
/*
 * The timers that the command knows, with their labels
 *
 * The kernel keeps 64 bits of data for a timer. The command puts a number
 * there: 1, 2, 3 and so on, none twice, which is also what people call the
 * timer by. This table leads from the number to the label and the kernel's id.
 */
#ifndef TIMER_TABLE_H
#define TIMER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct timer - a timer that has events to come
 * @next: the next timer of the same slot.
 * @number: the command's name for the timer.
 * @id: the kernel's name for the timer.
 * @periodic: the timer expires again and again.
 * @left: events until a periodic timer is cancelled, or 0 for no end.
 * @label: what its user called it.
 */
struct timer {
	struct timer *next;
	uint64_t number;
	uint64_t id;
	uint64_t left;
	bool periodic;
	char label[];
};

/**
 * struct timer_table - timers by number
 * @slots: lists of timers, by the low bits of the number.
 * @nr_slots: how many there are: 0 or a power of two.
 * @count: number of timers.
 * @last: the number of the newest timer.
 */
struct timer_table {
	struct timer **slots;
	size_t nr_slots;
	size_t count;
	uint64_t last;
};

struct timer *timer_table_insert(struct timer_table *table, const char *label);
struct timer *timer_table_find(const struct timer_table *table,
			       uint64_t number);
void timer_table_remove(struct timer_table *table, struct timer *timer);
struct timer *timer_table_next(const struct timer_table *table,
			       const struct timer *timer);
void timer_table_destroy(struct timer_table *table);

#endif /* TIMER_TABLE_H */
