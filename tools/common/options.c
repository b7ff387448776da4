// SPDX-License-Identifier: MIT
/*
 * What command lines say; see options.h
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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
