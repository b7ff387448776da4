// SPDX-License-Identifier: MIT
/*
 * Records on standard output; see output.h
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "duration.h"
#include "helpers.h"
#include "messages.h"
#include "output.h"

/* Clears the line with the prompt, for a record that comes while it is shown. */
#define CLEAR_LINE	"\r\033[K"

static enum output_style style;
static bool prompted;

/**
 * utf8_length() - the length of a character
 * @bytes: where it begins; a null byte ends them.
 *
 * Return: how many bytes; 0 when it is not valid UTF-8: cut short, overlong, a surrogate or
 * beyond U+10FFFF.
 */
size_t utf8_length(const char *bytes)
{
	const unsigned char *text = (const unsigned char *)bytes;
	static const struct {
		unsigned char first_min, first_max, second_min, second_max;
		size_t len;
	} forms[] = {
		{ 0x01, 0x7f, 0x00, 0x00, 1 },
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	size_t i = 0, n;

	while (text[0] < forms[i].first_min || text[0] > forms[i].first_max) {
		if (++i == ARRAY_SIZE(forms))
			return 0;
	}
	if (forms[i].len > 1 && (text[1] < forms[i].second_min ||
				 text[1] > forms[i].second_max))
		return 0;
	for (n = 2; n < forms[i].len; n++) {
		if (text[n] < 0x80 || text[n] > 0xbf)
			return 0;
	}
	return forms[i].len;
}

/* The control characters of ASCII, and those that follow it in Unicode. */
static bool is_control(const unsigned char *text)
{
	return text[0] < 0x20 || text[0] == 0x7f ||
	       (text[0] == 0xc2 && text[1] < 0xa0);
}

/**
 * write_plain() - write text so that it stays on its line
 * @stream: where to.
 * @text: any bytes.
 *
 * A backslash is doubled; control characters and bytes that are not UTF-8
 * become \n, \t, \r or \xHH. A terminal is shown no control character.
 */
void write_plain(FILE *stream, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t len;

	for (; *at; at += len) {
		len = utf8_length((const char *)at);
		if (len && !is_control(at)) {
			if (*at == '\\')
				fputc('\\', stream);
			fwrite(at, 1, len, stream);
			continue;
		}
		len = 1;
		switch (*at) {
		case '\n':
			fputs("\\n", stream);
			break;
		case '\r':
			fputs("\\r", stream);
			break;
		case '\t':
			fputs("\\t", stream);
			break;
		default:
			fprintf(stream, "\\x%02x", *at);
		}
	}
}

/**
 * write_json_string() - write text as a JSON string
 * @stream: where to.
 * @text: any bytes; those that are not UTF-8 become U+FFFD.
 */
void write_json_string(FILE *stream, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t len;

	fputc('"', stream);
	for (; *at; at += len) {
		len = utf8_length((const char *)at);
		if (!len) {
			fputs("\\ufffd", stream);
			len = 1;
		} else if (*at == '"' || *at == '\\') {
			fprintf(stream, "\\%c", *at);
		} else if (*at < 0x20 || *at == 0x7f) {
			fprintf(stream, "\\u%04x", *at);
		} else {
			fwrite(at, 1, len, stream);
		}
	}
	fputc('"', stream);
}

/**
 * output_style() - choose how records are written from now on
 * @new_style: the style.
 */
void output_style(enum output_style new_style)
{
	style = new_style;
}

/**
 * output_begin() - begin a record
 * @kind: its kind, the first word.
 */
void output_begin(const char *kind)
{
	if (prompted)
		fputs(CLEAR_LINE, stdout);
	prompted = false;
	if (style == OUTPUT_JSON)
		printf("{\"event\":\"%s\"", kind);
	else if (style == OUTPUT_LINE)
		fputs(kind, stdout);
}

/**
 * output_id() - name the timer that the record is about
 * @id: its number.
 */
void output_id(uint64_t id)
{
	if (style == OUTPUT_JSON)
		printf(",\"id\":%ju", (uintmax_t)id);
	else
		printf(" %ju", (uintmax_t)id);
}

/**
 * output_label() - add the label of a timer
 * @label: any text.
 */
void output_label(const char *label)
{
	if (style == OUTPUT_JSON) {
		fputs(",\"label\":", stdout);
		write_json_string(stdout, label);
	} else {
		fputc(' ', stdout);
		write_plain(stdout, label);
	}
}

/**
 * output_message() - add words for people
 * @message: any text.
 */
void output_message(const char *message)
{
	if (style == OUTPUT_JSON) {
		fputs(",\"message\":", stdout);
		write_json_string(stdout, message);
	} else {
		fputs(": ", stdout);
		write_plain(stdout, message);
	}
}

/* JSON has the name in quotes, with the unit if there is one. */
static void begin_field(const char *name, const char *unit)
{
	if (style == OUTPUT_JSON)
		printf(",\"%s%s\":", name, unit);
	else if (style == OUTPUT_LINE)
		printf(" %s=", name);
	else
		printf("%-12s", name);
}

static void end_field(void)
{
	if (style == OUTPUT_TABLE)
		fputc('\n', stdout);
}

/**
 * output_word() - add a field that is one of a few words
 * @name: the name of the field.
 * @word: its value.
 */
void output_word(const char *name, const char *word)
{
	begin_field(name, "");
	printf(style == OUTPUT_JSON ? "\"%s\"" : "%s", word);
	end_field();
}

/**
 * output_number() - add a field that is a number
 * @name: the name of the field.
 * @number: its value.
 */
void output_number(const char *name, uint64_t number)
{
	begin_field(name, "");
	printf("%ju", (uintmax_t)number);
	end_field();
}

/**
 * output_duration() - add a field that is a duration
 * @name: the name of the field; JSON adds "_ns" to it.
 * @ns: its value.
 */
void output_duration(const char *name, int64_t ns)
{
	char text[DURATION_TEXT];

	begin_field(name, "_ns");
	if (style == OUTPUT_JSON)
		printf("%jd", (intmax_t)ns);
	else
		fputs(duration_format(ns, text), stdout);
	end_field();
}

/**
 * output_deadline() - add a deadline, for programs only
 * @ns: the deadline on the wheel's clock, which means nothing to people.
 */
void output_deadline(uint64_t ns)
{
	if (style == OUTPUT_JSON)
		printf(",\"deadline_ns\":%ju", (uintmax_t)ns);
}

/**
 * output_end() - end a record
 */
void output_end(void)
{
	if (style == OUTPUT_JSON)
		fputs("}\n", stdout);
	else if (style == OUTPUT_LINE)
		fputc('\n', stdout);
}

/**
 * output_prompt() - show a prompt for a command, unless it is shown already
 * @prompt: the prompt. Records replace it; JSON has none.
 */
void output_prompt(const char *prompt)
{
	if (prompted || style == OUTPUT_JSON)
		return;
	fputs(prompt, stdout);
	prompted = true;
}

/**
 * output_answered() - note that the line with the prompt has ended
 */
void output_answered(void)
{
	prompted = false;
}

/**
 * output_flush() - write out all records; needed before every wait
 *
 * Return: 0, or -1 with errno set when anything since the last time could not
 * be written.
 */
int output_flush(void)
{
	if (fflush(stdout))
		return -1;
	if (ferror(stdout)) {
		errno = EIO;
		return -1;
	}
	return 0;
}

/**
 * output_info() - add the parameters and counters of a wheel to a record
 * @info: the parameters and counters.
 */
void output_info(const struct twheel_info *info)
{
	output_duration("tick", (int64_t)info->tick_ns);
	output_number("wheel_size", info->wheel_size);
	output_word("clock", clock_name(info->clock_id));
	output_number("max_timers", info->max_timers);
	output_number("pending", info->pending);
	output_number("expired", info->expired);
	output_number("added", info->added);
	output_number("modified", info->modified);
	output_number("cancelled", info->cancelled);
	output_number("delivered", info->delivered);
	output_number("cascaded", info->cascaded);
	output_number("fires", info->fires);
	output_number("levels", info->levels);
	output_number("memory", info->memory);
	output_duration("now", (int64_t)info->now_ns);
}

/**
 * output_fail() - fail because output cannot be written
 * @err: the errno.
 *
 * A reader that closes a pipe has seen enough: SIGPIPE ends the program without a message, as
 * usual. There is a message only if SIGPIPE is ignored.
 *
 * Return: an exit status.
 */
int output_fail(int err)
{
	if (err == EPIPE)
		raise(SIGPIPE);
	complain("cannot write to standard output: %s", strerror(err));
	return STATUS_ERROR;
}

/**
 * output_finish() - write out the last of the output
 *
 * Return: an exit status.
 */
int output_finish(void)
{
	return output_flush() ? output_fail(errno) : STATUS_OK;
}
