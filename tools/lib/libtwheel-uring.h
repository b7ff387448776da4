/* SPDX-License-Identifier: MIT */
/*
 * libtwheel-uring - the calls of libtwheel as requests of an io_uring
 *
 * In the style of liburing's: a function prepares an SQE, whose flags and user data are set
 * after that. All are inline, so that neither library needs the other. twheel_prep_add(3) has
 * an example, and describes what a CQE holds, and in which order requests are done.
 */
#pragma once

#include <linux/io_uring.h>
#include <linux/twheel.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Prepare a command with 16 bytes of arguments. The SQE keeps its user data. */
static inline void twheel_prep_command(struct io_uring_sqe *sqe, int fd, __u32 command,
				       __u64 first, __u64 second)
{
	__u64 user_data = sqe->user_data, cmd[] = { first, second };

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	/* cmd_op, in the headers that have it: 32 bits, whatever the byte order is. */
	memcpy(&sqe->off, &command, sizeof(command));
	/* The fields there have other names in other versions of the header. */
	memcpy((char *)sqe + 48, cmd, sizeof(cmd));
	sqe->user_data = user_data;
}

/*
 * Prepare an ioctl that changes timers, with its argument at @arg. add->id is set when the request
 * has completed; modify->flags can have TWHEEL_ABSTIME; batch->entries is the address of an array.
 */
#define TWHEEL_PREP(name, type, command)						\
	static inline void name(struct io_uring_sqe *sqe, int fd, struct type *arg)	\
	{										\
		twheel_prep_command(sqe, fd, command, (__u64)(unsigned long)arg, 0);	\
	}

TWHEEL_PREP(twheel_prep_add, twheel_add, TWHEEL_ADD)
TWHEEL_PREP(twheel_prep_modify_timer, twheel_modify, TWHEEL_MODIFY)
TWHEEL_PREP(twheel_prep_add_batch, twheel_batch, TWHEEL_ADD_BATCH)
TWHEEL_PREP(twheel_prep_modify_batch, twheel_batch, TWHEEL_MODIFY_BATCH)
TWHEEL_PREP(twheel_prep_cancel_batch, twheel_batch, TWHEEL_CANCEL_BATCH)

#undef TWHEEL_PREP

/* Cancel a timer. The id is in the request. */
static inline void twheel_prep_cancel(struct io_uring_sqe *sqe, int fd, __u64 id)
{
	twheel_prep_command(sqe, fd, TWHEEL_URING_CANCEL, id, 0);
}

/* Give a timer a new deadline: @delay_ns after the request is done. */
static inline void twheel_prep_modify(struct io_uring_sqe *sqe, int fd, __u64 id, __u64 delay_ns)
{
	twheel_prep_command(sqe, fd, TWHEEL_URING_MODIFY, id, delay_ns);
}

#ifdef __cplusplus
}
#endif
