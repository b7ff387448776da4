// SPDX-License-Identifier: MIT
/*
 * The cost of timers in C, for tools/bindings/bench: one line, in nanoseconds for each timer
 *
 * Deadlines are spread over 30 minutes; then all timers are postponed, stopped, started to
 * expire at once, and called. The programs in other languages do the same.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <libtwheel.h>

static size_t called;

static void call(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	(void)handle;
	called++;
}

/* Nanoseconds since the last call of this function, for each timer. */
static double lap(size_t timers)
{
	static uint64_t last;
	uint64_t now, before = last;

	twheel_now(CLOCK_MONOTONIC, &now);
	last = now;
	return (double)(now - before) / timers;
}

int main(int argc, char **argv)
{
	size_t i, n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	struct twheel_loop_config config = { .flags = TWHEEL_LOOP_BY_HAND };
	struct twheel_loop *loop = twheel_loop_new(&config);
	struct twheel_handle *timers = calloc(n, sizeof(*timers));
	double start, again, stop;

	if (!loop || !timers)
		err(1, "no loop");
	for (i = 0; i < n; i++)
		timers[i].callback = call;
	lap(n);
	for (i = 0; i < n; i++)
		twheel_start(loop, &timers[i], (i * 7919 % 1800000 + 1000) * TWHEEL_MSEC);
	twheel_loop_flush(loop);
	start = lap(n);
	for (i = 0; i < n; i++)
		twheel_again(&timers[i], 3600 * TWHEEL_SEC);
	again = lap(n);
	for (i = 0; i < n; i++)
		twheel_stop(&timers[i]);
	twheel_loop_flush(loop);
	stop = lap(n);
	for (i = 0; i < n; i++)
		twheel_start(loop, &timers[i], TWHEEL_MSEC);
	twheel_loop_flush(loop);
	usleep(20000);
	lap(n);
	while (called < n)
		twheel_loop_dispatch(loop);
	printf("%-28s %7.0f %7.0f %7.0f %7.0f\n", "C, a loop", start, again, stop, lap(n));
	twheel_loop_free(loop);
	return 0;
}
