// SPDX-License-Identifier: MIT
/*
 * Durations: 150us, 1.5s, 30m, 2h30m; twheel(1) has the grammar
 *
 * All arithmetic is on integers, so a duration that is a whole number of nanoseconds is exact.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "helpers.h"
#include "twheel.h"

#define SECOND	UINT64_C(1000000000)
#define MINUTE	(60 * SECOND)
#define HOUR	(60 * MINUTE)
#define DAY	(24 * HOUR)
#define DIGITS	"0123456789"

/* The micro sign is written in two ways in UTF-8. */
static const struct unit {
	const char *names;
	uint64_t ns;
} units[] = {
	{ " w week weeks ", 7 * DAY },
	{ " d day days ", DAY },
	{ " h hr hour hours ", HOUR },
	{ " m min mins minute minutes ", MINUTE },
	{ " s sec secs second seconds ", SECOND },
	{ " ms msec ", 1000000 },
	{ " us usec \302\265s \316\274s ", 1000 },
	{ " ns nsec ", 1 },
};

/* Return the length of the unit that begins @text, or 0 if there is no such unit. */
static uint64_t take_unit(const char **text)
{
	int len = (int)strcspn(*text, DIGITS ".");
	char word[16];
	size_t i;

	snprintf(word, sizeof(word), " %.*s ", len, *text);
	*text += len;
	for (i = 0; len && i < ARRAY_SIZE(units); i++) {
		if (!strchr(*text - len, ' ') && strstr(units[i].names, word))
			return units[i].ns;
	}
	return 0;
}

/* Multiply the digits of a whole number by the unit; saturate. */
static uint64_t scale_whole(const char *digits, size_t n, uint64_t unit)
{
	uint64_t sum = 0;

	for (; n--; digits++) {
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, *digits - '0', &sum))
			return UINT64_MAX;
	}
	return __builtin_mul_overflow(sum, unit, &sum) ? UINT64_MAX : sum;
}

/* Multiply decimals by the unit; round up, as no timer may be early. */
static uint64_t scale_decimals(const char *digits, size_t n, uint64_t unit)
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

/* Add the part that begins @text, with a unit below @last; return whether it is valid. */
static bool take_part(const char **text, uint64_t *last, uint64_t *sum)
{
	const char *whole = *text, *decimals;
	size_t nr_whole = strspn(whole, DIGITS), nr_decimals = 0;
	uint64_t unit;

	*text += nr_whole;
	decimals = *text + 1;
	if (**text == '.') {
		nr_decimals = strspn(decimals, DIGITS);
		*text = decimals + nr_decimals;
		if (!nr_decimals)
			return false;
	} else if (!nr_whole) {
		return false;
	}
	unit = take_unit(text);
	if (!unit || unit >= *last)
		return false;
	*last = unit;
	if (__builtin_add_overflow(*sum, scale_whole(whole, nr_whole, unit), sum) ||
	    __builtin_add_overflow(*sum, scale_decimals(decimals, nr_decimals, unit), sum))
		*sum = UINT64_MAX;
	return true;
}

/*
 * Read a duration. Return NULL; or the end of a message that begins with the text: why it is not
 * valid.
 */
const char *duration_parse(const char *text, uint64_t *ns)
{
	uint64_t sum = 0, last = UINT64_MAX;

	if (strcmp(text, "0")) {
		do {
			if (!take_part(&text, &last, &sum))
				return "is not a duration: write it like 150us, 1.5s, 30m or 2h30m";
		} while (*text);
	}
	if (sum > INT64_MAX)
		return "is too long: at most 292 years";
	*ns = sum;
	return NULL;
}

/* Write a duration. Return @text. */
char *duration_format(int64_t ns, char text[DURATION_TEXT])
{
	static const char *const names[] = { "ns", "us", "ms", "s" };
	uint64_t abs = ns < 0 ? -(uint64_t)ns : (uint64_t)ns, scale = 1;
	char decimals[16];
	int unit = 0, digits;

	for (; unit < 3 && abs / scale >= 1000; unit++)
		scale *= 1000;
	digits = snprintf(decimals, sizeof(decimals), ".%0*ju", 3 * unit, (uintmax_t)(abs % scale));
	while (digits && strchr(".0", decimals[digits - 1]))
		digits--;
	snprintf(text, DURATION_TEXT, "%s%ju%.*s%s", ns < 0 ? "-" : "",
		 (uintmax_t)(abs / scale), digits, decimals, names[unit]);
	return text;
}
