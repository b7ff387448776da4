// SPDX-License-Identifier: MIT
/*
 * A random number generator feeds the fuzzer of the core: for machines without
 * libFuzzer, and for runs that are the same everywhere
 */
#include <getopt.h>
#include <stdio.h>
#include <time.h>

#include "chance.h"
#include "fuzz-core.h"
#include "options.h"

#define MAX_LENGTH	4096

static void usage(FILE *stream)
{
	fprintf(stream,
		"Usage: fuzz-seeded [--seed N] [--seconds N] [--inputs N] [--verbose]\n"
		"\n"
		"Runs random operations on the core of the wheel, against a model.\n"
		"\n"
		"  --seed N     seed of the first input, the next ones count on; 1 by default\n"
		"  --seconds N  how long; 0, the default, is until the inputs end\n"
		"  --inputs N   how many inputs; 1000 by default, or without end with --seconds\n"
		"  --verbose    tell every operation\n");
}

/* The seed makes the input, whatever ran before it. */
static void one_input(uint64_t seed)
{
	static char repeat[80];
	static uint8_t data[MAX_LENGTH];
	struct chance chance;
	size_t i, length;

	snprintf(repeat, sizeof(repeat), "fuzz-seeded --verbose --inputs 1 --seed %llu",
		 (unsigned long long)seed);
	fuzz_repeat = repeat;
	chance_init(&chance, seed, 0);
	length = chance_below(&chance, MAX_LENGTH);
	for (i = 0; i < length; i++)
		data[i] = chance_next(&chance) >> 56;
	fuzz_one(data, length);
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seconds", required_argument, NULL, 't' },
		{ "inputs", required_argument, NULL, 'n' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	uint64_t seed = 1, seconds = 0, inputs = 0, n;
	time_t begin = time(NULL);
	int c;

	while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		switch (c) {
		case 's':
			seed = number_or_exit("--seed", optarg, 0, UINT64_MAX);
			break;
		case 't':
			seconds = number_or_exit("--seconds", optarg, 0, UINT64_MAX);
			break;
		case 'n':
			inputs = number_or_exit("--inputs", optarg, 0, UINT64_MAX);
			break;
		case 'v':
			fuzz_verbose = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (!inputs)
		inputs = seconds ? UINT64_MAX : 1000;
	for (n = 0; n < inputs; n++) {
		if (seconds && (uint64_t)(time(NULL) - begin) >= seconds)
			break;
		one_input(seed + n);
	}
	printf("inputs: %llu\noperations: %llu\n", (unsigned long long)n, fuzz_operations);
	return 0;
}
