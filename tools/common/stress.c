// SPDX-License-Identifier: MIT
/*
 * What the programs share that put /dev/twheel under stress; see stress.h
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress.h"

#define FREE_PAGES	"/proc/sys/vm/percpu_pagelist_high_fraction"

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

	/* In one piece, for threads may say something at once. */
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

/* SplitMix64 makes different streams of seeds that are neighbours. */
static uint64_t mix(uint64_t n)
{
	n += 0x9e3779b97f4a7c15ULL;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ULL;
	n = (n ^ n >> 27) * 0x94d049bb133111ebULL;
	return n ^ n >> 31;
}

void chance_init(struct chance *chance, uint64_t seed, uint64_t stream)
{
	chance->state = mix(mix(seed) + stream) | 1;
}

/* xorshift64* */
uint64_t chance_next(struct chance *chance)
{
	uint64_t n = chance->state;

	n ^= n >> 12;
	n ^= n << 25;
	n ^= n >> 27;
	chance->state = n;
	return n * 0x2545f4914f6cdd1dULL;
}

/* A number below @bound, which is not 0. */
uint64_t chance_below(struct chance *chance, uint64_t bound)
{
	return chance_next(chance) % bound;
}

bool chance_hit(struct chance *chance, unsigned int percent)
{
	return chance_below(chance, 100) < percent;
}

/* A number of any length, short ones as often as long ones. */
uint64_t chance_any_size(struct chance *chance)
{
	return chance_next(chance) >> chance_below(chance, 64);
}

uint64_t now_on(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SEC + ts.tv_nsec;
}

uint64_t now_ns(void)
{
	return now_on(CLOCK_MONOTONIC);
}

void sleep_until(uint64_t when)
{
	struct timespec ts = { .tv_sec = when / SEC, .tv_nsec = when % SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

void sleep_for(uint64_t ns)
{
	sleep_until(now_ns() + ns);
}

uint64_t number_or_exit(const char *option, const char *text, uint64_t min, uint64_t max)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (*text >= '0' && *text <= '9' && !*end && !errno && number >= min && number <= max)
		return number;
	fprintf(stderr, "%s takes a number from %llu to %llu, not '%s'\n", option,
		(unsigned long long)min, (unsigned long long)max, text);
	exit(2);
}

bool write_line(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t size = strlen(line);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, line, size) == size;
	if (!ok) {
		int error = errno;

		close(fd);
		errno = error;
		return false;
	}
	close(fd);
	return true;
}

bool read_line(const char *path, char *line, unsigned int size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, line, size - 1);
	close(fd);
	if (got < 0)
		return false;
	line[got] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return true;
}

uint64_t read_number(const char *path)
{
	char line[64];

	if (!read_line(path, line, sizeof(line)))
		bail_out("cannot read %s", path);
	return strtoull(line, NULL, 0);
}

void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		bail_out("cannot become user %d", NOBODY);
}

void keep_few_free_pages(void)
{
	if (!write_line(FREE_PAGES, "1000"))
		bail_out("cannot write to " FREE_PAGES);
}
