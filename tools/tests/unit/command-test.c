// SPDX-License-Identifier: MIT
/*
 * TAP test of the parts of the command that need no wheel: durations, text, deadlines
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "helpers.h"
#include "libtwheel.h"
#include "tap.h"
#include "twheel.h"

/* main.c, which has these, is not part of the test. */
struct options options;

/* Durations that are valid, and how long they are. */
static const struct {
	const char *text;
	uint64_t ns;
} valid[] = {
	{ "0", 0 }, { "0s", 0 }, { "0h0m0s", 0 }, { "0.000ns", 0 }, { "007s", 7000000000 },
	{ "150\302\265s", 150000 }, { "150\316\274s", 150000 },

	/* All names of units */
	{ "1w2d3h4m5s6ms7us8ns", 788645006007008 },
	{ "1weeks2days3hours4minutes5seconds6msec7usec8nsec", 788645006007008 },
	{ "1week2day3hr4mins5secs", 788645000000000 }, { "3hour4min5sec", 11045000000000 },
	{ "4minute5second", 245000000000 }, { "1h0.5s", 3600500000000 },
	{ "1.5h30m", 7200000000000 },

	/* Exact, or rounded up to the nanosecond */
	{ "1.5s", 1500000000 }, { ".5s", 500000000 }, { "0.1s", 100000000 },
	{ "1.000000001s", 1000000001 }, { "0.0000000001s", 1 }, { "1.5ns", 2 },
	{ "0.3333333333333333333333333333333333333333w", 201600000000000 },
	{ "0.9999999999999999999999999999999999999999s", 1000000000 },
	{ "1.00000000000000000000000000000000000000000s", 1000000000 },

	{ "9223372036854775807ns", INT64_MAX }, { "9223372036.854775807s", INT64_MAX },
	{ "9223372036s854775807ns", INT64_MAX },
};

static const char *const too_long[] = {
	"9223372036.8547758070000000000001s", "9223372036854775808ns", "9223372036s854775808ns",
	"18446744073709551615ns", "18446744073709551616ns", "18446744073709551617ns",
	"18446744073s709551615ns", "18446744073s709551616ns", "15251w", "30500568904944w",
	"99999999999999999999999999999999999999h",
};

static const char *const invalid[] = {
	"", "s", "ms", "5", "00", "1.5", "1h30", "-1s", "-0", "1h-30m", "+1s", " 1s", "1s ", "1 s",
	"1h 30m", "1s\n", ".s", "1.s", ".", "1..5s", "1.2.3s", "1,5s", "1e3s", "0x10s", "infs",
	"1S", "1secon", "1mi", "1mon", "1Min", "1m min", "1min1m", "1sec1min", "1\302\265",
	"\331\241s", "30m2h", "1s1s", "1us1\302\265s", "15251w1w",
	"99999999999999999999999999999999999999hello", "1minutesxxxxxxxxxxxx",
};

static const struct {
	int64_t ns;
	const char *text;
} formatted[] = {
	{ 0, "0ns" }, { 1, "1ns" }, { 999, "999ns" }, { 1000, "1us" }, { 1001, "1.001us" },
	{ 312456, "312.456us" }, { 1000000, "1ms" }, { 1234567, "1.234567ms" },
	{ 1000000000, "1s" }, { 1500000000, "1.5s" }, { 1000000001, "1.000000001s" },
	{ 1800000000000, "1800s" }, { INT64_MAX, "9223372036.854775807s" },
	{ -1, "-1ns" }, { -1500000, "-1.5ms" }, { INT64_MIN, "-9223372036.854775808s" },
};

static void test_durations(void)
{
	char text[DURATION_TEXT];
	const char *reason;
	uint64_t ns;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(valid); i++) {
		ns = 99;
		reason = duration_parse(valid[i].text, &ns);
		tap_result(!reason && ns == valid[i].ns, "duration %s", valid[i].text);
	}
	for (i = 0; i < ARRAY_SIZE(too_long); i++) {
		reason = duration_parse(too_long[i], &ns);
		tap_result(reason && strstr(reason, "too long"), "too long: %s", too_long[i]);
	}
	for (i = 0; i < ARRAY_SIZE(invalid); i++) {
		reason = duration_parse(invalid[i], &ns);
		tap_result(reason && strstr(reason, "not a duration"), "invalid duration %zu", i);
	}
	for (i = 0; i < ARRAY_SIZE(formatted); i++) {
		duration_format(formatted[i].ns, text);
		reason = formatted[i].ns < 0 ? NULL : duration_parse(text, &ns);
		tap_result(!strcmp(text, formatted[i].text) && !reason &&
			   (formatted[i].ns < 0 || ns == (uint64_t)formatted[i].ns),
			   "duration as text: %s", formatted[i].text);
	}
}

/* A label, and what is printed: as text and as JSON. */
static const struct {
	const char *what;
	const char *label;
	const char *plain;
	const char *json;
} labels[] = {
	{ "words", "buy milk", "buy milk", "buy milk" },
	{ "quotes", "say \"hi\"", "say \"hi\"", "say \\\"hi\\\"" },
	{ "backslash", "a\\b", "a\\\\b", "a\\\\b" },
	{ "line ends, tab", "a\r\n\tb", "a\\r\\n\\tb", "a\\u000d\\u000a\\u0009b" },
	{ "control characters", "\001\037\177", "\\x01\\x1f\\x7f", "\\u0001\\u001f\\u007f" },
	{ "8-bit control character", "\302\233", "\\xc2\\x9b", "\302\233" },
	{ "first after them", "\302\240", "\302\240", "\302\240" },
	{ "first of three and of four bytes", "\340\240\200\360\220\200\200",
	  "\340\240\200\360\220\200\200", "\340\240\200\360\220\200\200" },
	{ "last character", "\364\217\277\277", "\364\217\277\277", "\364\217\277\277" },
	{ "beyond the last", "\364\220\200\200", "\\xf4\\x90\\x80\\x80",
	  "\\ufffd\\ufffd\\ufffd\\ufffd" },
	{ "bytes of no character", "\200\277\376\377", "\\x80\\xbf\\xfe\\xff",
	  "\\ufffd\\ufffd\\ufffd\\ufffd" },
	{ "overlong, two bytes", "\300\257\301\277", "\\xc0\\xaf\\xc1\\xbf",
	  "\\ufffd\\ufffd\\ufffd\\ufffd" },
	{ "overlong, three bytes", "\340\237\277", "\\xe0\\x9f\\xbf", "\\ufffd\\ufffd\\ufffd" },
	{ "overlong, four bytes", "\360\217\277\277", "\\xf0\\x8f\\xbf\\xbf",
	  "\\ufffd\\ufffd\\ufffd\\ufffd" },
	{ "before the surrogates", "\355\237\277", "\355\237\277", "\355\237\277" },
	{ "surrogate", "\355\240\200", "\\xed\\xa0\\x80", "\\ufffd\\ufffd\\ufffd" },
	{ "cut short, then text", "\360\237\225x\342\"", "\\xf0\\x9f\\x95x\\xe2\"",
	  "\\ufffd\\ufffd\\ufffdx\\ufffd\\\"" },
};

/* Compare what @print writes to standard output. */
static void check_output(void (*print)(const char *text), const char *text, const char *expected,
			 const char *name)
{
	FILE *before = stdout;
	char got[256] = "";

	stdout = fmemopen(got, sizeof(got) - 1, "w");
	if (!stdout)
		bail_out("no stream");
	print(text);
	fclose(stdout);
	stdout = before;
	if (!tap_result(!strcmp(got, expected), "%s", name))
		tap_note("got %s", got);
}

static void print_label(const char *text)
{
	put_string("label", text);
}

static void print_prompt(const char *answered)
{
	prompt("> ");
	prompt("> ");
	if (answered)
		prompted = false;
	record_begin("expired");
	put_id(1);
	record_end();
	prompt("> ");
	prompted = false;
}

static void test_output(void)
{
	char expected[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(labels); i++) {
		style = STYLE_LINE;
		snprintf(expected, sizeof(expected), " %s", labels[i].plain);
		check_output(print_label, labels[i].label, expected, labels[i].what);
		style = STYLE_JSON;
		snprintf(expected, sizeof(expected), ",\"label\":\"%s\"", labels[i].json);
		check_output(print_label, labels[i].label, expected, labels[i].what);
	}
	check_output(print_prompt, NULL, "{\"event\":\"expired\",\"id\":1}\n",
		     "JSON has no prompt");
	style = STYLE_LINE;
	check_output(print_prompt, NULL, "> \r\033[Kexpired 1\n> ", "a record replaces a prompt");
	check_output(print_prompt, "", "> expired 1\n> ", "a record below an answered prompt");
}

#define LAST	TWHEEL_TIME_MAX_NS
#define YEAR	31536000000000000ULL
#define NOW	1800000000000000000ULL

/* The wheel's clock begins at boot, 1000 ns ago; reading it twice takes 10 ns. */
static const struct moment boot = { 1000, NOW, 1010 };
/* A machine whose date is 1970. */
static const struct moment early = { 5000, 100, 5000 };
/* A wheel on the wall clock itself. */
static const struct moment same = { NOW, NOW, NOW };

static const struct {
	const struct moment *now;
	uint64_t deadline_ns;
	uint64_t wall_ns;
} walls[] = {
	{ &boot, 0, NOW - 1000 }, { &boot, 1000, NOW }, { &boot, 1000 + YEAR, NOW + YEAR },
	{ &boot, LAST - NOW, LAST - 1000 }, { &boot, LAST - 1, LAST }, { &boot, LAST, LAST },
	{ &early, 5001, 101 }, { &early, 10, 0 }, { &early, LAST - 1, LAST - 4901 },
	{ &early, LAST, LAST }, { &same, 42, 42 }, { &same, LAST, LAST },
};

static const struct {
	const struct moment *now;
	uint64_t wall_ns;
	uint64_t interval_ns;
	uint64_t deadline_ns;
} wheels[] = {
	{ &boot, NOW, 0, 1010 }, { &boot, NOW + YEAR, 0, YEAR + 1010 },
	{ &boot, NOW - 10, 0, 1000 },
	{ &boot, NOW - 1010, 0, 1 }, { &boot, NOW - YEAR, 0, 1 }, { &boot, 0, 0, 0 },
	{ &boot, NOW - 1010 - 7, 10, 3 }, { &boot, NOW - 1010 - 70, 10, 0 },
	{ &boot, 0, LAST, LAST - NOW + 1010 }, { &boot, LAST - 1, 0, LAST - 1 - NOW + 1010 },
	{ &boot, LAST, 0, LAST }, { &boot, LAST, 10, LAST },
	{ &early, 0, 0, 0 }, { &early, 1, 0, 4901 }, { &early, LAST - 1, 0, LAST },
	{ &early, LAST - 4901, 0, LAST - 1 }, { &same, 42, 0, 42 },
};

static void test_deadlines(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(walls); i++)
		tap_result(to_wall(walls[i].now, walls[i].deadline_ns, 1) == walls[i].wall_ns,
			   "deadline on the wall clock, case %zu", i);
	tap_result(!to_wall(&boot, 0, 0), "deadline on the wall clock, 0 without a period");
	for (i = 0; i < ARRAY_SIZE(wheels); i++)
		tap_result(to_wheel(wheels[i].now, wheels[i].wall_ns, wheels[i].interval_ns) ==
			   wheels[i].deadline_ns, "deadline on the wheel's clock, case %zu", i);
}

/*
 * In place of the C library's functions: a wheel without timers; and what is done to the file that
 * they are saved to.
 */
static char steps[64];

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;

	va_start(args, request);
	if (request == TWHEEL_INFO)
		*va_arg(args, struct twheel_info *) = (struct twheel_info){
			.tick_ns = 1000000, .wheel_size = 256, .clock_id = CLOCK_MONOTONIC,
		};
	va_end(args);
	return 0;
}

int fsync(int fd)
{
	struct stat status;

	/* All of it has been written before. */
	snprintf(steps, sizeof(steps), "synced %d ", !fstat(fd, &status) && status.st_size > 60);
	return 0;
}

int rename(const char *from, const char *to)
{
	strcat(steps, "rename");
	return unlink(to) || link(from, to) || unlink(from);
}

static void save_here(const char *path)
{
	save((char *[]){ (char *)path, NULL });
}

static void test_save(void)
{
	char path[] = "/tmp/command-test.XXXXXX";

	close(mkstemp(path));
	check_output(save_here, path, "saved count=0\n", "a wheel is saved");
	tap_result(!strcmp(steps, "synced 1 rename"),
		   "a saved file is on disk before it replaces another");
	unlink(path);
}

int main(void)
{
	puts("TAP version 13");
	test_durations();
	test_output();
	test_deadlines();
	test_save();
	return tap_done();
}
