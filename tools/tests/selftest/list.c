// SPDX-License-Identifier: MIT
/*
 * Listing: each timer that exists throughout is listed exactly once, whatever others do to the
 * wheel. twheel-fuzz has buffers and cursors of all kinds, and checks what is listed.
 */
#include "selftest.h"

/* Some pages of timers, the last one not full. */
#define NR_LISTED	1000

WHEEL_FIXTURE(list, O_NONBLOCK);

/* A walk into @listed to its end; returns how many there are, or minus an errno. Counts @calls. */
static int walk(int fd, unsigned int *calls)
{
	struct twheel_list list = { .cursor = 0 };
	int ret, n = 0;

	do {
		list.entries = (uintptr_t)(listed + n);
		list.count = ARRAY_SIZE(listed) - n;
		ret = tw_ioctl(fd, TWHEEL_LIST, &list);
		n += ret;
		++*calls;
	} while (ret > 0);
	return ret ?: n;
}

/* A spike leaves blocks without a page: a walk passes many of them in one call. */
TEST_F(list, after_a_spike_has_what_is_left)
{
	static __u64 id[100000];
	const int spike = ARRAY_SIZE(id);
	unsigned int calls = 0;

	ASSERT_TRUE(add_crowd(self->fd, id, spike));
	ASSERT_EQ(spike - 1, tw_batch(self->fd, TWHEEL_CANCEL_BATCH, id, spike - 1));
	ASSERT_EQ(1, walk(self->fd, &calls));
	EXPECT_EQ(id[spike - 1], listed[0].id);
}

/* In falling order: the wheel has not yet sorted the first ones when they are listed. */
TEST_F(list, of_a_crowd_that_is_due_has_only_expired_timers)
{
	__u64 last = now_ns() + 400 * MSEC;
	unsigned int calls = 0;

	ASSERT_TRUE(add_many(self->fd, NR_LISTED, last, -200 * USEC, TWHEEL_ABSTIME));
	sleep_until(last + MSEC);
	ASSERT_EQ(NR_LISTED, walk(self->fd, &calls));
	for (int i = 0; i < NR_LISTED; i++)
		ASSERT_EQ(TWHEEL_EXPIRED, listed[i].state);
}

/* A signal shows as a short count, and the walk continues. */
TEST_F(list, a_signal_in_the_middle) /* SECURITY: calls */
{
	static __u64 id[15000];
	unsigned int calls = 0;

	ASSERT_TRUE(add_crowd(self->fd, id, ARRAY_SIZE(id)));
	ASSERT_TRUE(start_signals(500, 0));
	/* Two calls of each walk are not cut short: one finds all timers, one is at the end. */
	for (unsigned int round = 1; round <= 10 || calls <= 2 * (round - 1); round++) {
		ASSERT_EQ(ARRAY_SIZE(id), walk(self->fd, &calls));
		for (unsigned int i = 0; i < ARRAY_SIZE(id); i++)
			ASSERT_EQ(id[i], listed[i].id);
	}
}

/* Each call finds other timers come and gone. */
TEST_F(list, while_others_come_and_go) /* SECURITY: concurrent calls */
{
	static __u64 stays[NR_LISTED], other[NR_LISTED];
	struct chance chance = { .state = 424242 };
	__u64 gone = 0;

	for (int i = 0; i < NR_LISTED; i++) {
		ASSERT_NE(0, stays[i] = add_after(self->fd, HOUR, i));
		ASSERT_NE(0, other[i] = add_after(self->fd, HOUR, NR_LISTED));
	}
	for (int round = 0; round < 20; round++) {
		struct twheel_list list = { .entries = (uintptr_t)listed };
		unsigned int nr = 0;
		int ret;

		do {
			list.count = 1 + chance_below(&chance, 300);
			ret = tw_ioctl(self->fd, TWHEEL_LIST, &list);
			ASSERT_LE(0, ret);
			for (int k = 0; k < ret; k++) {
				/* Those that stay are listed in the order of their slots. */
				if (listed[k].data != NR_LISTED)
					ASSERT_EQ(stays[nr++], listed[k].id);
				ASSERT_NE(gone, listed[k].id);
			}
			for (int i = 0; i < 100; i++) {
				__u64 *id = &other[chance_below(&chance, NR_LISTED)];

				ASSERT_EQ(0, tw_cancel(self->fd, gone = *id));
				ASSERT_NE(0, *id = add_after(self->fd, HOUR, NR_LISTED));
			}
		} while (ret);
		EXPECT_EQ(NR_LISTED, nr);
	}
}
