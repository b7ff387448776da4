// SPDX-License-Identifier: MIT
/*
 * Ids: those of other wheels, and numbers next to an id. twheel-fuzz has stale ids, and all calls
 * on pending and expired timers.
 */
#include "selftest.h"

CHANGING_FIXTURE(ids);

/* Ids that are no timer of @fd; @id is one of its timers, @other one of another fd. */
static void expect_enoent(struct __test_metadata *_metadata, int fd, __u64 id, __u64 other)
{
	__u64 bad[64 + 5] = { 0, ~0ULL, 1ULL << 63, 0xffffffffULL, other };

	before = tw_info(fd);
	for (unsigned int i = 0; i < 64; i++)
		bad[5 + i] = id ^ (1ULL << i);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		if (bad[i] == id)
			continue;
		EXPECT_EQ(-ENOENT, tw_cancel(fd, bad[i]))
			TH_LOG("id %#llx; the only timer is %#llx", bad[i], id);
		EXPECT_EQ(-ENOENT, tw_modify(fd, bad[i], 0, 0));
		EXPECT_EQ(-ENOENT, tw_query(fd, bad[i]));
	}
	EXPECT_TRUE(is_unchanged(fd, &before));
}

TEST_F(ids, unknown_ids_are_enoent) /* SECURITY: wheels */
{
	int other = open_wheel(_metadata, O_NONBLOCK);
	__u64 id, stranger = 0;

	/* In a wheel that never had a timer. */
	expect_enoent(_metadata, self->fd, 0, 1);
	/* An id of another fd: not the first one, which this fd may use too. */
	for (unsigned int i = 0; i < 300; i++)
		ASSERT_NE(0, stranger = add_after(other, HOUR, i));
	ASSERT_NE(0, id = add_after(self->fd, HOUR, 1));
	expect_enoent(_metadata, self->fd, id, stranger);
	EXPECT_EQ(300, tw_info(other).pending);
	EXPECT_EQ(0, tw_cancel(other, stranger));
	EXPECT_EQ(0, tw_cancel(self->fd, id));
}
