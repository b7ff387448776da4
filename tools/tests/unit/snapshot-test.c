// SPDX-License-Identifier: MIT
/*
 * TAP test of lines.c, and of the times in snapshot.c: runs on the host, needs no wheel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libtwheel.h"
#include "lines.h"
#include "snapshot.h"
#include "tap.h"

#define END	TWHEEL_TIME_MAX_NS
#define YEAR	31536000000000000ULL
#define NOW	1800000000000000000ULL

/* The wheel's clock begins at boot, 1000 ns ago; reading it twice takes 10 ns. */
static const struct snapshot_clocks boot = { 1000, NOW, 1010 };
/* A machine whose date is 1970. */
static const struct snapshot_clocks early = { 5000, 100, 5000 };
/* A wheel on the wall clock itself. */
static const struct snapshot_clocks same = { NOW, NOW, NOW };

static const struct {
	const struct snapshot_clocks *clocks;
	uint64_t deadline_ns;
	uint64_t wall_ns;
} to_wall[] = {
	{ &boot, 0, NOW - 1000 },
	{ &boot, 1000, NOW },
	{ &boot, 1000 + YEAR, NOW + YEAR },
	{ &boot, END - NOW, END - 1000 },
	{ &boot, END - 1, END },
	{ &boot, END, END },
	{ &early, 5001, 101 },
	{ &early, 10, 0 },
	{ &early, END - 1, END - 4901 },
	{ &early, END, END },
	{ &same, 42, 42 },
	{ &same, END, END },
};

static const struct {
	const struct snapshot_clocks *clocks;
	uint64_t wall_ns;
	uint64_t interval_ns;
	uint64_t deadline_ns;
} to_wheel[] = {
	{ &boot, NOW, 0, 1010 },
	{ &boot, NOW + YEAR, 0, YEAR + 1010 },
	{ &boot, NOW - 10, 0, 1000 },
	{ &boot, NOW - 1010, 0, 0 },
	{ &boot, NOW - YEAR, 0, 0 },
	{ &boot, 0, 0, 0 },
	{ &boot, NOW - 1010 - 7, 10, 3 },
	{ &boot, NOW - 1010 - 70, 10, 0 },
	{ &boot, 0, END, END - NOW + 1010 },
	{ &boot, END - 1, 0, END - 1 - NOW + 1010 },
	{ &boot, END, 0, END },
	{ &boot, END, 10, END },
	{ &early, 0, 0, 4900 },
	{ &early, END - 1, 0, END },
	{ &early, END - 4901, 0, END - 1 },
	{ &same, 42, 0, 42 },
};

/* A text, and its lines: each followed by a bar, then an error. */
static const struct {
	const char *text;
	size_t len;
	const char *read;
} files[] = {
	{ "", 0, "" },
	{ "\n", 1, "|" },
	{ "a\nbc\n", 5, "a|bc|" },
	{ "a\n\nbc", 5, "a||bc|" },
	{ "a\nb\0c\nd", 7, "a|!the line holds a null byte" },
	{ "a\0", 2, "!the line holds a null byte" },
};

static void test_times(void)
{
	uint64_t got;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(to_wall); i++) {
		got = snapshot_to_wall(to_wall[i].clocks, to_wall[i].deadline_ns);
		if (!tap_result(got == to_wall[i].wall_ns, "to the wall clock: case %zu", i))
			tap_note("got %ju", (uintmax_t)got);
	}
	for (i = 0; i < ARRAY_SIZE(to_wheel); i++) {
		got = snapshot_to_wheel(to_wheel[i].clocks, to_wheel[i].wall_ns,
					to_wheel[i].interval_ns);
		if (!tap_result(got == to_wheel[i].deadline_ns, "to the wheel: case %zu", i))
			tap_note("got %ju", (uintmax_t)got);
	}
}

static int file_of(const char *text, size_t len)
{
	FILE *file = tmpfile();

	if (!file || fwrite(text, 1, len, file) != len || fflush(file) ||
	    lseek(fileno(file), 0, SEEK_SET))
		bail_out("cannot write a file");
	return fileno(file);
}

static void test_lines(void)
{
	static struct lines lines;
	char read[256], *line;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		memset(&lines, 0, sizeof(lines));
		lines.fd = file_of(files[i].text, files[i].len);
		*read = '\0';
		while ((line = lines_next(&lines)))
			strcat(strcat(read, line), "|");
		if (lines.error)
			strcat(strcat(read, "!"), lines.error);
		if (!tap_result(!strcmp(read, files[i].read), "lines: case %zu", i))
			tap_note("got %s", read);
	}
}

/* Lines of all lengths up to the longest, across the ends of single reads. */
static void test_long_lines(void)
{
	static char text[200 * LINES_MAX];
	static struct lines lines;
	size_t len, end = 0, i;
	char *line;

	for (i = 0; i < 100; i++) {
		len = i % 2 ? LINES_MAX : i * 41 % LINES_MAX;
		memset(text + end, 'a' + (int)(i % 26), len);
		end += len;
		text[end++] = '\n';
	}
	memset(text + end, 'x', LINES_MAX + 1);
	lines.fd = file_of(text, end + LINES_MAX + 1);
	for (i = 0; (line = lines_next(&lines)); i++) {
		const char letter[] = { (char)('a' + i % 26), 0 };

		len = i % 2 ? LINES_MAX : i * 41 % LINES_MAX;
		if (strlen(line) != len || strspn(line, letter) != len)
			break;
	}
	tap_result(!line && i == 100, "lines: 100 of up to 4095 bytes");
	tap_result(lines.error && strstr(lines.error, "longer than 4095") && lines.number == 101,
		   "lines: one that is a byte too long");
	memset(&lines, 0, sizeof(lines));
	lines.fd = -1;
	tap_result(!lines_next(&lines) && lines.error, "lines: a file that cannot be read");
}

int main(void)
{
	puts("TAP version 13");
	test_times();
	test_lines();
	test_long_lines();
	return tap_done();
}
