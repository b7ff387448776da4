// SPDX-License-Identifier: MIT
/*
 * Durations as people write them
 *
 *	duration = "0" | part { part }
 *	part     = number unit
 *	number   = digits [ "." digits ] | "." digits
 *	unit     = "w" | "d" | "h" | "m" | "s" | "ms" | "us" | "µs" | "ns"
 *
 * or a unit's longer names, as the table below has them: 5min, 90sec, 2days.
 *
 * The parts come from the largest unit to the smallest, none twice. All
 * arithmetic is on integers, so that a duration that is a whole number of
 * nanoseconds is exact.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "duration.h"
#include "helpers.h"

#define SECOND	UINT64_C(1000000000)
#define MINUTE	(60 * SECOND)
#define HOUR	(60 * MINUTE)
#define DAY	(24 * HOUR)
#define WEEK	(7 * DAY)

struct unit {
	const char *name;
	uint64_t ns;
};

/* The micro sign is written in two ways in UTF-8. */
static const struct unit units[] = {
	{ "w", WEEK }, { "week", WEEK }, { "weeks", WEEK },
	{ "d", DAY }, { "day", DAY }, { "days", DAY },
	{ "h", HOUR }, { "hr", HOUR }, { "hour", HOUR }, { "hours", HOUR },
	{ "m", MINUTE }, { "min", MINUTE }, { "mins", MINUTE }, { "minute", MINUTE },
	{ "minutes", MINUTE },
	{ "s", SECOND }, { "sec", SECOND }, { "secs", SECOND }, { "second", SECOND },
	{ "seconds", SECOND },
	{ "ms", 1000000 }, { "msec", 1000000 },
	{ "us", 1000 }, { "usec", 1000 }, { "\302\265s", 1000 }, { "\316\274s", 1000 },
	{ "ns", 1 }, { "nsec", 1 },
};

static size_t count_digits(const char *text)
{
	size_t n = 0;

	while (isdigit((unsigned char)text[n]))
		n++;
	return n;
}

/* The unit that starts @text, up to the next number or the end; or NULL. */
static const struct unit *find_unit(const char *text, size_t *len)
{
	size_t i;

	*len = strcspn(text, "0123456789.");
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) == *len &&
		    !memcmp(units[i].name, text, *len))
			return &units[i];
	}
	return NULL;
}

/*
 * Each step is exact: the digits times the unit, divided by ten. The remainder
 * is less than a nanosecond and is rounded up: a timer is never early.
 */
static uint64_t scale_fraction(const char *digits, size_t n, uint64_t unit)
{
	uint64_t sum = 0;
	bool inexact = false;

	while (n--) {
		sum += (uint64_t)(digits[n] - '0') * unit;
		inexact |= sum % 10;
		sum /= 10;
	}
	return sum + inexact;
}

static int scale_whole(const char *digits, size_t n, uint64_t unit,
		       uint64_t *ns)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, digits[i] - '0', &sum))
			return -ERANGE;
	}
	return __builtin_mul_overflow(sum, unit, ns) ? -ERANGE : 0;
}

/*
 * Take one part off @text and add it to @sum. @last is the unit of the part
 * before it, or 0.
 */
static int parse_part(const char **text, uint64_t *last, uint64_t *sum)
{
	const char *whole = *text, *fraction = NULL;
	size_t nr_whole, nr_fraction = 0, len;
	const struct unit *unit;
	uint64_t ns;
	int err;

	nr_whole = count_digits(whole);
	*text += nr_whole;
	if (**text == '.') {
		fraction = *text + 1;
		nr_fraction = count_digits(fraction);
		*text = fraction + nr_fraction;
	}
	if (fraction ? !nr_fraction : !nr_whole)
		return -EINVAL;

	unit = find_unit(*text, &len);
	if (!unit || (*last && unit->ns >= *last))
		return -EINVAL;
	*text += len;
	*last = unit->ns;

	err = scale_whole(whole, nr_whole, unit->ns, &ns);
	if (err)
		return err;
	if (__builtin_add_overflow(*sum, ns, sum))
		return -ERANGE;
	ns = fraction ? scale_fraction(fraction, nr_fraction, unit->ns) : 0;
	return __builtin_add_overflow(*sum, ns, sum) ? -ERANGE : 0;
}

/**
 * duration_parse() - read a duration
 * @text: the duration, all of the string.
 * @ns: set to the duration in nanoseconds, rounded up, when it is valid.
 *
 * Return: 0; -EINVAL when @text is not a duration; -ERANGE when it is longer than
 * INT64_MAX nanoseconds (292 years), the longest a wheel takes.
 */
int duration_parse(const char *text, uint64_t *ns)
{
	uint64_t sum = 0, last = 0;
	bool too_long = false;
	int err;

	if (!strcmp(text, "0")) {
		*ns = 0;
		return 0;
	}
	/* Go on after an overflow: text that is not a duration is always -EINVAL. */
	do {
		err = parse_part(&text, &last, &sum);
		if (err == -EINVAL)
			return err;
		too_long |= err == -ERANGE || sum > INT64_MAX;
	} while (*text);
	if (too_long)
		return -ERANGE;
	*ns = sum;
	return 0;
}

/**
 * duration_format() - write a duration for people
 * @ns: the duration in nanoseconds.
 * @text: where to write it.
 *
 * The text is exact: duration_parse() reads it back, except for a minus sign.
 *
 * Return: @text.
 */
char *duration_format(int64_t ns, char text[DURATION_TEXT])
{
	static const struct {
		const char *name;
		uint64_t ns;
		int digits;
	} scales[] = {
		{ "s", 1000000000, 9 },
		{ "ms", 1000000, 6 },
		{ "us", 1000, 3 },
		{ "ns", 1, 0 },
	};
	uint64_t abs = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	const char *sign = ns < 0 ? "-" : "";
	uint64_t fraction;
	int i = 0, digits;

	while (scales[i].ns > 1 && abs < scales[i].ns)
		i++;
	fraction = abs % scales[i].ns;
	digits = scales[i].digits;
	for (; fraction && fraction % 10 == 0; digits--)
		fraction /= 10;

	if (fraction)
		snprintf(text, DURATION_TEXT, "%s%ju.%0*ju%s", sign,
			 (uintmax_t)(abs / scales[i].ns), digits,
			 (uintmax_t)fraction, scales[i].name);
	else
		snprintf(text, DURATION_TEXT, "%s%ju%s", sign,
			 (uintmax_t)(abs / scales[i].ns), scales[i].name);
	return text;
}
