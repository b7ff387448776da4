// SPDX-License-Identifier: MIT
/*
 * Periodic timers: they keep their phase, collapse into one event while unread, and live
 * until they are cancelled.
 */
#include "selftest.h"

WHEEL_FIXTURE(periodic, O_NONBLOCK);

/*
 * Checks an event of a periodic timer whose next unread period is @deadline, and returns
 * the period after those of the event. The read took place between @before and @after.
 */
static __u64 check_periods(struct __test_metadata *_metadata, const struct twheel_event *event,
			   __u64 deadline, __u64 interval, __u64 before, __u64 after)
{
	__u64 next = deadline + event->count * interval;

	EXPECT_EQ(deadline, event->deadline_ns)
		TH_LOG("the phase was lost");
	EXPECT_LE(1, event->count);
	EXPECT_LE(next - interval, after)
		TH_LOG("a period is counted that has not passed");
	EXPECT_GE(next + MSEC, before)
		TH_LOG("a period that had passed is not counted");
	return next;
}

/* One read of a periodic timer, as above. */
static __u64 read_periods(struct __test_metadata *_metadata, int fd, __u64 id,
			  __u64 deadline, __u64 interval)
{
	struct twheel_event event;
	__u64 before;

	ASSERT_EQ(POLLIN, poll_for(fd, POLLIN, 5000));
	before = now_ns();
	ASSERT_EQ(1, tw_read(fd, &event, 1));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(0, event.data);
	return check_periods(_metadata, &event, deadline, interval, before, now_ns());
}

TEST_F(periodic, keeps_phase)
{
	/* No multiple of the tick. */
	__u64 interval = 17 * MSEC + 333333, deadline = now_ns() + 30 * MSEC + 12345;
	__u64 id = tw_add(self->fd, deadline, TWHEEL_ABSTIME, interval, 0);
	int i;

	ASSERT_NE(0, id);
	for (i = 0; i < 10; i++)
		deadline = read_periods(_metadata, self->fd, id, deadline, interval);
	EXPECT_EQ(1, tw_info(self->fd).added);
	EXPECT_EQ(10, tw_info(self->fd).delivered);
	EXPECT_EQ(0, tw_info(self->fd).cancelled);
}

TEST_F(periodic, missed_periods_collapse_into_one_event) /* SECURITY: expiry */
{
	__u64 interval = 10 * MSEC, deadline = now_ns() + interval, next;
	__u64 id = tw_add(self->fd, deadline, TWHEEL_ABSTIME, interval, 0);
	struct twheel_event event;

	ASSERT_NE(0, id);
	/* In the middle of a period, their number is certain. */
	sleep_until(deadline + 39 * interval + interval / 2);
	EXPECT_EQ(1, tw_info(self->fd).expired);
	next = read_periods(_metadata, self->fd, id, deadline, interval);
	EXPECT_LE(40 * interval, next - deadline);
	EXPECT_EQ(1, tw_info(self->fd).delivered);
	/* Its periods are not read again. */
	if (tw_read(self->fd, &event, 1) == 1)
		EXPECT_EQ(next, event.deadline_ns);
}

TEST_F(periodic, a_first_deadline_long_ago_counts_all_periods_since)
{
	__u64 start = now_ns(), interval = 3 * MSEC, next;
	__u64 id = tw_add(self->fd, 0, TWHEEL_ABSTIME, interval, 0);

	ASSERT_NE(0, id);
	EXPECT_TRUE(readable(self->fd));
	next = read_periods(_metadata, self->fd, id, 0, interval);
	EXPECT_LT(start, next + MSEC);
	read_periods(_metadata, self->fd, id, next, interval);
}

TEST_F(periodic, the_shortest_interval_counts_every_tick) /* SECURITY: expiry */
{
	__u64 interval = USEC, deadline = now_ns(), total = 0;
	struct twheel_event event;
	__u64 id;
	int i;

	ASSERT_EQ(0, tw_setup(self->fd, USEC, 256, CLOCK_MONOTONIC, 0));
	id = tw_add(self->fd, deadline, TWHEEL_ABSTIME, interval, 0);
	ASSERT_NE(0, id);
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(1, wait_and_read(self->fd, &event, 1));
		EXPECT_EQ(deadline + total * interval, event.deadline_ns);
		total += event.count;
		EXPECT_LE(deadline + (total - 1) * interval, now_ns());
		sleep_for(MSEC);
	}
	EXPECT_LE(50 * MSEC / interval, total);
	EXPECT_EQ(0, tw_cancel(self->fd, id));
}

TEST_F(periodic, a_period_beyond_the_end_of_time_saturates) /* SECURITY: extreme times and sizes */
{
	__u64 id = tw_add(self->fd, 0, 0, TWHEEL_TIME_MAX_NS, 5);
	struct twheel_query query;
	struct twheel_event event;

	ASSERT_NE(0, id);
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(5, event.data);
	EXPECT_EQ(1, event.count);
	EXPECT_FALSE(readable(self->fd));
	ASSERT_EQ(0, tw_query(self->fd, id, &query));
	EXPECT_EQ(TWHEEL_TIME_MAX_NS, query.deadline_ns);
	EXPECT_EQ(TWHEEL_TIME_MAX_NS, query.interval_ns);
	EXPECT_EQ(0, tw_cancel(self->fd, id));
}

TEST_F(periodic, lives_on_after_it_is_read)
{
	__u64 id = tw_add(self->fd, 0, 0, HOUR, 0);
	struct twheel_query query;
	struct twheel_event event;

	ASSERT_NE(0, id);
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	ASSERT_EQ(0, tw_query(self->fd, id, &query));
	EXPECT_EQ(TWHEEL_PENDING, query.state);
	EXPECT_EQ(event.deadline_ns + HOUR, query.deadline_ns);
	EXPECT_EQ(HOUR, query.interval_ns);
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(0, tw_cancel(self->fd, id));
	EXPECT_EQ(-ENOENT, tw_cancel(self->fd, id));
	EXPECT_EQ(0, tw_info(self->fd).pending);
	EXPECT_EQ(1, tw_info(self->fd).cancelled);
}

TEST_F(periodic, modify_sets_a_new_phase_and_keeps_the_interval)
{
	__u64 interval = 15 * MSEC, deadline = now_ns() + HOUR;
	__u64 id = tw_add(self->fd, deadline, TWHEEL_ABSTIME, interval, 0);
	struct twheel_query query;
	int i;

	ASSERT_NE(0, id);
	/* While it is pending for the first time, ... */
	deadline = now_ns() + 10 * MSEC;
	ASSERT_EQ(0, tw_modify(self->fd, id, deadline, TWHEEL_ABSTIME));
	for (i = 0; i < 3; i++)
		deadline = read_periods(_metadata, self->fd, id, deadline, interval);
	/* ... after it was read, perhaps expired again, ... */
	deadline = now_ns() + 21 * MSEC;
	ASSERT_EQ(0, tw_modify(self->fd, id, deadline, TWHEEL_ABSTIME));
	for (i = 0; i < 3; i++)
		deadline = read_periods(_metadata, self->fd, id, deadline, interval);
	/* ... and with unread periods, which are gone then. */
	sleep_for(50 * MSEC);
	EXPECT_TRUE(readable(self->fd));
	deadline = now_ns() + 200 * MSEC;
	ASSERT_EQ(0, tw_modify(self->fd, id, deadline, TWHEEL_ABSTIME));
	if (now_ns() < deadline)
		EXPECT_FALSE(readable(self->fd));
	ASSERT_EQ(0, tw_query(self->fd, id, &query));
	EXPECT_EQ(interval, query.interval_ns);
	read_periods(_metadata, self->fd, id, deadline, interval);
}
