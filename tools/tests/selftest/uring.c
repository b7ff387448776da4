// SPDX-License-Identifier: MIT
/*
 * Commands and reads of io_uring, as far as they differ from the calls: the fixtures input, ids
 * and batch also run with commands, and waiters poll and read by rings.
 */
#include <dirent.h>
#include <linux/seccomp.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "selftest.h"

FIXTURE(uring)
{
	int fd;
	__u64 id;
	struct twheel_info before;
	struct ring ring;
};

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
	ASSERT_TRUE(ring_open_with(&self->ring, variant->flags));
	ASSERT_NE(0, self->id = add_after(self->fd, HOUR, 1));
	self->before = tw_info(self->fd);
}

FIXTURE_TEARDOWN(uring)
{
	close(self->ring.fd);
	close(self->fd);
}

/* The threads that io_uring has made for this process. */
static unsigned int count_workers(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned int n = 0;

	while (tasks && (entry = readdir(tasks))) {
		char path[300], name[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (file && fgets(name, sizeof(name), file))
			n += !strncmp(name, "iou-wrk", 7);
		if (file)
			fclose(file);
	}
	closedir(tasks);
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
	struct chance chance = { .state = 1 };
	struct io_uring_cqe cqe;
	struct io_uring_sqe sqe;
	struct twheel_query query;
	unsigned int round, n, i, cancel;
	__u64 id, delay = 0, before;

	for (round = 0; round < 100; round++) {
		ASSERT_NE(0, id = add_after(self->fd, HOUR, 0));
		before = now_ns();
		n = 2 + chance_below(&chance, RING_ENTRIES - 2);
		cancel = round % 2 ? chance_below(&chance, n) : n;
		for (i = 0; i < n; i++) {
			memset(&sqe, 0, sizeof(sqe));
			sqe.user_data = i;
			if (i < cancel)
				delay = (1 + chance_below(&chance, 1000)) * HOUR;
			if (i == cancel)
				twheel_prep_cancel(&sqe, self->fd, id);
			else
				twheel_prep_modify(&sqe, self->fd, id, delay);
			ring_queue(&self->ring, &sqe, NULL);
		}
		ASSERT_TRUE(ring_enter(&self->ring, n));
		EXPECT_EQ(cancel == n ? 0 : -ENOENT, tw_query(self->fd, id, &query));
		if (cancel == n) {
			EXPECT_LE(before + delay, query.deadline_ns);
			EXPECT_GE(now_ns() + delay, query.deadline_ns);
		}
		for (i = 0; i < n; i++) {
			ASSERT_TRUE(ring_next(&self->ring, &cqe, false));
			EXPECT_EQ(cqe.user_data > cancel ? -ENOENT : 0, cqe.res);
		}
	}
	EXPECT_EQ(0, count_workers());
}

/* A batch's result is a count, and no failure. */
TEST_F(uring, a_chain_goes_on_behind_a_batch_and_ends_at_a_failure)
{
	struct twheel_add add[200] = { 0 };
	struct twheel_batch batch = { .entries = (uintptr_t)add, .count = 200 };
	static const __u32 ways[] = { IOSQE_IO_LINK, IOSQE_IO_LINK | IOSQE_ASYNC };
	static const int results[] = { 200, 0, -ENOENT, -ECANCELED };
	struct io_uring_sqe sqe[4];
	struct io_uring_cqe cqe;
	unsigned int way, i;

	for (i = 0; i < 200; i++)
		add[i].time_ns = HOUR;
	for (way = 0; way < ARRAY_SIZE(ways); way++) {
		memset(sqe, 0, sizeof(sqe));
		twheel_prep_add_batch(&sqe[0], self->fd, &batch);
		twheel_prep_cancel(&sqe[1], self->fd, way ? add[0].id : self->id);
		twheel_prep_cancel(&sqe[2], self->fd, self->id);
		twheel_prep_cancel(&sqe[3], self->fd, add[1].id);
		for (i = 0; i < 4; i++) {
			sqe[i].flags = i == 3 ? 0 : ways[way];
			sqe[i].user_data = i;
			ring_queue(&self->ring, &sqe[i], NULL);
		}
		ASSERT_TRUE(ring_enter(&self->ring, 4));
		for (i = 0; i < 4; i++) {
			ASSERT_TRUE(ring_next(&self->ring, &cqe, true));
			EXPECT_EQ(results[cqe.user_data], cqe.res);
		}
	}
}

TEST_F(uring, what_changes_no_timer_is_no_command)
{
	static const __u32 commands[] = {
		TWHEEL_SETUP, TWHEEL_QUERY, TWHEEL_INFO, TWHEEL_LIST, TWHEEL_RING,
		TWHEEL_ADD ^ 1U << 16, _IO(TWHEEL_IOC_MAGIC, 0x22),
		_IOW(TWHEEL_IOC_MAGIC, 0x20, __u64), _IO(TWHEEL_IOC_MAGIC + 1, 0x20), ~0U,
	};
	struct io_uring_sqe sqe = { 0 };
	int other = eventfd(0, 0);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		twheel_prep_command(&sqe, self->fd, commands[i], 0, 0);
		EXPECT_TRUE(refused(&self->ring, &sqe, -ENOTTY));
	}
	twheel_prep_cancel(&sqe, other, self->id);
	EXPECT_TRUE(refused(&self->ring, &sqe, -EOPNOTSUPP));
	close(other);
	EXPECT_TRUE(refused(&self->ring, &sqe, -EBADF));
	EXPECT_STREQ("", changes(self->fd, &self->before));
}

/* What is behind the argument, the flags, and the second half of a large entry. */
TEST_F(uring, fields_without_a_use_have_to_be_zero)
{
	struct twheel_add add = { .time_ns = HOUR };
	struct io_uring_sqe sqe = { 0 }, more = { 0 };
	struct io_uring_cqe cqe;
	unsigned int i;

	twheel_prep_command(&sqe, self->fd, TWHEEL_ADD, (uintptr_t)&add, 1);
	EXPECT_TRUE(refused(&self->ring, &sqe, -EINVAL));
	for (i = 0; i < 64; i++) {
		twheel_prep_command(&sqe, self->fd, TWHEEL_URING_CANCEL, self->id, 1ULL << i);
		EXPECT_TRUE(refused(&self->ring, &sqe, -EINVAL));
	}
	twheel_prep_cancel(&sqe, self->fd, self->id);
	sqe.off |= 1ULL << 32;
	EXPECT_TRUE(refused(&self->ring, &sqe, -EINVAL));
	for (i = 2; i < 32; i++) {
		twheel_prep_cancel(&sqe, self->fd, self->id);
		sqe.rw_flags = 1U << i;
		EXPECT_TRUE(refused(&self->ring, &sqe, -EINVAL));
	}
	for (i = 0; variant->flags & IORING_SETUP_SQE128 && i < 2 * 8; i++) {
		if (i % 2)
			twheel_prep_modify(&sqe, self->fd, self->id, HOUR);
		else
			twheel_prep_cancel(&sqe, self->fd, self->id);
		memset(&more, 0, sizeof(more));
		((__u64 *)&more)[i / 2] = 1ULL << 63;
		ring_queue(&self->ring, &sqe, &more);
		ASSERT_TRUE(ring_enter(&self->ring, 1));
		ASSERT_TRUE(ring_next(&self->ring, &cqe, true));
		EXPECT_EQ(-EINVAL, cqe.res);
	}
	EXPECT_STREQ("", changes(self->fd, &self->before));
}

/* Reads by a ring wait without a worker, also of a wheel that is O_NONBLOCK. */
TEST_F(uring, reads_of_all_kinds_wait_without_a_worker)
{
	struct twheel_event event[2];
	struct iovec parts[2] = { { event, 20 }, { (char *)event + 20, sizeof(event) - 20 } };
	struct iovec all = { event, sizeof(event) };
	const struct io_uring_sqe kinds[] = {
		{ .opcode = IORING_OP_READ, .addr = (uintptr_t)event, .len = sizeof(event) },
		{ .opcode = IORING_OP_READV, .addr = (uintptr_t)parts, .len = 2 },
		{ .opcode = IORING_OP_READ_FIXED, .addr = (uintptr_t)event, .len = sizeof(event) },
	};
	struct io_uring_sqe sqe;
	struct io_uring_cqe cqe;
	unsigned int i;

	ASSERT_EQ(0, syscall(SYS_io_uring_register, self->ring.fd, IORING_REGISTER_BUFFERS,
			     &all, 1));
	for (i = 0; i < 4 * ARRAY_SIZE(kinds); i++) {
		sqe = kinds[i / 4];
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
		EXPECT_EQ(i, event[0].data);
		EXPECT_LE(event[0].deadline_ns, now_ns());
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

/*
 * A child whose ring has a thread in the kernel may only call read, write and exit: any other
 * call kills it. That thread goes on until the child is killed.
 */
static void change_without_calls(int fd, int answers)
{
	struct twheel_add add = { .time_ns = HOUR };
	struct io_uring_sqe sqe = { 0 };
	struct io_uring_cqe cqe;
	struct ring ring;
	char bad = 0;
	int i;

	if (!ring_open_with(&ring, IORING_SETUP_SQPOLL))
		_exit(2);
	/* Start the thread. */
	sqe.opcode = IORING_OP_NOP;
	ring_queue(&ring, &sqe, NULL);
	syscall(SYS_io_uring_enter, ring.fd, 1, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(3);
	for (i = 0; i < 31; i++) {
		while (!ring_peek(&ring, &cqe))
			;
		bad |= cqe.res != 0;
		if (i % 3 == 0)
			twheel_prep_add(&sqe, fd, &add);
		else if (i % 3 == 1)
			twheel_prep_modify(&sqe, fd, add.id, 2 * HOUR);
		else
			twheel_prep_cancel(&sqe, fd, add.id);
		ring_queue(&ring, &sqe, NULL);
	}
	if (write(answers, &bad, 1) == 1)
		syscall(SYS_exit, 0);
}

TEST_F(waiters, of_sqpoll_change_timers_without_a_system_call)
{
	int end[2], status = 0;
	char bad = 2;
	pid_t pid;

	ASSERT_EQ(0, pipe(end));
	pid = fork();
	if (!pid)
		change_without_calls(self->fd, end[1]);
	close(end[1]);
	if (read(end[0], &bad, 1) == 1)
		kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
		SKIP(return, "this kernel has no seccomp");
	EXPECT_EQ(0, bad);
	EXPECT_EQ(10, tw_info(self->fd).modified);
	EXPECT_EQ(10, tw_info(self->fd).cancelled);
}
