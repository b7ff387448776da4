// SPDX-License-Identifier: MIT
/*
 * libFuzzer feeds the fuzzer of the core
 *
 * With FUZZ_VERBOSE=1 in the environment, it prints every operation, to examine one
 * input.
 */
#include "fuzz-core.h"

static void report(void)
{
	printf("operations: %llu\n", fuzz_operations);
}

int libfuzzer_begin(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_trace = getenv("FUZZ_VERBOSE") ? print_operation : NULL;
	atexit(report);
	return 0;
}

int libfuzzer_input(const uint8_t *data, size_t length)
{
	fuzz_one(data, length, wrong);
	return 0;
}
