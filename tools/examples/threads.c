// SPDX-License-Identifier: MIT
/*
 * One wheel per thread, and timers that another thread hands over
 *
 * Four workers have a loop each, with 100,000 timers over a second. Nothing is shared, so
 * nothing is locked. The main thread hands each worker one more timer; when that expires, the
 * worker ends.
 *
 *	cc -O2 -pthread -o with-threads threads.c $(pkg-config --cflags --libs libtwheel)
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <libtwheel.h>

#define WORKERS	4
#define TIMERS	100000

struct worker {
	pthread_t thread;
	struct twheel_loop *loop;
	struct twheel_handle timer[TIMERS];
	long expired;
	int ended;
};

/* A timer on its way to another thread. */
struct parcel {
	struct twheel_message message;
	struct twheel_handle timer;
};

static void on_timer(struct twheel_loop *loop, struct twheel_handle *timer)
{
	struct worker *worker = timer->data;

	(void)loop;
	worker->expired++;
}

static void on_end(struct twheel_loop *loop, struct twheel_handle *timer)
{
	struct worker *worker = twheel_loop_data(loop);

	(void)timer;
	worker->ended = 1;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	int i;

	for (i = 0; i < TIMERS; i++) {
		twheel_handle_init(&worker->timer[i], on_timer, worker);
		if (twheel_start(worker->loop, &worker->timer[i], i * TWHEEL_SEC / TIMERS))
			err(1, "twheel_start");
	}
	while (!worker->ended)
		if (twheel_loop_wait(worker->loop, -1) < 0)
			err(1, "twheel_loop_wait");
	return NULL;
}

/* In the thread of the worker. */
static void unpack(struct twheel_loop *loop, struct twheel_message *message)
{
	struct parcel *parcel = (struct parcel *)message;

	if (twheel_start(loop, &parcel->timer, 2 * TWHEEL_SEC))
		err(1, "twheel_start");
}

int main(void)
{
	struct worker *worker = calloc(WORKERS, sizeof(*worker));
	struct parcel parcel[WORKERS] = { };
	int i;

	for (i = 0; i < WORKERS; i++) {
		struct twheel_loop_config config = { .data = &worker[i] };

		worker[i].loop = twheel_loop_new(&config);
		if (!worker[i].loop || pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			err(1, "worker %d", i);
	}
	for (i = 0; i < WORKERS; i++) {
		parcel[i].message.call = unpack;
		parcel[i].timer.callback = on_end;
		if (twheel_loop_post(worker[i].loop, &parcel[i].message))
			err(1, "twheel_loop_post");
	}
	for (i = 0; i < WORKERS; i++) {
		pthread_join(worker[i].thread, NULL);
		twheel_loop_free(worker[i].loop);
		printf("worker %d: %ld timers expired\n", i, worker[i].expired);
	}
	free(worker);
	return 0;
}
