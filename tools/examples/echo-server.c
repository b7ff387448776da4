// SPDX-License-Identifier: MIT
/*
 * An echo server with epoll that closes idle connections
 *
 * Each connection has its own timeout. A message postpones it, which only stores a number.
 *
 *	cc -O2 -o echo-server echo-server.c $(pkg-config --cflags --libs libtwheel)
 *	./echo-server 7000 60000	on port 7000, closes what has been idle for 60 s
 */
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <libtwheel.h>

struct connection {
	struct twheel_handle timeout;
	int fd;
};

static uint64_t idle_ns;
static int epoll, listener;

static void watch(int operation, int fd, uint32_t events, void *what)
{
	struct epoll_event event = { .events = events, .data.ptr = what };

	if (epoll_ctl(epoll, operation, fd, &event))
		err(1, "epoll_ctl");
}

static void close_connection(struct connection *c)
{
	twheel_stop(&c->timeout);
	close(c->fd);
	free(c);
	watch(EPOLL_CTL_MOD, listener, EPOLLIN, &listener);
}

static void on_idle(struct twheel_loop *loop, struct twheel_handle *timeout)
{
	(void)loop;
	close_connection(timeout->data);
}

static void accept_connection(struct twheel_loop *loop)
{
	struct connection *c = calloc(1, sizeof(*c));
	int fd = c ? accept(listener, NULL, NULL) : -1;

	if (fd < 0) { /* at a limit, until one is closed: "ulimit -n" */
		watch(EPOLL_CTL_MOD, listener, errno == EMFILE ? 0 : EPOLLIN, &listener);
		free(c);
		return;
	}
	c->fd = fd;
	twheel_handle_init(&c->timeout, on_idle, c);
	if (twheel_start(loop, &c->timeout, idle_ns))
		err(1, "twheel_start");
	watch(EPOLL_CTL_ADD, c->fd, EPOLLIN, c);
}

/* Do not wait for a client that does not read. */
static void echo(struct connection *c)
{
	char text[4096];
	ssize_t bytes = recv(c->fd, text, sizeof(text), MSG_DONTWAIT);

	if (bytes <= 0 || send(c->fd, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) != bytes)
		close_connection(c);
	else
		twheel_again(&c->timeout, idle_ns);
}

static int listen_at(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, SOMAXCONN))
		err(1, "port %u", port);
	return fd;
}

/* Wait for sockets, until the next timeout. */
static int wait_for(struct epoll_event *events, int max, int64_t ns)
{
	struct timespec timeout = { .tv_sec = ns / TWHEEL_SEC, .tv_nsec = ns % TWHEEL_SEC };

	return epoll_pwait2(epoll, events, max, ns < 0 ? NULL : &timeout, NULL);
}

int main(int argc, char **argv)
{
	const struct twheel_loop_config config = {
		.flags = TWHEEL_LOOP_TIMEOUT | TWHEEL_LOOP_KERNEL,
	};
	struct twheel_loop *loop = twheel_loop_new(&config);

	listener = listen_at(argc > 1 ? atoi(argv[1]) : 7000);
	epoll = epoll_create1(0);
	idle_ns = (argc > 2 ? atoi(argv[2]) : 60000) * TWHEEL_MSEC;
	if (!loop || epoll < 0)
		err(1, "no loop");
	watch(EPOLL_CTL_ADD, listener, EPOLLIN, &listener);
	/* Only over /dev/twheel, the descriptor shows timers. */
	if (twheel_loop_backend(loop) == TWHEEL_BACKEND_DEVICE)
		watch(EPOLL_CTL_ADD, twheel_loop_fd(loop), EPOLLIN, loop);
	for (;;) {
		struct epoll_event event[64];

		for (int i = wait_for(event, 64, twheel_loop_timeout(loop)); i-- > 0; ) {
			if (event[i].data.ptr == &listener)
				accept_connection(loop);
			else if (event[i].data.ptr != loop)
				echo(event[i].data.ptr);
		}
		/* Timers come last: a connection with a message is not idle. */
		if (twheel_loop_dispatch(loop) < 0)
			warn("twheel_loop_dispatch");
	}
}
