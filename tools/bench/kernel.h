/* SPDX-License-Identifier: MIT */
/*
 * Requests to the bench module
 */
#ifndef BENCH_KERNEL_H
#define BENCH_KERNEL_H

#include <stdint.h>

#include "module/twheel_bench.h"

/* Move CLOCK_BOOTTIME forward by @ns, as a suspend of that length does. */
void kernel_jump(uint64_t ns);
/* The time that the CPU has been busy. */
uint64_t kernel_busy(void);
/* Run a facility that exists only inside the kernel. */
void kernel_run(struct twheel_bench_run *run);
/* Measure how long twheel holds locks and keeps interrupts off; and return the result. */
void kernel_watch(void);
void kernel_watched(struct twheel_bench_watch *watch);

#endif /* BENCH_KERNEL_H */
