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
/* Any of the requests, which has to succeed. */
void kernel_request(unsigned long number, void *arg);

#endif /* BENCH_KERNEL_H */
