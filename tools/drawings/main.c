// SPDX-License-Identifier: MIT
/*
 * Draws what a wheel does, from runs of the core in user space
 */
#include <stdio.h>
#include <string.h>

#include <linux/kernel.h>

#include "draw.h"

static const struct {
	const char *name;
	void (*draw)(void);
} drawings[] = {
	{ "levels", draw_levels },
	{ "journeys", draw_journeys },
	{ "wakeups", draw_wakeups },
};

static int usage(FILE *out)
{
	size_t i;

	fprintf(out, "Usage: draw NAME\n\nPrints a drawing as SVG. The names:");
	for (i = 0; i < ARRAY_SIZE(drawings); i++)
		fprintf(out, " %s", drawings[i].name);
	fprintf(out, "\n");
	return out == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc != 2)
		return usage(stderr);
	if (!strcmp(argv[1], "--help"))
		return usage(stdout);
	for (i = 0; i < ARRAY_SIZE(drawings); i++) {
		if (!strcmp(argv[1], drawings[i].name)) {
			drawings[i].draw();
			return fflush(stdout) ? 1 : 0;
		}
	}
	return usage(stderr);
}
