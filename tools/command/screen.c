// SPDX-License-Identifier: MIT
/*
 * A terminal as a screen, by ncurses; see screen.h
 *
 * Signals arrive only inside ppoll(), where ncurses is idle, so that handlers may call it.
 */
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "helpers.h"
#include "screen.h"

static sigset_t mask;

/* The meaning of keys; all others are themselves. */
static const short meanings[KEY_MAX + 1] = {
	[KEY_UP] = SCREEN_UP, ['k'] = SCREEN_UP,
	[KEY_DOWN] = SCREEN_DOWN, ['j'] = SCREEN_DOWN,
	[KEY_PPAGE] = SCREEN_PAGE_UP,
	[KEY_NPAGE] = SCREEN_PAGE_DOWN, [' '] = SCREEN_PAGE_DOWN,
	[KEY_ENTER] = SCREEN_ENTER, ['\n'] = SCREEN_ENTER, ['\r'] = SCREEN_ENTER,
	[KEY_RIGHT] = SCREEN_ENTER, ['l'] = SCREEN_ENTER,
	[KEY_BACKSPACE] = SCREEN_BACK, ['\b'] = SCREEN_BACK, ['\177'] = SCREEN_BACK,
	[KEY_LEFT] = SCREEN_BACK, ['h'] = SCREEN_BACK,
};

/* Restore the terminal, and end by the signal, which is no longer blocked. */
static void give_in(int number)
{
	screen_close();
	signal(number, SIG_DFL);
	raise(number);
}

/* ncurses handles the last two itself. Ignored signals stay ignored. */
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

/**
 * screen_open() - take the terminal
 * @screen: filled in.
 *
 * Return: NULL; or why this is impossible, and the terminal is as it was.
 */
const char *screen_open(struct screen *screen)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return "the screen needs a terminal: use --once or --json without one";
	setlocale(LC_CTYPE, "");
	catch_signals();
	set_escdelay(25);
	if (!newterm(NULL, stdout, stdin) || !tigetstr("cup")) {
		screen_close();
		return "TERM names no terminal that can show the screen: use --once or --json";
	}
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	getmaxyx(stdscr, screen->rows, screen->columns);
	screen->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	return NULL;
}

/**
 * screen_close() - give the terminal back as it was
 */
void screen_close(void)
{
	endwin();
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* Esc; or the whole sequence of a key that terminfo does not have. */
static int escape(void)
{
	int key = getch();

	if (key != '[' && key != 'O') {
		if (key != ERR)
			ungetch(key);
		return SCREEN_BACK;
	}
	do {
		key = getch();
	} while (key >= ' ' && key < '@');
	return SCREEN_NONE;
}

/**
 * screen_key() - wait for a key
 * @screen: the screen; changed when the terminal gets another size.
 * @timeout_ms: how long to wait.
 *
 * Return: the character; or an enum screen_key.
 */
int screen_key(struct screen *screen, int timeout_ms)
{
	struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int key = getch();

	if (key == ERR) {
		ppoll(&input, 1, &timeout, &mask);
		if (input.revents & ~POLLIN)
			return SCREEN_GONE;
		key = getch();
	}
	getmaxyx(stdscr, screen->rows, screen->columns);
	if (key == '\033')
		return escape();
	return key >= 0 && key <= KEY_MAX && meanings[key] ? meanings[key] : key;
}

/**
 * screen_draw() - show text
 * @text: lines, whose ends become null characters; what does not fit is not shown.
 * @marked: a bit for each line that stands out, of the first 64.
 */
void screen_draw(char *text, uint64_t marked)
{
	char *line;
	int row;

	erase();
	for (row = 0; row < LINES && (line = strsep(&text, "\n")); row++) {
		/* Unlike other functions, this one does not wrap. */
		mvinsstr(row, 0, line);
		if (row < 64 && marked >> row & 1)
			mvchgat(row, 0, -1, A_REVERSE, 0, NULL);
	}
	refresh();
}
