// SPDX-License-Identifier: MIT
/*
 * Wheels on clocks that are set: nothing is early by the new time, nothing is lost
 */
#include <sys/timex.h>

#include "selftest.h"

#define KTIME_MAX	INT64_MAX
#define NR_WALL		MAX_EVENTS

FIXTURE(wall_clock)
{
	int fd;
	__s64 moved;	/* how far the clock has been set forward in total */
};

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

FIXTURE_TEARDOWN(wall_clock)
{
	close(self->fd);
	set_time_of_day(-self->moved);
}

static bool move(__s64 *moved, __s64 change)
{
	if (!set_time_of_day(change))
		return false;
	*moved += change;
	return true;
}

/* The state that a query and a list agree on, or 0. */
static __u32 state_of(int fd, __u64 id)
{
	struct twheel_list list = { .entries = (uintptr_t)listed, .count = 1 };

	if (tw_query(fd, id) || tw_ioctl(fd, TWHEEL_LIST, &list) != 1)
		return 0;
	return listed->id == id && listed->state == query.state ? query.state : 0;
}

TEST_F(wall_clock, has_levels_for_all_of_time) /* SECURITY: clocks that are set */
{
	__u32 levels;

	EXPECT_NE(0, tw_add(self->fd, 0, 0, 0, 1));
	levels = tw_info(self->fd).levels;
	EXPECT_NE(0, add_at(self->fd, KTIME_MAX, 1));
	EXPECT_NE(0, tw_add(self->fd, 0, 0, KTIME_MAX, 1));
	EXPECT_EQ(levels, tw_info(self->fd).levels);
}

TEST_F(wall_clock, a_delay_becomes_a_deadline)
{
	__u64 from = now_on(variant->clock), id = add_after(self->fd, HOUR, 1);
	__u64 deadline = deadline_of(self->fd, id);

	EXPECT_LE(from + HOUR, deadline);
	EXPECT_GE(now_on(variant->clock) + HOUR, deadline);
	ASSERT_TRUE(move(&self->moved, HOUR / 2));
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
		self->moved += 2 * YEAR;
	}
}

TEST_F(wall_clock, set_back_delays_what_is_pending)
{
	__u64 deadline = now_on(variant->clock) + 50 * MSEC, until = now_ns() + 200 * MSEC;

	ASSERT_NE(0, add_at(self->fd, deadline, 7));
	ASSERT_TRUE(move(&self->moved, -150 * (__s64)MSEC));
	ASSERT_EQ(1, wait_and_read(self->fd, 1));
	EXPECT_LE(deadline, now_on(variant->clock));
	EXPECT_LE(until - MSEC, now_ns());
}

TEST_F(wall_clock, set_back_takes_back_what_is_unread)
{
	__u64 id = add_after(self->fd, MSEC, 7);

	ASSERT_TRUE(wait_expired(self->fd, 1));
	EXPECT_TRUE(readable(self->fd));
	ASSERT_TRUE(move(&self->moved, -(__s64)HOUR));
	EXPECT_EQ(TWHEEL_PENDING, state_of(self->fd, id));
	EXPECT_FALSE(readable(self->fd));
	EXPECT_EQ(-EAGAIN, read_one(self->fd));
	EXPECT_EQ(TWHEEL_PENDING, state_of(self->fd, id));
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(0, tw_info(self->fd).expired);
	ASSERT_TRUE(move(&self->moved, HOUR));
	EXPECT_EQ(TWHEEL_EXPIRED, state_of(self->fd, id));
	EXPECT_EQ(1, wait_and_read(self->fd, 1));
	EXPECT_EQ(id, event->id);
	EXPECT_EQ(-EAGAIN, read_one(self->fd));
}

TEST_F(wall_clock, set_back_and_due_again_is_an_edge)
{
	int epoll = watch(self->fd, EDGE);

	ASSERT_NE(0, add_after(self->fd, MSEC, 7));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	ASSERT_TRUE(move(&self->moved, -500 * (__s64)MSEC));
	EXPECT_EQ(-EAGAIN, read_one(self->fd));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	EXPECT_EQ(7, read_one(self->fd));
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
	ASSERT_TRUE(move(&self->moved, -500 * (__s64)MSEC));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	EXPECT_EQ(1, take(&map, 2));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	EXPECT_EQ(1, take(&map, 2));
	EXPECT_EQ(2, event->data);
}

TEST_F(wall_clock, set_back_by_1_ns_changes_nothing)
{
	ASSERT_NE(0, add_after(self->fd, 20 * MSEC, 7));
	for (int i = 0; i < 100; i++)
		ASSERT_TRUE(move(&self->moved, -1));
	ASSERT_EQ(1, wait_and_read(self->fd, 1));
	EXPECT_LE(event->deadline_ns, now_on(variant->clock));
}

/* Timers 100 us apart have expired, and then the clock is set back by an hour. */
static bool set_back(int fd, clockid_t clock, __s64 *moved)
{
	return add_many(fd, NR_WALL, now_on(clock) - SEC, 100 * USEC, TWHEEL_ABSTIME) &&
	       tw_info(fd).expired == NR_WALL && move(moved, -(__s64)HOUR);
}

/* A read places them all again before it looks. */
TEST_F(wall_clock, set_back_leaves_nothing_to_read)
{
	ASSERT_TRUE(set_back(self->fd, variant->clock, &self->moved));
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
		ASSERT_TRUE(move(&self->moved, -(__s64)MINUTE));
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

/* While a poll's rest of the work waits for its turn. */
TEST_F(wall_clock, set_back_during_a_sort_delays_nothing_that_is_due)
{
	const __u64 bucket = 256 * 256 * MSEC;
	int got = 0, n;
	__u64 base = (now_on(variant->clock) / bucket + 2) * bucket;

	/* In one bucket, the first one at its end. */
	fill_adds(MAX_EVENTS, base + SEC, 10 * MSEC, TWHEEL_ABSTIME);
	adds[MAX_EVENTS - 1].time_ns = base + SEC / 2;
	ASSERT_EQ(MAX_EVENTS, tw_batch(self->fd, TWHEEL_ADD_BATCH, adds, MAX_EVENTS));
	ASSERT_TRUE(move(&self->moved, base + 55 * SEC - now_on(variant->clock)));
	/* This poll leaves work; 25 of 50 seconds' timers stay due. */
	readable(self->fd);
	ASSERT_TRUE(move(&self->moved, -25 * (__s64)SEC));
	while (got < MAX_EVENTS / 2 && poll_for(self->fd, POLLIN, 5000) == POLLIN) {
		while ((n = read_events(self->fd, MAX_EVENTS)) > 0)
			got += n;
	}
	EXPECT_LE(MAX_EVENTS / 2, got);
	EXPECT_GE(MAX_EVENTS * 2 / 3, got);
}

/* 200 timers of a bucket of 65 seconds, which goes to the level below ahead of its time. */
TEST_F(wall_clock, a_crowd_is_counted_as_cascaded)
{
	const __u64 length = 256 * 256 * MSEC;
	__u64 begin = (now_on(variant->clock) / length + 3) * length;
	int fd = open_wheel(_metadata, O_NONBLOCK);

	ASSERT_EQ(0, tw_setup(fd, MSEC, 256, variant->clock, 0));
	ASSERT_TRUE(add_many(fd, 200, begin + SEC, 300 * MSEC, TWHEEL_ABSTIME));
	EXPECT_EQ(0, tw_info(fd).cascaded);
	ASSERT_TRUE(move(&self->moved, begin - 4 * SEC - now_on(variant->clock)));
	EXPECT_TRUE(wait_until(tw_info(fd).cascaded >= 200));
	EXPECT_EQ(200, tw_info(fd).cascaded);
	EXPECT_EQ(200, tw_info(fd).pending);
	EXPECT_EQ(200, fdinfo_field(fd, "twheel-cascaded"));
	close(fd);
}

/* In the first tick of all. */
TEST_F(wall_clock, set_back_to_1970_leaves_due_timers_readable)
{
	int fd = open_wheel(_metadata, O_NONBLOCK);

	ASSERT_EQ(0, tw_setup(fd, HOUR, 256, variant->clock, 0));
	ASSERT_TRUE(add_many(fd, 32, 0, 0, TWHEEL_ABSTIME));
	ASSERT_NE(0, add_at(fd, 10 * MINUTE + 37 * SEC, 32));
	ASSERT_NE(0, add_at(fd, 2 * HOUR, 33));
	ASSERT_TRUE(move(&self->moved, 5 * MINUTE - now_on(CLOCK_REALTIME)));
	EXPECT_EQ(POLLIN, poll_for(fd, POLLIN, 5000));
	EXPECT_EQ(32, read_events(fd, MAX_EVENTS));
	EXPECT_EQ(2, tw_info(fd).pending);
	close(fd);
}

/* SECURITY: clocks that are set */
TEST_F(wall_clock, timers_set_back_can_be_cancelled_and_modified)
{
	const int rest = NR_WALL / 2 - 2;

	ASSERT_TRUE(set_back(self->fd, variant->clock, &self->moved));
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
	ASSERT_TRUE(move(&self->moved, HOUR));
	ASSERT_TRUE(wait_expired(self->fd, rest));
	ASSERT_EQ(rest, read_events(self->fd, NR_WALL));
	for (int i = 0; i < rest; i++)
		ASSERT_EQ(ids[2 * i + 5], event[i].id);
	EXPECT_TRUE(balanced(self->fd));
}

TEST_F(wall_clock, set_back_and_forward_at_once_keeps_the_order)
{
	ASSERT_TRUE(set_back(self->fd, variant->clock, &self->moved));
	/* Some are taken out of the wheel, but not all. */
	EXPECT_FALSE(readable(self->fd));
	ASSERT_TRUE(move(&self->moved, HOUR));
	EXPECT_EQ(NR_WALL, tw_info(self->fd).expired);
	ASSERT_EQ(NR_WALL, in_order(read_events(self->fd, NR_WALL), 0));
}

TEST_F(wall_clock, set_by_years)
{
	static const __s64 steps[] = { 10 * YEAR, -20 * YEAR, 151 * YEAR, -146 * YEAR, 5 * YEAR };
	__u64 start = now_on(variant->clock), far;

	/* The virtual machine's date may be wrong. */
	if (start < 25 * YEAR)
		ASSERT_TRUE(move(&self->moved, 25 * YEAR));
	start = now_on(variant->clock);
	far = start + 140 * YEAR;
	ids[0] = add_at(self->fd, far, 0);
	ids[1] = add_at(self->fd, start + HOUR, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(steps); i++) {
		__u64 now;

		ASSERT_TRUE(move(&self->moved, steps[i]));
		now = now_on(variant->clock);
		EXPECT_EQ(now > far ? 2 : now > start + HOUR, tw_info(self->fd).expired);
	}
	EXPECT_EQ(0, tw_info(self->fd).expired);
	ASSERT_TRUE(move(&self->moved, 2 * HOUR));
	ASSERT_EQ(1, wait_and_read(self->fd, 1));
	EXPECT_EQ(ids[1], event->id);
	EXPECT_EQ(0, tw_cancel(self->fd, ids[0]));
}

TEST_F(wall_clock, periods_are_counted_by_the_new_time)
{
	ASSERT_NE(0, tw_add(self->fd, MINUTE, 0, MINUTE, 7));
	ASSERT_TRUE(move(&self->moved, 3 * MINUTE + 30 * SEC));
	ASSERT_EQ(1, wait_and_read(self->fd, 1));
	EXPECT_EQ(3, event->count);
	ASSERT_TRUE(move(&self->moved, 2 * MINUTE));
	EXPECT_TRUE(wait_expired(self->fd, 1));
	ASSERT_TRUE(move(&self->moved, -1 * (__s64)MINUTE));
	ASSERT_EQ(1, wait_and_read(self->fd, 1));
	EXPECT_EQ(1, event->count);
	EXPECT_EQ(-EAGAIN, read_one(self->fd));
}

TEST_F(wall_clock, events_in_a_ring_stay_there)
{
	struct mapped map;

	ASSERT_TRUE(map_ring(&map, self->fd, 2));
	ASSERT_NE(0, add_after(self->fd, 0, 1));
	ASSERT_TRUE(poll_for(self->fd, POLLIN, 5000));
	ASSERT_NE(0, add_after(self->fd, 0, 2));
	ASSERT_TRUE(move(&self->moved, -(__s64)HOUR));
	EXPECT_LE(1, take(&map, 10));
	EXPECT_EQ(1, event->data);
}
