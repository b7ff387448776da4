// SPDX-License-Identifier: MIT
/*
 * twheel-ring - /dev/twheel by io_uring: commands, reads and polls, against their contract
 *
 * Prints TAP. Needs root, for a page fault that does not end.
 */
#include <stdio.h>

#include "options.h"
#include "ring.h"

int main(int argc, char **argv)
{
	unsigned int ops = 20000;

	if (argc == 2)
		ops = number_or_exit("OPS", argv[1], 4, 10000000);
	if (argc > 2) {
		fputs("Usage: twheel-ring [OPS]\n"
		      "Test twheel by io_uring, with OPS timers in the race; print TAP.\n", stderr);
		return 2;
	}
	puts("TAP version 13");
	test_at_once();
	test_order();
	test_polls();
	test_reads();
	test_links();
	test_commands();
	test_no_calls();
	test_input();
	test_trouble();
	test_races(ops);
	return tap_done();
}
