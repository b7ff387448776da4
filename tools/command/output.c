// SPDX-License-Identifier: MIT
/*
 * Records on standard output, as text or JSON
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "helpers.h"
#include "twheel.h"

#define FIELD(name, fdinfo, member, size) \
	{ name, fdinfo, offsetof(struct twheel_info, member), size }

const struct info_field info_fields[] = {
	FIELD("tick", "tick-ns", tick_ns, 8),
	FIELD("wheel_size", "wheel-size", wheel_size, 4),
	FIELD("clock", "clock-id", clock_id, 4),
	FIELD("max_timers", "max-timers", max_timers, 8),
	FIELD("pending", "pending", pending, 8),
	FIELD("expired", "expired", expired, 8),
	FIELD("added", "added", added, 8),
	FIELD("modified", "modified", modified, 8),
	FIELD("cancelled", "cancelled", cancelled, 8),
	FIELD("delivered", "delivered", delivered, 8),
	FIELD("cascaded", "cascaded", cascaded, 8),
	FIELD("fires", "fires", fires, 8),
	FIELD("levels", "levels", levels, 4),
	FIELD("memory", "memory", memory, 8),
	FIELD("now", "now-ns", now_ns, 8),
};

const size_t nr_info_fields = ARRAY_SIZE(info_fields);

static const char *const clock_names[] = {
	[CLOCK_MONOTONIC] = "monotonic",
	[CLOCK_BOOTTIME] = "boottime",
	[CLOCK_REALTIME] = "realtime",
	[CLOCK_TAI] = "tai",
};

enum style style;
bool prompted;

/* Name a clock as options and records do. Return its name. */
const char *clock_name(uint32_t clock_id)
{
	if (clock_id >= ARRAY_SIZE(clock_names) || !clock_names[clock_id])
		return "unknown";
	return clock_names[clock_id];
}

/* Find the clock with a name. Return true if there is one. */
bool clock_named(const char *name, uint32_t *clock_id)
{
	uint32_t id;

	for (id = 0; id < ARRAY_SIZE(clock_names); id++) {
		if (clock_names[id] && !strcmp(clock_names[id], name)) {
			*clock_id = id;
			return true;
		}
	}
	return false;
}

/* Return the bytes of the character that begins @text, or 0 if it is not valid UTF-8. */
static size_t utf8_length(const unsigned char *text)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = text[0];
	size_t len = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4, i;
	uint32_t c = first & (0x7f >> len);

	if (first < 0x80)
		return 1;
	if (first < 0xc0 || first > 0xf4)
		return 0;
	for (i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (text[i] & 0x3f);
	}
	return c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : len;
}

/*
 * Write text so that it stays on its line; a terminal is shown no control character. In JSON, bytes
 * that are not UTF-8 become U+FFFD.
 */
static void put_text(const unsigned char *at)
{
	const char *escape;
	bool json = style == STYLE_JSON;
	size_t len;

	for (; *at; at += len) {
		len = utf8_length(at);
		if (len && *at >= ' ' && *at != 0x7f && (json || *at != 0xc2 || at[1] >= 0xa0)) {
			printf("%s%.*s", *at == '\\' || (json && *at == '"') ? "\\" : "",
			       (int)len, at);
			continue;
		}
		escape = strchr("\nn\rr\tt", *at);
		if (json)
			printf("\\u%04x", len ? *at : 0xfffd);
		else if (escape)
			printf("\\%c", escape[1]);
		else
			printf("\\x%02x", *at);
		len = 1;
	}
}

/* Begin a record. It replaces a prompt that is shown. */
void record_begin(const char *kind)
{
	if (prompted)
		fputs("\r\033[K", stdout);
	prompted = false;
	if (style == STYLE_JSON)
		printf("{\"event\":\"%s\"", kind);
	else if (style == STYLE_LINE)
		fputs(kind, stdout);
}

/* End a record. */
void record_end(void)
{
	if (style == STYLE_JSON)
		puts("}");
	else if (style == STYLE_LINE)
		putchar('\n');
}

/* Write the number of the record's timer. */
void put_id(uint64_t id)
{
	printf(style == STYLE_JSON ? ",\"id\":%ju" : " %ju", (uintmax_t)id);
}

/* Write text, without its name unless as JSON. */
void put_string(const char *name, const char *text)
{
	if (style == STYLE_JSON)
		printf(",\"%s\":\"", name);
	else
		fputs(strcmp(name, "label") ? ": " : " ", stdout);
	put_text((const unsigned char *)text);
	fputs(style == STYLE_JSON ? "\"" : "", stdout);
}

/* Write a field. */
void put_word(const char *name, const char *word)
{
	static const char *const formats[] = { " %s=%s", ",\"%s\":\"%s\"", "%-12s%s\n" };

	printf(formats[style], name, word);
}

/* Write a field that is a number. */
void put_number(const char *name, uint64_t number)
{
	static const char *const formats[] = { " %s=%ju", ",\"%s\":%ju", "%-12s%ju\n" };

	printf(formats[style], name, (uintmax_t)number);
}

/* Write a field that is a duration. */
void put_duration(const char *name, int64_t ns)
{
	char text[DURATION_TEXT];

	if (style == STYLE_JSON)
		printf(",\"%s_ns\":%jd", name, (intmax_t)ns);
	else
		put_word(name, duration_format(ns, text));
}

/* Write the parameters and counters of a wheel. */
void put_info(const struct twheel_info *info)
{
	const struct info_field *field;

	for (field = info_fields; field < info_fields + nr_info_fields; field++) {
		const void *at = (const char *)info + field->offset;
		uint64_t value = field->size == 4 ? *(const uint32_t *)at : *(const uint64_t *)at;

		if (strstr(field->fdinfo, "-ns"))
			put_duration(field->name, (int64_t)value);
		else if (strstr(field->fdinfo, "-id"))
			put_word(field->name, clock_name((uint32_t)value));
		else
			put_number(field->name, value);
	}
}

/* Show a prompt for a command, unless it is shown already. */
void prompt(const char *text)
{
	if (prompted || style == STYLE_JSON)
		return;
	fputs(text, stdout);
	prompted = true;
}

/*
 * Exit because output cannot be written. A reader that closes a pipe has seen enough: SIGPIPE
 * ends the program without a message, as usual. There is a message only if SIGPIPE is ignored.
 */
void output_gone(int error)
{
	if (error == EPIPE)
		raise(SIGPIPE);
	errno = error;
	err(STATUS_ERROR, "cannot write to standard output");
}

/* Write out all records; needed before every wait, and at the end. */
void flush_output(void)
{
	if (fflush(stdout))
		output_gone(errno);
	if (ferror(stdout))
		output_gone(EIO);
}
