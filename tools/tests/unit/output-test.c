// SPDX-License-Identifier: MIT
/*
 * TAP test of output.c: runs on the host, needs no wheel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "output.h"
#include "tap.h"

/* A label as text and as JSON. */
static const struct {
	const char *what;
	const char *label;
	const char *plain;
	const char *json;
} cases[] = {
	{ "nothing", "", "", "\"\"" },
	{ "words", "buy milk", "buy milk", "\"buy milk\"" },
	{ "quotes", "say \"hi\"", "say \"hi\"", "\"say \\\"hi\\\"\"" },
	{ "backslash", "a\\b", "a\\\\b", "\"a\\\\b\"" },
	{ "line ends", "a\r\nb", "a\\r\\nb", "\"a\\u000d\\u000ab\"" },
	{ "tab", "a\tb", "a\\tb", "\"a\\u0009b\"" },
	{ "control characters", "\001\037\177", "\\x01\\x1f\\x7f",
	  "\"\\u0001\\u001f\\u007f\"" },
	{ "escape sequence", "\033[2J", "\\x1b[2J", "\"\\u001b[2J\"" },
	{ "8-bit control character", "\302\233", "\\xc2\\x9b",
	  "\"\302\233\"" },
	{ "first after them", "\302\240", "\302\240", "\"\302\240\"" },
	{ "two bytes", "\303\251", "\303\251", "\"\303\251\"" },
	{ "three bytes", "\342\202\254", "\342\202\254", "\"\342\202\254\"" },
	{ "four bytes", "\360\237\225\222", "\360\237\225\222",
	  "\"\360\237\225\222\"" },
	{ "last character", "\364\217\277\277", "\364\217\277\277",
	  "\"\364\217\277\277\"" },
	{ "beyond the last", "\364\220\200\200", "\\xf4\\x90\\x80\\x80",
	  "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
	{ "bytes of no character", "\200\277\376\377", "\\x80\\xbf\\xfe\\xff",
	  "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
	{ "overlong, two bytes", "\300\257\301\277", "\\xc0\\xaf\\xc1\\xbf",
	  "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
	{ "overlong, three bytes", "\340\237\277", "\\xe0\\x9f\\xbf",
	  "\"\\ufffd\\ufffd\\ufffd\"" },
	{ "overlong, four bytes", "\360\217\277\277", "\\xf0\\x8f\\xbf\\xbf",
	  "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
	{ "before the surrogates", "\355\237\277", "\355\237\277",
	  "\"\355\237\277\"" },
	{ "surrogate", "\355\240\200", "\\xed\\xa0\\x80",
	  "\"\\ufffd\\ufffd\\ufffd\"" },
	{ "cut short", "\342\202", "\\xe2\\x82", "\"\\ufffd\\ufffd\"" },
	{ "cut short, then text", "\360\237\225x\342\"",
	  "\\xf0\\x9f\\x95x\\xe2\"", "\"\\ufffd\\ufffd\\ufffdx\\ufffd\\\"\"" },
};

static void check(void (*write)(FILE *stream, const char *text),
		  const char *label, const char *expected, const char *form,
		  const char *what)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	int same;

	if (!stream)
		bail_out("no stream");
	write(stream, label);
	fclose(stream);
	same = !strcmp(text, expected);
	if (!same)
		tap_note("got %s", text);
	tap_result(same, "%s, %s", what, form);
	free(text);
}

/* The prompt on standard output, in place of a terminal. */
static const char *prompted(enum output_style style, int answered)
{
	static char text[256];
	FILE *before = stdout;

	memset(text, 0, sizeof(text));
	stdout = fmemopen(text, sizeof(text) - 1, "w");
	output_style(style);
	output_prompt("> ");
	output_prompt("> ");
	if (answered)
		output_answered();
	output_begin("expired");
	output_id(1);
	output_end();
	output_prompt("> ");
	output_answered();
	fclose(stdout);
	stdout = before;
	return text;
}

static void check_prompt(const char *text, const char *expected, const char *what)
{
	int same = !strcmp(text, expected);

	if (!same)
		write_plain(stdout, text);
	tap_result(same, "%s", what);
}

int main(void)
{
	size_t i;

	puts("TAP version 13");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		check(write_plain, cases[i].label, cases[i].plain, "text",
		      cases[i].what);
		check(write_json_string, cases[i].label, cases[i].json, "JSON",
		      cases[i].what);
	}
	check_prompt(prompted(OUTPUT_LINE, 0), "> \r\033[Kexpired 1\n> ",
		     "a record takes the place of a prompt");
	check_prompt(prompted(OUTPUT_LINE, 1), "> expired 1\n> ",
		     "and is below one that was answered");
	check_prompt(prompted(OUTPUT_JSON, 0), "{\"event\":\"expired\",\"id\":1}\n",
		     "JSON has no prompt");
	return tap_done();
}
