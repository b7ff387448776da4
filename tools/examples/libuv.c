// SPDX-License-Identifier: MIT
/*
 * Timers of libtwheel in a program with a libuv loop
 *
 * A heartbeat comes every 200 ms, and postpones an idle timeout of 500 ms. The fifth one is
 * the last, and the idle timeout ends the program.
 *
 *	cc -O2 -o with-libuv libuv.c $(pkg-config --cflags --libs libtwheel libuv)
 */
#include <err.h>
#include <stdio.h>
#include <uv.h>
#include <libtwheel.h>

static struct twheel_handle heartbeat, idle;
static uv_poll_t uv_poll;
static int beats;

static void on_heartbeat(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	printf("heartbeat %d\n", ++beats);
	twheel_again(&idle, 500 * TWHEEL_MSEC);
	if (beats == 5)
		twheel_stop(handle);
}

/* Without the descriptor, uv_run() returns. */
static void on_idle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	(void)handle;
	puts("idle");
	uv_close((uv_handle_t *)&uv_poll, NULL);
}

static void on_ready(uv_poll_t *handle, int status, int events)
{
	(void)status;
	(void)events;
	if (twheel_loop_dispatch(handle->data) < 0)
		err(1, "twheel_loop_dispatch");
}

int main(void)
{
	struct twheel_loop *loop = twheel_loop_new(NULL);
	uv_loop_t *uv = uv_default_loop();

	if (!loop)
		err(1, "no loop");
	uv_poll_init(uv, &uv_poll, twheel_loop_fd(loop));
	uv_poll.data = loop;
	uv_poll_start(&uv_poll, UV_READABLE, on_ready);

	twheel_handle_init(&heartbeat, on_heartbeat, NULL);
	twheel_handle_init(&idle, on_idle, NULL);
	twheel_repeat(loop, &heartbeat, 200 * TWHEEL_MSEC, 200 * TWHEEL_MSEC);
	twheel_start(loop, &idle, 500 * TWHEEL_MSEC);

	uv_run(uv, UV_RUN_DEFAULT);
	twheel_loop_free(loop);
	return uv_loop_close(uv);
}
