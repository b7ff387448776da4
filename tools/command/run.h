/* SPDX-License-Identifier: MIT */
/*
 * `twheel run`: a wheel driven by lines of standard input
 */
#ifndef RUN_H
#define RUN_H

#include <stdio.h>

#include "session.h"

int run(struct session *session);
void run_help(FILE *stream);

#endif /* RUN_H */
