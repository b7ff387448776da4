/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that are passed to other processes, or to this one, by a socket
 */
#pragma once

/* Send a descriptor, which stays open. Return 0, or -1 with errno set. */
int send_fd(int socket, int fd);

/* Receive one, which exec() closes. Return -1 if there is none, or the other side has closed. */
int receive_fd(int socket);
