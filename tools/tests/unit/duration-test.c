// SPDX-License-Identifier: MIT
/*
 * TAP test of duration.c: runs on the host, needs no wheel.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "duration.h"
#include "helpers.h"
#include "tap.h"

#define UNTOUCHED		0x5ca1ab1eULL

static const struct {
	const char *text;
	int err;
	uint64_t ns;
} parse_cases[] = {
	/* Whole numbers, every unit */
	{ "1ns", 0, 1 },
	{ "150us", 0, 150000 },
	{ "150\302\265s", 0, 150000 },
	{ "150\316\274s", 0, 150000 },
	{ "200ms", 0, 200000000 },
	{ "3s", 0, 3000000000 },
	{ "30m", 0, 1800000000000 },
	{ "2h", 0, 7200000000000 },
	{ "1d", 0, 86400000000000 },
	{ "1w", 0, 604800000000000 },
	{ "007s", 0, 7000000000 },

	/* Every unit, by its longer names */
	{ "1nsec", 0, 1 },
	{ "5usec", 0, 5000 },
	{ "5msec", 0, 5000000 },
	{ "5sec", 0, 5000000000 },
	{ "5secs", 0, 5000000000 },
	{ "1second", 0, 1000000000 },
	{ "2seconds", 0, 2000000000 },
	{ "5min", 0, 300000000000 },
	{ "5mins", 0, 300000000000 },
	{ "1minute", 0, 60000000000 },
	{ "2minutes", 0, 120000000000 },
	{ "1hr", 0, 3600000000000 },
	{ "1hour", 0, 3600000000000 },
	{ "2hours", 0, 7200000000000 },
	{ "1day", 0, 86400000000000 },
	{ "2days", 0, 172800000000000 },
	{ "1week", 0, 604800000000000 },
	{ "2weeks", 0, 1209600000000000 },
	{ "1h30min", 0, 5400000000000 },
	{ "1.5min3sec", 0, 93000000000 },

	/* Nothing at all */
	{ "0", 0, 0 },
	{ "0s", 0, 0 },
	{ "0h0m0s", 0, 0 },
	{ "0.000ns", 0, 0 },

	/* Several parts */
	{ "2h30m", 0, 9000000000000 },
	{ "1w2d3h4m5s6ms7us8ns", 0, 788645006007008 },
	{ "1h0.5s", 0, 3600500000000 },
	{ "1.5h30m", 0, 7200000000000 },

	/* Fractions: exact, or rounded up to the nanosecond */
	{ "1.5s", 0, 1500000000 },
	{ ".5s", 0, 500000000 },
	{ "0.1s", 0, 100000000 },
	{ "1.000000001s", 0, 1000000001 },
	{ "0.0000000001s", 0, 1 },
	{ "1.5ns", 0, 2 },
	{ "0.3333333333333333333333333333333333333333w", 0, 201600000000000 },
	{ "0.9999999999999999999999999999999999999999s", 0, 1000000000 },
	{ "1.00000000000000000000000000000000000000000s", 0, 1000000000 },

	/* The longest, and longer ones */
	{ "9223372036854775807ns", 0, INT64_MAX },
	{ "9223372036.854775807s", 0, INT64_MAX },
	{ "9223372036s854775807ns", 0, INT64_MAX },
	{ "9223372036.8547758070000000000001s", -ERANGE, UNTOUCHED },
	{ "9223372036854775808ns", -ERANGE, UNTOUCHED },
	{ "9223372036s854775808ns", -ERANGE, UNTOUCHED },
	{ "18446744073709551615ns", -ERANGE, UNTOUCHED },
	{ "18446744073709551616ns", -ERANGE, UNTOUCHED },
	{ "18446744073709551617ns", -ERANGE, UNTOUCHED },
	{ "18446744073s709551615ns", -ERANGE, UNTOUCHED },
	{ "18446744073s709551616ns", -ERANGE, UNTOUCHED },
	{ "15251w", -ERANGE, UNTOUCHED },
	{ "30500568904944w", -ERANGE, UNTOUCHED },
	{ "99999999999999999999999999999999999999h", -ERANGE, UNTOUCHED },
	{ "99999999999999999999999999999999999999hello", -EINVAL, UNTOUCHED },
	{ "15251w1w", -EINVAL, UNTOUCHED },

	/* No durations */
	{ "", -EINVAL, UNTOUCHED },
	{ "s", -EINVAL, UNTOUCHED },
	{ "ms", -EINVAL, UNTOUCHED },
	{ "5", -EINVAL, UNTOUCHED },
	{ "00", -EINVAL, UNTOUCHED },
	{ "1.5", -EINVAL, UNTOUCHED },
	{ "1h30", -EINVAL, UNTOUCHED },
	{ "-1s", -EINVAL, UNTOUCHED },
	{ "-0", -EINVAL, UNTOUCHED },
	{ "1h-30m", -EINVAL, UNTOUCHED },
	{ "+1s", -EINVAL, UNTOUCHED },
	{ " 1s", -EINVAL, UNTOUCHED },
	{ "1s ", -EINVAL, UNTOUCHED },
	{ "1 s", -EINVAL, UNTOUCHED },
	{ "1h 30m", -EINVAL, UNTOUCHED },
	{ "1s\n", -EINVAL, UNTOUCHED },
	{ ".s", -EINVAL, UNTOUCHED },
	{ "1.s", -EINVAL, UNTOUCHED },
	{ ".", -EINVAL, UNTOUCHED },
	{ "1..5s", -EINVAL, UNTOUCHED },
	{ "1.2.3s", -EINVAL, UNTOUCHED },
	{ "1,5s", -EINVAL, UNTOUCHED },
	{ "1e3s", -EINVAL, UNTOUCHED },
	{ "0x10s", -EINVAL, UNTOUCHED },
	{ "infs", -EINVAL, UNTOUCHED },
	{ "1S", -EINVAL, UNTOUCHED },
	{ "1secon", -EINVAL, UNTOUCHED },
	{ "1mi", -EINVAL, UNTOUCHED },
	{ "1mon", -EINVAL, UNTOUCHED },
	{ "1Min", -EINVAL, UNTOUCHED },
	{ "1min1m", -EINVAL, UNTOUCHED },
	{ "1sec1min", -EINVAL, UNTOUCHED },
	{ "1\302\265", -EINVAL, UNTOUCHED },
	{ "\331\241s", -EINVAL, UNTOUCHED },
	{ "30m2h", -EINVAL, UNTOUCHED },
	{ "1s1s", -EINVAL, UNTOUCHED },
	{ "1us1\302\265s", -EINVAL, UNTOUCHED },
};

static const struct {
	int64_t ns;
	const char *text;
} format_cases[] = {
	{ 0, "0ns" },
	{ 1, "1ns" },
	{ 999, "999ns" },
	{ 1000, "1us" },
	{ 1001, "1.001us" },
	{ 312456, "312.456us" },
	{ 1000000, "1ms" },
	{ 1234567, "1.234567ms" },
	{ 1000000000, "1s" },
	{ 1500000000, "1.5s" },
	{ 1000000001, "1.000000001s" },
	{ 1800000000000, "1800s" },
	{ INT64_MAX, "9223372036.854775807s" },
	{ -1, "-1ns" },
	{ -1500000, "-1.5ms" },
	{ INT64_MIN, "-9223372036.854775808s" },
};

/* Line ends and # in the name of a test are escaped. */
static void result(int ok, const char *what, const char *text)
{
	char name[256], *end = name;

	for (; *text && end < name + sizeof(name) - 5; text++) {
		if (*text < ' ' || *text == '#' || *text == '\\')
			end += sprintf(end, "\\x%02x", (unsigned char)*text);
		else
			*end++ = *text;
	}
	*end = '\0';
	tap_result(ok, "%s \"%s\"", what, name);
}

static void test_parse(void)
{
	uint64_t ns;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(parse_cases); i++) {
		ns = UNTOUCHED;
		err = duration_parse(parse_cases[i].text, &ns);
		if (err != parse_cases[i].err || ns != parse_cases[i].ns)
			tap_note("got error %d, %ju ns", err, (uintmax_t)ns);
		result(err == parse_cases[i].err && ns == parse_cases[i].ns,
		       "parse", parse_cases[i].text);
	}
}

static void test_format(void)
{
	char text[DURATION_TEXT];
	uint64_t ns;
	size_t i;
	int back;

	for (i = 0; i < ARRAY_SIZE(format_cases); i++) {
		duration_format(format_cases[i].ns, text);
		back = format_cases[i].ns < 0 ||
		       (!duration_parse(text, &ns) &&
			ns == (uint64_t)format_cases[i].ns);
		if (strcmp(text, format_cases[i].text) || !back)
			tap_note("got %s", text);
		result(!strcmp(text, format_cases[i].text) && back, "format",
		       format_cases[i].text);
	}
}

int main(void)
{
	puts("TAP version 13");
	test_parse();
	test_format();
	return tap_done();
}
