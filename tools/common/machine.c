// SPDX-License-Identifier: MIT
/*
 * The machine that a test runs on; see machine.h
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "tap.h"

#define FREE_PAGES	"/proc/sys/vm/percpu_pagelist_high_fraction"

bool write_line(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), error;
	ssize_t size = strlen(line);
	bool ok = fd >= 0 && write(fd, line, size) == size;

	error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return ok;
}

bool read_line(const char *path, char *line, unsigned int size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, line, size - 1);

	if (fd >= 0)
		close(fd);
	if (got < 0)
		return false;
	line[got] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return true;
}

uint64_t read_number(const char *path)
{
	char line[64];

	if (!read_line(path, line, sizeof(line)))
		bail_out("cannot read %s", path);
	return strtoull(line, NULL, 0);
}

void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		bail_out("cannot become user %d", NOBODY);
}

void keep_few_free_pages(void)
{
	if (!write_line(FREE_PAGES, "1000"))
		bail_out("cannot write to " FREE_PAGES);
}
