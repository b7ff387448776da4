/* SPDX-License-Identifier: MIT */
/*
 * What command lines say
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An option's value, or the program ends with status 2. */
uint64_t number_or_exit(const char *option, const char *text, uint64_t min, uint64_t max);

/* Whether @name is among @names, which end with NULL. Where there are none, each is. */
bool is_wanted(const char *name, char *const *names);

/*
 * The program ends with status 2 if one of @names is unknown. Each of the @n entries of
 * @table, which are of @size, begins with a pointer to its name.
 */
void names_or_exit(char *const *names, const void *table, size_t n, size_t size);

#endif /* OPTIONS_H */
