/* SPDX-License-Identifier: MIT */
/*
 * Wheels as text: the table of `twheel top`, one wheel in full, and JSON
 */
#ifndef VIEW_H
#define VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "wheels.h"

/* Room for a number that view_count(), view_bytes() or view_span() writes. */
#define VIEW_TEXT	16

/**
 * struct view_column - a column of the table
 * @name: its head.
 * @key: the key that sorts by it.
 * @word: its name in options.
 * @width: how wide it is; that of the command is the least.
 * @value: what it shows and is sorted by; NULL for the command.
 * @format: formats the value.
 */
struct view_column {
	const char *name;
	char key;
	const char *word;
	int width;
	double (*value)(const struct wheel *wheel);
	char *(*format)(double value, char text[VIEW_TEXT]);
};

extern const struct view_column view_columns[];
extern const size_t view_nr_columns;

const struct view_column *view_column_named(const char *word);

char *view_count(double n, char text[VIEW_TEXT]);
char *view_bytes(double n, char text[VIEW_TEXT]);
char *view_span(double ns, char text[VIEW_TEXT]);
void view_line_of(FILE *stream, const float *values, size_t n, bool utf8);

void view_sort(const struct wheel **wheels, size_t count,
	       const struct view_column *column, bool reverse);
void view_head(FILE *stream, int width);
void view_row(FILE *stream, const struct wheel *wheel, int width);
void view_name(FILE *stream, const struct wheel *wheel);
void view_wheel(FILE *stream, const struct wheel *wheel, uint64_t interval_ns, bool utf8);
void view_json(const struct wheel *wheel);

#endif /* VIEW_H */
