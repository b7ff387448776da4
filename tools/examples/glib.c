// SPDX-License-Identifier: MIT
/*
 * Timers of libtwheel in a program with a main loop of GLib
 *
 * A heartbeat comes every 200 ms, and puts an idle timeout of 500 ms off. After the fifth one
 * there are no more, and the idle timeout ends the program.
 *
 *	cc -O2 -o with-glib glib.c $(pkg-config --cflags --libs libtwheel glib-2.0)
 */
#include <glib.h>
#include <libtwheel.h>

/* A loop of libtwheel as a source of events. */
struct timers {
	GSource source;
	struct twheel_loop *loop;
	void *watch;
};

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

static gboolean before_waiting(GSource *source, gint *timeout)
{
	*timeout = -1;
	if (twheel_loop_flush(((struct timers *)source)->loop))
		g_error("twheel_loop_flush: %m");
	return FALSE;
}

static gboolean is_ready(GSource *source)
{
	return g_source_query_unix_fd(source, ((struct timers *)source)->watch) & G_IO_IN;
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
	(void)callback;
	(void)data;
	if (twheel_loop_dispatch(((struct timers *)source)->loop) < 0)
		g_error("twheel_loop_dispatch: %m");
	return G_SOURCE_CONTINUE;
}

static void drop(GSource *source)
{
	twheel_loop_free(((struct timers *)source)->loop);
}

static struct timers *add_timers(GMainContext *context)
{
	static GSourceFuncs functions = { before_waiting, is_ready, dispatch, drop, NULL, NULL };
	struct timers *timers = (struct timers *)g_source_new(&functions, sizeof(*timers));

	timers->loop = twheel_loop_new(NULL);
	if (!timers->loop)
		g_error("twheel_loop_new: %m");
	timers->watch = g_source_add_unix_fd(&timers->source, twheel_loop_fd(timers->loop),
					     G_IO_IN);
	g_source_attach(&timers->source, context);
	return timers;
}

int main(void)
{
	struct timers *timers = add_timers(NULL);
	GMainLoop *main_loop = g_main_loop_new(NULL, FALSE);

	twheel_handle_init(&heartbeat, on_heartbeat, NULL);
	twheel_handle_init(&idle, on_idle, main_loop);
	twheel_repeat(timers->loop, &heartbeat, 200 * TWHEEL_MSEC, 200 * TWHEEL_MSEC);
	twheel_start(timers->loop, &idle, 500 * TWHEEL_MSEC);

	g_main_loop_run(main_loop);
	g_source_destroy(&timers->source);
	g_source_unref(&timers->source);
	g_main_loop_unref(main_loop);
	return 0;
}
