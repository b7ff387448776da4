// SPDX-License-Identifier: MIT
/*
 * Many clients of an echo server that closes idle connections; prints TAP
 *
 *	crowd PORT IDLE_MS CONNECTIONS SPEAKERS SLACK_MS
 *
 * All clients send one message. Then for two and a half idle timeouts, the speakers send four
 * messages in each, and the others none. A connection may be closed when an idle timeout has
 * passed since it sent its last message, and must be closed when one has passed since the echo
 * came. The slack allows for the server's loop, which reads the clock once in a turn, and for a
 * busy machine.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "tap.h"

struct client {
	int fd;
	int said;
	uint64_t sent;
	uint64_t echoed;
	uint64_t closed;
};

static struct client *client;
static size_t clients, speakers, open_clients;
static uint64_t idle_ns, slack_ns;
static int epoll;

static void say_something(struct client *c)
{
	c->sent = now_ns();
	if (send(c->fd, "x", 1, MSG_NOSIGNAL) == 1)
		c->said++;
}

/* Wait until the echo comes, or the server closes the connection. */
static void hear(struct client *c)
{
	char text[16];
	ssize_t bytes = recv(c->fd, text, sizeof(text), MSG_DONTWAIT);

	if (bytes > 0) {
		c->said -= bytes;
		c->echoed = now_ns();
		return;
	}
	if (bytes < 0 && errno == EAGAIN)
		return;
	c->closed = now_ns();
	close(c->fd);
	open_clients--;
}

/* Read from all connections that send something, until a time. */
static void listen_until(uint64_t time)
{
	struct epoll_event event[64];

	for (;;) {
		int64_t left = time - now_ns();
		int n = epoll_wait(epoll, event, 64, left > 0 ? left / (int64_t)MSEC + 1 : 0);

		while (n-- > 0)
			hear(event[n].data.ptr);
		if (left <= 0)
			return;
	}
}

static void connect_client(struct client *c, int port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
	char text;

	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof(address)))
		bail_out("connection %zu", c - client);
	say_something(c);
	if (recv(c->fd, &text, 1, 0) != 1)
		bail_out("the first echo of connection %zu", c - client);
	c->said--;
	c->echoed = now_ns();
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event))
		bail_out("epoll_ctl");
	open_clients++;
}

/* Each speaker in turn, all of them within a quarter of the timeout. */
static void speak(void)
{
	uint64_t began = now_ns();
	size_t i;

	for (i = 0; i < 10 * speakers; i++) {
		listen_until(began + i * (idle_ns / 4) / speakers);
		if (!client[i % speakers].closed)
			say_something(&client[i % speakers]);
	}
	listen_until(now_ns() + idle_ns / 8);
}

/* Count the connections that were closed too early, and too late or not at all. */
static void check(struct client *first, size_t n, const char *who)
{
	int64_t earliest = INT64_MAX, latest = INT64_MIN;
	size_t i, not_closed = 0;

	for (i = 0; i < n; i++) {
		int64_t early = first[i].closed - first[i].sent - idle_ns;
		int64_t late = first[i].closed - first[i].echoed - idle_ns;

		if (!first[i].closed) {
			not_closed++;
			continue;
		}
		earliest = early < earliest ? early : earliest;
		latest = late > latest ? late : latest;
	}
	if (!tap_result(!not_closed, "%zu %s are closed", n, who))
		tap_note("%zu are open", not_closed);
	tap_result(earliest >= -(int64_t)slack_ns, "%s: none early", who);
	tap_result(latest <= (int64_t)slack_ns, "%s: none late", who);
	tap_note("from %.3f ms after the timeout to %.3f ms", (double)earliest / MSEC,
		 (double)latest / MSEC);
}

int main(int argc, char **argv)
{
	size_t i, silent = 0;

	if (argc != 6)
		bail_out("Usage: crowd PORT IDLE_MS CONNECTIONS SPEAKERS SLACK_MS");
	idle_ns = atoll(argv[2]) * MSEC;
	clients = atoi(argv[3]);
	speakers = atoi(argv[4]);
	slack_ns = atoll(argv[5]) * MSEC;
	client = calloc(clients, sizeof(*client));
	epoll = epoll_create1(0);
	for (i = 0; i < clients; i++) {
		connect_client(&client[i], atoi(argv[1]));
		listen_until(0);
	}
	tap_result(open_clients == clients, "%zu connections", clients);
	speak();
	for (i = 0; i < speakers; i++)
		silent += client[i].closed || client[i].said;
	tap_result(!silent, "%zu who speak stay, and are answered", speakers);
	check(client + speakers, clients - speakers, "idle ones");
	listen_until(now_ns() + idle_ns + slack_ns);
	check(client, speakers, "who have fallen silent");
	return tap_done();
}
