/* SPDX-License-Identifier: MIT */
/*
 * Results of tests, printed as TAP
 */
#pragma once

#include <stdbool.h>

#include "helpers.h"

/* Print a result, a note, a skipped test, and the plan, which returns the exit status. */
__printf(2, 3) bool tap_result(bool ok, const char *format, ...);
__printf(1, 2) void tap_note(const char *format, ...);
__printf(2, 3) void tap_skip(const char *why, const char *format, ...);
int tap_done(void);

/* Print the message and the text of errno, and exit: the test cannot be done. */
__printf(1, 2) __attribute__((__noreturn__)) void bail_out(const char *format, ...);
