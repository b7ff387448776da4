// SPDX-License-Identifier: MIT
/*
 * To be preloaded into an example: its main loop has a socket, too, which can always be read
 *
 * Compiled with GLIB for that library, and else for libevent.
 */
#include <dlfcn.h>
#include <sys/socket.h>

static int sockets[2];

static void make_busy(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) || send(sockets[1], "x", 1, 0) != 1)
		__builtin_trap();
}

#ifdef GLIB
#include <glib-unix.h>

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
	return G_SOURCE_CONTINUE;
}

void g_main_loop_run(GMainLoop *loop)
{
	void (*real)(GMainLoop *loop) = dlsym(RTLD_NEXT, "g_main_loop_run");

	make_busy();
	g_unix_fd_add(sockets[0], G_IO_IN, on_readable, NULL);
	real(loop);
}
#else
#include <event2/event.h>

static void on_readable(evutil_socket_t fd, short what, void *data)
{
}

int event_base_dispatch(struct event_base *base)
{
	struct event *busy;
	int ret;

	make_busy();
	busy = event_new(base, sockets[0], EV_READ | EV_PERSIST, on_readable, NULL);
	/* The first of the queues, if there are several. */
	event_priority_set(busy, 0);
	event_add(busy, NULL);
	ret = event_base_loop(base, 0);
	event_free(busy);
	return ret;
}
#endif
