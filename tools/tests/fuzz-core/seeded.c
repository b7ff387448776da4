// SPDX-License-Identifier: MIT
/*
 * A random number generator feeds the fuzzer of the core: for machines without
 * libFuzzer, and for runs that are the same everywhere
 */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fuzz-core.h"

#define MAX_LENGTH	4096

static uint64_t seed = 1;
static uint64_t current;

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

void fuzz_failed(void)
{
	fprintf(stderr, "replay: fuzz-seeded --verbose --inputs 1 --seed %llu\n",
		(unsigned long long)current);
	abort();
}

/* The seed makes the input, whatever ran before it: by G. Steele's splitmix64. */
static uint64_t random64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static void one_input(void)
{
	static uint8_t data[MAX_LENGTH];
	uint64_t state = current;
	size_t length = random64(&state) % MAX_LENGTH;
	size_t i;

	for (i = 0; i < length; i++)
		data[i] = random64(&state);
	fuzz_one(data, length);
}

static uint64_t parse_number(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	if (end == text || *end)
		errx(2, "%s: not a number", text);
	return n;
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
	uint64_t seconds = 0, inputs = 0, n;
	time_t begin = time(NULL);
	int c;

	while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		switch (c) {
		case 's':
			seed = parse_number(optarg);
			break;
		case 't':
			seconds = parse_number(optarg);
			break;
		case 'n':
			inputs = parse_number(optarg);
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
		current = seed + n;
		one_input();
	}
	printf("inputs: %llu\noperations: %llu\n", (unsigned long long)n, fuzz_operations);
	return 0;
}
