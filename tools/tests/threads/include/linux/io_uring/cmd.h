/* SPDX-License-Identifier: MIT */
#ifndef _DRIVER_LINUX_IO_URING_CMD_H
#define _DRIVER_LINUX_IO_URING_CMD_H

#include <linux/bits.h>
#include <linux/types.h>

#define EIOCBQUEUED		529

#define IO_URING_F_SQE128	BIT(8)
#define IO_URING_F_NONBLOCK	INT_MIN

struct io_uring_sqe {
	u64 cmd[2];
};

struct io_uring_cmd {
	struct file *file;
	const struct io_uring_sqe *sqe;
	u32 cmd_op;
	u32 flags;
	s32 result;	/* what it was completed with */
};

static inline void io_uring_cmd_done(struct io_uring_cmd *cmd, s32 ret, unsigned int flags)
{
	(void)flags;
	cmd->result = ret;
}

#endif /* _DRIVER_LINUX_IO_URING_CMD_H */
