/* SPDX-License-Identifier: MIT */
/*
 * Records on standard output: as text or as JSON, one line each
 *
 * A record has a kind and fields, in the order in which they are written:
 *
 *	OUTPUT_LINE	expired 1 hello count=1 late=312us
 *	OUTPUT_JSON	{"event":"expired","id":1,"label":"hello","count":1,...}
 *	OUTPUT_TABLE	one field on each line, its name first
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <linux/twheel.h>

enum output_style {
	OUTPUT_LINE,
	OUTPUT_TABLE,
	OUTPUT_JSON,
};

void output_style(enum output_style style);

void output_begin(const char *kind);
void output_id(uint64_t id);
void output_label(const char *label);
void output_message(const char *message);
void output_word(const char *name, const char *word);
void output_number(const char *name, uint64_t number);
void output_duration(const char *name, int64_t ns);
void output_deadline(uint64_t ns);
void output_info(const struct twheel_info *info);
void output_end(void);

void output_prompt(const char *prompt);
void output_answered(void);
int output_flush(void);
int output_fail(int err);
int output_finish(void);

size_t utf8_length(const char *bytes);
void write_plain(FILE *stream, const char *text);
void write_json_string(FILE *stream, const char *text);

#endif /* OUTPUT_H */
