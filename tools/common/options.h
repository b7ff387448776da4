/* SPDX-License-Identifier: MIT */
/*
 * What command lines say
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>

/* An option's value, or the program ends with status 2. */
uint64_t number_or_exit(const char *option, const char *text, uint64_t min, uint64_t max);

#endif /* OPTIONS_H */
