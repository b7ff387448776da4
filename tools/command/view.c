// SPDX-License-Identifier: MIT
/*
 * Wheels as text; see view.h
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "helpers.h"
#include "messages.h"
#include "output.h"
#include "view.h"

/* The widest column for commands, on a screen of any width. */
#define COMMAND_MAX	30
#define BAR_WIDTH	20

/*
 * Numbers: short, so that columns stay where they are.
 */

struct scale {
	const char *unit;
	double factor;
};

/* Format @n with three digits, in the largest unit that it reaches; units go downwards. */
static char *scaled(double n, const struct scale *scale, char text[VIEW_TEXT])
{
	double value;

	while (n < scale->factor && scale[1].unit)
		scale++;
	value = n / scale->factor;
	snprintf(text, VIEW_TEXT, "%.*f%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value,
		 scale->unit);
	return text;
}

/**
 * view_count() - a number, in at most six characters
 * @n: the number, not negative.
 * @text: where to write it.
 *
 * Return: @text.
 */
char *view_count(double n, char text[VIEW_TEXT])
{
	static const struct scale scales[] = {
		{ "E", 1e18 }, { "P", 1e15 }, { "T", 1e12 }, { "G", 1e9 }, { "M", 1e6 },
		{ "k", 1e3 }, { NULL, 0 },
	};

	if (n >= 99999.5)
		return scaled(n, scales, text);
	snprintf(text, VIEW_TEXT, "%.*f", n < 9.95 && n != floor(n) ? 1 : 0, n);
	return text;
}

/**
 * view_bytes() - an amount of memory, in at most six characters
 * @n: bytes.
 * @text: where to write it.
 *
 * Return: @text.
 */
char *view_bytes(double n, char text[VIEW_TEXT])
{
	static const struct scale scales[] = {
		{ "E", 0x1p60 }, { "P", 0x1p50 }, { "T", 0x1p40 }, { "G", 0x1p30 },
		{ "M", 0x1p20 }, { "K", 0x1p10 }, { NULL, 0 },
	};

	if (n >= 1024)
		return scaled(n, scales, text);
	snprintf(text, VIEW_TEXT, "%.0f", n);
	return text;
}

/**
 * view_span() - about how long something is
 * @ns: nanoseconds.
 * @text: where to write it.
 *
 * Return: @text.
 */
char *view_span(double ns, char text[VIEW_TEXT])
{
	static const struct scale scales[] = {
		{ "y", 365.2425 * 86400e9 }, { "d", 86400e9 }, { "h", 3600e9 },
		{ "min", 60e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 },
		{ NULL, 0 },
	};
	char *point, *end;

	scaled(ns, scales, text);
	/* A tick of "1.00ms" is "1ms". */
	point = strchr(text, '.');
	if (!point)
		return text;
	for (end = point + 1; *end >= '0' && *end <= '9'; end++)
		if (*end != '0')
			return text;
	memmove(point, end, strlen(end) + 1);
	return text;
}

static char *format_whole(double n, char text[VIEW_TEXT])
{
	snprintf(text, VIEW_TEXT, "%.0f", n);
	return text;
}

static char *format_percent(double n, char text[VIEW_TEXT])
{
	if (n < 0)
		return strcpy(text, "-");
	if (n > 999)
		return strcpy(text, ">999%");
	snprintf(text, VIEW_TEXT, "%.*f%%", n < 9.95 ? 1 : 0, n);
	return text;
}

/* Rates need two samples. */
static char *format_rate(double n, char text[VIEW_TEXT])
{
	return n < 0 ? strcpy(text, "-") : view_count(n, text);
}

/**
 * view_line_of() - draw a line of small bars, the highest for the largest value
 * @stream: where to.
 * @values: the values.
 * @n: how many.
 * @utf8: draw with block characters; otherwise with ASCII.
 */
void view_line_of(FILE *stream, const float *values, size_t n, bool utf8)
{
	static const char *const bars[] = {
		"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
	};
	static const char *const ascii[] = { "_", ".", ":", "-", "=", "+", "*", "#" };
	const char *const *signs = utf8 ? bars : ascii;
	float largest = 0;
	size_t i, nr;

	for (i = 0; i < n; i++)
		largest = fmaxf(largest, values[i]);
	for (i = 0; i < n; i++) {
		nr = largest > 0 ? (size_t)ceilf(values[i] / largest * 7) : 0;
		fputs(signs[nr < 8 ? nr : 7], stream);
	}
}

/*
 * The table.
 */

static double rate_or_none(const struct wheel *wheel, enum wheel_rate rate)
{
	return wheel->nr_samples ? wheel_rate(wheel, rate) : -1;
}

static double value_pid(const struct wheel *wheel)
{
	return wheel->pid;
}

static double value_fd(const struct wheel *wheel)
{
	return wheel->fd;
}

static double value_pending(const struct wheel *wheel)
{
	return (double)wheel->info.pending;
}

static double value_unread(const struct wheel *wheel)
{
	return (double)wheel->info.expired;
}

static double value_add(const struct wheel *wheel)
{
	return rate_or_none(wheel, RATE_ADD);
}

static double value_cancel(const struct wheel *wheel)
{
	return rate_or_none(wheel, RATE_CANCEL);
}

static double value_expire(const struct wheel *wheel)
{
	return rate_or_none(wheel, RATE_EXPIRE);
}

static double value_fires(const struct wheel *wheel)
{
	return (double)wheel->info.fires;
}

static double value_memory(const struct wheel *wheel)
{
	return (double)wheel->info.memory;
}

/* The share of the user's limit that is in use. */
static double value_user(const struct wheel *wheel)
{
	if (!wheel->user_limit)
		return -1;
	return 100.0 * (double)wheel->user_memory / (double)wheel->user_limit;
}

const struct view_column view_columns[] = {
	{ "PID", 'i', "pid", 7, value_pid, format_whole },
	{ "COMMAND", 'n', "command", 11, NULL, NULL },
	{ "FD", 'd', "fd", 4, value_fd, format_whole },
	{ "PENDING", 'p', "pending", 7, value_pending, view_count },
	{ "UNREAD", 'u', "unread", 6, value_unread, view_count },
	{ "ADD/s", 'a', "add", 6, value_add, format_rate },
	{ "CANC/s", 'c', "cancel", 6, value_cancel, format_rate },
	{ "EXP/s", 'e', "expire", 6, value_expire, format_rate },
	{ "FIRES", 'f', "fires", 6, value_fires, view_count },
	{ "MEMORY", 'm', "memory", 6, value_memory, view_bytes },
	{ "USER", 's', "user", 5, value_user, format_percent },
};

const size_t view_nr_columns = ARRAY_SIZE(view_columns);

/**
 * view_column_named() - find a column
 * @word: what it is called in options.
 *
 * Return: the column, or NULL.
 */
const struct view_column *view_column_named(const char *word)
{
	size_t i;

	for (i = 0; i < view_nr_columns; i++) {
		if (!strcmp(view_columns[i].word, word))
			return &view_columns[i];
	}
	return NULL;
}

/* Return what is left of @width for the command, from its column's width to COMMAND_MAX. */
static int command_width(int width)
{
	int left = width - (int)view_nr_columns + 1;
	int least = 0;
	size_t i;

	for (i = 0; i < view_nr_columns; i++) {
		if (view_columns[i].value)
			left -= view_columns[i].width;
		else
			least = view_columns[i].width;
	}
	return left < least ? least : left > COMMAND_MAX ? COMMAND_MAX : left;
}

/* A process can call itself what it likes; a terminal is shown no control character. */
static int put_name(FILE *stream, const struct wheel *wheel, int width)
{
	char more[16] = "", name[WHEEL_COMM];
	char *at;
	int room;

	if (wheel->processes > 1)
		snprintf(more, sizeof(more), "+%u", wheel->processes - 1);
	room = width - (int)strlen(more);
	snprintf(name, sizeof(name), "%.*s", room, wheel->comm);
	for (at = name; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	return fprintf(stream, "%s%s", name, more);
}

static void put_command(FILE *stream, const struct wheel *wheel, int width)
{
	int len = put_name(stream, wheel, width);

	fprintf(stream, "%*s", width - len, "");
}

/**
 * view_head() - write the line above the table
 * @stream: where to.
 * @width: how wide the terminal is.
 */
void view_head(FILE *stream, int width)
{
	size_t i;

	for (i = 0; i < view_nr_columns; i++) {
		const struct view_column *column = &view_columns[i];

		fputs(i ? " " : "", stream);
		if (column->value)
			fprintf(stream, "%*s", column->width, column->name);
		else
			fprintf(stream, "%-*s", command_width(width), column->name);
	}
	fputc('\n', stream);
}

/**
 * view_row() - write the row of a wheel
 * @stream: where to.
 * @wheel: the wheel.
 * @width: how wide the terminal is.
 */
void view_row(FILE *stream, const struct wheel *wheel, int width)
{
	char text[VIEW_TEXT];
	size_t i;

	for (i = 0; i < view_nr_columns; i++) {
		const struct view_column *column = &view_columns[i];

		fputs(i ? " " : "", stream);
		if (column->value)
			fprintf(stream, "%*s", column->width,
				column->format(column->value(wheel), text));
		else
			put_command(stream, wheel, command_width(width));
	}
	fputc('\n', stream);
}

/* Arguments that qsort() cannot pass. */
static const struct view_column *sort_column;
static bool sort_reverse;

/* Largest first, except for names and numbers of processes; equal ones keep their order. */
static int compare(const void *a, const void *b)
{
	const struct wheel *left = *(const struct wheel *const *)a;
	const struct wheel *right = *(const struct wheel *const *)b;
	int order;

	if (!sort_column->value) {
		order = strcmp(left->comm, right->comm);
	} else {
		double x = sort_column->value(left), y = sort_column->value(right);

		order = (x > y) - (x < y);
		if (sort_column->value != value_pid && sort_column->value != value_fd)
			order = -order;
	}
	if (sort_reverse)
		order = -order;
	return order ? order : (left->id > right->id) - (left->id < right->id);
}

/**
 * view_sort() - put wheels into the order of a column
 * @wheels: the wheels.
 * @count: how many.
 * @column: the column.
 * @reverse: the other way round.
 */
void view_sort(const struct wheel **wheels, size_t count,
	       const struct view_column *column, bool reverse)
{
	sort_column = column;
	sort_reverse = reverse;
	if (count)
		qsort(wheels, count, sizeof(*wheels), compare);
}

/*
 * One wheel.
 */

static void put_rates(FILE *stream, const struct wheel *wheel, uint64_t interval_ns, bool utf8)
{
	static const char *const names[] = { "add/s", "cancel/s", "expire/s", "fires/s" };
	size_t n = wheel->nr_samples, i;
	char text[VIEW_TEXT];
	int rate;

	fprintf(stream, "\n%-10s %6s %6s   last %s\n", "", "now", "most",
		view_span((double)interval_ns * WHEEL_HISTORY, text));
	for (rate = 0; rate < NR_RATES; rate++) {
		const float *values = wheel->history[rate] + WHEEL_HISTORY - n;
		float most = 0;

		for (i = 0; i < n; i++)
			most = fmaxf(most, values[i]);
		fprintf(stream, "%-10s %6s ", names[rate],
			format_rate(rate_or_none(wheel, rate), text));
		fprintf(stream, "%6s   %*s", n ? view_count(most, text) : "-",
			(int)(WHEEL_HISTORY - n), "");
		view_line_of(stream, values, n, utf8);
		fputc('\n', stream);
	}
}

/* Draw the part of @size that is busy: at least one sign if any is, and at most all. */
static void put_bar(FILE *stream, uint32_t busy, uint32_t size)
{
	uint64_t n = size ? ((uint64_t)busy * BAR_WIDTH + size - 1) / size : 0;

	if (n > BAR_WIDTH)
		n = BAR_WIDTH;

	fputs("  ", stream);
	while (n--)
		fputc('#', stream);
}

static void put_levels(FILE *stream, const struct wheel *wheel)
{
	char length[VIEW_TEXT], range[VIEW_TEXT], timers[VIEW_TEXT];
	double span = (double)wheel->info.tick_ns;
	unsigned int nr;

	fprintf(stream, "\nlevel   bucket    range  timers   busy buckets of %u\n",
		wheel->info.wheel_size);
	for (nr = 0; nr < wheel->nr_levels; nr++) {
		view_span(span, length);
		span *= wheel->info.wheel_size;
		fprintf(stream, "%5u %8s %8s  %6s   %6u", nr, length,
			view_span(span, range),
			view_count((double)wheel->level[nr].timers, timers),
			wheel->level[nr].busy);
		put_bar(stream, wheel->level[nr].busy, wheel->info.wheel_size);
		fputc('\n', stream);
	}
	if (!wheel->nr_levels)
		fputs("No timer has been added yet.\n", stream);
}

/**
 * view_name() - write the name of a wheel's process, and how many more there are
 * @stream: where to.
 * @wheel: the wheel.
 */
void view_name(FILE *stream, const struct wheel *wheel)
{
	put_name(stream, wheel, WHEEL_COMM);
}

/**
 * view_wheel() - write everything about a wheel
 * @stream: where to.
 * @wheel: the wheel.
 * @interval_ns: the time between two samples.
 * @utf8: the terminal can show more than ASCII.
 */
void view_wheel(FILE *stream, const struct wheel *wheel, uint64_t interval_ns, bool utf8)
{
	const struct twheel_info *info = &wheel->info;
	char tick[DURATION_TEXT], memory[VIEW_TEXT], held[VIEW_TEXT], limit[VIEW_TEXT];
	char share[VIEW_TEXT];

	fprintf(stream, "tick %s, %u buckets a level, clock %s, at most %ju timers\n",
		duration_format((int64_t)info->tick_ns, tick), info->wheel_size,
		clock_name(info->clock_id), (uintmax_t)info->max_timers);
	fprintf(stream, "open as %u descriptor%s in %u process%s\n", wheel->descriptors,
		wheel->descriptors > 1 ? "s" : "", wheel->processes,
		wheel->processes > 1 ? "es" : "");
	fprintf(stream, "memory %s; user %u holds %s of %s, %s\n",
		view_bytes((double)info->memory, memory), wheel->user_id,
		view_bytes((double)wheel->user_memory, held),
		view_bytes((double)wheel->user_limit, limit),
		format_percent(value_user(wheel), share));
	fprintf(stream, "pending %ju, unread %ju\n", (uintmax_t)info->pending,
		(uintmax_t)info->expired);
	fprintf(stream, "added %ju, modified %ju, cancelled %ju\n", (uintmax_t)info->added,
		(uintmax_t)info->modified, (uintmax_t)info->cancelled);
	fprintf(stream, "delivered %ju, cascaded %ju, fires %ju\n",
		(uintmax_t)info->delivered, (uintmax_t)info->cascaded,
		(uintmax_t)info->fires);
	put_rates(stream, wheel, interval_ns, utf8);
	put_levels(stream, wheel);
}

/*
 * JSON.
 */

static void json_rate(const char *name, const struct wheel *wheel, enum wheel_rate rate)
{
	if (wheel->nr_samples)
		printf(",\"%s_per_s\":%.3f", name, wheel_rate(wheel, rate));
}

static void json_levels(const struct wheel *wheel)
{
	unsigned int nr;

	printf(",\"level\":[");
	for (nr = 0; nr < wheel->nr_levels; nr++)
		printf("%s{\"timers\":%ju,\"busy\":%u}", nr ? "," : "",
		       (uintmax_t)wheel->level[nr].timers, wheel->level[nr].busy);
	putchar(']');
}

/**
 * view_json() - write a wheel as one JSON object, in the style of records
 * @wheel: the wheel.
 */
void view_json(const struct wheel *wheel)
{
	output_begin("wheel");
	output_id(wheel->id);
	output_number("pid", (uint64_t)wheel->pid);
	printf(",\"command\":");
	write_json_string(stdout, wheel->comm);
	output_number("fd", (uint64_t)wheel->fd);
	output_number("descriptors", wheel->descriptors);
	output_number("processes", wheel->processes);
	output_info(&wheel->info);
	output_number("user_id", wheel->user_id);
	output_number("user_memory", wheel->user_memory);
	output_number("user_limit", wheel->user_limit);
	json_rate("add", wheel, RATE_ADD);
	json_rate("cancel", wheel, RATE_CANCEL);
	json_rate("expire", wheel, RATE_EXPIRE);
	json_rate("fires", wheel, RATE_FIRES);
	json_levels(wheel);
	output_end();
}
