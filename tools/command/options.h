/* SPDX-License-Identifier: MIT */
/*
 * The options of the command line, and the values in them
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "session.h"
#include "top.h"

/**
 * struct arguments - the command line, read
 * @session: what the wheel is to be like.
 * @for_wheel: there was an option for that.
 * @top: what `top` is to show.
 * @for_top: there was an option for that.
 * @times: events until `every` ends, or NOT_GIVEN.
 * @json: print JSON.
 * @help: print the help, and end.
 * @version: print the version, and end.
 * @args: the words that are no options: the command, and what follows it.
 * @nr_args: how many.
 */
struct arguments {
	struct session_options session;
	bool for_wheel;
	struct top_options top;
	bool for_top;
	uint64_t times;
	bool json;
	bool help;
	bool version;
	char **args;
	int nr_args;
};

int usage_hint(void);
int parse_duration(const char *what, const char *text, uint64_t *ns);
int parse_number(const char *what, const char *text, uint64_t min, uint64_t max,
		 uint64_t *number);
int parse_options(int argc, char **argv, struct arguments *what);

#endif /* OPTIONS_H */
