// SPDX-License-Identifier: MIT
/*
 * Descriptors in messages; see pass.h
 */
#include <string.h>
#include <sys/socket.h>

#include "pass.h"

/* A byte goes with the descriptor, because a message must not be empty. */
union control {
	struct cmsghdr head;
	char space[CMSG_SPACE(sizeof(int))];
};

int send_fd(int socket, int fd)
{
	union control control = {
		.head = {
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof(int)),
		},
	};
	struct iovec byte = { .iov_base = "", .iov_len = 1 };
	struct msghdr message = { .msg_iov = &byte, .msg_iovlen = 1,
				  .msg_control = &control, .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
	return sendmsg(socket, &message, 0) == 1 ? 0 : -1;
}

int receive_fd(int socket)
{
	union control control;
	char space;
	struct iovec byte = { .iov_base = &space, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &byte, .msg_iovlen = 1,
				  .msg_control = &control, .msg_controllen = sizeof(control) };
	int fd;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message) ||
	    control.head.cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(int));
	return fd;
}
