/* SPDX-License-Identifier: MIT */
/*
 * Reading command lines
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return an option's value, or exit with status 2. */
uint64_t number_or_exit(const char *option, const char *text, uint64_t min, uint64_t max);

/* An option, and where its value goes; the last one of an array has no name. */
struct program_option {
	const char *name;
	const char *value;	/* what help calls its value; NULL if it has none */
	const char *about;	/* a line about it */
	uint64_t *number;	/* where to put a number from @min to @max */
	uint64_t min;
	uint64_t max;
	const char **text;	/* where to put any other value */
	bool *flag;		/* for an option without a value: true if it is given */
};

/* The options and words of a program. */
struct command_line {
	const char *usage;	/* its help, above the words and the options */
	const struct program_option *options;	/* all except --help; or NULL */
	bool any_words;
	const void *words;	/* otherwise the only words, each with a line about it */
	size_t nr_words;
	size_t word_size;	/* of an entry, which begins with these two texts */
};

/*
 * Read the options, and return the words, which end with NULL. Exit after --help, and with
 * status 2 if the command line is wrong.
 */
char **words_or_exit(int argc, char **argv, const struct command_line *line);

/* Return true if @name is among @words, or there are none. */
bool is_wanted(const char *name, char *const *words);
