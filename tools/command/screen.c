// SPDX-License-Identifier: MIT
/*
 * The screen of `twheel top`, by ncurses
 *
 * Signals arrive only inside ppoll(), where ncurses is idle, so that handlers may call it.
 */
#include <err.h>

#include "twheel.h"

#ifndef HAVE_CURSES

void run_screen(struct top *top)
{
	errx(STATUS_USAGE,
	     "no screen: use --once or --json, or build it with libncurses-dev and pkg-config");
}

#else

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "helpers.h"

#define GONE		(-8)	/* what read_key() returns when the terminal is closed */

/* The contents of the screen. */
static struct {
	uint64_t selected;	/* the number of the wheel that is selected */
	size_t row;		/* its row */
	size_t first;		/* the first row that is shown, or line of one wheel */
	uint64_t open;		/* the number of the wheel that is shown alone, or 0 */
	struct wheel shown;	/* that wheel as it was last seen */
	bool utf8;		/* the terminal can show more than ASCII */
} view;

static sigset_t mask;

static void close_screen(void)
{
	endwin();
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* Restore the terminal, and end by the signal, which is no longer blocked. */
static void give_in(int number)
{
	close_screen();
	signal(number, SIG_DFL);
	raise(number);
}

/* Catch signals; ncurses handles the last two itself. Ignored signals stay ignored. */
static void catch_signals(void)
{
	static const int all[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH };
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		sigaddset(&set, all[i]);
		if (i < 4 && signal(all[i], give_in) == SIG_IGN)
			signal(all[i], SIG_IGN);
	}
	sigprocmask(SIG_BLOCK, &set, &mask);
}

static void open_screen(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		errx(STATUS_USAGE,
		     "the screen needs a terminal: use --once or --json without one");
	setlocale(LC_CTYPE, "");
	catch_signals();
	set_escdelay(25);
	if (!newterm(NULL, stdout, stdin) || !tigetstr("cup")) {
		close_screen();
		errx(STATUS_USAGE,
		     "TERM names no terminal that can show the screen: use --once or --json");
	}
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	view.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* Return Esc; or an unused key for the whole sequence of a key that terminfo does not have. */
static int read_escape(void)
{
	int key = getch();

	if (key != '[' && key != 'O') {
		if (key != ERR)
			ungetch(key);
		return KEY_BACKSPACE;
	}
	do {
		key = getch();
	} while (key >= ' ' && key < '@');
	return 0;
}

static int read_key(int timeout_ms)
{
	struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int key = getch();

	if (key == ERR) {
		ppoll(&input, 1, &timeout, &mask);
		if (input.revents & ~POLLIN)
			return GONE;
		key = getch();
	}
	return key == '\033' ? read_escape() : key;
}

/* Return the number of rows between the title, the head, and the keys. */
static size_t rows_on_screen(void)
{
	return LINES > 4 ? (size_t)LINES - 3 : 1;
}

/* Keep the selection on its wheel; if that is gone, on its row. */
static void follow(const struct top *top)
{
	size_t count = top->now.count, rows = rows_on_screen(), i;

	for (i = 0; i < count; i++) {
		if (top->rows[i]->id == view.selected)
			view.row = i;
	}
	if (view.row >= count)
		view.row = count ? count - 1 : 0;
	view.selected = count ? top->rows[view.row]->id : 0;
	if (view.first > view.row)
		view.first = view.row;
	if (view.row >= view.first + rows)
		view.first = view.row + 1 - rows;
	if (view.first + rows > count)
		view.first = count > rows ? count - rows : 0;
}

/* Write the table, which begins with a title. */
static void put_table(FILE *stream, const struct top *top)
{
	char pending[SHORT_TEXT], interval[SHORT_TEXT];
	size_t count = top->now.count, i;
	double sum = 0;

	follow(top);
	for (i = 0; i < count; i++)
		sum += (double)top->now.wheel[i].info.pending;
	fprintf(stream, "twheel top: %zu wheel%s, %s pending; by %s%s, every %s", count,
		count == 1 ? "" : "s", short_count(sum, pending), columns[top->sort].name,
		top->reverse ? " reversed" : "", short_span((double)options.interval_ns, interval));
	if (top->now.hidden)
		fprintf(stream, "; no permission for %u process%s", top->now.hidden,
			top->now.hidden == 1 ? "" : "es");
	fputc('\n', stream);
	put_row(stream, NULL, COLS);
	for (i = view.first; i < count && i < view.first + rows_on_screen(); i++)
		put_row(stream, top->rows[i], COLS);
}

/* Write a small bar for each value, the highest for the largest one, and the smallest for 0. */
static void put_bars(FILE *stream, const float *values, size_t n, float most)
{
	static const char *const bars[] = {
		"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
	};
	size_t height;

	for (; n--; values++) {
		height = most > 0 ? (size_t)ceilf(*values / most * 7) : 0;
		height = height < 8 ? height : 7;
		if (view.utf8)
			fputs(bars[height], stream);
		else
			fputc("_.:-=+*#"[height], stream);
	}
}

static void put_rates(FILE *stream, const struct wheel *wheel)
{
	static const char *const names[] = { "add/s", "cancel/s", "expire/s", "fires/s" };
	size_t n = wheel->nr_samples, i;
	char now[SHORT_TEXT] = "-", most[SHORT_TEXT] = "-", span[SHORT_TEXT];
	int rate;

	fprintf(stream, "\n%-10s %6s %6s   last %s\n", "", "now", "most",
		short_span((double)options.interval_ns * WHEEL_HISTORY, span));
	for (rate = 0; rate < NR_RATES; rate++) {
		const float *values = wheel->history[rate] + WHEEL_HISTORY - n;
		float largest = 0;

		for (i = 0; i < n; i++)
			largest = fmaxf(largest, values[i]);
		if (n) {
			short_count(values[n - 1], now);
			short_count(largest, most);
		}
		fprintf(stream, "%-10s %6s %6s   %*s", names[rate], now, most,
			(int)(WHEEL_HISTORY - n), "");
		put_bars(stream, values, n, largest);
		fputc('\n', stream);
	}
}

/* Write the levels, and draw which part of their buckets is busy: at least a sign if any is. */
static void put_levels(FILE *stream, const struct wheel *wheel)
{
	char length[SHORT_TEXT], range[SHORT_TEXT], timers[SHORT_TEXT];
	double span = (double)wheel->info.tick_ns;
	static const char bar[] = "####################";
	uint32_t size = wheel->info.wheel_size;
	unsigned int nr;

	fprintf(stream, "\nlevel   bucket    range  timers   busy buckets of %u\n", size);
	for (nr = 0; nr < wheel->nr_levels; nr++) {
		uint64_t busy = wheel->level[nr].busy;

		short_span(span, length);
		span *= size;
		fprintf(stream, "%5u %8s %8s  %6s   %6ju  %.*s\n", nr, length,
			short_span(span, range),
			short_count((double)wheel->level[nr].timers, timers), (uintmax_t)busy,
			(int)((busy * strlen(bar) + size - 1) / size), bar);
	}
	if (!wheel->nr_levels)
		fputs("No timer has been added yet.\n", stream);
}

/* Write everything about the wheel that is open, as it was last seen. */
static void put_wheel(FILE *stream, const struct top *top)
{
	const struct wheel *found = wheels_find(&top->now, view.open), *wheel = &view.shown;
	char tick[DURATION_TEXT], memory[SHORT_TEXT], held[SHORT_TEXT], limit[SHORT_TEXT];
	const struct twheel_info *info = &wheel->info;
	char share[SHORT_TEXT];

	if (found)
		view.shown = *found;
	fprintf(stream, "wheel %ju%s: ", (uintmax_t)view.open,
		found ? "" : " has been closed; it was");
	put_name(stream, wheel, sizeof(wheel->comm));
	fprintf(stream, ", process %d, descriptor %d\n", wheel->pid, wheel->fd);
	fprintf(stream, "tick %s, %u buckets a level, clock %s, at most %ju timers\n",
		duration_format((int64_t)info->tick_ns, tick), info->wheel_size,
		clock_name(info->clock_id), (uintmax_t)info->max_timers);
	fprintf(stream, "open as %u descriptor%s in %u process%s\n", wheel->descriptors,
		wheel->descriptors > 1 ? "s" : "", wheel->processes,
		wheel->processes > 1 ? "es" : "");
	fprintf(stream, "memory %s; user %ju holds %s of %s, %s\n",
		short_bytes((double)info->memory, memory), (uintmax_t)wheel->user_id,
		short_bytes((double)wheel->user_memory, held),
		short_bytes((double)wheel->user_limit, limit), format_value(wheel, USER, share));
	fprintf(stream, "pending %llu, unread %llu\nadded %llu, modified %llu, cancelled %llu\n"
		"delivered %llu, cascaded %llu, fires %llu\n", info->pending, info->expired,
		info->added, info->modified, info->cancelled, info->delivered, info->cascaded,
		info->fires);
	put_rates(stream, wheel);
	put_levels(stream, wheel);
}

/* Draw lines from @text, and the keys below; of one wheel, its title and lines from @first on. */
static void draw(const struct top *top)
{
	size_t size = 0, skip = 0, i;
	char *text = NULL, *at, *line;
	FILE *stream = open_memstream(&text, &size);
	int row = 0;

	if (!stream)
		return;
	if (view.open)
		put_wheel(stream, top);
	else
		put_table(stream, top);
	fclose(stream);
	erase();
	at = text;
	while (row < LINES - 1 && (line = strsep(&at, "\n")) && (*line || at)) {
		if (view.open && row == 1 && skip < view.first && at && *at) {
			skip++;
			continue;
		}
		/* Unlike other functions, this one does not wrap. */
		mvinsstr(row, 0, line);
		if (view.open ? row == 0 : row == 1 ||
		    (top->now.count && row == (int)(view.row - view.first) + 2))
			mvchgat(row, 0, -1, A_REVERSE, 0, NULL);
		row++;
	}
	if (view.open)
		view.first = skip;
	mvaddstr(LINES - 1, 0, view.open ? "q quit  Esc back" :
		 "q quit  Enter open  r reverse  sort by");
	for (i = 0; i < NR_COLUMNS && !view.open; i++)
		printw(" %c", columns[i].key);
	refresh();
	free(text);
}

/* Go up or down; in one wheel, the lines move, in the table, the selection. */
static void move_by(long distance)
{
	size_t *place = view.open ? &view.first : &view.row;

	if (distance < 0 && *place < (size_t)-distance)
		*place = 0;
	else
		*place += (size_t)distance;
	view.selected = 0;
}

/* Show a wheel alone; or, if @number is 0, the table. */
static void open_wheel(uint64_t number)
{
	if (view.open)
		view.selected = view.open;
	view.open = number;
	view.first = 0;
}

static void sort_by(struct top *top, int key)
{
	int i;

	if (view.open)
		return;
	if (key == 'r')
		top->reverse = !top->reverse;
	for (i = 0; i < NR_COLUMNS; i++) {
		if (columns[i].key == key) {
			top->sort = i;
			top->reverse = false;
		}
	}
	sort_rows(top);
}

/* Act on a key; return false to end. */
static bool do_key(struct top *top, int key)
{
	switch (key) {
	case 'q':
	case GONE:
		return false;
	case KEY_UP:
	case 'k':
	case KEY_PPAGE:
		move_by(key == KEY_PPAGE ? -(long)rows_on_screen() : -1);
		break;
	case KEY_DOWN:
	case 'j':
	case KEY_NPAGE:
	case ' ':
		move_by(key == KEY_NPAGE || key == ' ' ? (long)rows_on_screen() : 1);
		break;
	case KEY_ENTER:
	case '\n':
	case KEY_RIGHT:
	case 'l':
		if (!view.open)
			open_wheel(view.selected);
		break;
	case KEY_BACKSPACE:
	case KEY_LEFT:
	case 'h':
		open_wheel(0);
		break;
	default:
		sort_by(top, key);
	}
	return true;
}

/* Show wheels until the user quits. */
void run_screen(struct top *top)
{
	uint64_t next_ns = now_on(CLOCK_MONOTONIC) + options.interval_ns;
	bool more = true;
	int error = 0;

	open_screen();
	while (more && !error) {
		draw(top);
		more = do_key(top, read_key(ms_until(next_ns)));
		if (more && !ms_until(next_ns)) {
			next_ns = now_on(CLOCK_MONOTONIC) + options.interval_ns;
			error = take_sample(top);
		}
	}
	close_screen();
	if (error)
		fail_sample(top, error, true);
}

#endif /* HAVE_CURSES */
