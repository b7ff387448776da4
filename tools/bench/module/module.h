/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The declarations that the parts of the bench module share
 */
#ifndef _BENCH_MODULE_H
#define _BENCH_MODULE_H

#include <linux/tracepoint.h>

#include "twheel_bench.h"

/* run.c: facilities inside the kernel. */
int bench_run(struct twheel_bench_run *run);

/* watch.c: how long locks are held and interrupts are off. */
int bench_watch(void);
void bench_watched(struct twheel_bench_watch *watch);

/* clock.c: moves CLOCK_BOOTTIME forward, and counts the CPU's work. */
int bench_clock_init(void);
void bench_clock_exit(void);
void bench_jump(u64 ns);
/* The time that the CPU has been busy, in ticks of its time stamp counter. */
int bench_busy(u64 *ticks);
/* The address of a function of the kernel, or an error. */
void *bench_symbol(const char *name);

/* A function that a tracepoint calls, while it is attached. */
struct bench_probe {
	const char *name;
	void *function;
	struct tracepoint *tp;
};

int bench_attach(struct bench_probe *probes, unsigned int n);
void bench_detach(struct bench_probe *probes, unsigned int n);

#endif /* _BENCH_MODULE_H */
