/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random operations on the wheel and on its model
 */
#ifndef _FUZZ_H
#define _FUZZ_H

#include "model.h"

/* Prints an operation, which @format and what follows describe. */
typedef void fuzz_trace_fn(const struct model *m, const char *format, ...);

/* Operations so far, those of all inputs. */
extern u64 fuzz_operations;
/* Called for every operation, unless it is NULL. */
extern fuzz_trace_fn *fuzz_trace;

/* Run one input; it returns only if all checks held. */
void fuzz_one(const u8 *data, size_t length, model_wrong_fn *wrong);

#endif /* _FUZZ_H */
