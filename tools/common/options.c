// SPDX-License-Identifier: MIT
/*
 * What command lines say; see options.h
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

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

bool is_wanted(const char *name, char *const *names)
{
	if (!*names)
		return true;
	for (; *names; names++) {
		if (!strcmp(name, *names))
			return true;
	}
	return false;
}

static bool is_known(const char *name, const char *table, size_t n, size_t size)
{
	for (; n--; table += size) {
		if (!strcmp(name, *(const char *const *)table))
			return true;
	}
	return false;
}

void names_or_exit(char *const *names, const void *table, size_t n, size_t size)
{
	for (; *names; names++) {
		if (!is_known(*names, table, n, size)) {
			fprintf(stderr, "%s: nothing is called '%s'\n",
				program_invocation_short_name, *names);
			exit(2);
		}
	}
}
