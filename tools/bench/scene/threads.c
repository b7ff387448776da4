// SPDX-License-Identifier: MIT
/*
 * Threads that share a wheel, compared with threads that have timerfds, for twheel-bench
 *
 * Not in the icount VM, which has one CPU: only the ratios are meaningful. Each thread has 1,024
 * timers more.
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bench.h"

#define MAX_THREADS	4

struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	/* The wheel of all threads, or -1: each has timerfds. */
	int wheel;
	int fd[BENCH_BATCH_MAX];
	/* Also let timers expire, and read them. */
	bool reads;
	uint64_t began_ns, end_ns;
};

/* Add a batch and cancel it; perhaps add one that is due, and read as many events. */
static void use_wheel(const struct worker *worker, size_t batch)
{
	static __thread struct twheel_add adds[BENCH_BATCH_MAX];
	static __thread struct twheel_event events[BENCH_BATCH_MAX];
	static __thread uint64_t ids[BENCH_BATCH_MAX];
	size_t i, done;

	for (i = 0; i < batch; i++)
		adds[i].time_ns = BENCH_SPAN_NS;
	bench_add_all(worker->wheel, adds, batch);
	for (i = 0; i < batch; i++) {
		ids[i] = adds[i].id;
		adds[i].time_ns = 0;
	}
	if (twheel_cancel_batch(worker->wheel, ids, NULL, batch) != (int)batch)
		err(1, "TWHEEL_CANCEL_BATCH");
	if (!worker->reads)
		return;
	bench_add_all(worker->wheel, adds, batch);
	for (done = 0; done < batch;) {
		ssize_t got = twheel_read(worker->wheel, events, batch - done);

		if (got < 0)
			err(1, "read");
		done += got;
	}
}

/* Do the same with a timerfd for each timer; @batch divides their number. */
static void use_timerfds(const struct worker *worker, size_t first, size_t batch)
{
	const int *fd = worker->fd + first % BENCH_BATCH_MAX;
	static const struct itimerspec times[] = {
		{ .it_value.tv_sec = BENCH_SPAN_NS / SEC }, { }, { .it_value.tv_nsec = 1 },
	};
	uint64_t expired;
	size_t i, j;

	for (j = 0; j < ARRAY_SIZE(times) - !worker->reads; j++)
		for (i = 0; i < batch; i++)
			if (timerfd_settime(fd[i], 0, &times[j], NULL))
				err(1, "timerfd_settime");
	for (i = 0; i < batch && worker->reads; i++)
		if (read(fd[i], &expired, sizeof(expired)) != sizeof(expired))
			err(1, "read");
}

static void *run_worker(void *arg)
{
	struct worker *worker = arg;
	static const struct itimerspec last = { .it_value.tv_sec = BENCH_SPAN_NS / SEC };
	struct twheel_add adds[BENCH_BATCH_MAX] = { };
	size_t batch = work.batch, done, i;

	for (i = 0; i < BENCH_BATCH_MAX; i++) {
		adds[i].time_ns = BENCH_SPAN_NS;
		worker->fd[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		if (worker->fd[i] < 0 || (worker->wheel < 0 &&
					  timerfd_settime(worker->fd[i], 0, &last, NULL)))
			err(1, "timerfd");
	}
	if (worker->wheel >= 0)
		bench_add_all(worker->wheel, adds, BENCH_BATCH_MAX);
	pthread_barrier_wait(worker->start);
	worker->began_ns = now_ns();
	for (done = 0; done < work.pending; done += batch)
		if (worker->wheel < 0)
			use_timerfds(worker, done, batch);
		else
			use_wheel(worker, batch);
	worker->end_ns = now_ns();
	for (i = 0; i < BENCH_BATCH_MAX; i++)
		close(worker->fd[i]);
	return NULL;
}

/* Return the time from the first thread's start to the last one's end. */
static double race(int wheel, size_t n, bool reads)
{
	static struct worker workers[MAX_THREADS];
	pthread_barrier_t start;
	uint64_t began = UINT64_MAX, end = 0;
	size_t i;

	pthread_barrier_init(&start, NULL, n);
	for (i = 0; i < n; i++) {
		workers[i].start = &start;
		workers[i].wheel = wheel;
		workers[i].reads = reads;
		if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]))
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

/* How many times as fast as timerfds a wheel is that threads share. */
static void bench_threads(void)
{
	int wheel = bench_wheel(MSEC, 256, 0);
	char op[32];
	size_t i;

	for (i = 0; i < 6; i++) {
		size_t n = 1 << i % 3;
		bool reads = i >= 3;

		snprintf(op, sizeof(op), "threads_%s_%zu", reads ? "expire" : "change", n);
		bench_say(op, race(-1, n, reads) / race(wheel, n, reads), "ratio");
	}
}

OPERATION(threads) = { "threads", bench_threads, .opens = true };
