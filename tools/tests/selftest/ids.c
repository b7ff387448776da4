// SPDX-License-Identifier: MIT
/*
 * Ids: cancel, modify and query in each state of a timer, stale ids, the limit of timers,
 * and counters that balance.
 */
#include "selftest.h"

CHANGING_FIXTURE(ids);

/* Two that have expired: one in the wheel, and one that was due when added. */
static bool add_expired(int fd, __u64 *id)
{
	id[0] = add_after(fd, MSEC, 1);
	id[1] = add_after(fd, 0, 2);
	return id[0] && id[1] && wait_expired(fd, 2);
}

TEST_F(ids, cancel_leaves_the_other_expired_timers_in_order)
{
	for (int i = 0; i < 10; i++)
		ASSERT_NE(0, ids[i] = add_at(self->fd, 0, i));
	for (int i = 0; i < 10; i += 2)
		ASSERT_EQ(0, tw_cancel(self->fd, ids[i]));
	ASSERT_EQ(5, read_events(self->fd, 10));
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(ids[2 * i + 1], event[i].id);
}

/* Modify two timers, and check that the second comes once, at its new deadline, and alone. */
static void expect_moved(struct __test_metadata *_metadata, int fd, const __u64 *id, __u64 time)
{
	__u64 deadline = now_ns() + time, when;

	EXPECT_EQ(0, tw_modify(fd, id[0], HOUR, 0));
	EXPECT_EQ(0, tw_modify(fd, id[1], deadline, TWHEEL_ABSTIME));
	EXPECT_EQ(deadline, deadline_of(fd, id[1]));
	EXPECT_EQ(2, query.data);
	if (now_ns() < deadline) {
		EXPECT_EQ(TWHEEL_PENDING, query.state);
		EXPECT_FALSE(readable(fd));
	}
	ASSERT_EQ(1, wait_and_read(fd, 4));
	when = now_ns();
	EXPECT_LE(deadline, when);
	EXPECT_GE(deadline + lateness_max, when);
	EXPECT_EQ(id[1], event->id);
	EXPECT_EQ(2, event->data);
	EXPECT_EQ(deadline, event->deadline_ns);
	EXPECT_EQ(-EAGAIN, read_one(fd))
		TH_LOG("it was delivered for its old deadline too");
	EXPECT_EQ(0, tw_cancel(fd, id[0]));
	EXPECT_TRUE(balanced(fd));
}

TEST_F(ids, modify_moves_a_timer_that_is_pending_or_expired)
{
	ASSERT_NE(0, ids[0] = add_after(self->fd, 100 * MSEC, 1));
	ASSERT_NE(0, ids[1] = add_after(self->fd, HOUR, 2));
	expect_moved(_metadata, self->fd, ids, 200 * MSEC);
	ASSERT_TRUE(add_expired(self->fd, ids));
	expect_moved(_metadata, self->fd, ids, 300 * MSEC);
	EXPECT_EQ(4, tw_info(self->fd).modified);
}

TEST_F(ids, query_of_an_expired_timer) /* SECURITY: kernel information */
{
	struct twheel_query expired = {
		.id = add_at(self->fd, 12345, 6), .deadline_ns = 12345, .data = 6,
		.state = TWHEEL_EXPIRED,
	};

	ASSERT_EQ(0, tw_query(self->fd, expired.id));
	EXPECT_EQ(0, memcmp(&expired, &query, sizeof(query)));
	EXPECT_TRUE(readable(self->fd))
		TH_LOG("a query takes nothing away");
}

/* A periodic timer counts until it is cancelled, any other one until it is read or cancelled. */
TEST_F(ids, above_the_limit_of_timers_is_enospc) /* SECURITY: timers */
{
	ASSERT_EQ(0, tw_setup(self->fd, MSEC, 256, CLOCK_MONOTONIC, 2));
	ASSERT_NE(0, ids[0] = tw_add(self->fd, 0, 0, HOUR, 1));
	ASSERT_EQ(1, read_one(self->fd));
	ASSERT_NE(0, add_at(self->fd, 0, 2));
	before = tw_info(self->fd);
	EXPECT_EQ(-ENOSPC, try_add(self->fd));
	EXPECT_STREQ("", changes(self->fd, &before));
	ASSERT_EQ(0, tw_cancel(self->fd, ids[0]));
	EXPECT_EQ(0, try_add(self->fd));
	EXPECT_EQ(-ENOSPC, try_add(self->fd));
	ASSERT_EQ(2, read_one(self->fd));
	EXPECT_EQ(0, try_add(self->fd));
	EXPECT_EQ(-ENOSPC, try_add(self->fd));
}
