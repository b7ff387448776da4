/* SPDX-License-Identifier: MIT */
/*
 * What the programs share that put /dev/twheel under stress: results as TAP,
 * chance that depends on a seed only, the clock, and options that are numbers
 */
#ifndef STRESS_H
#define STRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "helpers.h"

#define USEC	1000ULL
#define MSEC	1000000ULL
#define SEC	1000000000ULL
#define MINUTE	(60 * SEC)
#define HOUR	(3600 * SEC)

/* The user that nothing belongs to. */
#define NOBODY	65534

/* One test's result, what may explain it, and the end: returns the exit status. */
__printf(2, 3) bool tap_result(bool ok, const char *format, ...);
__printf(1, 2) void tap_note(const char *format, ...);
__printf(2, 3) void tap_skip(const char *why, const char *format, ...);
int tap_done(void);

/* Prints the message and the text of errno, and exits: the test cannot be done. */
__printf(1, 2) __attribute__((__noreturn__)) void bail_out(const char *format, ...);

/* A stream of random numbers. */
struct chance {
	uint64_t state;
};

void chance_init(struct chance *chance, uint64_t seed, uint64_t stream);
uint64_t chance_next(struct chance *chance);
uint64_t chance_below(struct chance *chance, uint64_t bound);
bool chance_hit(struct chance *chance, unsigned int percent);
uint64_t chance_any_size(struct chance *chance);

uint64_t now_on(clockid_t clock);
uint64_t now_ns(void);
void sleep_until(uint64_t when);
void sleep_for(uint64_t ns);

/* An option's value, or the program ends with status 2. */
uint64_t number_or_exit(const char *option, const char *text, uint64_t min, uint64_t max);

/* Writes a line into a file of the kernel; false, with errno set, if it cannot. */
bool write_line(const char *path, const char *line);
bool read_line(const char *path, char *line, unsigned int size);
uint64_t read_number(const char *path);

void become_nobody(void);

/*
 * When much memory is freed, the kernel keeps thousands of pages at hand for each
 * CPU, and puts them back by the thousand in one go, whoever had them. It is told to
 * keep fewer, so that what is ours can be seen.
 */
void keep_few_free_pages(void);

#endif /* STRESS_H */
