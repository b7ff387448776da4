/* SPDX-License-Identifier: MIT */
/*
 * Lines of a file, one after the other
 */
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest line, without its end. */
#define LINES_MAX	4095

/**
 * struct lines - a file that is read by lines
 * @fd: the file.
 * @number: the number of the line that was read last, from 1 on.
 * @error: why there is no next line, or NULL at the end of the file.
 * @ended: all bytes of the file have been read.
 * @start: where the next line begins in @text.
 * @end: where the bytes that have been read end.
 * @text: bytes of the file.
 */
struct lines {
	int fd;
	uint64_t number;
	const char *error;
	bool ended;
	size_t start;
	size_t end;
	char text[1 << 16];
};

char *lines_next(struct lines *lines);

#endif /* LINES_H */
