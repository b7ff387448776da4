// SPDX-License-Identifier: MIT
/*
 * Timers of libtwheel in a program with a libevent loop
 *
 * A heartbeat comes every 200 ms, and puts an idle timeout of 500 ms off. After the fifth one
 * there are no more, and the idle timeout ends the program.
 *
 *	cc -O2 -o with-libevent libevent.c $(pkg-config --cflags --libs libtwheel libevent)
 */
#include <err.h>
#include <stdio.h>
#include <event2/event.h>
#include <libtwheel.h>

static struct twheel_handle heartbeat, idle;
static int beats, expired, done;

static void on_heartbeat(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	printf("heartbeat %d\n", ++beats);
	twheel_again(&idle, 500 * TWHEEL_MSEC);
	if (beats == 5)
		twheel_stop(handle);
}

static void on_idle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	(void)handle;
	puts("idle");
	done = 1;
}

static void on_ready(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	expired = 1;
}

int main(void)
{
	struct twheel_loop *loop = twheel_loop_new(NULL);
	struct event_base *base = event_base_new();
	struct event *ready;

	if (!loop || !base)
		err(1, "no loop");
	ready = event_new(base, twheel_loop_fd(loop), EV_READ | EV_PERSIST, on_ready, NULL);
	event_add(ready, NULL);

	twheel_handle_init(&heartbeat, on_heartbeat, NULL);
	twheel_handle_init(&idle, on_idle, NULL);
	twheel_repeat(loop, &heartbeat, 200 * TWHEEL_MSEC, 200 * TWHEEL_MSEC);
	twheel_start(loop, &idle, 500 * TWHEEL_MSEC);

	/* In place of event_base_dispatch(): timers come last in each turn of the loop. */
	while (!done) {
		if (twheel_loop_flush(loop))
			err(1, "twheel_loop_flush");
		event_base_loop(base, EVLOOP_ONCE);
		if (expired && twheel_loop_dispatch(loop) < 0)
			err(1, "twheel_loop_dispatch");
		expired = 0;
	}
	event_free(ready);
	event_base_free(base);
	twheel_loop_free(loop);
	return 0;
}
