// SPDX-License-Identifier: MIT
/*
 * twheel-demo - an order system that reserves stock, on one timing wheel
 *
 * Customers reserve stock within the first minute. Each reservation is held by a timer for half an
 * hour; most are paid before that (the timer is cancelled), some are extended once (modified), the
 * rest expire (the expiry is read and the stock goes back on the shelf).
 *
 * The shop checks every result and every event of the wheel against its own ledger. The actions of
 * customers are planned beforehand, as a calendar of short slots. The shop is a single thread that
 * sleeps in ppoll() on the wheel until the end of the next slot that has actions.
 */
#include <sys/prctl.h>

#include "demo.h"
#include "options.h"

struct demo_options option = {
	.count = 1000000,
	.paid_percent = 95,
	.seed = 1,
};

int main(int argc, char **argv)
{
	uint64_t hold = 0, window = 60;
	const struct program_option list[] = {
		{ "count", "N", "reservations, 1 to 10000000 (1000000)",
		  .number = &option.count, .min = 1, .max = 10000000 },
		{ "hold", "SECONDS", "how long each is held, 1 to 86400 (1800; with --restart, 60)",
		  .number = &hold, .min = 1, .max = 86400 },
		{ "window", "SECONDS", "the time in which they arrive, 1 to 3600 (60)",
		  .number = &window, .min = 1, .max = 3600 },
		{ "paid-percent", "N", "percentage of them that is paid, 0 to 100 (95)",
		  .number = &option.paid_percent, .max = 100 },
		{ "seed", "N", "of the random customers (1)",
		  .number = &option.seed, .max = UINT64_MAX },
		{ "restart", NULL, "kill and replace the shop twice, while its wheel lives on",
		  .flag = &option.restart },
		{ }
	};

	words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: twheel-demo [OPTIONS]\n"
		"Runs an order system that reserves stock on one timing wheel, and checks the\n"
		"wheel against its ledger. It takes window + 4/3 hold of guest time.\n"
		"Exit status: 0 if the ledger balances, nothing was early and nothing lost;\n"
		"1 if not, or if the wheel failed; 2 for a wrong command line.\n",
		.options = list,
	});
	option.hold_ns = (hold ?: option.restart ? 60 : 1800) * SEC;
	option.window_ns = window * SEC;
	if (option.restart)
		return run_restarts() ? 0 : 1;
	open_wheel();
	/* Sleep exactly, not with the default slack of 50 us. */
	prctl(PR_SET_TIMERSLACK, 1);

	print_plan();
	plan();
	run_shop();
	return report() ? 0 : 1;
}
