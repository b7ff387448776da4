/* SPDX-License-Identifier: MIT */
/*
 * The options of the command line, and the values in them
 */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "session.h"
#include "snapshot.h"
#include "top.h"

/**
 * struct arguments - the parsed command line
 * @session: the parameters of a new wheel.
 * @for_wheel: one of them was given.
 * @top: the options of `top`.
 * @for_top: one of them was given.
 * @snapshot: the wheel of `save` and `load`.
 * @for_snapshot: a part of that was given.
 * @times: events until `every` ends, or NOT_GIVEN.
 * @json: print JSON.
 * @help: print the help, and end.
 * @version: print the version, and end.
 * @args: the words that are not options: the command, and its arguments.
 * @nr_args: how many.
 */
struct arguments {
	struct session_options session;
	bool for_wheel;
	struct top_options top;
	bool for_top;
	struct snapshot_options snapshot;
	bool for_snapshot;
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

#endif /* ARGUMENTS_H */
