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

/**
 * bench_bytes() - bytes of a timer, and how many are freed by cancelling
 * @run: the run.
 * @work: its work.
 *
 * The handles that the program keeps do not count.
 */
void bench_bytes(const struct run *run, struct work *work)
{
	double before, full, after;
	struct cost cost;

	before = free_bytes() - (double)work->pending * run->facility->handle;
	run->facility->open(work);
	if (!bench_fill(run, work, "bytes", &cost))
		return;
	full = free_bytes();
	bench_say(run, "bytes", (before - full) / work->pending, "bytes", work->pending);

	cost = bench_measure(run, work, BENCH_CANCEL, work->pending);
	if (cost.done < work->pending)
		return;
	after = free_bytes();
	bench_say(run, "given_back", 100 * (after - full) / (before - full), "%",
		  work->pending);
}
