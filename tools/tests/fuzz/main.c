// SPDX-License-Identifier: MIT
/*
 * twheel-fuzz - a fuzzer of the whole ABI of /dev/twheel
 *
 * Threads make valid, nearly valid and random calls, with arguments in all kinds of
 * memory. The calls depend on a seed; each thread has its own stream of random numbers.
 * fuzz.h describes how results are checked. Prints TAP.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "fuzz.h"
#include "machine.h"
#include "options.h"
#include "tap.h"

#define MAX_THREADS	16

static const char *const call_name[NR_CALLS] = {
	"open", "setup", "add", "cancel", "modify", "query", "info", "ring", "add_batch",
	"cancel_batch", "modify_batch", "list", "read", "poll", "map", "take", "spoil",
	"io_uring",
};

struct fuzz_options {
	uint64_t ops;
	uint64_t seconds;
	uint64_t seed;
	uint64_t threads;
};

struct thread {
	struct fuzzer fuzzer;
	pthread_t id;
	uint64_t ops;		/* when to end */
	uint64_t end;		/* the same as a time */
};

static void *run(void *arg)
{
	struct thread *thread = arg;
	struct fuzzer *fuzzer = &thread->fuzzer;

	memory_open(&fuzzer->memory);
	uring_open(fuzzer);
	model_open(fuzzer);
	while (!fuzzer->fuzz->stop && fuzzer->ops < thread->ops && now_ns() < thread->end)
		model_act(fuzzer);
	model_close(fuzzer);
	uring_close(fuzzer);
	memory_close(&fuzzer->memory);
	return NULL;
}

static void add_up(const struct thread *thread, unsigned int threads, uint64_t *ops)
{
	uint64_t done, refused;
	unsigned int i, call;

	*ops = 0;
	for (call = 0; call < NR_CALLS; call++) {
		done = 0;
		refused = 0;
		for (i = 0; i < threads; i++) {
			done += thread[i].fuzzer.done[call];
			refused += thread[i].fuzzer.refused[call];
		}
		*ops += done + refused;
		tap_note("%-13s %9llu done, %9llu refused", call_name[call],
			 (unsigned long long)done, (unsigned long long)refused);
	}
}

static bool fuzz(const struct fuzz_options *options)
{
	static struct thread thread[MAX_THREADS];
	static struct fuzz fuzz;
	uint64_t ops, end = now_ns() + options->seconds * SEC;
	unsigned int i;

	fuzz.max_timers = read_number("/sys/module/twheel/parameters/max_timers");
	for (i = 0; i < options->threads; i++) {
		thread[i].fuzzer.fuzz = &fuzz;
		thread[i].ops = options->ops / options->threads;
		thread[i].end = end;
		chance_init(&thread[i].fuzzer.chance, options->seed, i);
	}
	for (i = 0; i < options->threads; i++) {
		if (pthread_create(&thread[i].id, NULL, run, &thread[i]))
			bail_out("cannot create a thread");
	}
	for (i = 0; i < options->threads; i++)
		pthread_join(thread[i].id, NULL);
	add_up(thread, options->threads, &ops);
	/* SECURITY: arguments */
	return tap_result(!fuzz.failed, "fuzzing (%llu operations, seed %llu, %u threads)",
			  (unsigned long long)ops, (unsigned long long)options->seed,
			  (unsigned int)options->threads);
}

int main(int argc, char **argv)
{
	struct fuzz_options options = { .seed = 1, .threads = 4 };
	bool nobody = false;
	const struct program_option list[] = {
		{ "ops", "N", "end after N operations",
		  .number = &options.ops, .min = 1, .max = UINT64_MAX },
		{ "seconds", "N", "end after N seconds",
		  .number = &options.seconds, .min = 1, .max = 1000000 },
		{ "seed", "N", "seed of the random numbers (default: 1)",
		  .number = &options.seed, .max = UINT64_MAX },
		{ "threads", "N", "number of threads, 1 to 16 (default: 4)",
		  .number = &options.threads, .min = 1, .max = MAX_THREADS },
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
	if (!options.ops)
		options.ops = options.seconds ? UINT64_MAX : 100000;
	if (!options.seconds)
		options.seconds = 1000000;
	puts("TAP version 13");
	fuzz(&options);
	return tap_done();
}
