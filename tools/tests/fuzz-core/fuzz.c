// SPDX-License-Identifier: MIT
/*
 * The fuzzer of the core, which libFuzzer feeds; or a random number generator, for runs that are
 * the same everywhere; prints TAP
 *
 * With FUZZ_VERBOSE=1 in the environment, libFuzzer's prints every operation, to examine one
 * input.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "chance.h"
#include "kunit/model.h"
#include "options.h"
#include "tap.h"

#define MAX_LENGTH	4096

/* The entry points of libFuzzer, by its names for them. */
int libfuzzer_begin(int *argc, char ***argv) __asm__("LLVMFuzzerInitialize");
int libfuzzer_input(const uint8_t *data, size_t length) __asm__("LLVMFuzzerTestOneInput");

/* How to repeat the running input, for the message of a failed check. */
static char repeat[80];

static void print_operation(const struct model *m, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "clock %llu, %llu pending, %llu expired: ", m->wheel.now,
		m->nr_pending, m->nr_expired);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static void wrong(const struct model *m, const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: not so: %s\n"
		"size %u, tick %llu, clock %llu, advanced to %llu, %s\n%s",
		file, line, what, m->size, m->tick, m->wheel.now, m->now,
		m->more ? "more to do" : "nothing to do", repeat);
	abort();
}

/* Called at exit; a check that fails aborts before. */
static void report(void)
{
	tap_result(fuzz_operations, "random operations (%llu)", fuzz_operations);
	tap_done();
}

int libfuzzer_begin(int *argc, char ***argv)
{
	fuzz_trace = getenv("FUZZ_VERBOSE") ? print_operation : NULL;
	atexit(report);
	return 0;
}

int libfuzzer_input(const uint8_t *data, size_t length)
{
	fuzz_one(data, length, wrong);
	return 0;
}

#ifndef LIBFUZZER
static void one_input(uint64_t seed)
{
	static uint8_t data[MAX_LENGTH];
	struct chance chance;
	size_t i, length;

	snprintf(repeat, sizeof(repeat),
		 "repeat it: fuzz-seeded --verbose --inputs 1 --seed %llu\n",
		 (unsigned long long)seed);
	chance_init(&chance, seed, 0);
	length = chance_below(&chance, MAX_LENGTH);
	for (i = 0; i < length; i++)
		data[i] = chance_next(&chance) >> 56;
	libfuzzer_input(data, length);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, inputs = 1000, n;
	bool verbose = false;
	const struct program_option list[] = {
		{ "seed", "N", "of the first input; each later one adds 1 (default: 1)",
		  .number = &seed, .max = UINT64_MAX },
		{ "inputs", "N", "end after N inputs (default: 1000)",
		  .number = &inputs, .max = UINT64_MAX },
		{ "verbose", NULL, "print each operation", .flag = &verbose },
		{ }
	};

	words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: fuzz-seeded [OPTIONS]\n"
		"Run random operations on the core of the wheel, against a model.\n",
		.options = list,
	});
	fuzz_trace = verbose ? print_operation : NULL;
	for (n = 0; n < inputs; n++)
		one_input(seed + n);
	report();
	return 0;
}
#endif /* LIBFUZZER */
