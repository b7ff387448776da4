// SPDX-License-Identifier: MIT
/*
 * Periodic timers: unread periods collapse into one event. twheel-fuzz checks their phase.
 */
#include "selftest.h"

WHEEL_FIXTURE(periodic, O_NONBLOCK);

/* Each has one event in the ring, and one bucket has all, to be sorted while polls take them. */
TEST_F(periodic, missed_periods_of_many_collapse_into_one_event_each)
{
	const int count = 300;
	const __u64 interval = 10 * MSEC, deadline = now_ns() + 300 * MSEC;
	const __u64 end = deadline + 100 * interval - interval / 2;
	__u64 periods = 0, events = 0;
	struct mapped map;

	ASSERT_TRUE(map_ring(&map, self->fd, TWHEEL_RING_SLOTS_MAX));
	/* With it, the levels cover all periods that have passed. */
	ASSERT_NE(0, add_after(self->fd, HOUR, 0));
	fill_adds(count, deadline, 0, TWHEEL_ABSTIME);
	for (int i = 0; i < count; i++)
		adds[i].interval_ns = interval;
	ASSERT_EQ(count, tw_batch(self->fd, TWHEEL_ADD_BATCH, adds, count));
	sleep_until(end);
	while (readable(self->fd) || map.ring->flags) {
		int n = take(&map, MAX_EVENTS);

		for (int i = 0; i < n; i++)
			periods += event[i].count;
		events += n;
	}
	/* On a slow machine, another period may pass while they are read. */
	if (now_ns() < end + interval / 2) {
		EXPECT_EQ(count, events);
		EXPECT_EQ(count * 100, periods);
	}
}

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
