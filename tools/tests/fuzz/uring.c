// SPDX-License-Identifier: MIT
/*
 * Calls by an io_uring: the ioctls that change timers, and the two commands that have their
 * arguments in the SQE; see fuzz.h
 *
 * Each fuzzer has a ring, and waits for each completion. So a command has to return the same
 * as the ioctl, whether it is done at once or by a worker.
 */
#include <errno.h>

#include "fuzz.h"
#include "libtwheel-uring.h"
#include "tap.h"

/* The percentage of calls that a ring makes, if it can. */
#define BY_RING		25
/* The percentage of those that begin in a worker. */
#define BY_WORKER	5

static const uint32_t commands[] = {
	TWHEEL_ADD, TWHEEL_CANCEL, TWHEEL_MODIFY, TWHEEL_ADD_BATCH, TWHEEL_CANCEL_BATCH,
	TWHEEL_MODIFY_BATCH, TWHEEL_URING_CANCEL, TWHEEL_URING_MODIFY,
};

/* If io_uring is forbidden, all calls are ioctls. */
void uring_open(struct fuzzer *fuzzer)
{
	int err = io_uring_queue_init(4, &fuzzer->ring, 0);

	fuzzer->has_ring = !err;
	if (err && err != -EPERM) {
		errno = -err;
		bail_out("cannot make a ring");
	}
}

void uring_close(struct fuzzer *fuzzer)
{
	if (fuzzer->has_ring)
		io_uring_queue_exit(&fuzzer->ring);
	fuzzer->has_ring = false;
}

bool uring_is_used(struct fuzzer *fuzzer)
{
	return fuzzer->has_ring && chance_hit(&fuzzer->chance, BY_RING);
}

/* Whether a ring does the call instead of ioctl(). */
bool uring_takes(struct fuzzer *fuzzer, unsigned long cmd)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (cmd == commands[i])
			return uring_is_used(fuzzer);
	}
	return false;
}

static long complete(struct fuzzer *fuzzer, struct io_uring_sqe *sqe)
{
	struct io_uring_cqe *cqe;
	long ret;

	if (chance_hit(&fuzzer->chance, BY_WORKER))
		io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	do {
		ret = io_uring_submit_and_wait(&fuzzer->ring, 1);
	} while (ret == -EINTR);
	if (ret < 0 || io_uring_peek_cqe(&fuzzer->ring, &cqe))
		bail_out("a command has not completed");
	ret = cqe->res;
	io_uring_cqe_seen(&fuzzer->ring, cqe);
	return ret;
}

/* Submit a command with the words of its argument; return its result. */
long uring_command(struct fuzzer *fuzzer, int fd, uint32_t cmd, uint64_t first, uint64_t second)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&fuzzer->ring);

	twheel_prep_command(sqe, fd, cmd, first, second);
	return complete(fuzzer, sqe);
}
