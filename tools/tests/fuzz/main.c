// SPDX-License-Identifier: MIT
/*
 * twheel-fuzz - a fuzzer of the whole ABI of /dev/twheel
 *
 * Threads make valid, nearly valid and random calls, with arguments in all kinds of
 * memory. The calls depend on a seed; each thread has its own stream of random numbers.
 * fuzz.h describes how results are checked. Prints TAP.
 */
#include <stdio.h>

#include "clock.h"
#include "fuzz.h"
#include "machine.h"
#include "options.h"
#include "tap.h"

#define MAX_THREADS	16

static const char *const call_name[NR_CALLS] = {
	"setup", "add", "cancel", "modify", "query", "info", "ring",
	[_IOC_NR(TWHEEL_ADD_BATCH)] = "add_batch", "cancel_batch", "modify_batch", "list",
	[CALL_OPEN] = "open", "read", "poll", "map", "take", "spoil", "io_uring",
};

static void *run(void *arg)
{
	struct fuzzer *fuzzer = arg;
	struct fuzz *fuzz = fuzzer->fuzz;

	memory_open(&fuzzer->memory);
	if (!ring_open(&fuzzer->ring, 0))
		bail_out("cannot make an io_uring");
	model_open(fuzzer);
	while (!fuzz->stop && fuzzer->ops < fuzz->max_ops && now_ns() < fuzz->end)
		model_act(fuzzer);
	model_close(fuzzer);
	close(fuzzer->ring.fd);
	return NULL;
}

/* Print how often each call was made; return whether all have succeeded. */
static bool print_counts(const struct fuzzer *fuzzer, unsigned int threads)
{
	unsigned int i, call;
	bool all = true;

	for (call = 0; call < NR_CALLS; call++) {
		uint64_t done = 0, refused = 0;

		for (i = 0; i < threads; i++) {
			done += fuzzer[i].count[call][0];
			refused += fuzzer[i].count[call][1];
		}
		if (!call_name[call])
			continue;
		tap_note("%-13s %9llu done, %9llu refused", call_name[call],
			 (unsigned long long)done, (unsigned long long)refused);
		all = all && done;
	}
	return all;
}

static void fuzz(uint64_t ops, uint64_t seconds, uint64_t seed, unsigned int threads)
{
	static struct fuzzer fuzzer[MAX_THREADS];
	struct fuzz fuzz = {
		.max_timers = read_number("/sys/module/twheel/parameters/max_timers"),
		.max_ops = ops / threads,
		.end = now_ns() + seconds * SEC,
	};
	unsigned int i;
	bool all;

	for (i = 0; i < threads; i++) {
		fuzzer[i].fuzz = &fuzz;
		chance_init(&fuzzer[i].chance, seed, i);
		if (pthread_create(&fuzzer[i].thread, NULL, run, &fuzzer[i]))
			bail_out("cannot create a thread");
	}
	for (i = 0, ops = 0; i < threads; i++) {
		pthread_join(fuzzer[i].thread, NULL);
		ops += fuzzer[i].ops;
	}
	all = print_counts(fuzzer, threads);
	/* SECURITY: arguments; extreme times and sizes; missing pages; the ring of events */
	tap_result(all && !fuzz.failed, "fuzzing (%llu operations, seed %llu, %u threads)",
		   (unsigned long long)ops, (unsigned long long)seed, threads);
}

int main(int argc, char **argv)
{
	uint64_t ops = 0, seconds = 0, seed = 1, threads = 4;
	bool nobody = false;
	const struct program_option list[] = {
		{ "ops", "N", "end after N operations",
		  .number = &ops, .min = 1, .max = UINT64_MAX },
		{ "seconds", "N", "end after N seconds",
		  .number = &seconds, .min = 1, .max = 1000000 },
		{ "seed", "N", "seed of the random numbers (default: 1)",
		  .number = &seed, .max = UINT64_MAX },
		{ "threads", "N", "number of threads, 1 to 16 (default: 4)",
		  .number = &threads, .min = 1, .max = MAX_THREADS },
		{ "nobody", NULL, "become an unprivileged user first", .flag = &nobody },
		{ }
	};

	words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: twheel-fuzz [OPTIONS]\n"
		"Fuzz all calls of /dev/twheel and print the results as TAP. Without --ops and\n"
		"--seconds, 100000 operations.\n",
		.options = list,
	});
	if (nobody)
		become_nobody();
	if (!ops)
		ops = seconds ? UINT64_MAX : 100000;
	puts("TAP version 13");
	fuzz(ops, seconds ? seconds : 1000000, seed, threads);
	return tap_done();
}
