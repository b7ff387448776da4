// SPDX-License-Identifier: MIT
/*
 * read() and poll(): sizes and pointers of buffers, blocking reads and signals
 */
#include <sys/uio.h>

#include "selftest.h"

WHEEL_FIXTURE(reading, O_NONBLOCK);

/* Not inlined, so that the compiler does not see that pointers are bad. */
static __attribute__((noinline)) int read_bytes(int fd, void *buffer, size_t size)
{
	ssize_t ret = read(fd, buffer, size);

	return ret < 0 ? -errno : ret;
}

/* SECURITY: kernel information */
TEST_F(reading, returns_as_many_whole_events_as_fit_at_least_one)
{
	static const struct {
		size_t size;
		int result;
	} reads[] = {
		{ 0, -EINVAL }, { 1, -EINVAL }, { 8, -EINVAL }, { 16, -EINVAL }, { 31, -EINVAL },
		{ 48, 32 }, { 63, 32 }, { 96, 96 }, { 129, 128 }, { 640, 128 }, { 640, -EAGAIN },
	};
	__u64 done = 0;

	/* The first time, there is nothing to read. */
	for (unsigned int i = 0; i < 5; i++)
		EXPECT_EQ(-EINVAL, read_bytes(self->fd, event, reads[i].size));
	ASSERT_TRUE(add_due(self->fd, 13, 0));
	before = tw_info(self->fd);
	for (unsigned int i = 0; i < ARRAY_SIZE(reads); i++) {
		int ret, n;

		memset(event, 0x5a, 1024);
		ret = read_bytes(self->fd, event, reads[i].size);
		EXPECT_EQ(reads[i].result, ret)
			TH_LOG("%zu bytes", reads[i].size);
		n = ret < 0 ? 0 : ret / 32;
		EXPECT_EQ(n, in_order(n, done));
		for (int k = 0; k < n; k++)
			EXPECT_EQ(done + k, event[k].deadline_ns);
		/* Nothing is written behind them. */
		EXPECT_EQ(0x5a5a5a5a5a5a5a5aULL, event[n].id);
		EXPECT_EQ(0x5a5a5a5a5a5a5a5aULL, event[19].count);
		if (!done && !n)
			EXPECT_STREQ("", changes(self->fd, &before));
		done += n;
	}
	EXPECT_EQ(13, done);
}

/* A read returns what it could copy; the others stay unread, before later ones. */
TEST_F(reading, leaves_what_does_not_fit_before_a_hole_in_order)
{
	ASSERT_TRUE(add_due(self->fd, 8, 0));
	EXPECT_EQ(3, tw_read(self->fd, before_hole(3 * sizeof(*event)), 8));
	EXPECT_EQ(5, in_order(read_events(self->fd, 8), 3));
}

/* A signal comes in the middle of the first read. */
TEST_F(reading, without_waiting_is_never_eintr)
{
	struct itimerval stop = {}, once = {};
	int done, n;

	ASSERT_TRUE(start_signals(0, 0));
	for (int i = 1; i <= 60; i++) {
		ASSERT_TRUE(add_many(self->fd, 300, 7 * MSEC, USEC, 0));
		sleep_for(10 * MSEC);
		once.it_value.tv_usec = i;
		ASSERT_EQ(0, setitimer(ITIMER_REAL, &once, NULL));
		for (done = 0; done < 300; done += n > 0 ? n : 0) {
			n = read_events(self->fd, MAX_EVENTS);
			ASSERT_NE(-EINTR, n);
		}
		ASSERT_EQ(0, setitimer(ITIMER_REAL, &stop, NULL));
		ASSERT_EQ(300, done);
	}
}

/*
 * Blocking reads.
 */
WHEEL_FIXTURE(blocking, 0);

/* In one bucket, which has to be sorted: the read goes on, hold by hold. */
TEST_F(blocking, a_read_returns_all_of_a_crowd_that_was_due)
{
	ASSERT_TRUE(add_many(self->fd, 2000, 300 * MSEC, 100 * USEC, 0));
	sleep_for(510 * MSEC);
	ASSERT_EQ(2000, read_events(self->fd, 2000));
}

/* These come again faster than they are read. */
TEST_F(blocking, a_long_read_ends_with_what_was_due_when_it_began)
{
	const int max = 1 << 20;
	struct twheel_event *many = new_pages(max * sizeof(*many));
	int n;

	ASSERT_EQ(0, tw_setup(self->fd, 100 * USEC, 256, CLOCK_MONOTONIC, 0));
	for (int i = 0; i < 1000; i++)
		ASSERT_NE(0, tw_add(self->fd, 0, 0, 100 * USEC, i));
	n = tw_read(self->fd, many, max);
	EXPECT_LT(0, n);
	EXPECT_GT(max, n);
}

TEST_F(blocking, o_nonblock_and_rwf_nowait_do_not_wait)
{
	struct iovec iov = { event, 2 * sizeof(*event) };

	EXPECT_EQ(EAGAIN, errno_of(preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT)));
	ASSERT_NE(0, add_at(self->fd, 0, 1));
	EXPECT_EQ(sizeof(*event), preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(1, event[0].data);
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, read_one(self->fd));
}

TEST_F(blocking, a_signal_is_eintr_without_sa_restart)
{
	__u64 id = add_after(self->fd, HOUR, 1), deadline;

	ASSERT_TRUE(start_signals(50000, 0));
	EXPECT_EQ(-EINTR, read_one(self->fd));
	EXPECT_EQ(-EINTR, read_one(self->fd));
	ASSERT_TRUE(start_signals(50000, SA_RESTART));
	deadline = now_ns() + 400 * MSEC;
	EXPECT_EQ(0, tw_modify(self->fd, id, deadline, TWHEEL_ABSTIME));
	EXPECT_EQ(1, read_one(self->fd));
	EXPECT_LE(deadline, now_ns());
}

TEST_F(blocking, making_a_ring_ends_the_read)
{
	struct twheel_ring_setup setup;
	struct waiter reader;

	ASSERT_TRUE(start_waiter(&reader, self->fd, &in_read));
	ASSERT_EQ(0, make_ring(self->fd, 100, &setup));
	EXPECT_EQ(-EBUSY, result_of(&reader));
}

/* The reader's own reference keeps the wheel until the read is over. */
TEST_F(blocking, close_leaves_the_read_of_another_thread_alone) /* SECURITY: close */
{
	__u64 id = add_after(self->fd, SOON, 1);
	struct waiter reader;

	ASSERT_TRUE(start_waiter(&reader, self->fd, &in_read));
	ASSERT_EQ(0, close(self->fd));
	EXPECT_EQ(1, result_of(&reader));
	EXPECT_EQ(id, reader.event.id);
	self->fd = -1;
}

TEST_F(reading, poll_reports_what_there_is_to_read)
{
	const short in = POLLIN | POLLRDNORM;
	__u64 id;

	EXPECT_EQ(0, poll_for(self->fd, in, 0));
	ASSERT_NE(0, add_after(self->fd, HOUR, 1));
	EXPECT_EQ(0, poll_for(self->fd, in, 0));
	EXPECT_EQ(0, poll_for(self->fd, in, 50));
	ASSERT_TRUE(add_due(self->fd, 2, 0));
	EXPECT_EQ(in, poll_for(self->fd, in, 0));
	EXPECT_EQ(POLLIN, poll_for(self->fd, POLLIN, -1));
	EXPECT_EQ(0, poll_for(self->fd, POLLOUT | POLLPRI, 0));
	ASSERT_EQ(0, read_one(self->fd));
	EXPECT_EQ(in, poll_for(self->fd, in, 0));
	ASSERT_EQ(1, read_one(self->fd));
	EXPECT_EQ(0, poll_for(self->fd, in, 0));
	ASSERT_NE(0, id = add_at(self->fd, 0, 1));
	EXPECT_EQ(in, poll_for(self->fd, in, 0));
	ASSERT_EQ(0, tw_cancel(self->fd, id));
	EXPECT_EQ(0, poll_for(self->fd, in, 0));
}
