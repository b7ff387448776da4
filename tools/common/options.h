/* SPDX-License-Identifier: MIT */
/*
 * Reading command lines
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return an option's value, or exit with status 2. */
uint64_t number_or_exit(const char *option, const char *text, uint64_t min, uint64_t max);

/**
 * struct program_option - an option, and where its value goes
 * @name: its name; the last one of an array has none.
 * @value: what help calls its value; NULL if it has none.
 * @about: a line about it.
 * @number: where to put a number from @min to @max.
 * @min: see @number.
 * @max: see @number.
 * @text: where to put any other value.
 * @flag: set, where there is no value.
 */
struct program_option {
	const char *name;
	const char *value;
	const char *about;
	uint64_t *number;
	uint64_t min;
	uint64_t max;
	const char **text;
	bool *flag;
};

/**
 * struct command_line - what a program takes
 * @usage: its help, above the words and the options.
 * @options: all except --help, which each program has; or NULL.
 * @any_words: it takes any words.
 * @words: otherwise the only words: a table whose entries begin with a name and a line about it.
 * @nr_words: how many.
 * @word_size: bytes of an entry.
 */
struct command_line {
	const char *usage;
	const struct program_option *options;
	bool any_words;
	const void *words;
	size_t nr_words;
	size_t word_size;
};

/*
 * Read the options, and return the words, which end with NULL. Exits after --help, and with
 * status 2 if the command line is wrong.
 */
char **words_or_exit(int argc, char **argv, const struct command_line *line);

/* Whether @name is among @words, or there are none. */
bool is_wanted(const char *name, char *const *words);

#endif /* OPTIONS_H */
