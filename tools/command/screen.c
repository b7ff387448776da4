// SPDX-License-Identifier: MIT
/*
 * A terminal as a screen; see screen.h
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "helpers.h"
#include "screen.h"

/* Switch to the alternate screen, without a cursor; and back. */
#define ENTER		"\033[?1049h\033[?25l"
#define LEAVE		"\033[?25h\033[?1049l"

#define HOME		"\033[H"
#define CLEAR_LINE	"\033[K"
#define CLEAR_BELOW	"\033[J"
#define REVERSE		"\033[7m"
#define PLAIN		"\033[m"

static struct termios before;
static sigset_t mask;
static int signals = -1;

/* Signals that would not restore the terminal, and the one for its new size. */
static void caught(sigset_t *set)
{
	static const int all[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH };
	size_t i;

	sigemptyset(set);
	for (i = 0; i < ARRAY_SIZE(all); i++)
		sigaddset(set, all[i]);
}

static int write_all(const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(STDOUT_FILENO, text, len);
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* A serial line has no size. */
static void measure(struct screen *screen)
{
	struct winsize size;

	screen->rows = 24;
	screen->columns = 80;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return;
	if (size.ws_row)
		screen->rows = size.ws_row;
	if (size.ws_col)
		screen->columns = size.ws_col;
}

static bool speaks_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names) && (!value || !*value); i++)
		value = getenv(names[i]);
	return value && (strcasestr(value, "utf-8") || strcasestr(value, "utf8"));
}

/**
 * screen_usable() - whether there is a terminal to draw on
 *
 * Return: whether standard input and output are one.
 */
bool screen_usable(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
	       !(term && !strcmp(term, "dumb"));
}

/**
 * screen_open() - take the terminal
 * @screen: filled in.
 *
 * Return: 0; or -1 with errno set, and the terminal is as it was.
 */
int screen_open(struct screen *screen)
{
	struct termios raw;
	sigset_t set;

	if (tcgetattr(STDIN_FILENO, &before))
		return -1;
	caught(&set);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		return -1;
	sigprocmask(SIG_BLOCK, &set, &mask);
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_iflag &= ~(tcflag_t)ICRNL;
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	measure(screen);
	screen->utf8 = speaks_utf8();
	return write_all(ENTER, strlen(ENTER));
}

/**
 * screen_close() - give the terminal back as it was
 */
void screen_close(void)
{
	write_all(LEAVE, strlen(LEAVE));
	tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	close(signals);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* Restore the terminal for the default action of a signal, which usually ends the program. */
static int give_in(struct screen *screen, int signal)
{
	screen_close();
	raise(signal);
	return screen_open(screen) ? KEY_GONE : KEY_RESIZE;
}

static int read_signal(struct screen *screen)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return KEY_NONE;
	if (info.ssi_signo != SIGWINCH)
		return give_in(screen, (int)info.ssi_signo);
	measure(screen);
	return KEY_RESIZE;
}

/* Sequences that keys send, each before its prefixes. */
static const struct {
	const char *text;
	int key;
} keys[] = {
	{ "\033[A", KEY_UP }, { "\033OA", KEY_UP }, { "k", KEY_UP },
	{ "\033[B", KEY_DOWN }, { "\033OB", KEY_DOWN }, { "j", KEY_DOWN },
	{ "\033[C", KEY_ENTER }, { "\033OC", KEY_ENTER }, { "\r", KEY_ENTER }, { "\n", KEY_ENTER },
	{ "\033[D", KEY_BACK }, { "\033OD", KEY_BACK }, { "\177", KEY_BACK }, { "\b", KEY_BACK },
	{ "\033[5~", KEY_PAGE_UP }, { "\033[6~", KEY_PAGE_DOWN }, { " ", KEY_PAGE_DOWN },
	{ "\033[", KEY_NONE }, { "\033O", KEY_NONE }, { "\033", KEY_BACK },
};

/* Bytes that were typed and not taken yet. */
static char typed[64];
static size_t nr_typed;

static void drop_typed(size_t n)
{
	nr_typed -= n;
	memmove(typed, typed + n, nr_typed);
}

/* Drop the whole sequence of an unknown key. */
static size_t unknown_length(size_t len)
{
	while (len < nr_typed && typed[len] >= ' ' && typed[len] < '@')
		len++;
	return len < nr_typed ? len + 1 : len;
}

static int take_key(void)
{
	size_t i, len;
	int key;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		len = strlen(keys[i].text);
		if (len > nr_typed || memcmp(typed, keys[i].text, len))
			continue;
		drop_typed(keys[i].key == KEY_NONE ? unknown_length(len) : len);
		return keys[i].key;
	}
	key = (unsigned char)typed[0];
	drop_typed(1);
	return key;
}

static int read_key(void)
{
	ssize_t n = read(STDIN_FILENO, typed, sizeof(typed));

	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == EAGAIN) ? KEY_NONE : KEY_GONE;
	nr_typed = (size_t)n;
	return take_key();
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
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};

	if (nr_typed)
		return take_key();
	if (poll(fds, ARRAY_SIZE(fds), timeout_ms) <= 0)
		return KEY_NONE;
	if (fds[1].revents)
		return read_signal(screen);
	return fds[0].revents ? read_key() : KEY_NONE;
}

/* Write as much of a line as fits; returns how many characters. */
static int put_line(FILE *stream, const char *line, size_t len, int columns)
{
	int n = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		/* All but the first byte of a character look like this. */
		if (((unsigned char)line[i] & 0xc0) != 0x80 && n++ == columns)
			return columns;
		fputc(line[i], stream);
	}
	return n;
}

/**
 * screen_draw() - show text
 * @screen: the screen.
 * @text: lines; what does not fit is not shown.
 * @marked: a bit for each line that stands out, of the first 64.
 *
 * Return: 0, or -1 with errno set.
 */
int screen_draw(const struct screen *screen, const char *text, uint64_t marked)
{
	char *frame = NULL;
	size_t size = 0, len;
	FILE *stream = open_memstream(&frame, &size);
	int row, n, err;

	if (!stream)
		return -1;
	fputs(HOME, stream);
	for (row = 0; row < screen->rows && *text; row++) {
		bool stands_out = row < 64 && marked >> row & 1;

		len = strcspn(text, "\n");
		fputs(row ? "\r\n" : "", stream);
		fputs(stands_out ? REVERSE : "", stream);
		n = put_line(stream, text, len, screen->columns);
		if (stands_out)
			fprintf(stream, "%*s" PLAIN, screen->columns - n, "");
		else if (n < screen->columns)
			fputs(CLEAR_LINE, stream);
		text += len + (text[len] == '\n');
	}
	/* After a full line the cursor is still on its last character. */
	if (row < screen->rows)
		fputs("\r\n" CLEAR_BELOW, stream);
	fclose(stream);
	err = write_all(frame, size);
	free(frame);
	return err;
}
