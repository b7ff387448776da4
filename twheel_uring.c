// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changing timers through io_uring: IORING_OP_URING_CMD
 *
 * A command is an ioctl that changes timers: cmd_op is the ioctl's number, and the first eight
 * bytes of the command are the address of its argument. Two more hold their arguments instead.
 *
 * Commands complete inline, in the order of submission; they may fault their own memory in, as
 * reads of files do.
 */
#include <linux/bits.h>
#include <linux/errno.h>

#include "twheel_compat.h"
#include "twheel_file.h"
#include "twheel_trace.h"

static __always_inline long issue(struct twheel_file *file, const struct io_uring_cmd *ioucmd,
				  unsigned int issue_flags)
{
	unsigned int n = issue_flags & IO_URING_F_SQE128 ? 10 : 2;
	/* The program can change it at any time. */
	const u64 *word = uring_cmd_data(ioucmd);
	u64 first = READ_ONCE(word[0]), second = READ_ONCE(word[1]);
	/* The flags of the highest byte are the kernel's. */
	u64 rest = ioucmd->flags & GENMASK(23, 0);
	const struct twheel_modify mod = { .id = first, .time_ns = second };

	while (n-- > 2)
		rest |= READ_ONCE(word[n]);
	if (ioucmd->cmd_op == TWHEEL_URING_MODIFY && !rest)
		return twheel_modify_timer(file, &mod);
	if (rest | second)
		return -EINVAL;
	if (ioucmd->cmd_op == TWHEEL_URING_CANCEL)
		return twheel_cancel_timer(file, first);
	return twheel_change(file, ioucmd->cmd_op, u64_to_user_ptr(first));
}

/**
 * twheel_uring_cmd() - execute an io_uring command
 * @ioucmd: the command
 * @issue_flags: io_uring's
 *
 * Return: 0 or an errno; or -EIOCBQUEUED: it has completed.
 */
int twheel_uring_cmd(struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	struct twheel_file *file = ioucmd->file->private_data;
	long ret = issue(file, ioucmd, issue_flags);

	if (unlikely(ret < 0))
		trace_twheel_refuse(file->id, ioucmd->cmd_op, ret);
	if (unlikely(ret > 0)) {
		/* As a return value, 6.1 would take it for a failure, and lose it in a worker. */
		uring_cmd_done(ioucmd, ret, issue_flags);
		ret = -EIOCBQUEUED;
	}
	return ret;
}
