// SPDX-License-Identifier: MIT
/*
 * io_uring timeouts, for twheel-bench
 */
#include <err.h>
#include <errno.h>
#include <liburing.h>
#include <string.h>

#include "bench.h"

/* The maximum. Completions that do not fit wait in the kernel. */
#define COMPLETIONS	65536
/* The user data of requests that are not timeouts. */
#define CONTROL		UINT64_MAX

static struct io_uring ring;
static struct __kernel_timespec times[BENCH_BATCH_MAX];

static void open_ring(void)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN,
		.cq_entries = COMPLETIONS,
	};
	int ret;

	ret = io_uring_queue_init_params(BENCH_BATCH_MAX, &ring, &params);
	if (ret)
		errx(1, "io_uring: %s", strerror(-ret));
}

static unsigned int clock_flag(void)
{
	return work.clock == CLOCK_BOOTTIME ? IORING_TIMEOUT_BOOTTIME : 0;
}

static struct io_uring_sqe *request(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe)
		errx(1, "io_uring: the ring is full");
	return sqe;
}

static struct __kernel_timespec *after(size_t i, uint64_t ns)
{
	times[i].tv_sec = ns / SEC;
	times[i].tv_nsec = ns % SEC;
	return &times[i];
}

static void submit(size_t n)
{
	int ret = io_uring_submit_and_get_events(&ring);

	if (ret != (int)n)
		errx(1, "io_uring: submitted %d instead of %zu", ret, n);
}

static void add(size_t first, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = request();

		io_uring_prep_timeout(sqe, after(i, work.delay_ns[first + i]), 0, clock_flag());
		io_uring_sqe_set_data64(sqe, first + i);
	}
	submit(n);
}

/* Requests that succeed complete silently; one that came too late completes with an error. */
static void control(struct io_uring_sqe *sqe)
{
	io_uring_sqe_set_data64(sqe, CONTROL);
	io_uring_sqe_set_flags(sqe, IOSQE_CQE_SKIP_SUCCESS);
}

/* Take all completions, including those of timeouts that were removed. */
static void reap(void)
{
	struct io_uring_cqe *cqe;
	unsigned int head, n = 0;

	io_uring_for_each_cqe(&ring, head, cqe) {
		if (cqe->user_data == CONTROL && cqe->res != -ENOENT)
			errx(1, "io_uring: %s", strerror(-cqe->res));
		n++;
	}
	io_uring_cq_advance(&ring, n);
}

static void modify(const uint32_t *which, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = request();

		io_uring_prep_timeout_update(sqe, after(i, work.timeout_ns), which[i], 0);
		control(sqe);
	}
	submit(n);
	reap();
}

static void cancel(const uint32_t *which, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = request();

		io_uring_prep_timeout_remove(sqe, which[i], 0);
		control(sqe);
	}
	submit(n);
	reap();
}

/* Rearm expired timeouts; they are submitted with the next wait. */
static void rearm(struct io_uring_cqe **cqes, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = request();

		io_uring_prep_timeout(sqe, after(i, work.timeout_ns), 0, clock_flag());
		io_uring_sqe_set_data64(sqe, cqes[i]->user_data);
	}
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
	if (work.rearm)
		rearm(cqes, n);
	io_uring_cq_advance(&ring, n);
	return n;
}

FACILITY(io_uring) = {
	.name = "io_uring",
	.open = open_ring,
	.deliver = deliver,
	BENCH_CHANGES,
};
