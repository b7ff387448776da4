// SPDX-License-Identifier: MIT
/*
 * The cost of many processes' timers for a CPU that is idle otherwise, for twheel-bench
 *
 * In each process, timers expire one by one over some seconds. Wheels with the same tick expire
 * at the same moments, so that their processes share interrupts.
 */
#include <err.h>
#include <stdio.h>
#include <unistd.h>

#include "bench.h"
#include "chance.h"

#define PROCESSES	50
/* All processes have started when the first timer is due. */
#define LEAD_NS		(5 * SEC)
#define SPAN_NS		(10 * SEC)

static uint64_t interrupts(void)
{
	FILE *file = fopen("/proc/stat", "re");
	uintmax_t count;

	if (!file || fscanf(file, "%*[^i]intr %ju", &count) != 1)
		err(1, "/proc/stat");
	fclose(file);
	return count;
}

/* Wait for all timers of a process, and write their lateness in all to the pipe. */
static void serve(uint64_t seed, int report)
{
	struct chance chance = { .state = seed };
	uint64_t end = now_ns() + LEAD_NS + SPAN_NS + SEC, sum;
	int64_t late = 0;
	size_t i, done;

	work.facility->open();
	for (i = 0; i < work.pending; i++) {
		work.delay_ns[i] = LEAD_NS + chance_below(&chance, SPAN_NS);
		late -= now_ns() + work.delay_ns[i];
		work.facility->add(i, 1);
	}
	for (i = 0; i < work.pending; i += done) {
		done = work.facility->deliver(BENCH_BATCH_MAX, true, &sum);
		late += done * now_ns();
	}
	sleep_until(end);
	if (write(report, &late, sizeof(late)) != sizeof(late))
		err(1, "write");
}

/* Interrupts, idle time and lateness with as many timers in each of many processes. */
static void bench_shared(void)
{
	uint64_t began = now_ns(), busy, irqs, nr;
	int64_t late = 0, one;
	int report[2];

	if (pipe(report))
		err(1, "pipe");
	for (nr = 1; nr <= PROCESSES; nr++) {
		switch (fork()) {
		case 0:
			serve(nr * 88172645463325252ULL, report[1]);
			_exit(0);
		case -1:
			err(1, "fork");
		}
	}
	sleep_until(began + LEAD_NS);
	irqs = interrupts();
	busy = kernel_busy();
	sleep_for(SPAN_NS);
	busy = kernel_busy() - busy;
	irqs = interrupts() - irqs;
	for (nr = 0; nr < PROCESSES; nr++, late += one)
		if (read(report[0], &one, sizeof(one)) != sizeof(one))
			err(1, "a process failed");
	bench_say("shared_irqs", irqs * (double)SEC / SPAN_NS, "per second");
	bench_say("shared_busy", (double)busy / (SPAN_NS / MSEC), "us per second");
	bench_say("shared_late", (double)late / PROCESSES / work.pending / MSEC, "ms");
}

OPERATION(shared) = { "shared", bench_shared, .opens = true };
