// SPDX-License-Identifier: MIT
/*
 * `twheel top`: the wheels of the machine, and what they do
 *
 * A sample is taken every interval; two make rates. People get a screen, scripts a table
 * (--once) or JSON.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "helpers.h"
#include "messages.h"
#include "output.h"
#include "screen.h"
#include "top.h"
#include "view.h"
#include "wheels.h"

/* A table that is not for a screen. */
#define TABLE_WIDTH	100

/**
 * struct top - what is being shown
 * @options: what was asked for.
 * @now: the latest sample.
 * @before: the previous sample.
 * @rows: the wheels of @now, in order.
 * @sort: the column that they are ordered by.
 * @reverse: the other way round.
 * @selected: the number of the wheel that is selected.
 * @row: its row.
 * @first: the first row that is shown, or line of one wheel.
 * @open: the number of the wheel that is shown alone, or 0.
 * @shown: that wheel as it was last seen.
 */
struct top {
	const struct top_options *options;
	struct wheels now;
	struct wheels before;
	const struct wheel **rows;
	const struct view_column *sort;
	bool reverse;
	uint64_t selected;
	size_t row;
	size_t first;
	uint64_t open;
	struct wheel shown;
};

/* Explain why a sample could not be taken: the first one, or a later one (@again). */
static int fail_sample(const struct top *top, int err, bool again)
{
	switch (err) {
	case -ESRCH:
		complain(again ? "process %d has ended" : "there is no process %d",
			 top->options->only);
		break;
	case -EACCES:
		complain("no permission to look at process %d of another user: use sudo",
			 top->options->only);
		break;
	case -EPROTO:
		complain("the module that is loaded is older than this command: load the new one");
		break;
	default:
		complain("cannot look for wheels in %s: %s", top->options->proc,
			 strerror(-err));
	}
	return STATUS_ERROR;
}

static void order(struct top *top)
{
	size_t i;

	for (i = 0; i < top->now.count; i++)
		top->rows[i] = &top->now.wheel[i];
	view_sort(top->rows, top->now.count, top->sort, top->reverse);
}

/* Take a sample, and keep the one before; returns 0 or a negative errno. */
static int sample(struct top *top)
{
	struct wheels spare = top->before;
	const struct wheel **rows;
	int err;

	top->before = top->now;
	top->now = spare;
	err = wheels_scan(&top->now, top->options->proc, top->options->only);
	if (err)
		return err;
	if (top->now.outdated)
		return -EPROTO;
	wheels_compare(&top->now, &top->before);
	rows = reallocarray(top->rows, top->now.count + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	top->rows = rows;
	order(top);
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Milliseconds until then, rounded up. */
static int ms_until(uint64_t time_ns)
{
	uint64_t now = now_ns();

	return time_ns <= now ? 0 : (int)((time_ns - now + 999999) / 1000000);
}

/*
 * For scripts.
 */

static void tell_hidden(const struct wheels *wheels)
{
	if (wheels->hidden)
		complain("left out for lack of permission: %u process%s", wheels->hidden,
			 wheels->hidden == 1 ? "" : "es");
}

static void print(const struct top *top)
{
	size_t i;

	if (!top->options->json)
		view_head(stdout, TABLE_WIDTH);
	for (i = 0; i < top->now.count; i++) {
		if (top->options->json)
			view_json(top->rows[i]);
		else
			view_row(stdout, top->rows[i], TABLE_WIDTH);
	}
}

/* Wait for the next sample; a reader that goes away ends the wait. */
static int pause_until(uint64_t time_ns)
{
	struct pollfd output = { .fd = STDOUT_FILENO };
	int ms;

	while ((ms = ms_until(time_ns)) > 0) {
		if (poll(&output, 1, ms) > 0 && output.revents & (POLLERR | POLLHUP))
			return output_fail(EPIPE);
	}
	return STATUS_OK;
}

static int run_script(struct top *top)
{
	uint64_t next = now_ns();
	int status, err;

	do {
		next += top->options->interval_ns;
		status = pause_until(next);
		if (status != STATUS_OK)
			return status;
		err = sample(top);
		if (err)
			return fail_sample(top, err, true);
		print(top);
		status = output_finish();
	} while (status == STATUS_OK && !top->options->once);
	if (!top->options->json)
		tell_hidden(&top->now);
	return status;
}

/*
 * For people.
 */

/* Return the number of rows between the title, the head, and the keys. */
static size_t rows_on(const struct screen *screen)
{
	return screen->rows > 4 ? (size_t)screen->rows - 3 : 1;
}

/* Keep the selection on its wheel; if that is gone, on its row. */
static void follow(struct top *top, const struct screen *screen)
{
	size_t count = top->now.count, rows = rows_on(screen), i;

	for (i = 0; i < count; i++) {
		if (top->rows[i]->id == top->selected)
			top->row = i;
	}
	if (top->row >= count)
		top->row = count ? count - 1 : 0;
	top->selected = count ? top->rows[top->row]->id : 0;
	if (top->first > top->row)
		top->first = top->row;
	if (top->row >= top->first + rows)
		top->first = top->row + 1 - rows;
	if (top->first + rows > count)
		top->first = count > rows ? count - rows : 0;
}

static void put_title(FILE *stream, const struct top *top)
{
	char pending[VIEW_TEXT], interval[VIEW_TEXT];
	double sum = 0;
	size_t i;

	for (i = 0; i < top->now.count; i++)
		sum += (double)top->now.wheel[i].info.pending;
	fprintf(stream, "twheel top: %zu wheel%s, %s pending; by %s%s, every %s",
		top->now.count, top->now.count == 1 ? "" : "s", view_count(sum, pending),
		top->sort->name, top->reverse ? " reversed" : "",
		view_span((double)top->options->interval_ns, interval));
	if (top->now.hidden)
		fprintf(stream, "; no permission for %u process%s", top->now.hidden,
			top->now.hidden == 1 ? "" : "es");
	fputc('\n', stream);
}

static void put_sort_keys(FILE *stream)
{
	size_t i;

	for (i = 0; i < view_nr_columns; i++)
		fprintf(stream, " %c", view_columns[i].key);
}

/* The line with the keys is the last one of the screen. */
static void put_keys(FILE *stream, const struct screen *screen, size_t lines, const char *keys)
{
	for (; lines + 1 < (size_t)screen->rows; lines++)
		fputc('\n', stream);
	fputs(keys, stream);
}

static uint64_t put_table(FILE *stream, struct top *top, const struct screen *screen)
{
	size_t rows = rows_on(screen), i;

	follow(top, screen);
	put_title(stream, top);
	view_head(stream, screen->columns);
	for (i = top->first; i < top->now.count && i < top->first + rows; i++)
		view_row(stream, top->rows[i], screen->columns);
	put_keys(stream, screen, i - top->first + 2, "q quit  Enter open  r reverse  sort by");
	put_sort_keys(stream);
	i = top->row - top->first + 2;
	return 2 | (top->now.count && i < 64 ? UINT64_C(1) << i : 0);
}

/* Write the lines of one wheel from @top->first on, as many as fit. */
static size_t put_some(FILE *stream, struct top *top, const struct screen *screen)
{
	size_t room = screen->rows > 2 ? (size_t)screen->rows - 2 : 1, size = 0, n = 0, len;
	char *text = NULL, *line;
	FILE *all = open_memstream(&text, &size);

	if (!all)
		return 0;
	view_wheel(all, &top->shown, top->options->interval_ns, screen->utf8);
	fclose(all);
	line = text;
	for (n = 0; n < top->first && strchr(line, '\n')[1]; n++)
		line = strchr(line, '\n') + 1;
	top->first = n;
	for (n = 0; n < room && *line; n++) {
		len = strcspn(line, "\n") + 1;
		fwrite(line, 1, len, stream);
		line += len;
	}
	free(text);
	return n;
}

static uint64_t put_wheel(FILE *stream, struct top *top, const struct screen *screen)
{
	const struct wheel *wheel = wheels_find(&top->now, top->open);

	if (wheel)
		top->shown = *wheel;
	fprintf(stream, "wheel %ju%s: ", (uintmax_t)top->open,
		wheel ? "" : " has been closed; it was");
	view_name(stream, &top->shown);
	fprintf(stream, ", process %d, descriptor %d\n", top->shown.pid, top->shown.fd);
	put_keys(stream, screen, put_some(stream, top, screen) + 1, "q quit  Esc back");
	return 1;
}

static int draw(struct top *top, const struct screen *screen)
{
	uint64_t marked;
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return -1;
	marked = top->open ? put_wheel(stream, top, screen) : put_table(stream, top, screen);
	fclose(stream);
	screen_draw(text, marked);
	free(text);
	return 0;
}

/* Up and down; in one wheel, the lines move, in the table, the selection. */
static void move(struct top *top, bool down, size_t distance)
{
	size_t *place = top->open ? &top->first : &top->row;

	if (down)
		*place += distance;
	else
		*place -= *place < distance ? *place : distance;
	top->selected = 0;
}

static void open_wheel(struct top *top)
{
	if (top->open || !top->now.count)
		return;
	top->open = top->rows[top->row]->id;
	top->first = 0;
}

static void close_wheel(struct top *top)
{
	if (top->open)
		top->selected = top->open;
	top->open = 0;
	top->first = 0;
}

static void sort_by(struct top *top, int key)
{
	size_t i;

	if (top->open)
		return;
	if (key == 'r')
		top->reverse = !top->reverse;
	for (i = 0; i < view_nr_columns; i++) {
		if (view_columns[i].key == key) {
			top->sort = &view_columns[i];
			top->reverse = false;
		}
	}
	order(top);
}

/* Act on a key; returns whether to go on. */
static bool do_key(struct top *top, const struct screen *screen, int key)
{
	switch (key) {
	case 'q':
	case SCREEN_GONE:
		return false;
	case SCREEN_UP:
	case SCREEN_DOWN:
		move(top, key == SCREEN_DOWN, 1);
		break;
	case SCREEN_PAGE_UP:
	case SCREEN_PAGE_DOWN:
		move(top, key == SCREEN_PAGE_DOWN, rows_on(screen));
		break;
	case SCREEN_ENTER:
		open_wheel(top);
		break;
	case SCREEN_BACK:
		close_wheel(top);
		break;
	default:
		sort_by(top, key);
	}
	return true;
}

/* Run until the user quits; returns 0, or the negative errno of a sample. */
static int run_screen(struct top *top, struct screen *screen)
{
	uint64_t next = now_ns() + top->options->interval_ns;
	bool more = true;
	int err = 0;

	while (more && !err) {
		if (!draw(top, screen))
			more = do_key(top, screen, screen_key(screen, ms_until(next)));
		else
			more = false;
		if (more && !ms_until(next)) {
			next = now_ns() + top->options->interval_ns;
			err = sample(top);
		}
	}
	return err;
}

static int take_screen(struct top *top)
{
	struct screen screen;
	const char *reason = screen_open(&screen);
	int err;

	if (reason) {
		complain("%s", reason);
		return STATUS_USAGE;
	}
	err = run_screen(top, &screen);
	screen_close();
	return err ? fail_sample(top, err, true) : STATUS_OK;
}

/**
 * top_sort_by() - find the column that an option names, or complain
 * @word: the name.
 * @options: @sort is set to it.
 *
 * Return: an exit status.
 */
int top_sort_by(const char *word, struct top_options *options)
{
	size_t i;

	options->sort = view_column_named(word);
	if (options->sort)
		return STATUS_OK;
	fprintf(stderr, "twheel: --sort '%s' is not a column: use one of", word);
	for (i = 0; i < view_nr_columns; i++)
		fprintf(stderr, " %s", view_columns[i].word);
	fputc('\n', stderr);
	return STATUS_USAGE;
}

/**
 * top() - show the wheels of the machine
 * @options: which ones, and how.
 *
 * Return: an exit status.
 */
int top(const struct top_options *options)
{
	struct top top = { .options = options, .sort = options->sort };
	bool script = options->once || options->json;
	int status, err;

	err = sample(&top);
	if (err)
		status = fail_sample(&top, err, false);
	else
		status = script ? run_script(&top) : take_screen(&top);
	wheels_free(&top.now);
	wheels_free(&top.before);
	free(top.rows);
	return status;
}
