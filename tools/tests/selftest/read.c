// SPDX-License-Identifier: MIT
/*
 * read(): what does not fit, waiting, and signals. twheel-fuzz has buffers of all kinds.
 */
#include <sys/uio.h>

#include "selftest.h"

WHEEL_FIXTURE(reading, O_NONBLOCK);

/* A read returns what it could copy; the others stay unread, before later ones. */
TEST_F(reading, leaves_what_does_not_fit_before_a_hole_in_order)
{
	ASSERT_TRUE(add_due(self->fd, 8, 0));
	EXPECT_EQ(3, tw_read(self->fd, before_page(3 * sizeof(*event), -1), 8));
	EXPECT_EQ(5, in_order(read_events(self->fd, 8), 3));
}

/* Many timers that have to cascade are read by edges only. SECURITY: polls */
TEST_F(reading, that_leaves_work_gives_an_edge)
{
	const int count = MAX_EVENTS;
	__u64 due = now_ns() + 500 * MSEC;
	int epoll = watch(self->fd, EDGE), got = 0, n;

	ASSERT_EQ(0, tw_setup(self->fd, 10 * USEC, 3, CLOCK_MONOTONIC, 0));
	fill_adds(count, 0, 0, TWHEEL_ABSTIME);
	for (int i = 0; i < count; i++)
		adds[i].time_ns = due + (i * 7919 % count) * USEC;
	ASSERT_EQ(count, tw_batch(self->fd, TWHEEL_ADD_BATCH, adds, count));
	while (got < count) {
		ASSERT_EQ(EPOLLIN, epoll_for(epoll, 5000));
		while ((n = read_events(self->fd, 64)) > 0)
			got += n;
		ASSERT_EQ(-EAGAIN, n);
	}
}

/* The first one of a crowd is the last one in its bucket. SECURITY: polls */
TEST_F(reading, a_poll_leaves_the_cpu_to_others_while_it_sorts)
{
	const __u64 length = 256 * MSEC, end = (now_ns() / length + 4) * length;
	__u64 began, fires;

	ASSERT_TRUE(add_many(self->fd, MAX_EVENTS, end - MSEC, -50 * USEC, TWHEEL_ABSTIME));
	sleep_until(end);
	began = now_ns();
	ASSERT_EQ(POLLIN, poll_for(self->fd, POLLIN, 5000));
	fires = fdinfo_field(self->fd, "twheel-fires");
	EXPECT_LT(3, fires);
	EXPECT_LE(began + (fires - 1) * 50 * USEC, now_ns());
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

/* A timer that becomes due during a read is for the next one. A busy machine may try again. */
TEST_F(blocking, a_read_returns_what_was_due_when_it_began)
{
	int tries = 10, n;
	__s64 later;

	ASSERT_EQ(0, tw_setup(self->fd, USEC, 256, CLOCK_MONOTONIC, 0));
	do {
		ASSERT_TRUE(add_many(self->fd, MAX_EVENTS, now_ns() + 5 * MSEC, USEC,
				     TWHEEL_ABSTIME));
		sleep_until(adds[MAX_EVENTS / 2].time_ns);
		later = -now_ns();
		n = read_events(self->fd, MAX_EVENTS);
		ASSERT_LT(0, n);
		later += event[n - 1].deadline_ns;
		sleep_until(adds[MAX_EVENTS - 1].time_ns);
		while (n < MAX_EVENTS)
			n += read_events(self->fd, MAX_EVENTS);
	} while (later > 50 * (__s64)USEC && --tries);
	EXPECT_LT(0, tries);
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
