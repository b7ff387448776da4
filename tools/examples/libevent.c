// SPDX-License-Identifier: MIT
/*
 * Timers of libtwheel in a program with a libevent loop
 *
 * A heartbeat comes every 200 ms, and postpones an idle timeout of 500 ms. The fifth one is
 * the last, and the idle timeout ends the program.
 *
 *	cc -O2 -o with-libevent libevent.c $(pkg-config --cflags --libs libtwheel libevent)
 */
#include <err.h>
#include <stdio.h>
#include <event2/event.h>
#include <libtwheel.h>

static struct twheel_handle heartbeat, idle;
static struct event_base *base;
static int beats;

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
	event_base_loopbreak(base);
}

static void on_ready(evutil_socket_t fd, short what, void *loop)
{
	(void)fd;
	(void)what;
	if (twheel_loop_dispatch(loop) < 0)
		err(1, "twheel_loop_dispatch");
}

int main(void)
{
	struct twheel_loop *loop = twheel_loop_new(NULL);
	struct event *ready;

	base = event_base_new();
	if (!loop || !base)
		err(1, "no loop");
	/* With the priority of the sockets: with a lower one, a busy socket would starve it. */
	ready = event_new(base, twheel_loop_fd(loop), EV_READ | EV_PERSIST, on_ready, loop);
	event_add(ready, NULL);

	twheel_handle_init(&heartbeat, on_heartbeat, NULL);
	twheel_handle_init(&idle, on_idle, NULL);
	twheel_repeat(loop, &heartbeat, 200 * TWHEEL_MSEC, 200 * TWHEEL_MSEC);
	twheel_start(loop, &idle, 500 * TWHEEL_MSEC);

	event_base_dispatch(base);
	event_free(ready);
	event_base_free(base);
	twheel_loop_free(loop);
	return 0;
}
