// SPDX-License-Identifier: MIT
/*
 * Lines of a file, one after the other; see lines.h
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"

#define TEXT_OF(number)	#number
#define TEXT(macro)	TEXT_OF(macro)

/* Read once, after the bytes that are left; keep a byte free for the end of the last line. */
static bool refill(struct lines *lines)
{
	ssize_t n;

	lines->end -= lines->start;
	memmove(lines->text, lines->text + lines->start, lines->end);
	lines->start = 0;
	do {
		n = read(lines->fd, lines->text + lines->end,
			 sizeof(lines->text) - lines->end - 1);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		lines->error = strerror(errno);
		return false;
	}
	lines->end += (size_t)n;
	lines->ended = !n;
	return true;
}

/* The end of the next line, or NULL without one. */
static char *find_end(struct lines *lines)
{
	size_t seen = 0;
	char *end;

	for (;;) {
		char *line = lines->text + lines->start;
		size_t len = lines->end - lines->start;

		end = memchr(line + seen, '\n', len - seen);
		if (end || len > LINES_MAX)
			return end ? end : line + len;
		if (lines->ended)
			return len ? line + len : NULL;
		seen = len;
		if (!refill(lines))
			return NULL;
	}
}

/**
 * lines_next() - read a line
 * @lines: the file; at first, all but @lines->fd is zero.
 *
 * The last line needs no end. A line holds no null byte, nor more than LINES_MAX bytes.
 *
 * Return: the line without its end, until the next call; NULL at the end of the file, and
 * after an error, with @lines->error set.
 */
char *lines_next(struct lines *lines)
{
	char *end = find_end(lines), *line = lines->text + lines->start;
	size_t len;

	if (!end)
		return NULL;
	lines->number++;
	len = (size_t)(end - line);
	if (len > LINES_MAX) {
		lines->error = "the line is longer than " TEXT(LINES_MAX) " bytes";
		return NULL;
	}
	lines->start += len < lines->end - lines->start ? len + 1 : len;
	*end = '\0';
	if (strlen(line) != len) {
		lines->error = "the line holds a null byte";
		return NULL;
	}
	return line;
}
