// SPDX-License-Identifier: MIT
/*
 * Two threads compared with one, for twheel-bench: not in the icount VM, which has
 * one CPU, so only the ratios are meaningful
 */
#include <err.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"

#define THREADS		2
#define ROUNDS		7

/* One thread's part: adds and cancels its timers, batch by batch. */
struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	const struct run *run;
	int wheel;
	uint64_t began_ns, end_ns;
};

static void turn_over(const struct worker *worker)
{
	static __thread struct twheel_add adds[BENCH_BATCH_MAX];
	static __thread uint64_t ids[BENCH_BATCH_MAX];
	size_t batch = worker->run->batch;
	size_t done, i;

	for (i = 0; i < batch; i++)
		adds[i].time_ns = BENCH_SPAN_NS;
	for (done = 0; done < worker->run->pending; done += batch) {
		bench_add_all(worker->wheel, adds, batch);
		for (i = 0; i < batch; i++)
			ids[i] = adds[i].id;
		if (twheel_cancel_batch(worker->wheel, ids, NULL, batch) != (int)batch)
			err(1, "TWHEEL_CANCEL_BATCH");
	}
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	pthread_barrier_wait(worker->start);
	worker->began_ns = now_ns();
	turn_over(worker);
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

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
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
	double two_fds[ROUNDS], one_fd[ROUNDS];
	int wheels[THREADS];
	size_t i;

	(void)unused;
	for (i = 0; i < THREADS; i++)
		wheels[i] = bench_wheel(MSEC, 256, 0);
	for (i = 0; i < ROUNDS; i++) {
		const int same[THREADS] = { wheels[0], wheels[0] };
		double one = race(run, wheels, 1);

		two_fds[i] = THREADS * one / race(run, wheels, THREADS);
		one_fd[i] = THREADS * one / race(run, same, THREADS);
	}
	bench_say(run, "threads_two_fds", median(two_fds), "ratio", run->pending);
	bench_say(run, "threads_one_fd", median(one_fd), "ratio", run->pending);
}
