// SPDX-License-Identifier: MIT
/*
 * Durations: 150us, 1.5s, 30m, 2h30m; twheel(1) has the grammar
 *
 * All arithmetic is on integers, so a duration that is a whole number of nanoseconds is exact.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "twheel.h"

#define SECOND	UINT64_C(1000000000)
#define DIGITS	"0123456789"

/* The micro sign is written in two ways in UTF-8. */
static const struct unit {
	const char *names;
	uint64_t ns;
} units[] = {
	{ " w week weeks ", 7 * 86400 * SECOND },
	{ " d day days ", 86400 * SECOND },
	{ " h hr hour hours ", 3600 * SECOND },
	{ " m min mins minute minutes ", 60 * SECOND },
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
	size_t nr_decimals = 0;
	const char *decimals;
	uint64_t whole, unit;
	char *end;

	if (!strchr(DIGITS ".", **text))
		return false;
	/* Saturates; any unit makes a part of this length too long. */
	whole = strtoull(*text, &end, 10);
	decimals = end + 1;
	if (*end == '.') {
		nr_decimals = strspn(decimals, DIGITS);
		end += 1 + nr_decimals;
		if (!nr_decimals)
			return false;
	}
	*text = end;
	unit = take_unit(text);
	if (!unit || unit >= *last)
		return false;
	*last = unit;
	if (__builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(*sum, whole, sum) ||
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
