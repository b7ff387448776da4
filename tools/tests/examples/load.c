// SPDX-License-Identifier: MIT
/*
 * load PORT CONNECTIONS MESSAGES - the cost of a message for an echo server
 *
 * Opens the connections, then sends messages over one after the other, 64 at a time, and waits
 * for their echoes. Prints the nanoseconds for each message, which in the icount VM
 * are the instructions of server and client together, and the messages in a second of that.
 */
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

#define AT_A_TIME	64

static int connect_to(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		err(1, "connect");
	return fd;
}

int main(int argc, char **argv)
{
	struct rlimit limit = { 65536, 65536 };
	struct sockaddr_in address = { .sin_family = AF_INET };
	unsigned long connections, messages, sent = 0;
	uint64_t began;
	char byte = 'x';
	int *fd;

	if (argc != 4)
		errx(2, "Usage: load PORT CONNECTIONS MESSAGES");
	address.sin_port = htons(atoi(argv[1]));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	connections = strtoul(argv[2], NULL, 10);
	messages = strtoul(argv[3], NULL, 10);
	setrlimit(RLIMIT_NOFILE, &limit);
	fd = calloc(connections, sizeof(*fd));
	for (unsigned long i = 0; i < connections; i++)
		fd[i] = connect_to(&address);
	/* Once without counting, so that all are accepted. */
	for (unsigned long i = 0; i < connections; i++)
		if (send(fd[i], &byte, 1, 0) != 1 || recv(fd[i], &byte, 1, 0) != 1)
			err(1, "echo");
	began = now_ns();
	while (sent < messages) {
		for (int i = 0; i < AT_A_TIME; i++)
			if (send(fd[(sent + i) % connections], &byte, 1, MSG_NOSIGNAL) != 1)
				err(1, "send");
		for (int i = 0; i < AT_A_TIME; i++)
			if (recv(fd[(sent + i) % connections], &byte, 1, 0) != 1)
				err(1, "recv");
		sent += AT_A_TIME;
	}
	began = (now_ns() - began) / sent;
	printf("%lu connections: %llu instructions a message, %llu messages a second\n",
	       connections, (unsigned long long)began, SEC / (unsigned long long)began);
}
