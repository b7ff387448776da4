// SPDX-License-Identifier: MIT
/*
 * Wheels on clocks that are set: nothing is early by the new time, nothing is lost
 */
#include <sys/timex.h>

#include "selftest.h"

#define NR_WALL		MAX_EVENTS

/* The time of day stays as the last test has set it. */
FIXTURE_OF_WHEEL(wall_clock);

FIXTURE_VARIANT(wall_clock)
{
	clockid_t clock;
};

FIXTURE_VARIANT_ADD(wall_clock, realtime) { .clock = CLOCK_REALTIME };
FIXTURE_VARIANT_ADD(wall_clock, tai) { .clock = CLOCK_TAI };

FIXTURE_SETUP(wall_clock)
{
	/* As on a machine whose time is synchronised: else CLOCK_TAI is CLOCK_REALTIME. */
	struct timex leap_seconds = { .modes = ADJ_TAI, .constant = 37 };

	ASSERT_NE(-1, adjtimex(&leap_seconds));
	self->fd = open_wheel(_metadata, O_NONBLOCK);
	ASSERT_EQ(0, tw_setup(self->fd, MSEC, 256, variant->clock, 0));
}

/* The state that a query and a list agree on, or 0. */
static __u32 state_of(int fd, __u64 id)
{
	struct twheel_list list = { .entries = (uintptr_t)listed, .count = 1 };

	if (tw_query(fd, id) || tw_ioctl(fd, TWHEEL_LIST, &list) != 1)
		return 0;
	return listed->id == id && listed->state == query.state ? query.state : 0;
}

TEST_F(wall_clock, a_delay_becomes_a_deadline)
{
	__u64 from = now_on(variant->clock), id = add_after(self->fd, HOUR, 1);
	__u64 deadline = deadline_of(self->fd, id);

	EXPECT_LE(from + HOUR, deadline);
	EXPECT_GE(now_on(variant->clock) + HOUR, deadline);
	ASSERT_TRUE(set_time_of_day(HOUR / 2));
	ASSERT_EQ(deadline, deadline_of(self->fd, id));
	EXPECT_GE(HOUR / 2, query.remaining_ns);
}

TEST_F(wall_clock, set_forward_wakes_waiters)
{
	for (int blocking = 0; blocking < 2; blocking++) {
		pid_t pid;

		ASSERT_EQ(0, fcntl(self->fd, F_SETFL, blocking ? 0 : O_NONBLOCK));
		ASSERT_NE(0, add_after(self->fd, blocking ? YEAR : HOUR, 7));
		pid = fork();
		if (!pid) {
			sleep_for(20 * MSEC);
			_exit(!set_time_of_day(2 * YEAR));
		}
		EXPECT_EQ(1, blocking ? read_events(self->fd, 1) : wait_and_read(self->fd, 1));
		EXPECT_EQ(0, wait_for(pid));
	}
}

TEST_F(wall_clock, set_back_takes_back_what_is_unread)
{
	__u64 id = add_after(self->fd, MSEC, 7);

	ASSERT_TRUE(wait_expired(self->fd, 1));
	EXPECT_TRUE(readable(self->fd));
	ASSERT_TRUE(set_time_of_day(-(__s64)HOUR));
	EXPECT_EQ(TWHEEL_PENDING, state_of(self->fd, id));
	EXPECT_FALSE(readable(self->fd));
	EXPECT_EQ(-EAGAIN, read_one(self->fd));
	EXPECT_EQ(TWHEEL_PENDING, state_of(self->fd, id));
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(0, tw_info(self->fd).expired);
	ASSERT_TRUE(set_time_of_day(HOUR));
	EXPECT_EQ(TWHEEL_EXPIRED, state_of(self->fd, id));
	EXPECT_EQ(1, wait_and_read(self->fd, 1));
	EXPECT_EQ(id, event->id);
	EXPECT_EQ(-EAGAIN, read_one(self->fd));
}

/* A program that has events in its ring takes them, and does not poll again. */
TEST_F(wall_clock, set_back_beside_events_in_a_ring_and_due_again_is_an_edge)
{
	int epoll = watch(self->fd, EDGE);
	struct mapped map;

	ASSERT_TRUE(map_ring(&map, self->fd, 2));
	ASSERT_NE(0, add_after(self->fd, 0, 1));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	ASSERT_NE(0, add_after(self->fd, MSEC, 2));
	sleep_for(A_WHILE);
	ASSERT_TRUE(set_time_of_day(-500 * (__s64)MSEC));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	EXPECT_EQ(1, take(&map, 2));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	EXPECT_EQ(1, take(&map, 2));
	EXPECT_EQ(2, event->data);
}

/* Timers 100 us apart have expired, and then the clock is set back by an hour. */
static bool set_back(int fd, clockid_t clock)
{
	return add_many(fd, NR_WALL, now_on(clock) - SEC, 100 * USEC, TWHEEL_ABSTIME) &&
	       tw_info(fd).expired == NR_WALL && set_time_of_day(-(__s64)HOUR);
}

/* A read places them all again before it looks. */
TEST_F(wall_clock, set_back_leaves_nothing_to_read)
{
	ASSERT_TRUE(set_back(self->fd, variant->clock));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, NR_WALL));
	EXPECT_EQ(NR_WALL, tw_info(self->fd).pending);
}

/* Also a read that may not wait does a part of that work. SECURITY: clocks that are set; polls */
TEST_F(wall_clock, set_back_makes_no_call_long_that_may_not_wait)
{
	static __u64 id[40 * MAX_EVENTS];
	__u64 time;

	ASSERT_TRUE(add_crowd(self->fd, id, ARRAY_SIZE(id)));
	ASSERT_NE(0, add_at(self->fd, 0, 1));
	for (int polls = 0; polls < 2; polls++) {
		ASSERT_TRUE(set_time_of_day(-(__s64)MINUTE));
		time = now_ns();
		if (polls)
			readable(self->fd);
		else
			read_one(self->fd);
		EXPECT_GT(MSEC + lateness_max, now_ns() - time);
		before = tw_info(self->fd);
		EXPECT_EQ(ARRAY_SIZE(id) + 1, before.pending + before.expired);
	}
}

/* SECURITY: clocks that are set */
TEST_F(wall_clock, timers_set_back_can_be_cancelled_and_modified)
{
	const int rest = NR_WALL / 2 - 2;

	ASSERT_TRUE(set_back(self->fd, variant->clock));
	/* Each of these calls places a part again. */
	EXPECT_FALSE(readable(self->fd));
	EXPECT_EQ(TWHEEL_PENDING, state_of(self->fd, ids[0]));
	for (int i = 0; i < NR_WALL; i += 2)
		ASSERT_EQ(0, tw_cancel(self->fd, ids[i]));
	EXPECT_EQ(-ENOENT, tw_cancel(self->fd, ids[0]));
	EXPECT_FALSE(readable(self->fd));
	ASSERT_EQ(0, tw_modify(self->fd, ids[1], 0, 0));
	ASSERT_EQ(0, tw_modify(self->fd, ids[3], 2 * HOUR, 0));
	EXPECT_TRUE(readable(self->fd));
	ASSERT_EQ(1, read_events(self->fd, NR_WALL));
	EXPECT_EQ(ids[1], event->id);
	ASSERT_TRUE(set_time_of_day(HOUR));
	ASSERT_TRUE(wait_expired(self->fd, rest));
	ASSERT_EQ(rest, read_events(self->fd, NR_WALL));
	for (int i = 0; i < rest; i++)
		ASSERT_EQ(ids[2 * i + 5], event[i].id);
	EXPECT_TRUE(balanced(self->fd));
}

TEST_F(wall_clock, periods_are_counted_by_the_new_time)
{
	ASSERT_NE(0, tw_add(self->fd, MINUTE, 0, MINUTE, 7));
	ASSERT_TRUE(set_time_of_day(3 * MINUTE + 30 * SEC));
	ASSERT_EQ(1, wait_and_read(self->fd, 1));
	EXPECT_EQ(3, event->count);
	ASSERT_TRUE(set_time_of_day(2 * MINUTE));
	EXPECT_TRUE(wait_expired(self->fd, 1));
	ASSERT_TRUE(set_time_of_day(-1 * (__s64)MINUTE));
	ASSERT_EQ(1, wait_and_read(self->fd, 1));
	EXPECT_EQ(1, event->count);
	EXPECT_EQ(-EAGAIN, read_one(self->fd));
}
