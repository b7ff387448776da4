// SPDX-License-Identifier: MIT
/*
 * Results of tests, printed as TAP; see tap.h
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

static unsigned int results, failures;

bool tap_result(bool ok, const char *format, ...)
{
	va_list args;

	results++;
	failures += !ok;
	printf("%sok %u - ", ok ? "" : "not ", results);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	return ok;
}

void tap_note(const char *format, ...)
{
	char text[1024];
	va_list args;

	/* In one piece, as several threads may print at a time. */
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("# %s\n", text);
	fflush(stdout);
}

void tap_skip(const char *why, const char *format, ...)
{
	va_list args;

	printf("ok %u - ", ++results);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf(" # SKIP %s\n", why);
	fflush(stdout);
}

int tap_done(void)
{
	printf("1..%u\n", results);
	fflush(stdout);
	return failures ? 1 : 0;
}

void bail_out(const char *format, ...)
{
	int error = errno;
	va_list args;

	fputs("Bail out! ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf(": %s\n", strerror(error));
	fflush(stdout);
	_exit(1);
}
