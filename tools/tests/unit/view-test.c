// SPDX-License-Identifier: MIT
/*
 * TAP test of view.c: numbers, the table, and one wheel
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "tap.h"
#include "view.h"

static void same(const char *got, const char *expected, const char *name)
{
	if (!tap_result(!strcmp(got, expected), "%s", name))
		tap_note("got '%s' instead of '%s'", got, expected);
}

static void ok(bool passed, const char *name)
{
	tap_result(passed, "%s", name);
}

static const struct {
	double n;
	const char *count;
	const char *bytes;
	const char *span;
} numbers[] = {
	{ 0, "0", "0", "0ns" },
	{ 0.25, "0.2", "0", "0.25ns" },
	{ 7, "7", "7", "7ns" },
	{ 9.94, "9.9", "10", "9.94ns" },
	{ 12.6, "13", "13", "12.6ns" },
	{ 1000, "1000", "1000", "1us" },
	{ 1023, "1023", "1023", "1.02us" },
	{ 1024, "1024", "1.00K", "1.02us" },
	{ 65536, "65536", "64.0K", "65.5us" },
	{ 99999, "99999", "97.7K", "100us" },
	{ 100000, "100k", "97.7K", "100us" },
	{ 1e6, "1.00M", "977K", "1ms" },
	{ 1.2345e7, "12.3M", "11.8M", "12.3ms" },
	{ 9.999e9, "10.0G", "9.31G", "10s" },
	{ 6.5536e10, "65.5G", "61.0G", "1.09min" },
	{ 1.8e12, "1.80T", "1.64T", "30min" },
	{ 1e18, "1.00E", "888P", "31.7y" },
	{ 18446744073709551615.0, "18.4E", "16.0E", "585y" },
};

static void test_numbers(void)
{
	char text[VIEW_TEXT], name[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		snprintf(name, sizeof(name), "%.2f as a count", numbers[i].n);
		same(view_count(numbers[i].n, text), numbers[i].count, name);
		ok(strlen(text) <= 6, "in its column");
		snprintf(name, sizeof(name), "%.2f as bytes", numbers[i].n);
		same(view_bytes(numbers[i].n, text), numbers[i].bytes, name);
		ok(strlen(text) <= 6, "in its column");
		snprintf(name, sizeof(name), "%.2f as a time", numbers[i].n);
		same(view_span(numbers[i].n, text), numbers[i].span, name);
	}
}

static char *text_of;
static size_t size_of;

static FILE *begin(void)
{
	FILE *stream;

	free(text_of);
	text_of = NULL;
	stream = open_memstream(&text_of, &size_of);
	if (!stream)
		bail_out("no memory");
	return stream;
}

static const char *line_of(const float *values, size_t n, bool utf8)
{
	FILE *stream = begin();

	view_line_of(stream, values, n, utf8);
	fclose(stream);
	return text_of;
}

static void test_line(void)
{
	static const float rise[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	static const float flat[] = { 3, 3, 0.001f, 0 };
	static const float none[] = { 0, 0, 0 };

	same(line_of(rise, 8, true), "▁▂▃▄▅▆▇█", "every height of a bar");
	same(line_of(rise, 8, false), "_.:-=+*#", "in ASCII");
	same(line_of(flat, 4, true), "██▂▁", "what is not nothing is seen");
	same(line_of(none, 3, true), "▁▁▁", "nothing at all");
	same(line_of(rise, 0, true), "", "no values");
}

static struct wheel wheels[] = {
	{
		.id = 1, .pid = 42, .fd = 7, .comm = "server", .descriptors = 3, .processes = 2,
		.user_memory = 50, .user_limit = 200, .user_id = 1000, .nr_samples = 1,
		.info = { .tick_ns = 1000000, .wheel_size = 10, .clock_id = 1, .pending = 5,
			  .expired = 6, .fires = 1234567, .memory = 4096, .added = 77,
			  .max_timers = 100 },
		.nr_levels = 2, .level = { { 3, 2 }, { 2, 1 } },
		.history = { [RATE_ADD] = { [WHEEL_HISTORY - 1] = 12 },
			     [RATE_CANCEL] = { [WHEEL_HISTORY - 1] = 0.5f },
			     [RATE_EXPIRE] = { [WHEEL_HISTORY - 1] = 1e6f } },
	}, {
		.id = 2, .pid = 4194304, .fd = 65535, .comm = "\033[2Jevil\xff\xc3\xa9 and so on",
		.descriptors = 1, .processes = 1, .info.pending = 9,
	}, {
		.id = 3, .pid = 41, .fd = 7, .comm = "agent", .descriptors = 1, .processes = 1,
		.user_memory = 5000, .user_limit = 200, .info.pending = 5,
	},
};

static const char *row_of(const struct wheel *wheel, int width)
{
	FILE *stream = begin();

	if (wheel)
		view_row(stream, wheel, width);
	else
		view_head(stream, width);
	fclose(stream);
	return text_of;
}

static void test_table(void)
{
	same(row_of(NULL, 80),
	     "    PID COMMAND       FD PENDING UNREAD  ADD/s CANC/s  EXP/s  FIRES MEMORY  USER\n",
	     "the head");
	same(row_of(&wheels[0], 80),
	     "     42 server+1       7       5      6     12    0.5  1.00M  1.23M  4.00K   25%\n",
	     "a row");
	same(row_of(&wheels[1], 80),
	     "4194304 ?[2Jevil??? 65535       9      0      -      -      -      0      0     -\n",
	     "no control characters, no rates, no limit");
	ok(strlen(row_of(&wheels[0], 80)) == 81, "it fits a narrow terminal");
	ok(strlen(row_of(&wheels[0], 90)) == 91, "a wider one");
	ok(strlen(row_of(&wheels[0], 1)) == 81, "one that is too narrow is not considered");
	ok(strlen(row_of(&wheels[0], 500)) == 100, "nor one that is too wide");
	ok(strstr(row_of(&wheels[2], 80), ">999%"), "a limit that was lowered");
}

/* The numbers of the wheels in the order of a column. */
static const char *order_of(const char *column, bool reverse)
{
	const struct wheel *sorted[] = { &wheels[0], &wheels[1], &wheels[2] };
	FILE *stream = begin();
	size_t i;

	view_sort(sorted, 3, view_column_named(column), reverse);
	for (i = 0; i < 3; i++)
		fprintf(stream, "%d", (int)sorted[i]->id);
	fclose(stream);
	return text_of;
}

static void test_order(void)
{
	same(order_of("pending", false), "213", "most pending first, equal ones by number");
	same(order_of("pending", true), "132", "the other way round");
	same(order_of("command", false), "231", "by name");
	same(order_of("pid", false), "312", "by process");
	same(order_of("user", false), "312", "by share");
	same(order_of("add", false), "123", "by rate; none comes last");
	ok(!view_column_named("frob"), "there is no such column");
}

static void test_wheel(void)
{
	struct wheel full = wheels[0];
	FILE *stream = begin();

	view_wheel(stream, &wheels[0], 1000000000, false);
	fclose(stream);
	ok(strstr(text_of, "tick 1ms, 10 buckets a level, clock monotonic, at most 100 timers\n"),
	   "its parameters");
	ok(strstr(text_of, "open as 3 descriptors in 2 processes\n"), "who has it");
	ok(strstr(text_of, "memory 4.00K; user 1000 holds 50 of 200, 25%\n"), "its user");
	ok(strstr(text_of, "pending 5, unread 6\nadded 77, "), "its counters");
	ok(strstr(text_of, "last 1min\n"), "how long the rates go back");
	ok(strstr(text_of, "expire/s    1.00M  1.00M   "), "its rates");
	ok(strstr(text_of, "    0      1ms     10ms       3        2  ####\n"
			   "    1     10ms    100ms       2        1  ##\n"), "its levels");
	stream = begin();
	view_wheel(stream, &wheels[2], 1000000000, false);
	fclose(stream);
	ok(strstr(text_of, "No timer has been added yet."), "a wheel without levels");
	full.info.wheel_size = 2;
	full.nr_levels = 1;
	full.level[0].busy = 1 << 20;
	stream = begin();
	view_wheel(stream, &full, 1000000000, false);
	fclose(stream);
	ok(strstr(text_of, "1048576  ####################\n"), "more buckets than there are");
}

int main(void)
{
	puts("TAP version 13");
	test_numbers();
	test_line();
	test_table();
	test_order();
	test_wheel();
	free(text_of);
	return tap_done();
}
