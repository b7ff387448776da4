// SPDX-License-Identifier: MIT
/*
 * A random number generator feeds the fuzzer of the core: for machines without
 * libFuzzer, and for runs that are the same everywhere
 */
#include <stdio.h>
#include <time.h>

#include "chance.h"
#include "fuzz-core.h"
#include "options.h"

#define MAX_LENGTH	4096

static void one_input(uint64_t seed)
{
	static uint8_t data[MAX_LENGTH];
	struct chance chance;
	size_t i, length;

	snprintf(fuzz_repeat, sizeof(fuzz_repeat),
		 "fuzz-seeded --verbose --inputs 1 --seed %llu", (unsigned long long)seed);
	chance_init(&chance, seed, 0);
	length = chance_below(&chance, MAX_LENGTH);
	for (i = 0; i < length; i++)
		data[i] = chance_next(&chance) >> 56;
	fuzz_one(data, length, wrong);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, seconds = 0, inputs = 0, n;
	bool verbose = false;
	const struct program_option list[] = {
		{ "seed", "N", "of the first input; each later one adds 1 (default: 1)",
		  .number = &seed, .max = UINT64_MAX },
		{ "seconds", "N", "end after N seconds", .number = &seconds, .max = UINT64_MAX },
		{ "inputs", "N", "end after N inputs", .number = &inputs, .max = UINT64_MAX },
		{ "verbose", NULL, "print each operation", .flag = &verbose },
		{ }
	};
	time_t begin = time(NULL);

	words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: fuzz-seeded [OPTIONS]\n"
		"Run random operations on the core of the wheel, against a model. Without --seconds\n"
		"and --inputs, 1000 inputs.\n",
		.options = list,
	});
	fuzz_trace = verbose ? print_operation : NULL;
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
