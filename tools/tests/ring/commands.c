// SPDX-License-Identifier: MIT
/*
 * Commands do the same as the ioctls, at once, in every kind of ring
 */
#include "ring.h"

/* Reads events until @n have come, or it is late; returns how many. */
static unsigned int read_events(int fd, struct twheel_event *events, unsigned int n)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	unsigned int got = 0;
	ssize_t size;

	while (got < n && poll(&pfd, 1, LATE / MSEC) == 1) {
		size = read(fd, events + got, (n - got) * sizeof(*events));
		if (size < 0)
			break;
		got += size / sizeof(*events);
	}
	return got;
}

/* Change one timer by each command. */
static void test_singles(const struct kind *kind)
{
	struct twheel_add add = { .time_ns = HOUR, .data = 42 };
	struct twheel_modify modify = { .time_ns = 2 * HOUR };
	int fd = open_wheel(O_NONBLOCK);
	struct twheel_event event;
	struct io_uring ring;
	uint64_t before, id;
	bool ok;

	open_ring(&ring, kind->flags);
	before = info_of(fd).now_ns;
	twheel_prep_add(get_sqe(&ring, 0), fd, &add);
	submit(&ring);
	ok = !result(&ring) && add.id && deadline_of(fd, add.id) >= before + HOUR;
	tap_result(ok && info_of(fd).added == 1, "%s: a timer is added", kind->name);

	modify.id = add.id;
	before = info_of(fd).now_ns;
	twheel_prep_modify_timer(get_sqe(&ring, 0), fd, &modify);
	submit(&ring);
	ok = !result(&ring) && deadline_of(fd, add.id) >= before + 2 * HOUR;
	twheel_prep_modify(get_sqe(&ring, 0), fd, add.id, 3 * HOUR);
	submit(&ring);
	ok &= !result(&ring) && deadline_of(fd, add.id) >= before + 3 * HOUR;
	modify = (struct twheel_modify){ add.id, before + HOUR, TWHEEL_ABSTIME, 0 };
	twheel_prep_modify_timer(get_sqe(&ring, 0), fd, &modify);
	submit(&ring);
	ok &= !result(&ring) && deadline_of(fd, add.id) == before + HOUR;
	tap_result(ok, "%s: it is modified, by address and in the SQE", kind->name);

	before = info_of(fd).now_ns;
	twheel_prep_modify(get_sqe(&ring, 0), fd, add.id, 20 * MSEC);
	submit(&ring);
	ok = !result(&ring) && read_events(fd, &event, 1) == 1 && event.id == add.id &&
	     event.data == 42 && info_of(fd).now_ns >= before + 20 * MSEC;
	tap_result(ok, "%s: it expires, and not early", kind->name);

	id = add_timer(fd, HOUR, 0);
	twheel_prep_cancel(get_sqe(&ring, 0), fd, id);
	submit(&ring);
	ok = !result(&ring) && !exists(fd, id);
	id = add_timer(fd, HOUR, 0);
	twheel_prep_call(get_sqe(&ring, 0), fd, TWHEEL_CANCEL, &id);
	submit(&ring);
	ok &= !result(&ring) && !exists(fd, id);
	twheel_prep_cancel(get_sqe(&ring, 0), fd, id);
	submit(&ring);
	ok &= result(&ring) == -ENOENT;
	tap_result(ok, "%s: one is cancelled once, by address and in the SQE", kind->name);
	io_uring_queue_exit(&ring);
	close(fd);
}

#define BATCH	1000

static void test_batches(const struct kind *kind)
{
	static struct twheel_add add[BATCH];
	static struct twheel_modify modify[BATCH];
	static uint64_t id[BATCH];
	struct twheel_batch batch = { (uintptr_t)add, BATCH, 0 };
	int fd = open_wheel(O_NONBLOCK), i, res;
	struct io_uring ring;

	open_ring(&ring, kind->flags);
	for (i = 0; i < BATCH; i++)
		add[i] = (struct twheel_add){ .time_ns = HOUR + i * SEC };
	twheel_prep_add_batch(get_sqe(&ring, 0), fd, &batch);
	submit(&ring);
	res = result(&ring);
	for (i = 0; i < BATCH; i++) {
		id[i] = add[i].id;
		modify[i] = (struct twheel_modify){ .id = id[i], .time_ns = HOUR };
	}
	tap_result(res == BATCH && info_of(fd).pending == BATCH, "%s: a batch of adds",
		   kind->name);

	batch.entries = (uintptr_t)modify;
	twheel_prep_modify_batch(get_sqe(&ring, 0), fd, &batch);
	submit(&ring);
	res = result(&ring);
	tap_result(res == BATCH && info_of(fd).modified == BATCH, "%s: a batch of modifies",
		   kind->name);

	/* It stops at the first entry that fails, and does not touch the rest. */
	id[700] = id[0];
	batch.entries = (uintptr_t)id;
	twheel_prep_cancel_batch(get_sqe(&ring, 0), fd, &batch);
	submit(&ring);
	res = result(&ring);
	tap_result(res == 700 && info_of(fd).pending == BATCH - 700,
		   "%s: a batch of cancels, up to one that is not there", kind->name);
	batch.entries = (uintptr_t)(id + 700);
	twheel_prep_cancel_batch(get_sqe(&ring, 0), fd, &batch);
	submit(&ring);
	res = result(&ring);
	tap_result(res == -ENOENT && info_of(fd).pending == BATCH - 700,
		   "%s: a batch whose first entry is not there", kind->name);
	batch.count = 0;
	twheel_prep_cancel_batch(get_sqe(&ring, 0), fd, &batch);
	submit(&ring);
	tap_result(!result(&ring), "%s: a batch of nothing", kind->name);
	io_uring_queue_exit(&ring);
	close(fd);
}

/* When io_uring_submit() returns, all commands are done, and no worker was created. */
static void test_at_once_in(unsigned int flags, const char *name)
{
	struct twheel_add add[100] = { };
	int fd = open_wheel(0), res[300], bad = 0;
	unsigned int i, got;
	struct io_uring ring;

	open_ring(&ring, flags);
	for (i = 0; i < 100; i++) {
		add[i].time_ns = HOUR << i % 20;
		twheel_prep_add(get_sqe(&ring, i), fd, &add[i]);
	}
	submit(&ring);
	got = peek_results(&ring, 300, res);
	for (i = 0; i < 100; i++) {
		twheel_prep_modify(get_sqe(&ring, 100 + i), fd, add[i].id, 30 * HOUR);
		twheel_prep_cancel(get_sqe(&ring, 200 + i), fd, add[i].id);
	}
	for (i = 0; i < 100; i++)
		bad += res[i];
	submit(&ring);
	got += peek_results(&ring, 300, res);
	for (i = 100; i < 300; i++)
		bad += res[i];
	tap_result(got == 300 && !bad && !info_of(fd).pending && !count_workers(),
		   "%s: changes are done when the submission returns, without a worker", name);
	io_uring_queue_exit(&ring);
	close(fd);
}

static void test_flags_of_requests(void)
{
	struct twheel_add add = { .time_ns = HOUR };
	int fd = open_wheel(0), res[4];
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	uint64_t id;
	bool ok;

	open_ring(&ring, 0);
	twheel_prep_add(get_sqe(&ring, 0), fd, &add);
	submit(&ring);
	ok = !result(&ring);
	sqe = get_sqe(&ring, 0);
	twheel_prep_modify(sqe, fd, add.id, HOUR);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	sqe = get_sqe(&ring, 1);
	twheel_prep_cancel(sqe, fd, add.id);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	sqe = get_sqe(&ring, 2);
	twheel_prep_cancel(sqe, fd, add.id);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	submit(&ring);
	ok &= peek_results(&ring, 4, res) == 1 && res[2] == -ENOENT;
	tap_result(ok, "with CQE_SKIP_SUCCESS, only what fails completes");

	ok = !io_uring_register_files(&ring, &fd, 1);
	sqe = get_sqe(&ring, 0);
	twheel_prep_add(sqe, 0, &add);
	sqe->flags |= IOSQE_FIXED_FILE;
	submit(&ring);
	ok &= !result(&ring) && exists(fd, add.id);
	tap_result(ok, "the wheel is a registered file");

	sqe = get_sqe(&ring, 0);
	twheel_prep_cancel(sqe, fd, add.id);
	sqe->flags |= IOSQE_ASYNC;
	submit(&ring);
	tap_result(!result(&ring) && !exists(fd, add.id), "a worker does what is IOSQE_ASYNC");

	id = add_timer(fd, HOUR, 0);
	/* A ring in which a request has skipped its completion has no drains. */
	io_uring_queue_exit(&ring);
	open_ring(&ring, 0);
	twheel_prep_add(get_sqe(&ring, 0), fd, &add);
	sqe = get_sqe(&ring, 1);
	twheel_prep_cancel(sqe, fd, id);
	sqe->flags |= IOSQE_IO_DRAIN;
	submit(&ring);
	tap_result(results(&ring, 2, res) && !res[0] && !res[1], "behind a drain");
	io_uring_queue_exit(&ring);
	close(fd);
}

void test_at_once(void)
{
	test_at_once_in(0, "a plain ring");
	test_at_once_in(DEFER, "DEFER_TASKRUN");
}

void test_commands(void)
{
	unsigned int i;

	for (i = 0; i < nr_kinds; i++) {
		test_singles(&kinds[i]);
		test_batches(&kinds[i]);
	}
	test_flags_of_requests();
}
