/* SPDX-License-Identifier: MIT */
/*
 * The machine that a test runs on: files of its kernel, users, free memory
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NOBODY	65534

/* Write a line into a file of the kernel. Return false, with errno set, if that fails. */
bool write_line(const char *path, const char *line);
bool read_line(const char *path, char *line, unsigned int size);
uint64_t read_number(const char *path);

void become_nobody(void);

/*
 * Make the kernel keep few free pages for each CPU, so that the effect of a test's own pages can
 * be seen: otherwise it returns them by the thousand, no matter which task had them.
 */
void keep_few_free_pages(void);
