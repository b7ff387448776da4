/* SPDX-License-Identifier: MIT */
/*
 * What the programs that fuzz the core share
 */
#ifndef _NATIVE_FUZZ_CORE_H
#define _NATIVE_FUZZ_CORE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kunit/fuzz.h"

/* How to repeat the running input, for the message of a failed check. */
static char fuzz_repeat[80];

static inline void print_operation(const struct model *m, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "clock %llu, %llu pending, %llu expired: ", m->wheel.now,
		m->nr_pending, m->nr_expired);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static inline void wrong(const struct model *m, const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: not so: %s\n"
		"size %u, tick %llu, clock %llu, advanced to %llu, %s\n",
		file, line, what, m->size, m->tick, m->wheel.now, m->now,
		m->more ? "more to do" : "nothing to do");
	if (*fuzz_repeat)
		fprintf(stderr, "repeat it: %s\n", fuzz_repeat);
	abort();
}

/* The entry points of libFuzzer, by its names for them. */
int libfuzzer_begin(int *argc, char ***argv) __asm__("LLVMFuzzerInitialize");
int libfuzzer_input(const uint8_t *data, size_t length) __asm__("LLVMFuzzerTestOneInput");

#endif /* _NATIVE_FUZZ_CORE_H */
