// SPDX-License-Identifier: MIT
/*
 * The timers that the command knows, with their labels; see timer-table.h
 *
 * A hash table with chains. Numbers are consecutive, so their low bits are as
 * good a hash as any.
 */
#include <stdlib.h>
#include <string.h>

#include "timer-table.h"

#define MIN_SLOTS	16

static struct timer **slot_of(const struct timer_table *table, uint64_t number)
{
	return &table->slots[number & (table->nr_slots - 1)];
}

static bool grow(struct timer_table *table)
{
	struct timer_table bigger = *table;
	struct timer *timer, *next, **slot;
	size_t i;

	bigger.nr_slots = table->nr_slots ? table->nr_slots * 2 : MIN_SLOTS;
	bigger.slots = calloc(bigger.nr_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (i = 0; i < table->nr_slots; i++) {
		for (timer = table->slots[i]; timer; timer = next) {
			next = timer->next;
			slot = slot_of(&bigger, timer->number);
			timer->next = *slot;
			*slot = timer;
		}
	}
	free(table->slots);
	*table = bigger;
	return true;
}

/**
 * timer_table_insert() - make a timer with a number of its own
 * @table: the table.
 * @label: its label, copied.
 *
 * Return: the timer, or NULL when there is no memory.
 */
struct timer *timer_table_insert(struct timer_table *table, const char *label)
{
	size_t size = strlen(label) + 1;
	struct timer *timer, **slot;

	if (table->count == table->nr_slots && !grow(table))
		return NULL;
	timer = calloc(1, sizeof(*timer) + size);
	if (!timer)
		return NULL;
	memcpy(timer->label, label, size);
	timer->number = ++table->last;
	slot = slot_of(table, timer->number);
	timer->next = *slot;
	*slot = timer;
	table->count++;
	return timer;
}

/**
 * timer_table_find() - find a timer
 * @table: the table.
 * @number: its number.
 *
 * Return: the timer, or NULL when there is none with this number.
 */
struct timer *timer_table_find(const struct timer_table *table,
			       uint64_t number)
{
	struct timer *timer;

	if (!table->count)
		return NULL;
	timer = *slot_of(table, number);
	while (timer && timer->number != number)
		timer = timer->next;
	return timer;
}

/**
 * timer_table_remove() - forget a timer and free it
 * @table: the table.
 * @timer: a timer in it.
 */
void timer_table_remove(struct timer_table *table, struct timer *timer)
{
	struct timer **link = slot_of(table, timer->number);

	while (*link != timer)
		link = &(*link)->next;
	*link = timer->next;
	table->count--;
	free(timer);
}

/**
 * timer_table_next() - walk the timers, in no particular order
 * @table: the table.
 * @timer: a timer in it, or NULL to begin.
 *
 * Return: the next timer, or NULL at the end.
 */
struct timer *timer_table_next(const struct timer_table *table,
			       const struct timer *timer)
{
	size_t i = 0;

	if (timer) {
		if (timer->next)
			return timer->next;
		i = (timer->number & (table->nr_slots - 1)) + 1;
	}
	for (; i < table->nr_slots; i++) {
		if (table->slots[i])
			return table->slots[i];
	}
	return NULL;
}

/**
 * timer_table_destroy() - free all timers
 * @table: the table; empty afterwards.
 */
void timer_table_destroy(struct timer_table *table)
{
	struct timer *timer, *next;

	for (timer = timer_table_next(table, NULL); timer; timer = next) {
		next = timer_table_next(table, timer);
		timer_table_remove(table, timer);
	}
	free(table->slots);
	*table = (struct timer_table){ 0 };
}
