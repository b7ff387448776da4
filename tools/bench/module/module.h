/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The declarations that the parts of the bench module share
 */
#ifndef _BENCH_MODULE_H
#define _BENCH_MODULE_H

#include "twheel_bench.h"

/* run.c: facilities inside the kernel. */
int bench_run(struct twheel_bench_run *run);

/* watch.c: how long locks are held and interrupts are off. */
int bench_watch(void);
void bench_watched(struct twheel_bench_watch *watch);

/* clock.c: moves CLOCK_BOOTTIME forward. */
int bench_clock_init(void);
void bench_clock_exit(void);
void bench_jump(u64 ns);
/* The address of a function of the kernel, or an error. */
void *bench_symbol(const char *name);

#endif /* _BENCH_MODULE_H */
