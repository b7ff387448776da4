// SPDX-License-Identifier: MIT
/*
 * read() and waiting: sizes and pointers of buffers, blocking reads, signals, several
 * readers, poll, select and epoll.
 */
#include <sys/uio.h>

#include "selftest.h"

WHEEL_FIXTURE(reading, O_NONBLOCK);

/* Adds @count timers that expire at once, with data 0, 1, ... */
static bool add_expired(int fd, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (!add_at(fd, i, i))
			return false;
	}
	return true;
}

/* Not inlined, so that the compiler does not see that pointers are bad. */
static __attribute__((noinline)) int read_bytes(int fd, void *buffer, size_t size)
{
	ssize_t ret = read(fd, buffer, size);

	return ret < 0 ? -errno : ret;
}

TEST_F(reading, a_buffer_smaller_than_an_event_is_einval)
{
	static const size_t sizes[] = { 0, 1, 8, 16, 31 };
	struct twheel_info before;
	struct twheel_event event;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(-EINVAL, read_bytes(self->fd, &event, sizes[i]))
			TH_LOG("%zu bytes, nothing to read", sizes[i]);
	}
	ASSERT_TRUE(add_expired(self->fd, 1));
	before = tw_info(self->fd);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(-EINVAL, read_bytes(self->fd, &event, sizes[i]))
			TH_LOG("%zu bytes", sizes[i]);
	}
	EXPECT_STREQ("", changes(self->fd, &before));
	EXPECT_EQ(1, tw_read(self->fd, &event, 1));
}

TEST_F(reading, returns_as_many_whole_events_as_fit) /* SECURITY: kernel information */
{
	struct twheel_event event[20];
	int i;

	ASSERT_TRUE(add_expired(self->fd, 13));
	/* One and a half, two less a byte, exactly three, four and a byte. */
	ASSERT_EQ(1 * 32, read_bytes(self->fd, event, 48));
	EXPECT_EQ(0, event[0].data);
	ASSERT_EQ(1 * 32, read_bytes(self->fd, event, 63));
	EXPECT_EQ(1, event[0].data);
	ASSERT_EQ(3 * 32, read_bytes(self->fd, event, 96));
	EXPECT_EQ(2, event[0].data);
	ASSERT_EQ(4 * 32, read_bytes(self->fd, event, 129));
	EXPECT_EQ(5, event[0].data);
	/* The rest does not fill the buffer, and nothing is written behind it. */
	memset(event, 0x5a, sizeof(event));
	ASSERT_EQ(4 * 32, read_bytes(self->fd, event, sizeof(event)));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(9 + i, event[i].data);
		EXPECT_EQ(9 + i, event[i].deadline_ns);
	}
	EXPECT_EQ(0x5a5a5a5a5a5a5a5aULL, event[4].id);
	EXPECT_EQ(0x5a5a5a5a5a5a5a5aULL, event[19].count);
	EXPECT_EQ(-EAGAIN, read_bytes(self->fd, event, sizeof(event)));
}

/* At a missing page, no timer is lost and no event is skipped. */
TEST_F(reading, into_memory_that_was_never_touched) /* SECURITY: missing pages */
{
	size_t size = 1000 * sizeof(struct twheel_event);
	struct twheel_event *event;
	int i;

	ASSERT_TRUE(add_expired(self->fd, 1000));
	/* At an odd place, so that events lie across the pages. */
	event = (void *)((char *)mmap(NULL, size + 8, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 8);
	ASSERT_EQ(1000, tw_read(self->fd, event, 1000));
	for (i = 0; i < 1000; i++)
		EXPECT_EQ(i, event[i].data);
}

TEST_F(reading, to_a_bad_pointer_is_efault_and_loses_no_event) /* SECURITY: missing pages */
{
	struct twheel_event event[4] = { 0 };
	struct twheel_info before;
	unsigned int i;

	ASSERT_TRUE(add_expired(self->fd, 3));
	before = tw_info(self->fd);
	for (i = 0; i < NR_BAD_POINTERS; i++) {
		EXPECT_EQ(-EFAULT, read_bytes(self->fd, bad_pointer(i), sizeof(event)));
		EXPECT_EQ(-EFAULT, read_bytes(self->fd, bad_pointer(i), sizeof(event[0])));
	}
	EXPECT_EQ(-EFAULT, read_bytes(self->fd, read_only_copy(event, sizeof(event)),
				      sizeof(event)));
	EXPECT_EQ(-EFAULT, read_bytes(self->fd, before_hole(sizeof(event[0]) - 1),
				      sizeof(event)));
	EXPECT_STREQ("", changes(self->fd, &before));
	EXPECT_TRUE(readable(self->fd));
	ASSERT_EQ(3, tw_read(self->fd, event, 4));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(i, event[i].data);
}

/* SECURITY: kernel information */
TEST_F(reading, to_a_buffer_that_ends_returns_what_fits_before_the_end)
{
	struct twheel_event event[10];
	void *buffer = before_hole(2 * sizeof(event[0]) + 8);

	ASSERT_TRUE(add_expired(self->fd, 5));
	ASSERT_EQ(2 * 32, read_bytes(self->fd, buffer, 10 * sizeof(event[0])));
	memcpy(event, buffer, 2 * sizeof(event[0]));
	EXPECT_EQ(0, event[0].data);
	EXPECT_EQ(1, event[1].data);
	EXPECT_EQ(2, tw_info(self->fd).delivered);
	ASSERT_EQ(3, tw_read(self->fd, event, 10));
	EXPECT_EQ(2, event[0].data);
	EXPECT_EQ(3, event[1].data);
	EXPECT_EQ(4, event[2].data);
}

TEST_F(reading, a_failed_read_leaves_the_timer_to_cancel_modify_and_query)
{
	struct twheel_query query;
	__u64 id[2];

	ASSERT_NE(0, id[0] = add_at(self->fd, 0, 1));
	ASSERT_NE(0, id[1] = add_at(self->fd, 0, 2));
	EXPECT_EQ(-EFAULT, read_bytes(self->fd, NULL, 32));
	ASSERT_EQ(0, tw_query(self->fd, id[0], &query));
	EXPECT_EQ(TWHEEL_EXPIRED, query.state);
	EXPECT_EQ(0, tw_cancel(self->fd, id[0]));
	EXPECT_EQ(-EFAULT, read_bytes(self->fd, NULL, 64));
	EXPECT_EQ(0, tw_modify(self->fd, id[1], HOUR, 0));
	EXPECT_FALSE(readable(self->fd));
	EXPECT_TRUE(balanced(self->fd));
}

TEST_F(reading, readv_is_one_read)
{
	struct twheel_event first[1], rest[2];
	char head[20], tail[44];
	struct iovec whole[] = {
		{ first, sizeof(first) },
		{ rest, sizeof(rest) },
	};
	struct iovec split[] = {
		{ head, sizeof(head) },
		{ tail, sizeof(tail) },
	};
	__u64 data;

	ASSERT_TRUE(add_expired(self->fd, 6));
	ASSERT_EQ(96, readv(self->fd, whole, 2));
	EXPECT_EQ(0, first[0].data);
	EXPECT_EQ(1, rest[0].data);
	EXPECT_EQ(2, rest[1].data);
	/* Events may lie across the pieces. */
	ASSERT_EQ(64, readv(self->fd, split, 2));
	memcpy(&data, head + 8, sizeof(data));
	EXPECT_EQ(3, data);
	memcpy(&data, tail + 20, sizeof(data));
	EXPECT_EQ(4, data);
	/* It does not wait for a second event to fill the second piece. */
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	ASSERT_EQ(32, readv(self->fd, whole, 2));
	EXPECT_EQ(5, first[0].data);
}

/*
 * Blocking reads.
 */
WHEEL_FIXTURE(blocking, 0);

/* In one bucket, which has to be sorted: the read goes on, hold by hold. */
TEST_F(blocking, a_read_returns_all_of_a_crowd_that_was_due)
{
	struct twheel_event event[2000];
	int i;

	for (i = 0; i < 2000; i++)
		ASSERT_NE(0, add_after(self->fd, 300 * MSEC + i * 100 * USEC, i));
	sleep_for(510 * MSEC);
	ASSERT_EQ(2000, tw_read(self->fd, event, 2000));
}

/* These come again faster than they are read. */
TEST_F(blocking, a_long_read_ends_with_what_was_due_when_it_began)
{
	const int max = 1 << 20;
	struct twheel_event *event = malloc(max * sizeof(*event));
	int i, n;

	ASSERT_NE(NULL, event);
	ASSERT_EQ(0, tw_setup(self->fd, 100 * USEC, 256, CLOCK_MONOTONIC, 0));
	for (i = 0; i < 1000; i++)
		ASSERT_NE(0, tw_add(self->fd, 0, 0, 100 * USEC, i));
	n = tw_read(self->fd, event, max);
	EXPECT_LT(0, n);
	EXPECT_GT(max, n);
	free(event);
}

TEST_F(blocking, o_nonblock_can_be_set_later)
{
	struct twheel_event event;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, 1));
}

TEST_F(blocking, rwf_nowait_does_not_wait)
{
	struct twheel_event event[2];
	struct iovec iov = { event, sizeof(event) };

	EXPECT_EQ(-1, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(EAGAIN, errno);
	ASSERT_NE(0, add_at(self->fd, 0, 1));
	EXPECT_EQ(sizeof(*event), preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(1, event[0].data);
}

TEST_F(blocking, a_signal_is_eintr)
{
	__u64 id = add_after(self->fd, HOUR, 1);
	struct itimerval never = { 0 };
	struct twheel_event event;

	ASSERT_NE(0, id);
	ASSERT_TRUE(start_signals(50000, 0));
	EXPECT_EQ(-EINTR, tw_read(self->fd, &event, 1));
	EXPECT_EQ(-EINTR, tw_read(self->fd, &event, 1));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	EXPECT_EQ(0, tw_modify(self->fd, id, 0, 0));
	EXPECT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_EQ(id, event.id);
}

TEST_F(blocking, a_signal_with_sa_restart_goes_on_waiting)
{
	__u64 deadline = now_ns() + 400 * MSEC;
	struct twheel_event event;

	ASSERT_NE(0, add_at(self->fd, deadline, 1));
	ASSERT_TRUE(start_signals(50000, SA_RESTART));
	EXPECT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_LE(deadline, now_ns());
}

/* Signals interrupt reads just when timers fall due. */
TEST_F(blocking, a_signal_takes_no_event)
{
	__u64 base = now_ns() + 50 * MSEC;
	unsigned int i, interrupted = 0;
	struct twheel_event event;
	int ret;

	ASSERT_TRUE(start_signals(50000, 0));
	for (i = 0; i < 20; i++) {
		ASSERT_NE(0, add_at(self->fd, base + i * 50 * MSEC + (i % 8) * MSEC, i));
		while ((ret = tw_read(self->fd, &event, 1)) == -EINTR)
			interrupted++;
		ASSERT_EQ(1, ret);
		ASSERT_EQ(i, event.data);
	}
	EXPECT_LE(10, interrupted);
	EXPECT_TRUE(balanced(self->fd));
}

TEST_F(blocking, a_ring_that_is_made_ends_the_read)
{
	struct twheel_ring_setup setup;
	struct waiter reader;

	ASSERT_TRUE(start_waiter(&reader, self->fd, in_read));
	ASSERT_EQ(0, make_ring(self->fd, 100, &setup));
	EXPECT_EQ(-EBUSY, result_of(&reader));
}

/* The reader's own reference keeps the wheel until the read is over. */
TEST_F(blocking, close_leaves_the_read_of_another_thread_alone) /* SECURITY: close */
{
	__u64 id = add_after(self->fd, SOON, 1);
	struct waiter reader;

	ASSERT_TRUE(start_waiter(&reader, self->fd, in_read));
	ASSERT_EQ(0, close(self->fd));
	EXPECT_EQ(1, result_of(&reader));
	EXPECT_EQ(id, reader.event.id);
	self->fd = -1;
}

/*
 * poll, select and epoll.
 */
TEST_F(reading, poll_reports_what_there_is_to_read)
{
	const short in = POLLIN | POLLRDNORM;
	struct twheel_event event;
	__u64 id;

	EXPECT_EQ(0, poll_for(self->fd, in, 0));
	ASSERT_NE(0, add_after(self->fd, HOUR, 1));
	EXPECT_EQ(0, poll_for(self->fd, in, 0));
	EXPECT_EQ(0, poll_for(self->fd, in, 50));
	ASSERT_TRUE(add_expired(self->fd, 2));
	EXPECT_EQ(in, poll_for(self->fd, in, 0));
	EXPECT_EQ(POLLIN, poll_for(self->fd, POLLIN, -1));
	EXPECT_EQ(0, poll_for(self->fd, POLLOUT | POLLPRI, 0));
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_EQ(in, poll_for(self->fd, in, 0));
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_EQ(0, poll_for(self->fd, in, 0));
	ASSERT_NE(0, id = add_at(self->fd, 0, 1));
	EXPECT_EQ(in, poll_for(self->fd, in, 0));
	ASSERT_EQ(0, tw_cancel(self->fd, id));
	EXPECT_EQ(0, poll_for(self->fd, in, 0));
}

TEST_F(reading, epoll_level_triggered_reports_until_all_is_read)
{
	int epoll = watch(self->fd, EPOLLIN), edge;
	struct twheel_event event;

	ASSERT_LE(0, epoll);
	EXPECT_EQ(0, epoll_for(epoll, 0));
	ASSERT_NE(0, add_after(self->fd, 50 * MSEC, 1));
	ASSERT_NE(0, add_after(self->fd, 51 * MSEC, 2));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	ASSERT_TRUE(wait_expired(self->fd, 2));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 0));
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 0));
	/* What had expired before is reported to those that watch from now on. */
	ASSERT_LE(0, edge = watch(self->fd, EPOLLIN | EPOLLET));
	EXPECT_EQ(EPOLLIN, epoll_for(edge, 0));
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_EQ(0, epoll_for(epoll, 0));
	close(epoll);
	close(edge);
}

TEST_F(reading, epoll_edge_triggered_reports_each_time_there_is_news)
{
	int epoll = watch(self->fd, EPOLLIN | EPOLLET);
	struct twheel_event event;
	int i;

	ASSERT_LE(0, epoll);
	for (i = 0; i < 5; i++) {
		ASSERT_NE(0, add_after(self->fd, 20 * MSEC, i));
		ASSERT_EQ(EPOLLIN, epoll_for(epoll, 5000));
		EXPECT_EQ(0, epoll_for(epoll, 20))
			TH_LOG("nothing has expired since the last report");
		ASSERT_EQ(1, tw_read(self->fd, &event, 1));
		EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, 1));
		EXPECT_EQ(0, epoll_for(epoll, 0));
	}
	/* A timer that is due when added or modified causes an edge as well. */
	ASSERT_NE(0, add_at(self->fd, 0, 1));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 0));
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	ASSERT_EQ(0, tw_modify(self->fd, add_after(self->fd, HOUR, 2), 0, 0));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 0));
	/* So does one that expires while there is more to read. */
	ASSERT_NE(0, add_after(self->fd, 20 * MSEC, 3));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	close(epoll);
}

/* Closing the fd removes it from the epoll set, with its timers. */
TEST_F(reading, epoll_forgets_a_closed_wheel) /* SECURITY: close */
{
	int epoll = watch(self->fd, EPOLLIN);

	ASSERT_LE(0, epoll);
	ASSERT_NE(0, add_after(self->fd, 20 * MSEC, 1));
	ASSERT_EQ(0, close(self->fd));
	EXPECT_EQ(0, epoll_for(epoll, 100));
	close(epoll);
	self->fd = -1;
}
