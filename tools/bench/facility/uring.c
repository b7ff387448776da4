// SPDX-License-Identifier: MIT
/*
 * io_uring, for twheel-bench: its own timeouts; and commands of twheel, one for each timer, with
 * and without a completion, or one for a batch. Events are read after a multishot poll.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <string.h>

#include "libtwheel-uring.h"
#include "wheel.h"

/* The maximum. Completions that do not fit wait in the kernel. */
#define COMPLETIONS	65536
/* The user data of requests that are not timeouts, and of the poll. */
#define CONTROL		UINT64_MAX

static struct io_uring ring;

static void open_queues(unsigned int flags)
{
	struct io_uring_params params = {
		.flags = flags | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		.cq_entries = COMPLETIONS,
	};
	int ret = io_uring_queue_init_params(BENCH_BATCH_MAX, &ring, &params);

	if (ret)
		errx(1, "io_uring: %s", strerror(-ret));
}

static inline struct io_uring_sqe *request(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe)
		errx(1, "io_uring: the ring is full");
	return sqe;
}

static void submit(size_t n)
{
	int ret = io_uring_submit_and_get_events(&ring);

	if (ret != (int)n)
		errx(1, "io_uring: submitted %d instead of %zu", ret, n);
}

/* Timeouts */

static struct __kernel_timespec times[BENCH_BATCH_MAX];

static void open_timeouts(void)
{
	open_queues(IORING_SETUP_CQSIZE);
}

static struct __kernel_timespec *after(size_t i, uint64_t ns)
{
	times[i].tv_sec = ns / SEC;
	times[i].tv_nsec = ns % SEC;
	return &times[i];
}

static void arm(size_t i, uint64_t which, uint64_t ns)
{
	struct io_uring_sqe *sqe = request();

	io_uring_prep_timeout(sqe, after(i, ns), 0,
			      work.clock == CLOCK_BOOTTIME ? IORING_TIMEOUT_BOOTTIME : 0);
	io_uring_sqe_set_data64(sqe, which);
}

static void add(size_t first, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		arm(i, first + i, work.delay_ns[first + i]);
	submit(n);
}

/* Requests that succeed complete silently; one that came too late completes with an error. */
static void control(struct io_uring_sqe *sqe)
{
	io_uring_sqe_set_data64(sqe, CONTROL);
	io_uring_sqe_set_flags(sqe, IOSQE_CQE_SKIP_SUCCESS);
}

/* Submit, and take all completions, including those of timeouts that were removed. */
static void finish(size_t n)
{
	struct io_uring_cqe *cqe;
	unsigned int head, seen = 0;

	submit(n);
	io_uring_for_each_cqe(&ring, head, cqe) {
		if (cqe->user_data == CONTROL && cqe->res != -ENOENT)
			errx(1, "io_uring: %s", strerror(-cqe->res));
		seen++;
	}
	io_uring_cq_advance(&ring, seen);
}

static void modify(const uint32_t *which, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = request();

		io_uring_prep_timeout_update(sqe, after(i, work.timeout_ns), which[i], 0);
		control(sqe);
	}
	finish(n);
}

static void cancel(const uint32_t *which, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = request();

		io_uring_prep_timeout_remove(sqe, which[i], 0);
		control(sqe);
	}
	finish(n);
}

static size_t deliver(size_t max, bool waits, uint64_t *sum)
{
	static struct io_uring_cqe *cqes[BENCH_BATCH_MAX];
	unsigned int i, n;

	n = io_uring_peek_batch_cqe(&ring, cqes, max);
	if (!n) {
		io_uring_submit_and_wait(&ring, 1);
		n = io_uring_peek_batch_cqe(&ring, cqes, max);
	}
	for (i = 0; i < n; i++)
		*sum += cqes[i]->user_data;
	/* They are submitted with the next wait. */
	for (i = 0; work.rearm && i < n; i++)
		arm(i, cqes[i]->user_data, work.timeout_ns);
	io_uring_cq_advance(&ring, n);
	return n;
}

FACILITY(io_uring, "io_uring", open_timeouts, deliver, BENCH_CHANGES);

/* Commands */

static unsigned int flags = IOSQE_FIXED_FILE;

static void open_commands(void)
{
	int ret;

	wheel_open(O_NONBLOCK);
	open_queues(0);
	ret = io_uring_register_files(&ring, &wheel.fd, 1);
	if (ret)
		errx(1, "io_uring: %s", strerror(-ret));
}

static void open_quiet(void)
{
	open_commands();
	flags |= IOSQE_CQE_SKIP_SUCCESS;
}

/* The file is the first registered one. */
static void command(uint32_t op, uint64_t first, uint64_t second)
{
	struct io_uring_sqe *sqe = request();

	twheel_prep_command(sqe, 0, op, first, second);
	sqe->flags = flags;
	sqe->user_data = 0;
}

/* Submit @n commands, all of which have to succeed; return the last result. */
static int execute(size_t n)
{
	unsigned int head, seen = 0;
	struct io_uring_cqe *cqe;
	int last = 0;

	submit(n);
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
	execute(n);
	take_ids(first, n);
}

static void modify_each(const uint32_t *which, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		command(TWHEEL_URING_MODIFY, wheel.ids[which[i]], work.timeout_ns);
	execute(n);
}

static void cancel_each(const uint32_t *which, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		command(TWHEEL_URING_CANCEL, wheel.ids[which[i]], 0);
	execute(n);
}

static void change(uint32_t op, void *entries, size_t n)
{
	struct twheel_batch batch = { .entries = (uintptr_t)entries, .count = n };

	command(op, (uintptr_t)&batch, 0);
	if (execute(1) != (int)n)
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
	static bool polls;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;

	if (!polls) {
		sqe = request();
		io_uring_prep_poll_multishot(sqe, 0, POLLIN);
		sqe->flags = IOSQE_FIXED_FILE;
		sqe->user_data = CONTROL;
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

static size_t deliver_events(size_t max, bool waits, uint64_t *sum)
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

FACILITY(uring, "twheel-uring", open_commands, deliver_events, ONE_EACH, WHEEL_HANDLE);
FACILITY(uring_quiet, "twheel-uring-quiet", open_quiet, deliver_events, ONE_EACH, WHEEL_HANDLE);
FACILITY(uring_batch, "twheel-uring-batch", open_commands, deliver_events, WHEEL_HANDLE,
	 .add = add_batch, .modify = modify_batch, .cancel = cancel_batch);
