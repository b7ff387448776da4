// SPDX-License-Identifier: MIT
/*
 * Timers of libtwheel in a program with a GLib main loop
 *
 * A heartbeat comes every 200 ms, and postpones an idle timeout of 500 ms. The fifth one is
 * the last, and the idle timeout ends the program.
 *
 *	cc -O2 -o with-glib glib.c $(pkg-config --cflags --libs libtwheel glib-2.0)
 */
#include <glib.h>
#include <glib-unix.h>
#include <libtwheel.h>

static struct twheel_handle heartbeat, idle;
static int beats;

static void on_heartbeat(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	g_print("heartbeat %d\n", ++beats);
	twheel_again(&idle, 500 * TWHEEL_MSEC);
	if (beats == 5)
		twheel_stop(handle);
}

static void on_idle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	g_print("idle\n");
	g_main_loop_quit(handle->data);
}

static gboolean on_ready(gint fd, GIOCondition condition, gpointer loop)
{
	(void)fd;
	(void)condition;
	if (twheel_loop_dispatch(loop) < 0)
		g_error("twheel_loop_dispatch: %m");
	return G_SOURCE_CONTINUE;
}

int main(void)
{
	GMainLoop *main_loop = g_main_loop_new(NULL, FALSE);
	struct twheel_loop *loop = twheel_loop_new(NULL);
	guint watch;

	if (!loop)
		g_error("twheel_loop_new: %m");
	/* With the priority of the sockets: with a lower one, a busy socket would starve it. */
	watch = g_unix_fd_add(twheel_loop_fd(loop), G_IO_IN, on_ready, loop);

	twheel_handle_init(&heartbeat, on_heartbeat, NULL);
	twheel_handle_init(&idle, on_idle, main_loop);
	twheel_repeat(loop, &heartbeat, 200 * TWHEEL_MSEC, 200 * TWHEEL_MSEC);
	twheel_start(loop, &idle, 500 * TWHEEL_MSEC);

	g_main_loop_run(main_loop);
	g_source_remove(watch);
	twheel_loop_free(loop);
	g_main_loop_unref(main_loop);
	return 0;
}
