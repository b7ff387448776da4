/* SPDX-License-Identifier: MIT */
/*
 * What only the bench module can do
 */
#ifndef BENCH_KERNEL_H
#define BENCH_KERNEL_H

#include <stdint.h>

#include "module/twheel_bench.h"

/* Move CLOCK_BOOTTIME forward by @ns, as a suspend that long does. */
void kernel_jump(uint64_t ns);
/* The time the CPU has not been idle. */
uint64_t kernel_busy(void);
/* Run a facility that exists only inside the kernel. */
void kernel_run(struct twheel_bench_run *run);
/* Watch how long twheel holds locks and keeps interrupts off; and tell. */
void kernel_watch(void);
void kernel_watched(struct twheel_bench_watch *watch);

#endif /* BENCH_KERNEL_H */
