/* SPDX-License-Identifier: MIT */
/*
 * aio's IOCB_CMD_POLL without a library
 */
#pragma once

#include <errno.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

/* Return a context for @nr requests, or 0. */
static inline aio_context_t aio_open(unsigned int nr)
{
	aio_context_t context = 0;

	return syscall(SYS_io_setup, nr, &context) ? 0 : context;
}

static inline bool aio_poll(aio_context_t context, int fd)
{
	struct iocb iocb = {
		.aio_lio_opcode = IOCB_CMD_POLL,
		.aio_fildes = fd,
		.aio_buf = POLLIN,
	};
	struct iocb *iocbs[] = { &iocb };

	return syscall(SYS_io_submit, context, 1, iocbs) == 1;
}

/* Return POLLIN if a poll has completed with that, 0 after @timeout_ms, or minus errno. */
static inline int aio_next(aio_context_t context, unsigned int timeout_ms)
{
	struct timespec timeout = timespec_of(timeout_ms * MSEC);
	struct io_event event;
	int n = syscall(SYS_io_getevents, context, 1, 1, &event, &timeout);

	return n == 1 ? (int)event.res & POLLIN : n < 0 ? -errno : 0;
}
