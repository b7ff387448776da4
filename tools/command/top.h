/* SPDX-License-Identifier: MIT */
/*
 * `twheel top`: the wheels of the machine, and what they do
 */
#ifndef TOP_H
#define TOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct view_column;

/**
 * struct top_options - what to show
 * @proc: where the proc file system is.
 * @only: the process whose wheels to show, or 0 for all.
 * @interval_ns: the time between two samples.
 * @sort: the column to sort by.
 * @once: a table of the first rates, and the end.
 * @json: JSON in place of a screen or a table.
 */
struct top_options {
	const char *proc;
	pid_t only;
	uint64_t interval_ns;
	const struct view_column *sort;
	bool once;
	bool json;
};

int top_sort_by(const char *word, struct top_options *options);
int top(const struct top_options *options);

#endif /* TOP_H */
