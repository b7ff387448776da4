// SPDX-License-Identifier: MIT
/*
 * Two threads compared with one, for twheel-bench: not in the counting machine, which has
 * one CPU, so only the ratios are meaningful
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "libtwheel.h"

#define THREADS		2
#define ROUNDS		7

/* One thread's part: adds and cancels its timers, batch by batch, in a loop or a wheel. */
struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	const struct run *run;
	struct twheel_loop *loop;
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
		if (twheel_add_batch(worker->wheel, adds, batch) != (int)batch)
			err(1, "TWHEEL_ADD_BATCH");
		for (i = 0; i < batch; i++)
			ids[i] = adds[i].id;
		if (twheel_cancel_batch(worker->wheel, ids, NULL, batch) != (int)batch)
			err(1, "TWHEEL_CANCEL_BATCH");
	}
}

static void ignore(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	(void)handle;
}

static void turn_over_loop(const struct worker *worker)
{
	static __thread struct twheel_handle timers[BENCH_BATCH_MAX];
	size_t batch = worker->run->batch;
	size_t done, i;

	for (i = 0; i < batch; i++)
		timers[i].callback = ignore;
	for (done = 0; done < worker->run->pending; done += batch) {
		for (i = 0; i < batch; i++)
			if (twheel_start(worker->loop, &timers[i], BENCH_SPAN_NS))
				err(1, "twheel_start");
		if (twheel_loop_flush(worker->loop))
			err(1, "twheel_loop_flush");
		for (i = 0; i < batch; i++)
			if (twheel_stop(&timers[i]) < 0)
				err(1, "twheel_stop");
		if (twheel_loop_flush(worker->loop))
			err(1, "twheel_loop_flush");
	}
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	pthread_barrier_wait(worker->start);
	worker->began_ns = now_ns();
	if (worker->loop)
		turn_over_loop(worker);
	else
		turn_over(worker);
	worker->end_ns = now_ns();
	return NULL;
}

/* The time from the first thread's start to the last one's end. */
static uint64_t race(const struct run *run, const int *wheels, struct twheel_loop **loops,
		     size_t n)
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
			.loop = loops ? loops[i] : NULL,
			.wheel = wheels ? wheels[i] : -1,
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

static void make_loops(struct twheel_loop **loops, uint32_t backend)
{
	struct twheel_loop_config config = {
		.backend = backend,
		.flags = TWHEEL_LOOP_BY_HAND,
	};
	size_t i;

	for (i = 0; i < THREADS; i++) {
		loops[i] = twheel_loop_new(&config);
		if (!loops[i])
			err(1, "twheel_loop_new");
	}
}

/**
 * bench_threads() - the throughput of two threads
 * @run: the run.
 * @unused: its work.
 *
 * With a wheel each, and with one for both, compared with one thread; with a loop each,
 * compared with two threads that share a wheel.
 */
void bench_threads(const struct run *run, struct work *unused)
{
	double two_fds[ROUNDS], one_fd[ROUNDS], device[ROUNDS], user[ROUNDS];
	struct twheel_loop *device_loops[THREADS], *user_loops[THREADS];
	int wheels[THREADS];
	size_t i;

	(void)unused;
	for (i = 0; i < THREADS; i++) {
		wheels[i] = twheel_open(NULL, O_CLOEXEC);
		if (wheels[i] < 0)
			err(1, "%s", TWHEEL_DEVICE);
	}
	make_loops(device_loops, TWHEEL_BACKEND_DEVICE);
	make_loops(user_loops, TWHEEL_BACKEND_USER);
	for (i = 0; i < ROUNDS; i++) {
		const int same[THREADS] = { wheels[0], wheels[0] };
		double one = race(run, wheels, NULL, 1);
		double shared = race(run, same, NULL, THREADS);

		two_fds[i] = THREADS * one / race(run, wheels, NULL, THREADS);
		one_fd[i] = THREADS * one / shared;
		device[i] = shared / race(run, NULL, device_loops, THREADS);
		user[i] = shared / race(run, NULL, user_loops, THREADS);
	}
	bench_say(run, "threads_two_fds", median(two_fds), "ratio", run->pending);
	bench_say(run, "threads_one_fd", median(one_fd), "ratio", run->pending);
	bench_say(run, "threads_two_loops", median(device), "ratio", run->pending);
	bench_say(run, "threads_two_user_loops", median(user), "ratio", run->pending);
}
