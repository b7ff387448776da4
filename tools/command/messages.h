/* SPDX-License-Identifier: MIT */
/*
 * Messages to the user: complaints, exit statuses, and the names of clocks
 */
#ifndef MESSAGES_H
#define MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "helpers.h"

/* Exit statuses of the command. */
#define STATUS_OK	0
#define STATUS_ERROR	1
#define STATUS_USAGE	2

__printf(1, 2) void complain(const char *format, ...);

const char *clock_name(uint32_t clock_id);
bool clock_by_name(const char *name, uint32_t *clock_id);

#endif /* MESSAGES_H */
