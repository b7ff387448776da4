// SPDX-License-Identifier: MIT
/*
 * twheel by io_uring commands, for twheel-bench: one for each timer, with and without a
 * completion, and one for a batch. Events are read after a multishot poll.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <string.h>

#include "libtwheel-uring.h"
#include "wheel.h"

/* The user data of the poll. */
#define POLL	UINT64_MAX

static struct io_uring ring;
static unsigned int flags;
static bool polls;

static void open_uring(void)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	};
	int ret;

	wheel_open(O_NONBLOCK);
	ret = io_uring_queue_init_params(BENCH_BATCH_MAX, &ring, &params);
	if (!ret)
		ret = io_uring_register_files(&ring, &wheel.fd, 1);
	if (ret)
		errx(1, "io_uring: %s", strerror(-ret));
	flags = IOSQE_FIXED_FILE;
	polls = false;
}

static void open_quiet(void)
{
	open_uring();
	flags |= IOSQE_CQE_SKIP_SUCCESS;
}

/* The file is the first registered one. */
static struct io_uring_sqe *command(uint32_t op, uint64_t first, uint64_t second)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe)
		errx(1, "io_uring: the ring is full");
	twheel_prep_command(sqe, 0, op, first, second);
	sqe->flags = flags;
	sqe->user_data = 0;
	return sqe;
}

/* Submit @n commands, all of which have to succeed; return the last result. */
static int submit(size_t n)
{
	int ret = io_uring_submit_and_get_events(&ring), last = 0;
	unsigned int head, seen = 0;
	struct io_uring_cqe *cqe;

	if (ret != (int)n)
		errx(1, "io_uring: submitted %d instead of %zu", ret, n);
	io_uring_for_each_cqe(&ring, head, cqe) {
		if (cqe->res < 0)
			errx(1, "a command of twheel: %s", strerror(-cqe->res));
		last = cqe->res;
		seen++;
	}
	io_uring_cq_advance(&ring, seen);
	if (seen != (flags & IOSQE_CQE_SKIP_SUCCESS ? 0 : n))
		errx(1, "io_uring: %u completions of %zu commands", seen, n);
	return last;
}

static void add_each(size_t first, size_t n)
{
	size_t i;

	fill_adds(first, n);
	for (i = 0; i < n; i++)
		command(TWHEEL_ADD, (uintptr_t)&wheel.adds[i], 0);
	submit(n);
	take_ids(first, n);
}

static void modify_each(const uint32_t *which, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		command(TWHEEL_URING_MODIFY, wheel.ids[which[i]], work.timeout_ns);
	submit(n);
}

static void cancel_each(const uint32_t *which, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		command(TWHEEL_URING_CANCEL, wheel.ids[which[i]], 0);
	submit(n);
}

static void change(uint32_t op, void *entries, size_t n)
{
	struct twheel_batch batch = { .entries = (uintptr_t)entries, .count = n };

	command(op, (uintptr_t)&batch, 0);
	if (submit(1) != (int)n)
		errx(1, "a batch of twheel ended early");
}

static void add_batch(size_t first, size_t n)
{
	fill_adds(first, n);
	change(TWHEEL_ADD_BATCH, wheel.adds, n);
	take_ids(first, n);
}

static void modify_batch(const uint32_t *which, size_t n)
{
	fill_mods(which, n);
	change(TWHEEL_MODIFY_BATCH, wheel.mods, n);
}

static void cancel_batch(const uint32_t *which, size_t n)
{
	fill_cancels(which, n);
	change(TWHEEL_CANCEL_BATCH, wheel.cancels, n);
}

/* Wait for the poll; there may be nothing to read after it. */
static void wait_for_some(void)
{
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;

	if (!polls) {
		sqe = io_uring_get_sqe(&ring);
		io_uring_prep_poll_multishot(sqe, 0, POLLIN);
		sqe->flags = IOSQE_FIXED_FILE;
		sqe->user_data = POLL;
		polls = true;
	}
	io_uring_submit_and_wait(&ring, 1);
	if (io_uring_peek_cqe(&ring, &cqe))
		return;
	if (cqe->res < 0)
		errx(1, "a multishot poll: %s", strerror(-cqe->res));
	polls = cqe->flags & IORING_CQE_F_MORE;
	io_uring_cqe_seen(&ring, cqe);
}

static size_t deliver(size_t max, bool waits, uint64_t *sum)
{
	static bool more;
	ssize_t i, n;

	for (;;) {
		if (!more)
			wait_for_some();
		n = twheel_read(wheel.fd, wheel.events, max);
		more = n == (ssize_t)max;
		if (n > 0)
			break;
		if (n < 0 && errno != EAGAIN)
			err(1, "read");
	}
	for (i = 0; i < n; i++)
		*sum += wheel.events[i].data;
	return n;
}

#define ONE_EACH	.add = add_each, .modify = modify_each, .cancel = cancel_each

FACILITY(uring) = {
	.name = "twheel-uring",
	.handle = sizeof(*wheel.ids),
	.open = open_uring,
	.deliver = deliver,
	ONE_EACH,
};

FACILITY(uring_quiet) = {
	.name = "twheel-uring-quiet",
	.handle = sizeof(*wheel.ids),
	.open = open_quiet,
	.deliver = deliver,
	ONE_EACH,
};

FACILITY(uring_batch) = {
	.name = "twheel-uring-batch",
	.handle = sizeof(*wheel.ids),
	.open = open_uring,
	.add = add_batch,
	.modify = modify_batch,
	.cancel = cancel_batch,
	.deliver = deliver,
};
