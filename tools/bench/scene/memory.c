// SPDX-License-Identifier: MIT
/*
 * The machine's memory for a pending timer, in kernel and program together, for
 * twheel-bench
 */
#include <err.h>
#include <stdio.h>
#include <unistd.h>

#include "bench.h"

/* Long enough for memory that is freed late, after a grace period of RCU. */
#define SETTLE_NS	(2 * SEC)

/* Free pages are in the zones, or on the lists of the CPUs. */
static double free_bytes(void)
{
	unsigned long pages, sum = 0;
	char line[256];
	FILE *file;

	sleep_for(SETTLE_NS);
	file = fopen("/proc/zoneinfo", "r");
	if (!file)
		err(1, "/proc/zoneinfo");
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " pages free %lu", &pages) == 1 ||
		    sscanf(line, " count: %lu", &pages) == 1)
			sum += pages;
	fclose(file);
	return (double)sum * sysconf(_SC_PAGESIZE);
}

/* Bytes of a timer, without handles of the program, and how many are freed by cancelling. */
static void bench_bytes(void)
{
	double before, full, after;
	struct cost cost;

	before = free_bytes() - (double)work.pending * work.facility->handle;
	work.facility->open();
	if (!bench_fill("bytes", &cost))
		return;
	full = free_bytes();
	bench_say("bytes", (before - full) / work.pending, "bytes");

	cost = bench_measure(BENCH_CANCEL, work.pending);
	if (cost.done < work.pending)
		return;
	after = free_bytes();
	bench_say("given_back", 100 * (after - full) / (before - full), "%");
}

OPERATION(bytes) = { "bytes", bench_bytes, .opens = true, .boottime = true };
