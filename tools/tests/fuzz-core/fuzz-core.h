/* SPDX-License-Identifier: MIT */
/*
 * The fuzzer of the core, for the programs that feed it
 */
#ifndef _NATIVE_FUZZ_CORE_H
#define _NATIVE_FUZZ_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Operations so far, those of all inputs. */
extern unsigned long long fuzz_operations;
/* Print every operation on standard error. */
extern bool fuzz_verbose;
/* How to repeat the running input, for the message of a failed check; or NULL. */
extern const char *fuzz_repeat;

/* Run one input; it returns only if all checks held. */
void fuzz_one(const uint8_t *data, size_t length);

/* The entry points of libFuzzer, by its names for them. */
int libfuzzer_begin(int *argc, char ***argv) __asm__("LLVMFuzzerInitialize");
int libfuzzer_input(const uint8_t *data, size_t length) __asm__("LLVMFuzzerTestOneInput");

#endif /* _NATIVE_FUZZ_CORE_H */
