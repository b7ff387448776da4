// SPDX-License-Identifier: MIT
/*
 * Two threads compared with one, for twheel-bench: not in the icount VM, which has
 * one CPU, so only the ratios are meaningful
 */
#include <err.h>
#include <pthread.h>

#include "bench.h"

#define THREADS		2

/* One thread's part: adds and cancels its timers, batch by batch. */
struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	const struct run *run;
	int wheel;
	uint64_t began_ns, end_ns;
};

static void *work(void *arg)
{
	static __thread struct twheel_add adds[BENCH_BATCH_MAX];
	static __thread uint64_t ids[BENCH_BATCH_MAX];
	struct worker *worker = arg;
	size_t batch = worker->run->batch;
	size_t done, i;

	for (i = 0; i < batch; i++)
		adds[i].time_ns = BENCH_SPAN_NS;
	pthread_barrier_wait(worker->start);
	worker->began_ns = now_ns();
	for (done = 0; done < worker->run->pending; done += batch) {
		bench_add_all(worker->wheel, adds, batch);
		for (i = 0; i < batch; i++)
			ids[i] = adds[i].id;
		if (twheel_cancel_batch(worker->wheel, ids, NULL, batch) != (int)batch)
			err(1, "TWHEEL_CANCEL_BATCH");
	}
	worker->end_ns = now_ns();
	return NULL;
}

/* The time from the first thread's start to the last one's end. */
static uint64_t race(const struct run *run, const int *wheels, size_t n)
{
	struct worker workers[THREADS];
	pthread_barrier_t start;
	uint64_t began = UINT64_MAX, end = 0;
	size_t i;

	pthread_barrier_init(&start, NULL, n);
	for (i = 0; i < n; i++) {
		workers[i] = (struct worker){
			.start = &start,
			.run = run,
			.wheel = wheels[i],
		};
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			errx(1, "pthread_create");
	}
	for (i = 0; i < n; i++) {
		pthread_join(workers[i].thread, NULL);
		began = began < workers[i].began_ns ? began : workers[i].began_ns;
		end = end > workers[i].end_ns ? end : workers[i].end_ns;
	}
	pthread_barrier_destroy(&start);
	return end - began;
}

/**
 * bench_threads() - the throughput of two threads, compared with one
 * @run: the run.
 * @unused: its work.
 *
 * With a wheel each, and with one for both.
 */
void bench_threads(const struct run *run, struct work *unused)
{
	int first = bench_wheel(MSEC, 256, 0), second = bench_wheel(MSEC, 256, 0);
	const int each[THREADS] = { first, second }, same[THREADS] = { first, first };
	double one = race(run, each, 1);

	(void)unused;
	bench_say(run, "threads_two_fds", THREADS * one / race(run, each, THREADS), "ratio",
		  run->pending);
	bench_say(run, "threads_one_fd", THREADS * one / race(run, same, THREADS), "ratio",
		  run->pending);
}
