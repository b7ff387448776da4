// SPDX-License-Identifier: MIT
/*
 * Ids: cancel, modify and query in each state of a timer, stale ids, the limit of timers,
 * and counters that balance.
 */
#include "selftest.h"

CHANGING_FIXTURE(ids);

static int compare_ids(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the ids; true when none is zero and none occurs twice. */
static bool all_different(__u64 *id, unsigned int count)
{
	unsigned int i;

	qsort(id, count, sizeof(*id), compare_ids);
	for (i = 1; i < count; i++) {
		if (id[i] == id[i - 1])
			return false;
	}
	return id[0];
}

TEST_F(ids, cancel_of_a_pending_timer_means_it_is_never_read)
{
	__u64 id = add_after(self->fd, 50 * MSEC, 1);
	struct twheel_event event;

	ASSERT_NE(0, id);
	EXPECT_EQ(0, tw_cancel(self->fd, id));
	EXPECT_EQ(0, poll_for(self->fd, POLLIN, 150));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, 1));
	EXPECT_EQ(1, tw_info(self->fd).cancelled);
	EXPECT_EQ(0, tw_info(self->fd).delivered);
	EXPECT_TRUE(balanced(self->fd));
}

TEST_F(ids, cancel_of_an_expired_timer_means_it_is_never_read)
{
	struct twheel_event event;
	__u64 id[2];

	/* One that expired in the wheel, and one that was due when added. */
	ASSERT_NE(0, id[0] = add_after(self->fd, MSEC, 1));
	ASSERT_NE(0, id[1] = add_after(self->fd, 0, 2));
	ASSERT_TRUE(wait_expired(self->fd, 2));
	EXPECT_EQ(0, tw_cancel(self->fd, id[0]));
	EXPECT_TRUE(readable(self->fd));
	EXPECT_EQ(0, tw_cancel(self->fd, id[1]));
	EXPECT_FALSE(readable(self->fd));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, 1));
	EXPECT_EQ(2, tw_info(self->fd).cancelled);
	EXPECT_EQ(0, tw_info(self->fd).expired);
	EXPECT_TRUE(balanced(self->fd));
}

TEST_F(ids, cancel_leaves_the_other_expired_timers_in_order)
{
	struct twheel_event event[10];
	__u64 id[10];
	int i;

	for (i = 0; i < 10; i++)
		ASSERT_NE(0, id[i] = add_at(self->fd, 0, i));
	for (i = 0; i < 10; i += 2)
		ASSERT_EQ(0, tw_cancel(self->fd, id[i]));
	ASSERT_EQ(5, tw_read(self->fd, event, 10));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(id[2 * i + 1], event[i].id);
}

/* Read, or cancelled. */
TEST_F(ids, a_timer_that_is_gone_is_enoent)
{
	struct twheel_info before;
	struct twheel_query query;
	struct twheel_event event;
	__u64 id[2];
	int i;

	ASSERT_NE(0, id[0] = add_after(self->fd, 0, 1));
	ASSERT_NE(0, id[1] = add_after(self->fd, HOUR, 1));
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	ASSERT_EQ(0, tw_cancel(self->fd, id[1]));
	before = tw_info(self->fd);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-ENOENT, tw_cancel(self->fd, id[i]));
		EXPECT_EQ(-ENOENT, tw_modify(self->fd, id[i], 0, 0));
		EXPECT_EQ(-ENOENT, tw_query(self->fd, id[i], &query));
	}
	EXPECT_STREQ("", changes(self->fd, &before));
	EXPECT_TRUE(balanced(self->fd));
	EXPECT_FALSE(readable(self->fd));
}

TEST_F(ids, modify_of_a_pending_timer_moves_it)
{
	__u64 later, sooner, deadline, when;
	struct twheel_event event;

	ASSERT_NE(0, later = add_after(self->fd, 100 * MSEC, 1));
	ASSERT_NE(0, sooner = add_after(self->fd, HOUR, 2));
	EXPECT_EQ(0, tw_modify(self->fd, later, HOUR, 0));
	deadline = now_ns() + 200 * MSEC;
	EXPECT_EQ(0, tw_modify(self->fd, sooner, deadline, TWHEEL_ABSTIME));
	ASSERT_EQ(1, wait_and_read(self->fd, &event, 1));
	when = now_ns();
	EXPECT_EQ(sooner, event.id);
	EXPECT_EQ(2, event.data);
	EXPECT_EQ(deadline, event.deadline_ns);
	EXPECT_LE(deadline, when);
	EXPECT_GE(deadline + lateness_max, when);
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(2, tw_info(self->fd).modified);
	EXPECT_TRUE(balanced(self->fd));
}

TEST_F(ids, modify_of_an_expired_timer_takes_it_back)
{
	struct twheel_event event[4];
	struct twheel_query query;
	__u64 id[2], deadline;

	ASSERT_NE(0, id[0] = add_after(self->fd, MSEC, 1));
	ASSERT_NE(0, id[1] = add_after(self->fd, 0, 2));
	ASSERT_TRUE(wait_expired(self->fd, 2));
	deadline = now_ns() + 300 * MSEC;
	EXPECT_EQ(0, tw_modify(self->fd, id[0], HOUR, 0));
	EXPECT_EQ(0, tw_modify(self->fd, id[1], deadline, TWHEEL_ABSTIME));
	ASSERT_EQ(0, tw_query(self->fd, id[1], &query));
	EXPECT_EQ(deadline, query.deadline_ns);
	EXPECT_EQ(2, query.data);
	if (now_ns() < deadline) {
		EXPECT_EQ(TWHEEL_PENDING, query.state);
		EXPECT_FALSE(readable(self->fd));
	}
	ASSERT_EQ(1, wait_and_read(self->fd, event, 4));
	EXPECT_LE(deadline, now_ns());
	EXPECT_EQ(id[1], event[0].id);
	EXPECT_EQ(deadline, event[0].deadline_ns);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, event, 4))
		TH_LOG("it was delivered for its old deadline too");
	EXPECT_EQ(0, tw_cancel(self->fd, id[0]));
	EXPECT_TRUE(balanced(self->fd));
}

TEST_F(ids, modify_keeps_id_data_and_interval)
{
	__u64 id = tw_add(self->fd, HOUR, 0, 7 * SEC, 0x1122334455667788);
	struct twheel_query query;
	__u64 before, after;

	before = now_ns();
	ASSERT_EQ(0, tw_modify(self->fd, id, 2 * HOUR, 0));
	after = now_ns();
	ASSERT_EQ(0, tw_query(self->fd, id, &query));
	EXPECT_EQ(0x1122334455667788, query.data);
	EXPECT_EQ(7 * SEC, query.interval_ns);
	EXPECT_LE(before + 2 * HOUR, query.deadline_ns);
	EXPECT_GE(after + 2 * HOUR, query.deadline_ns);
}

TEST_F(ids, query_of_an_expired_timer) /* SECURITY: kernel information */
{
	struct twheel_query query;
	__u64 id = add_at(self->fd, 12345, 6);

	ASSERT_NE(0, id);
	ASSERT_EQ(0, tw_query(self->fd, id, &query));
	EXPECT_EQ(id, query.id);
	EXPECT_EQ(TWHEEL_EXPIRED, query.state);
	EXPECT_EQ(0, query.remaining_ns);
	EXPECT_EQ(12345, query.deadline_ns);
	EXPECT_EQ(0, query.interval_ns);
	EXPECT_EQ(6, query.data);
	EXPECT_EQ(0, query.reserved);
	EXPECT_TRUE(readable(self->fd))
		TH_LOG("a query takes nothing away");
}

/* Thousands of timers, one after the other in the same slot. */
TEST_F_TIMEOUT(ids, a_stale_id_never_hits_a_later_timer, 60) /* SECURITY: wheels */
{
	static __u64 stale[10000];
	struct twheel_event event;
	unsigned int i;
	__u64 last;

	for (i = 0; i < ARRAY_SIZE(stale); i++) {
		/* They end by cancel and by read in turn. */
		stale[i] = add_after(self->fd, i % 2 ? HOUR : 0, i);
		ASSERT_NE(0, stale[i]);
		if (i % 2) {
			ASSERT_EQ(0, tw_cancel(self->fd, stale[i]));
		} else {
			ASSERT_EQ(1, tw_read(self->fd, &event, 1));
			ASSERT_EQ(stale[i], event.id);
		}
	}
	last = add_after(self->fd, HOUR, ~0ULL);
	ASSERT_NE(0, last);
	for (i = 0; i < ARRAY_SIZE(stale); i++) {
		ASSERT_EQ(-ENOENT, tw_cancel(self->fd, stale[i]));
		if (i % 100 == 0)
			ASSERT_EQ(-ENOENT, tw_modify(self->fd, stale[i], 0, 0));
	}
	EXPECT_TRUE(all_different(stale, ARRAY_SIZE(stale)));
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(0, tw_cancel(self->fd, last));
}

TEST_F(ids, above_the_limit_of_timers_is_enospc) /* SECURITY: timers */
{
	struct twheel_add add = { .time_ns = HOUR };
	struct twheel_info before;
	struct twheel_event event;
	__u64 id[10];
	int i;

	ASSERT_EQ(0, tw_setup(self->fd, MSEC, 256, CLOCK_MONOTONIC, 10));
	for (i = 0; i < 10; i++)
		ASSERT_NE(0, id[i] = add_after(self->fd, HOUR, i));
	before = tw_info(self->fd);
	EXPECT_EQ(-ENOSPC, try_add(self->fd));
	EXPECT_EQ(-ENOSPC, try_add(self->fd));
	EXPECT_STREQ("", changes(self->fd, &before));

	/* A cancel makes room for one, which an add that fails does not take, ... */
	EXPECT_EQ(0, tw_cancel(self->fd, id[3]));
	EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_ADD, read_only_copy(&add, sizeof(add))));
	EXPECT_EQ(0, try_add(self->fd));
	EXPECT_EQ(-ENOSPC, try_add(self->fd));
	/* ... and so does a read, but not an expiry. */
	ASSERT_EQ(0, tw_modify(self->fd, id[4], 0, 0));
	EXPECT_EQ(1, tw_info(self->fd).expired);
	EXPECT_EQ(-ENOSPC, try_add(self->fd));
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_EQ(0, try_add(self->fd));
	EXPECT_EQ(-ENOSPC, try_add(self->fd));
	EXPECT_TRUE(balanced(self->fd));
}

TEST_F(ids, a_periodic_timer_counts_until_it_is_cancelled)
{
	struct twheel_event event;
	__u64 id;

	ASSERT_EQ(0, tw_setup(self->fd, MSEC, 256, CLOCK_MONOTONIC, 1));
	ASSERT_NE(0, id = tw_add(self->fd, 0, 0, HOUR, 1));
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_EQ(-ENOSPC, try_add(self->fd));
	EXPECT_EQ(0, tw_cancel(self->fd, id));
	EXPECT_EQ(0, try_add(self->fd));
}

TEST_F(ids, memory_follows_the_number_of_timers) /* SECURITY: unread timers */
{
	static __u64 id[20000];
	__u64 empty, full;
	unsigned int i;

	empty = tw_info(self->fd).memory;
	for (i = 0; i < ARRAY_SIZE(id); i++)
		ASSERT_NE(0, id[i] = add_after(self->fd, HOUR + i * MSEC, i));
	full = tw_info(self->fd).memory;
	EXPECT_LE(empty + ARRAY_SIZE(id) * 32, full);
	for (i = 0; i < ARRAY_SIZE(id); i++)
		ASSERT_EQ(0, tw_cancel(self->fd, id[i]));
	EXPECT_GE(empty + (full - empty) / 2, tw_info(self->fd).memory);
}
