// SPDX-License-Identifier: MIT
/*
 * Commands and reads of io_uring, as far as they differ from the calls: the fixtures input, ids
 * and batch also run with commands, and waiters poll and read by rings.
 */
#include <glob.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include "selftest.h"

FIXTURE_OF_WHEEL(uring, __u64 id; struct ring ring;);

FIXTURE_VARIANT(uring)
{
	__u32 flags;
};

FIXTURE_VARIANT_ADD(uring, plain) { .flags = 0 };
FIXTURE_VARIANT_ADD(uring, defer_taskrun) { .flags = DEFER_TASKRUN };
FIXTURE_VARIANT_ADD(uring, coop_taskrun) { .flags = IORING_SETUP_COOP_TASKRUN };
FIXTURE_VARIANT_ADD(uring, large_entries) { .flags = IORING_SETUP_SQE128 };

FIXTURE_SETUP(uring)
{
	self->fd = open_wheel(_metadata, 0);
	ASSERT_TRUE(ring_open(&self->ring, variant->flags));
	ASSERT_NE(0, self->id = add_after(self->fd, HOUR, 1));
	before = tw_info(self->fd);
}

/* The threads that io_uring has made for this process. */
static unsigned int count_workers(void)
{
	unsigned int n = 0;
	char name[32];
	glob_t tasks;

	if (glob("/proc/self/task/*/status", 0, NULL, &tasks))
		abort();
	for (size_t i = 0; i < tasks.gl_pathc; i++)
		n += proc_value(tasks.gl_pathv[i], "Name", name, sizeof(name)) &&
		     !strncmp(name, "iou-wrk", 7);
	return n;
}

/* Check that the request fails with that error, at once and in a worker. */
static bool refused(struct ring *ring, const struct io_uring_sqe *request, int error)
{
	struct io_uring_sqe sqe = *request;
	int at_once = ring_execute(ring, &sqe), later;

	sqe.flags |= IOSQE_ASYNC;
	later = ring_execute(ring, &sqe);
	if (at_once != error || later != error)
		printf("# command %#llx: %d at once, %d in a worker\n", sqe.off, at_once, later);
	return at_once == error && later == error;
}

TEST_F(uring, commands_are_done_in_order_when_they_are_submitted)
{
	__u64 cancelled = add_after(self->fd, HOUR, 0), from = now_ns();
	struct io_uring_cqe cqe;

	for (unsigned int i = 0; i < 30; i++) {
		struct io_uring_sqe sqe = { .user_data = i };

		if (i == 20)
			twheel_prep_cancel(&sqe, self->fd, cancelled);
		else
			twheel_prep_modify(&sqe, self->fd, i < 10 ? self->id : cancelled, i * HOUR);
		ring_queue(&self->ring, &sqe, NULL);
	}
	ASSERT_TRUE(ring_enter(&self->ring, 30));
	EXPECT_LE(from + 9 * HOUR, deadline_of(self->fd, self->id));
	EXPECT_GE(now_ns() + 9 * HOUR, query.deadline_ns);
	EXPECT_EQ(-ENOENT, tw_query(self->fd, cancelled));
	for (unsigned int i = 0; i < 30; i++) {
		ASSERT_TRUE(ring_next(&self->ring, &cqe, false));
		EXPECT_EQ(cqe.user_data > 20 ? -ENOENT : 0, cqe.res);
	}
	EXPECT_EQ(0, count_workers());
}

/* A batch's result is a count, and no failure. */
TEST_F(uring, a_chain_goes_on_behind_a_batch_and_ends_at_a_failure)
{
	struct twheel_batch batch = { (uintptr_t)fill_adds(200, HOUR, 0, 0), 200 };
	static const int results[] = { 200, 0, -ENOENT, -ECANCELED };
	struct io_uring_cqe cqe;

	for (int async = 0; async < 2; async++) {
		struct io_uring_sqe sqe[4] = { 0 };

		twheel_prep_add_batch(&sqe[0], self->fd, &batch);
		twheel_prep_cancel(&sqe[1], self->fd, async ? adds[0].id : self->id);
		twheel_prep_cancel(&sqe[2], self->fd, self->id);
		twheel_prep_cancel(&sqe[3], self->fd, adds[1].id);
		for (int i = 0; i < 4; i++) {
			sqe[i].flags = i == 3 ? 0 : IOSQE_IO_LINK | (async ? IOSQE_ASYNC : 0);
			sqe[i].user_data = i;
			ring_queue(&self->ring, &sqe[i], NULL);
		}
		ASSERT_TRUE(ring_enter(&self->ring, 4));
		for (int i = 0; i < 4; i++) {
			ASSERT_TRUE(ring_next(&self->ring, &cqe, true));
			EXPECT_EQ(results[cqe.user_data], cqe.res);
		}
	}
}

TEST_F(uring, calls_that_change_no_timer_are_not_commands)
{
	static const __u32 commands[] = {
		TWHEEL_SETUP, TWHEEL_QUERY, TWHEEL_INFO, TWHEEL_LIST, TWHEEL_RING,
		TWHEEL_ADD ^ 1U << 16, _IO(TWHEEL_IOC_MAGIC, 0x22),
		_IOW(TWHEEL_IOC_MAGIC, 0x20, __u64), _IO(TWHEEL_IOC_MAGIC + 1, 0x20), ~0U,
	};
	struct io_uring_sqe sqe = { 0 };
	int other = eventfd(0, 0);

	for (unsigned int i = 0; i < ARRAY_SIZE(commands); i++) {
		twheel_prep_command(&sqe, self->fd, commands[i], 0, 0);
		EXPECT_TRUE(refused(&self->ring, &sqe, -ENOTTY));
	}
	twheel_prep_cancel(&sqe, other, self->id);
	EXPECT_TRUE(refused(&self->ring, &sqe, -EOPNOTSUPP));
	close(other);
	EXPECT_TRUE(refused(&self->ring, &sqe, -EBADF));
	EXPECT_TRUE(is_unchanged(self->fd, &before));
}

/* Bytes behind the argument, the flags, and the second half of a large entry. */
TEST_F(uring, unused_fields_must_be_zero)
{
	struct twheel_add add = { .time_ns = HOUR };
	struct io_uring_sqe sqe = { 0 };
	struct iovec buffer = { &add, sizeof(add) };
	struct io_uring_cqe cqe;

	ASSERT_EQ(0, syscall(SYS_io_uring_register, self->ring.fd, IORING_REGISTER_BUFFERS,
			     &buffer, 1));
	twheel_prep_command(&sqe, self->fd, TWHEEL_ADD, (uintptr_t)&add, 1);
	EXPECT_TRUE(refused(&self->ring, &sqe, -EINVAL));
	for (int i = 0; i < 64; i++) {
		twheel_prep_command(&sqe, self->fd, TWHEEL_URING_CANCEL, self->id, 1ULL << i);
		EXPECT_TRUE(refused(&self->ring, &sqe, -EINVAL));
	}
	twheel_prep_cancel(&sqe, self->fd, self->id);
	sqe.off |= 1ULL << 32;
	EXPECT_TRUE(refused(&self->ring, &sqe, -EINVAL));
	for (int i = 0; i < 32; i++) {
		twheel_prep_cancel(&sqe, self->fd, self->id);
		sqe.rw_flags = 1U << i;
		EXPECT_TRUE(refused(&self->ring, &sqe, -EINVAL));
	}
	for (int i = 0; variant->flags & IORING_SETUP_SQE128 && i < 2 * 8; i++) {
		struct io_uring_sqe more = { 0 };

		if (i % 2)
			twheel_prep_modify(&sqe, self->fd, self->id, HOUR);
		else
			twheel_prep_cancel(&sqe, self->fd, self->id);
		((__u64 *)&more)[i / 2] = 1ULL << 63;
		ring_queue(&self->ring, &sqe, &more);
		ASSERT_TRUE(ring_enter(&self->ring, 1));
		ASSERT_TRUE(ring_next(&self->ring, &cqe, true));
		EXPECT_EQ(-EINVAL, cqe.res);
	}
	EXPECT_TRUE(is_unchanged(self->fd, &before));
}

/* Reads by a ring wait without a worker, also of a wheel that is O_NONBLOCK. */
TEST_F(uring, reads_of_all_kinds_wait_without_a_worker)
{
	struct iovec parts[2] = { { event, 20 }, { (char *)event + 20, sizeof(*event) + 12 } };
	struct iovec all = { event, 2 * sizeof(*event) };
	const struct io_uring_sqe kinds[] = {
		{ .opcode = IORING_OP_READ, .addr = (uintptr_t)event, .len = 2 * sizeof(*event) },
		{ .opcode = IORING_OP_READV, .addr = (uintptr_t)parts, .len = 2 },
		{ .opcode = IORING_OP_READ_FIXED, .addr = (uintptr_t)event, .len = sizeof(*event) },
	};
	struct io_uring_cqe cqe;

	ASSERT_EQ(0, syscall(SYS_io_uring_register, self->ring.fd, IORING_REGISTER_BUFFERS,
			     &all, 1));
	for (unsigned int i = 0; i < 4 * ARRAY_SIZE(kinds); i++) {
		struct io_uring_sqe sqe = kinds[i / 4];

		sqe.fd = self->fd;
		ASSERT_EQ(0, fcntl(self->fd, F_SETFL, i & 1 ? O_NONBLOCK : 0));
		/* Every other one finds an event. */
		if (i & 2)
			ASSERT_NE(0, add_at(self->fd, 0, i));
		ASSERT_TRUE(ring_submit(&self->ring, &sqe));
		if (!(i & 2)) {
			sleep_for(20 * MSEC);
			ASSERT_FALSE(ring_next(&self->ring, &cqe, false));
			ASSERT_NE(0, add_after(self->fd, 10 * MSEC, i));
		}
		ASSERT_TRUE(ring_next(&self->ring, &cqe, true));
		EXPECT_EQ(sizeof(*event), cqe.res);
		EXPECT_EQ(i, event->data);
		EXPECT_LE(event->deadline_ns, now_ns());
	}
	EXPECT_EQ(0, count_workers());
}

/* IORING_OP_READ_MULTISHOT, which came with 6.7. */
#define READ_MULTISHOT	49
#define NR_BUFFERS	16

TEST_F(uring, a_multishot_read_takes_every_event)
{
	static struct twheel_event pool[NR_BUFFERS][2];
	struct io_uring_sqe give = {
		.opcode = IORING_OP_PROVIDE_BUFFERS, .fd = NR_BUFFERS,
		.addr = (uintptr_t)pool, .len = sizeof(pool[0]), .buf_group = 7,
	};
	struct io_uring_sqe sqe = {
		.opcode = READ_MULTISHOT, .fd = self->fd, .flags = IOSQE_BUFFER_SELECT,
		.buf_group = 7, .user_data = 1,
	};
	unsigned int nr, got = 0;
	struct io_uring_cqe cqe;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	ASSERT_EQ(0, ring_execute(&self->ring, &give));
	ASSERT_TRUE(ring_submit(&self->ring, &sqe));
	if (ring_next(&self->ring, &cqe, false) && cqe.res == -EINVAL)
		SKIP(return, "this kernel has no IORING_OP_READ_MULTISHOT");
	give.fd = 1;
	while (got < 4 * NR_BUFFERS) {
		ASSERT_NE(0, add_after(self->fd, got % 2 * MSEC, got));
		ASSERT_TRUE(ring_next(&self->ring, &cqe, true));
		ASSERT_EQ(sizeof(**pool), cqe.res);
		EXPECT_NE(0, cqe.flags & IORING_CQE_F_MORE);
		nr = cqe.flags >> IORING_CQE_BUFFER_SHIFT;
		EXPECT_EQ(got++, pool[nr]->data);
		give.addr = (uintptr_t)pool[nr];
		give.off = nr;
		ASSERT_EQ(0, ring_execute(&self->ring, &give));
	}
}
