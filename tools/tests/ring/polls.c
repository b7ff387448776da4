// SPDX-License-Identifier: MIT
/*
 * Polls by a ring: complete when there is something to read; multishot polls lose no event
 */
#include "ring.h"

#define TIMERS	300

static void test_once(const struct kind *kind)
{
	int fd = open_wheel(O_NONBLOCK);
	struct io_uring_cqe cqe;
	struct io_uring ring;
	uint64_t id;
	bool early;

	open_ring(&ring, kind->flags);
	io_uring_prep_poll_add(get_sqe(&ring, 0), fd, POLLIN);
	submit(&ring);
	id = add_timer(fd, 20 * MSEC, 1);
	if (ioctl(fd, TWHEEL_CANCEL, &id))
		bail_out("TWHEEL_CANCEL failed");
	early = wait_cqe(&ring, A_WHILE, &cqe) != NONE;
	add_timer(fd, 20 * MSEC, 2);
	tap_result(!early && result(&ring) & POLLIN,
		   "a poll in %s: not for a timer that is cancelled, but for one that expires",
		   kind->name);
	io_uring_prep_poll_add(get_sqe(&ring, 0), fd, POLLIN);
	submit(&ring);
	tap_result(result(&ring) & POLLIN, "a poll in %s of what is unread", kind->name);
	io_uring_queue_exit(&ring);
	close(fd);
}

/*
 * After each completion, up to @max events are read without waiting, as documented: there
 * may be none.
 */
static void test_multishot(unsigned int flags, unsigned int max, uint64_t spread)
{
	static struct twheel_event event[TIMERS];
	int fd = open_wheel(O_NONBLOCK);
	unsigned int i, got = 0, empty = 0, ended = 0;
	struct io_uring_cqe cqe;
	struct io_uring ring;
	uint64_t sum = 0;
	ssize_t size;

	open_ring(&ring, flags);
	io_uring_prep_poll_multishot(get_sqe(&ring, 0), fd, POLLIN);
	submit(&ring);
	for (i = 0; i < TIMERS; i++)
		add_timer(fd, 20 * MSEC + i * spread, i);
	while (got < TIMERS && wait_cqe(&ring, LATE, &cqe) > 0) {
		ended += !(cqe.flags & IORING_CQE_F_MORE);
		do {
			size = read(fd, event, max * sizeof(*event));
			for (i = 0; size > 0 && i < size / sizeof(*event); i++)
				sum += event[i].data;
			if (size > 0)
				got += size / sizeof(*event);
		} while (size == (ssize_t)(max * sizeof(*event)));
		empty += size < 0;
	}
	tap_result(got == TIMERS && sum == TIMERS * (TIMERS - 1) / 2 && !ended && !count_workers(),
		   "a multishot poll in %s, %u events a read, %s: none is lost",
		   flags ? "DEFER_TASKRUN" : "a plain ring", max,
		   spread ? "one by one" : "all at once");
	if (empty)
		tap_note("%u reads found nothing", empty);
	io_uring_queue_exit(&ring);
	close(fd);
}

/* The same by reads of the ring, which do not wait either. */
static void test_poll_and_read(void)
{
	static struct twheel_event event[TIMERS];
	int fd = open_wheel(O_NONBLOCK), i;
	unsigned int got = 0;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	uint64_t sum = 0;

	open_ring(&ring, DEFER);
	io_uring_prep_poll_multishot(get_sqe(&ring, 0), fd, POLLIN);
	submit(&ring);
	for (i = 0; i < TIMERS; i++)
		add_timer(fd, 20 * MSEC + i * 300 * USEC, i);
	while (got < TIMERS && wait_cqe(&ring, LATE, &cqe) != NONE) {
		if (cqe.user_data == 0) {
			sqe = get_sqe(&ring, 1);
			io_uring_prep_read(sqe, fd, event, sizeof(event), 0);
			sqe->rw_flags = RWF_NOWAIT;
			submit(&ring);
			continue;
		}
		for (i = 0; cqe.res > 0 && i < cqe.res / (int)sizeof(*event); i++)
			sum += event[i].data;
		if (cqe.res > 0)
			got += cqe.res / sizeof(*event);
		else if (cqe.res != -EAGAIN)
			break;
	}
	tap_result(got == TIMERS && sum == TIMERS * (TIMERS - 1) / 2,
		   "a multishot poll, and reads of the ring with RWF_NOWAIT: none is lost");
	io_uring_queue_exit(&ring);
	close(fd);
}

/* One ring adds and reads timers; more expire at once than its queue holds. */
static void test_overflow(void)
{
	enum { MANY = 20000 };
	static struct twheel_add add[MANY];
	static struct twheel_event event[512];
	struct twheel_batch batch = { (uintptr_t)add, MANY, 0 };
	int fd = open_wheel(O_NONBLOCK), i, res;
	unsigned int got = 0;
	struct io_uring_cqe cqe;
	struct io_uring ring;
	ssize_t size;

	open_ring(&ring, DEFER);
	for (i = 0; i < MANY; i++)
		add[i].time_ns = 30 * MSEC;
	twheel_prep_add_batch(get_sqe(&ring, 0), fd, &batch);
	submit(&ring);
	res = result(&ring);
	io_uring_prep_poll_multishot(get_sqe(&ring, 0), fd, POLLIN);
	submit(&ring);
	while (got < MANY && wait_cqe(&ring, LATE, &cqe) > 0) {
		while ((size = read(fd, event, sizeof(event))) > 0)
			got += size / sizeof(*event);
	}
	tap_result(res == MANY && got == MANY && !io_uring_cq_has_overflow(&ring),
		   "%d timers due at once, in a ring whose queue holds 512", MANY);
	io_uring_queue_exit(&ring);
	close(fd);
}

void test_polls(void)
{
	unsigned int i;

	for (i = 0; i < nr_kinds; i++)
		test_once(&kinds[i]);
	for (i = 0; i < 2; i++) {
		test_multishot(i ? DEFER : 0, TIMERS, MSEC);
		test_multishot(i ? DEFER : 0, 1, MSEC);
		test_multishot(i ? DEFER : 0, TIMERS, 0);
		test_multishot(i ? DEFER : 0, 1, 0);
	}
	test_poll_and_read();
	test_overflow();
}
