// SPDX-License-Identifier: MIT
/*
 * Reading command lines; see options.h
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define MAX_OPTIONS	8

uint64_t number_or_exit(const char *option, const char *text, uint64_t min, uint64_t max)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (*text >= '0' && *text <= '9' && !*end && !errno && number >= min && number <= max)
		return number;
	fprintf(stderr, "%s must be a number from %llu to %llu, not '%s'\n", option,
		(unsigned long long)min, (unsigned long long)max, text);
	exit(2);
}

bool is_wanted(const char *name, char *const *words)
{
	if (!*words)
		return true;
	for (; *words; words++) {
		if (!strcmp(name, *words))
			return true;
	}
	return false;
}

/* Return the name and the line of an entry of the table of words. */
static const char *const *entry(const struct command_line *line, size_t i)
{
	return (const void *)((const char *)line->words + i * line->word_size);
}

static void usage(FILE *out, const struct command_line *line)
{
	const struct program_option *option = line->options;
	char name[64];
	size_t i;

	fputs(line->usage, out);
	for (i = 0; i < line->nr_words; i++)
		fprintf(out, "  %-18s %s\n", entry(line, i)[0], entry(line, i)[1]);
	fputs("Options:\n", out);
	for (; option && option->name; option++) {
		snprintf(name, sizeof(name), "--%s %s", option->name, option->value ?: "");
		fprintf(out, "  %-18s %s\n", name, option->about);
	}
	fprintf(out, "  %-18s print this text\n", "--help");
}

static void check_words(char *const *words, const struct command_line *line)
{
	size_t i;

	for (; *words && !line->any_words; words++) {
		for (i = 0; i < line->nr_words && strcmp(*words, *entry(line, i)); i++)
			;
		if (i < line->nr_words)
			continue;
		fprintf(stderr, "%s: there is no '%s': see --help\n",
			program_invocation_short_name, *words);
		exit(2);
	}
}

static void take_value(const struct program_option *option, const char *value)
{
	char name[64];

	snprintf(name, sizeof(name), "--%s", option->name);
	if (option->number)
		*option->number = number_or_exit(name, value, option->min, option->max);
	else if (option->text)
		*option->text = value;
	else
		*option->flag = true;
}

char **words_or_exit(int argc, char **argv, const struct command_line *line)
{
	struct option list[MAX_OPTIONS + 2] = { { .name = "help" } };
	const struct program_option *option = line->options;
	int i, which;

	for (i = 0; option && option[i].name && i < MAX_OPTIONS; i++)
		list[i + 1] = (struct option) { option[i].name, !!option[i].value, NULL, 0 };
	while ((i = getopt_long(argc, argv, "", list, &which)) != -1) {
		if (i == '?' || !which) {
			usage(i ? stderr : stdout, line);
			exit(i ? 2 : 0);
		}
		take_value(&option[which - 1], optarg);
	}
	check_words(argv + optind, line);
	return argv + optind;
}
