// SPDX-License-Identifier: MIT
/*
 * `twheel top`: the wheels of the machine, and what they do
 *
 * A sample is taken every interval; two make rates. People get a screen, scripts a table
 * (--once) or JSON.
 */
#include <err.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "helpers.h"
#include "twheel.h"

/* A table that is not for a screen. */
#define TABLE_WIDTH	100
/* The column for commands, on a screen of any width. */
#define COMMAND_MIN	11
#define COMMAND_MAX	30

const struct column columns[NR_COLUMNS] = {
	[PID] = { "PID", 'i', "pid", 7 },
	[COMMAND] = { "COMMAND", 'n', "command", 0 },
	[FD] = { "FD", 'd', "fd", 4 },
	[PENDING] = { "PENDING", 'p', "pending", 7 },
	[UNREAD] = { "UNREAD", 'u', "unread", 6 },
	[ADD] = { "ADD/s", 'a', "add", 6 },
	[CANCEL] = { "CANC/s", 'c', "cancel", 6 },
	[EXPIRE] = { "EXP/s", 'e', "expire", 6 },
	[FIRES] = { "FIRES", 'f', "fires", 6 },
	[MEMORY] = { "MEMORY", 'm', "memory", 6 },
	[USER] = { "USER", 's', "user", 5 },
};

/* Find the column that an option names. Return its index, or -1. */
int column_named(const char *word)
{
	int i;

	for (i = 0; i < NR_COLUMNS; i++) {
		if (!strcmp(columns[i].word, word))
			return i;
	}
	return -1;
}

/* Format @n, which is at least @base, with the largest prefix that it reaches. */
static char *scaled(double n, double base, const char *prefix, char text[SHORT_TEXT])
{
	while ((n /= base) >= base && prefix[1])
		prefix++;
	snprintf(text, SHORT_TEXT, "%.*f%c", n < 9.995 ? 2 : n < 99.95, n, *prefix);
	return text;
}

/* Format a number that is not negative, in at most six characters. Return @text. */
char *short_count(double n, char text[SHORT_TEXT])
{
	snprintf(text, SHORT_TEXT, "%.*f", n < 9.95 && n != floor(n), n);
	return n < 99999.5 ? text : scaled(n, 1000, "kMGTPE", text);
}

/* Format a number of bytes, in at most six characters. Return @text. */
char *short_bytes(double n, char text[SHORT_TEXT])
{
	snprintf(text, SHORT_TEXT, "%.0f", n);
	return n < 1024 ? text : scaled(n, 1024, "KMGTPE", text);
}

/* Format an approximate duration: 1ms, 65.5s. Return @text. */
char *short_span(double ns, char text[SHORT_TEXT])
{
	static const char *const names[] = { "y", "d", "h", "min", "s", "ms", "us", "ns" };
	static const double units[] = { 31556952e9, 86400e9, 3600e9, 60e9, 1e9, 1e6, 1e3, 1 };
	int i = 0;

	while (ns < units[i] && units[i] > 1)
		i++;
	ns /= units[i];
	snprintf(text, SHORT_TEXT, "%.*g%s", ns < 999.5 ? 3 : 4, ns, names[i]);
	return text;
}

/* Return the value of a column; -1 if the wheel has none. */
static double value_of(const struct wheel *wheel, int column)
{
	switch (column) {
	case PID:
		return wheel->pid;
	case FD:
		return wheel->fd;
	case PENDING:
		return (double)wheel->info.pending;
	case UNREAD:
		return (double)wheel->info.expired;
	case FIRES:
		return (double)wheel->info.fires;
	case MEMORY:
		return (double)wheel->info.memory;
	case USER:
		if (!wheel->user_limit)
			return -1;
		return 100.0 * (double)wheel->user_memory / (double)wheel->user_limit;
	default:
		if (!wheel->nr_samples)
			return -1;
		return wheel->history[column - ADD + RATE_ADD][WHEEL_HISTORY - 1];
	}
}

/* Format the value of a column. Return @text. */
char *format_value(const struct wheel *wheel, int column, char text[SHORT_TEXT])
{
	double n = value_of(wheel, column);

	if (n < 0)
		snprintf(text, SHORT_TEXT, "-");
	else if (column == MEMORY)
		short_bytes(n, text);
	else if (column == USER && n > 999)
		snprintf(text, SHORT_TEXT, ">999%%");
	else if (column == USER)
		snprintf(text, SHORT_TEXT, "%.*f%%", n < 9.95, n);
	else if (column == PID || column == FD)
		snprintf(text, SHORT_TEXT, "%.0f", n);
	else
		short_count(n, text);
	return text;
}

/*
 * Write the name of a wheel's process, and how many more have the wheel. Return how many
 * characters.
 */
int put_name(FILE *stream, const struct wheel *wheel, int width)
{
	char more[16] = "", name[sizeof(wheel->comm)], *at;

	if (wheel->processes > 1)
		snprintf(more, sizeof(more), "+%u", wheel->processes - 1);
	snprintf(name, sizeof(name), "%.*s", width - (int)strlen(more), wheel->comm);
	for (at = name; *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
	return fprintf(stream, "%s%s", name, more);
}

/* Return the width of the column COMMAND, which depends on that of the terminal. */
static int command_width(int width)
{
	int i;

	for (i = 0; i < NR_COLUMNS; i++)
		width -= i == COMMAND ? 0 : columns[i].width + 1;
	return width < COMMAND_MIN ? COMMAND_MIN : width > COMMAND_MAX ? COMMAND_MAX : width;
}

/* Write the row of a wheel; or the head of the table if it is NULL. */
void put_row(FILE *stream, const struct wheel *wheel, int width)
{
	int i, left = command_width(width);
	char text[SHORT_TEXT];

	for (i = 0; i < NR_COLUMNS; i++) {
		fputs(i ? " " : "", stream);
		if (i == COMMAND && wheel)
			fprintf(stream, "%*s", left - put_name(stream, wheel, left), "");
		else
			fprintf(stream, "%*s", i == COMMAND ? -left : columns[i].width,
				wheel ? format_value(wheel, i, text) : columns[i].name);
	}
	fputc('\n', stream);
}

/*
 * Order two rows: largest first, except for names and numbers of processes; equal ones by their
 * number.
 */
static int compare(const void *a, const void *b, void *sorted)
{
	const struct wheel *left = *(const struct wheel *const *)a;
	const struct wheel *right = *(const struct wheel *const *)b;
	const struct top *top = sorted;
	int column = top->sort, order;

	if (column == COMMAND) {
		order = strcmp(left->comm, right->comm);
	} else {
		double x = value_of(left, column), y = value_of(right, column);

		order = column == PID || column == FD ? (x > y) - (x < y) : (x < y) - (x > y);
	}
	if (top->reverse)
		order = -order;
	return order ? order : (left->id > right->id) - (left->id < right->id);
}

/* Put the wheels into the order of a column. */
void sort_rows(struct top *top)
{
	size_t i;

	for (i = 0; i < top->now.count; i++)
		top->rows[i] = &top->now.wheel[i];
	qsort_r(top->rows, top->now.count, sizeof(*top->rows), compare, top);
}

/* Take a sample, and keep the one before. Return 0 or an errno, as wheels_scan() does. */
int take_sample(struct top *top)
{
	struct wheels spare = top->before;
	int error;

	top->before = top->now;
	top->now = spare;
	error = wheels_scan(&top->now, top->only);
	if (error)
		return error;
	wheels_compare(&top->now, &top->before);
	top->rows = reallocarray(top->rows, top->now.count + 1, sizeof(*top->rows));
	if (!top->rows)
		err(STATUS_ERROR, "cannot store the wheels");
	sort_rows(top);
	return 0;
}

/* Exit because a sample could not be taken. */
void fail_sample(const struct top *top, int error, bool again)
{
	if (error == ESRCH)
		errx(STATUS_ERROR, again ? "process %d has ended" : "there is no process %d",
		     top->only);
	if (error == EACCES)
		errx(STATUS_ERROR, "no permission to look at process %d of another user: use sudo",
		     top->only);
	if (error == EPROTO)
		errx(STATUS_ERROR,
		     "the module that is loaded is older than this command: load the new one");
	errno = error;
	err(STATUS_ERROR, "cannot look for wheels in %s", options.proc);
}

/* Return the milliseconds until a moment, rounded up. */
int ms_until(uint64_t time_ns)
{
	uint64_t now_ns = now_on(CLOCK_MONOTONIC);

	return time_ns <= now_ns ? 0 : (int)((time_ns - now_ns + 999999) / 1000000);
}

/* Write a wheel as a JSON object, in the style of records. */
static void put_object(const struct wheel *wheel)
{
	unsigned int nr;
	int rate;

	record_begin("wheel");
	put_id(wheel->id);
	put_number("pid", (uint64_t)wheel->pid);
	put_string("command", wheel->comm);
	put_number("fd", (uint64_t)wheel->fd);
	put_number("descriptors", wheel->descriptors);
	put_number("processes", wheel->processes);
	put_info(&wheel->info);
	put_number("user_id", wheel->user_id);
	put_number("user_memory", wheel->user_memory);
	put_number("user_limit", wheel->user_limit);
	for (rate = 0; rate < NR_RATES && wheel->nr_samples; rate++)
		printf(",\"%s_per_s\":%.3f", columns[ADD + rate].word,
		       wheel->history[rate][WHEEL_HISTORY - 1]);
	printf(",\"level\":[");
	for (nr = 0; nr < wheel->nr_levels; nr++)
		printf("%s{\"timers\":%ju,\"busy\":%ju}", nr ? "," : "",
		       (uintmax_t)wheel->level[nr].timers, (uintmax_t)wheel->level[nr].busy);
	putchar(']');
	record_end();
}

/* Wait for the next sample; a reader that goes away ends the program. */
static void pause_until(uint64_t time_ns)
{
	struct pollfd output = { .fd = STDOUT_FILENO };
	int ms;

	while ((ms = ms_until(time_ns)) > 0) {
		if (poll(&output, 1, ms) > 0 && output.revents & (POLLERR | POLLHUP))
			output_gone(EPIPE);
	}
}

static void print_samples(struct top *top)
{
	uint64_t next_ns = now_on(CLOCK_MONOTONIC);
	int error;
	size_t i;

	do {
		next_ns += options.interval_ns;
		pause_until(next_ns);
		error = take_sample(top);
		if (error)
			fail_sample(top, error, true);
		if (style != STYLE_JSON)
			put_row(stdout, NULL, TABLE_WIDTH);
		for (i = 0; i < top->now.count; i++) {
			if (style == STYLE_JSON)
				put_object(top->rows[i]);
			else
				put_row(stdout, top->rows[i], TABLE_WIDTH);
		}
		flush_output();
	} while (!options.once);
	if (style != STYLE_JSON && top->now.hidden)
		warnx("left out for lack of permission: %u process%s", top->now.hidden,
		      top->now.hidden == 1 ? "" : "es");
}

/* Show the wheels of the machine. */
void top(pid_t only)
{
	struct top top = { .only = only, .sort = options.sort };
	int error = chdir(options.proc) ? errno : take_sample(&top);

	if (error)
		fail_sample(&top, error, false);
	if (options.once || style == STYLE_JSON)
		print_samples(&top);
	else
		run_screen(&top);
}
