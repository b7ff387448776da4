// SPDX-License-Identifier: MIT
/*
 * Periodic timers: they keep their phase, collapse into one event while unread, and live
 * until they are cancelled.
 */
#include "selftest.h"

WHEEL_FIXTURE(periodic, O_NONBLOCK);

/*
 * Reads an event of a periodic timer with user data 0 whose next unread period is @deadline;
 * returns the period after those of the event.
 */
static __u64 read_periods(struct __test_metadata *_metadata, int fd, __u64 id, __u64 deadline,
			  __u64 interval)
{
	__u64 from, next;

	ASSERT_EQ(POLLIN, poll_for(fd, POLLIN, 5000));
	from = now_ns();
	ASSERT_EQ(0, read_one(fd));
	EXPECT_EQ(id, event->id);
	EXPECT_EQ(deadline, event->deadline_ns)
		TH_LOG("the phase was lost");
	EXPECT_LE(1, event->count);
	next = deadline + event->count * interval;
	EXPECT_LE(next - interval, now_ns())
		TH_LOG("a period is counted that has not passed");
	EXPECT_GE(next + MSEC, from)
		TH_LOG("a period that had passed is not counted");
	return next;
}

TEST_F(periodic, keeps_phase)
{
	/* No multiple of the tick. */
	__u64 interval = 17 * MSEC + 333333, deadline = now_ns() + 30 * MSEC + 12345;
	__u64 id = tw_add(self->fd, deadline, TWHEEL_ABSTIME, interval, 0);

	for (int i = 0; i < 10; i++)
		deadline = read_periods(_metadata, self->fd, id, deadline, interval);
	EXPECT_EQ(1, tw_info(self->fd).added);
	EXPECT_EQ(10, tw_info(self->fd).delivered);
	EXPECT_EQ(0, tw_info(self->fd).cancelled);
}

TEST_F(periodic, missed_periods_collapse_into_one_event) /* SECURITY: expiry */
{
	__u64 interval = 10 * MSEC, deadline = now_ns() + interval, next;
	__u64 id = tw_add(self->fd, deadline, TWHEEL_ABSTIME, interval, 0);

	/* In the middle of a period, their number is certain. */
	sleep_until(deadline + 39 * interval + interval / 2);
	EXPECT_EQ(1, tw_info(self->fd).expired);
	next = read_periods(_metadata, self->fd, id, deadline, interval);
	EXPECT_LE(40 * interval, next - deadline);
	EXPECT_EQ(1, tw_info(self->fd).delivered);
	/* Its periods are not read again. */
	if (read_one(self->fd) == 0)
		EXPECT_EQ(next, event->deadline_ns);
}

TEST_F(periodic, a_first_deadline_long_ago_counts_all_periods_since)
{
	__u64 start = now_ns(), interval = 3 * MSEC, next;
	__u64 id = tw_add(self->fd, 0, TWHEEL_ABSTIME, interval, 0);

	EXPECT_TRUE(readable(self->fd));
	next = read_periods(_metadata, self->fd, id, 0, interval);
	EXPECT_LT(start, next + MSEC);
	read_periods(_metadata, self->fd, id, next, interval);
}

TEST_F(periodic, the_shortest_interval_counts_every_tick) /* SECURITY: expiry */
{
	__u64 deadline = now_ns(), total = 0;

	ASSERT_EQ(0, tw_setup(self->fd, USEC, 256, CLOCK_MONOTONIC, 0));
	ASSERT_NE(0, tw_add(self->fd, deadline, TWHEEL_ABSTIME, USEC, 0));
	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(1, wait_and_read(self->fd, 1));
		EXPECT_EQ(deadline + total * USEC, event->deadline_ns);
		total += event->count;
		EXPECT_LE(deadline + (total - 1) * USEC, now_ns());
		sleep_for(MSEC);
	}
	EXPECT_LE(50 * MSEC / USEC, total);
	EXPECT_EQ(0, tw_cancel(self->fd, event->id));
}

/* Count the events of the next read or poll in @taken, and the periods of them in @periods. */
static int take_periods(struct mapped *map, int fd, __u64 *periods)
{
	int n = !map->ring ? read_events(fd, MAX_EVENTS) :
		readable(fd) ? take(map, MAX_EVENTS) : 0;

	for (int i = 0; i < n; i++)
		*periods += event[i].count;
	return n;
}

/* Each has one event, in one bucket with all others, which has to be sorted while it is read. */
TEST_F(periodic, missed_periods_of_many_collapse_into_one_event_each)
{
	const int count = 300;
	const __u64 interval = 10 * MSEC, deadline = now_ns() + 300 * MSEC;
	const __u64 end = deadline + 100 * interval - interval / 2;

	for (int by_ring = 0; by_ring < 2; by_ring++) {
		struct mapped map = {};
		__u64 periods = 0;
		int fd = by_ring ? open_wheel(_metadata, O_NONBLOCK) : self->fd, events = 0, n;

		if (by_ring)
			ASSERT_TRUE(map_ring(&map, fd, TWHEEL_RING_SLOTS_MAX));
		/* With it, the levels cover all periods that have passed. */
		ASSERT_NE(0, add_after(fd, HOUR, 0));
		fill_adds(count, deadline + by_ring * SEC, 0, TWHEEL_ABSTIME);
		for (int i = 0; i < count; i++)
			adds[i].interval_ns = interval;
		ASSERT_EQ(count, tw_batch(fd, TWHEEL_ADD_BATCH, adds, count));
		sleep_until(end + by_ring * SEC);
		while ((n = take_periods(&map, fd, &periods)) > 0 || (by_ring && map.ring->flags))
			events += n > 0 ? n : 0;
		/* On a slow machine, another period may pass while they are read. */
		if (now_ns() < end + by_ring * SEC + interval / 2) {
			EXPECT_EQ(count, events);
			EXPECT_EQ(count * 100, periods);
		}
	}
}

/* With this interval, the next deadline is the last one that the levels cover. */
TEST_F(periodic, the_longest_interval_of_the_levels_is_not_early) /* SECURITY: expiry */
{
	const __u64 interval = 254 * USEC + 1;

	for (int by_ring = 0; by_ring < 2; by_ring++) {
		struct mapped map = {};
		int fd = by_ring ? open_wheel(_metadata, O_NONBLOCK) : self->fd;

		ASSERT_EQ(0, tw_setup(fd, USEC, 256, CLOCK_MONOTONIC, 0));
		if (by_ring)
			ASSERT_TRUE(map_ring(&map, fd, 200));
		ASSERT_EQ(0, tw_cancel(fd, tw_add(fd, 0, 0, interval, 0)));
		for (int round = 0; round < 70; round++) {
			__u64 end = now_ns() + 100 * round, periods = 0;
			int n;

			fill_adds(70, 0, 0, 0);
			adds[69].interval_ns = interval;
			tw_info(fd);
			while (now_ns() < end)
				;
			ASSERT_EQ(70, tw_batch(fd, TWHEEL_ADD_BATCH, adds, 70));
			n = take_periods(&map, fd, &periods);
			end = now_ns();
			EXPECT_LT(0, n);
			for (int i = 0; i < n; i++) {
				__u64 last = (event[i].count - 1) * interval;

				ASSERT_GE(end, event[i].deadline_ns + last);
			}
			for (int i = 0; i < 70; i++)
				tw_cancel(fd, adds[i].id);
			take_periods(&map, fd, &periods);
		}
	}
}

/* The next period, perhaps beyond the end of time. */
/* Behind a crowd to be sorted, the clock of the wheel lags by more than its levels cover. */
TEST_F(periodic, the_longest_interval_stays_within_the_levels_of_a_late_wheel)
{
	const __u64 interval = 65279 * USEC + 1, deadline = now_ns() + 20 * MSEC;
	__u64 periods = 0, id;

	ASSERT_EQ(0, tw_setup(self->fd, USEC, 256, CLOCK_MONOTONIC, 0));
	ASSERT_NE(0, id = tw_add(self->fd, deadline, TWHEEL_ABSTIME, interval, 0));
	ASSERT_TRUE(add_many(self->fd, 2000, deadline, 15 * USEC, TWHEEL_ABSTIME));
	sleep_until(deadline + 3 * interval + MSEC);
	for (int n; (n = read_events(self->fd, 100)) > 0;) {
		for (int i = 0; i < n; i++)
			periods += event[i].id == id ? event[i].count : 0;
	}
	EXPECT_EQ(4, periods);
}

TEST_F(periodic, lives_on_after_it_is_read) /* SECURITY: extreme times and sizes */
{
	static const __u64 intervals[] = { HOUR, TWHEEL_TIME_MAX_NS };

	for (int i = 0; i < 2; i++) {
		__u64 id = tw_add(self->fd, 0, 0, intervals[i], 5), next;

		ASSERT_EQ(5, read_one(self->fd));
		EXPECT_EQ(id, event->id);
		EXPECT_EQ(1, event->count);
		next = event->deadline_ns + intervals[i];
		EXPECT_EQ(next < TWHEEL_TIME_MAX_NS ? next : TWHEEL_TIME_MAX_NS,
			  deadline_of(self->fd, id));
		EXPECT_EQ(TWHEEL_PENDING, query.state);
		EXPECT_EQ(intervals[i], query.interval_ns);
		EXPECT_FALSE(readable(self->fd));
		EXPECT_EQ(1, tw_info(self->fd).pending);
		EXPECT_EQ(0, tw_cancel(self->fd, id));
		EXPECT_EQ(-ENOENT, tw_cancel(self->fd, id));
		EXPECT_EQ(0, tw_info(self->fd).pending);
		EXPECT_EQ(i + 1, tw_info(self->fd).cancelled);
	}
}

TEST_F(periodic, modify_sets_a_new_phase_and_keeps_the_interval)
{
	__u64 interval = 15 * MSEC, deadline;
	__u64 id = tw_add(self->fd, HOUR, 0, interval, 0);

	/* While it is pending for the first time, and after it was read, perhaps expired again. */
	for (int i = 0; i < 2; i++) {
		deadline = now_ns() + (10 + i * 11) * MSEC;
		ASSERT_EQ(0, tw_modify(self->fd, id, deadline, TWHEEL_ABSTIME));
		for (int k = 0; k < 3; k++)
			deadline = read_periods(_metadata, self->fd, id, deadline, interval);
	}
	/* With unread periods, which are gone then. */
	sleep_for(50 * MSEC);
	EXPECT_TRUE(readable(self->fd));
	deadline = now_ns() + 200 * MSEC;
	ASSERT_EQ(0, tw_modify(self->fd, id, deadline, TWHEEL_ABSTIME));
	if (now_ns() < deadline)
		EXPECT_FALSE(readable(self->fd));
	ASSERT_EQ(0, tw_query(self->fd, id));
	EXPECT_EQ(interval, query.interval_ns);
	read_periods(_metadata, self->fd, id, deadline, interval);
}
