/* SPDX-License-Identifier: MIT */
/*
 * The machine that a test runs on: files of its kernel, users, free memory
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* The user that nothing belongs to. */
#define NOBODY	65534

/* Writes a line into a file of the kernel; false, with errno set, if it cannot. */
bool write_line(const char *path, const char *line);
bool read_line(const char *path, char *line, unsigned int size);
uint64_t read_number(const char *path);

void become_nobody(void);

/*
 * When much memory is freed, the kernel keeps thousands of pages at hand for each
 * CPU, and puts them back by the thousand in one go, whoever had them. It is told to
 * keep fewer, so that what is ours can be seen.
 */
void keep_few_free_pages(void);

#endif /* MACHINE_H */
