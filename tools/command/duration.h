/* SPDX-License-Identifier: MIT */
/*
 * Durations as people write them: 150us, 1.5s, 30m, 2h30m
 */
#ifndef DURATION_H
#define DURATION_H

#include <stdint.h>

/* Room for any duration that duration_format() writes. */
#define DURATION_TEXT	32

int duration_parse(const char *text, uint64_t *ns);
char *duration_format(int64_t ns, char text[DURATION_TEXT]);

#endif /* DURATION_H */
