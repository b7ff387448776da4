// SPDX-License-Identifier: MIT
/*
 * Messages to the user; see messages.h
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "messages.h"

static const struct {
	const char *name;
	uint32_t id;
} clocks[] = {
	{ "monotonic", CLOCK_MONOTONIC },
	{ "boottime", CLOCK_BOOTTIME },
	{ "realtime", CLOCK_REALTIME },
	{ "tai", CLOCK_TAI },
};

/**
 * complain() - tell the user what went wrong and what to do
 * @format: the message, as for printf(), without a line end.
 */
void complain(const char *format, ...)
{
	va_list args;

	fputs("twheel: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/**
 * clock_name() - the name of a clock in options and records
 * @clock_id: the clock.
 *
 * Return: its name; "unknown" if it has none.
 */
const char *clock_name(uint32_t clock_id)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (clocks[i].id == clock_id)
			return clocks[i].name;
	}
	return "unknown";
}

/**
 * clock_by_name() - find the clock that an option names
 * @name: the name.
 * @clock_id: set to the clock.
 *
 * Return: whether there is one.
 */
bool clock_by_name(const char *name, uint32_t *clock_id)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (!strcmp(clocks[i].name, name)) {
			*clock_id = clocks[i].id;
			return true;
		}
	}
	return false;
}
