// SPDX-License-Identifier: MIT
/*
 * Listing: each timer that exists throughout is listed exactly once, whatever the buffer
 * and whatever others do to the wheel; and no cursor does harm.
 */
#include <sched.h>
#include <sys/resource.h>

#include "selftest.h"

/* Some pages of timers, the last one not full. */
#define NR_LISTED	1000
#define LIST_MAX	(NR_LISTED + 100)

WHEEL_FIXTURE(list, O_NONBLOCK);

/* Like tw_ioctl(), for one part of a walk. */
static int tw_list(int fd, __u64 *cursor, struct twheel_listed *to, __u32 count)
{
	struct twheel_list list = {
		.cursor = *cursor, .entries = (uintptr_t)to, .count = count,
	};
	int ret = tw_ioctl(fd, TWHEEL_LIST, &list);

	*cursor = list.cursor;
	return ret;
}

/*
 * A walk into @listed to its end, @count timers at a time; returns how many there are, less than
 * @max, or minus an errno. @calls is the number of calls of all walks.
 */
static int count_walk(int fd, unsigned int max, unsigned int count, unsigned int *calls)
{
	unsigned int n = 0;
	__u64 cursor = 0;
	int ret;

	do {
		if (n == max)
			return -EOVERFLOW;
		ret = tw_list(fd, &cursor, listed + n, max - n < count ? max - n : count);
		if (ret < 0)
			return ret;
		n += ret;
		++*calls;
	} while (ret);
	return n;
}

static int walk(int fd, unsigned int max, unsigned int count)
{
	unsigned int calls = 0;

	return count_walk(fd, max, count, &calls);
}

static int by_data(const void *a, const void *b)
{
	const struct twheel_listed *one = a, *other = b;

	return one->data < other->data ? -1 : one->data > other->data;
}

/* Check that exactly the timers with these ids were listed, with data 0, 1, ... */
static bool is_listed(int n, const __u64 *id, int count)
{
	if (n != count)
		return false;
	qsort(listed, n, sizeof(*listed), by_data);
	for (int i = 0; i < n; i++)
		if (listed[i].data != (__u64)i || listed[i].id != id[i])
			return false;
	return true;
}

TEST_F(list, of_an_empty_wheel_or_array_has_nothing)
{
	__u64 cursor = 0;

	listed->id = UNTOUCHED;
	EXPECT_EQ(0, tw_list(self->fd, &cursor, listed, 1));
	EXPECT_EQ(0, cursor);
	EXPECT_EQ(UNTOUCHED, listed->id);
	EXPECT_EQ(0, tw_list(self->fd, &cursor, bad_pointer(1), 1000));
	ASSERT_NE(0, add_after(self->fd, HOUR, 0));
	for (unsigned int i = 0; i < NR_BAD_POINTERS; i++)
		EXPECT_EQ(0, tw_list(self->fd, &cursor, bad_pointer(i), 0));
	EXPECT_EQ(0, cursor);
}

TEST_F(list, has_what_a_query_has) /* SECURITY: kernel information */
{
	__u64 now = now_ns();

	ids[0] = add_at(self->fd, now + HOUR, 0);
	ids[1] = tw_add(self->fd, MINUTE, 0, 7 * MSEC, 1);
	ids[2] = add_at(self->fd, now, 2);
	memset(listed, 0xa5, sizeof(listed));
	ASSERT_TRUE(is_listed(walk(self->fd, 4, 4), ids, 3));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, tw_query(self->fd, ids[i]));
		EXPECT_EQ(query.data, listed[i].data);
		EXPECT_EQ(query.deadline_ns, listed[i].deadline_ns);
		EXPECT_EQ(query.interval_ns, listed[i].interval_ns);
		EXPECT_EQ(i == 2 ? TWHEEL_EXPIRED : TWHEEL_PENDING, listed[i].state);
		EXPECT_EQ(0, listed[i].reserved);
	}
	EXPECT_EQ(0xa5a5a5a5a5a5a5a5ULL, listed[3].id);
}

/* A spike leaves blocks without a page: a walk passes many of them in one call. */
TEST_F(list, after_a_spike_has_what_is_left)
{
	static __u64 id[100000];
	const int spike = ARRAY_SIZE(id);

	ASSERT_TRUE(add_crowd(self->fd, id, spike));
	ASSERT_EQ(spike - 1, tw_batch(self->fd, TWHEEL_CANCEL_BATCH, id, spike - 1));
	ASSERT_EQ(1, walk(self->fd, 4, 4));
	EXPECT_EQ(id[spike - 1], listed[0].id);
	ASSERT_EQ(0, tw_cancel(self->fd, id[spike - 1]));
	EXPECT_EQ(0, walk(self->fd, 4, 4));
}

/* The wheel was not advanced: there was no call since the timers fell due. */
TEST_F(list, says_what_a_read_would_return)
{
	int due = 0;

	add_after(self->fd, 3 * MSEC, 0);
	add_after(self->fd, 500 * MSEC, 0);
	add_after(self->fd, HOUR, 1);
	tw_add(self->fd, 2 * MSEC, 0, HOUR, 0);
	sleep_for(700 * MSEC);
	ASSERT_EQ(4, walk(self->fd, 5, 4));
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(listed[i].data ? TWHEEL_PENDING : TWHEEL_EXPIRED, listed[i].state);
		due += listed[i].state;
	}
	EXPECT_EQ(due, read_events(self->fd, 4));
	/* The periodic one lives on. */
	ASSERT_EQ(2, walk(self->fd, 5, 4));
	EXPECT_EQ(TWHEEL_PENDING, listed[0].state);
	EXPECT_EQ(TWHEEL_PENDING, listed[1].state);
}

/* In falling order: the wheel has not yet sorted the first ones when they are listed. */
TEST_F(list, of_a_crowd_that_is_due_has_only_expired_timers)
{
	__u64 last = now_ns() + 400 * MSEC;

	ASSERT_TRUE(add_many(self->fd, NR_LISTED, last, -200 * USEC, TWHEEL_ABSTIME));
	sleep_until(last + MSEC);
	ASSERT_EQ(NR_LISTED, walk(self->fd, LIST_MAX, LIST_MAX));
	for (int i = 0; i < NR_LISTED; i++)
		ASSERT_EQ(TWHEEL_EXPIRED, listed[i].state);
}

TEST_F(list, from_any_cursor_does_no_harm) /* SECURITY: arguments */
{
	/* Ids, and the slots of more timers than fit in any page. */
	__u64 invalid[] = { 1ULL << 32, ~0ULL, 0xffffffff, 0xfff, 0 }, end = 0xff000000;
	struct chance chance = { .state = 1122334455 };

	ASSERT_TRUE(add_many(self->fd, NR_LISTED, HOUR, 0, 0));
	invalid[4] = ids[0];
	before = tw_info(self->fd);
	/* It is one if it is only beyond the end. */
	EXPECT_EQ(0, tw_list(self->fd, &end, listed, 1));
	EXPECT_EQ(0xff000000, end);
	for (unsigned int i = 0; i < 20000; i++) {
		bool is_invalid = i < ARRAY_SIZE(invalid);
		__u64 cursor = is_invalid ? invalid[i] : chance_any_size(&chance), given = cursor;
		int ret = tw_list(self->fd, &cursor, listed, LIST_MAX);

		if (ret <= 0) {
			/* Beyond the end, or invalid. */
			ASSERT_TRUE(ret == -EINVAL || (!ret && !is_invalid))
				TH_LOG("cursor %#llx", given);
			ASSERT_EQ(given, cursor);
		}
		for (int k = 0; k < ret; k++) {
			ASSERT_GT(NR_LISTED, listed[k].data);
			ASSERT_EQ(ids[listed[k].data], listed[k].id);
		}
	}
	EXPECT_STREQ("", changes(self->fd, &before));
}

/* A signal shows as a short count, and the walk continues. */
TEST_F(list, a_signal_in_the_middle) /* SECURITY: calls */
{
	static __u64 id[15000];
	unsigned int calls = 0;

	ASSERT_TRUE(add_crowd(self->fd, id, ARRAY_SIZE(id)));
	ASSERT_TRUE(start_signals(500, 0));
	/* Two calls of each walk are not cut short: one finds all timers, one is at the end. */
	for (unsigned int round = 1; round <= 10 || calls <= 2 * (round - 1); round++)
		ASSERT_TRUE(is_listed(count_walk(self->fd, 20000, 20000, &calls), id,
				      ARRAY_SIZE(id)));
}

/* Each call finds other timers come and gone. */
TEST_F(list, while_others_come_and_go) /* SECURITY: concurrent calls */
{
	static __u64 stays[NR_LISTED], other[NR_LISTED];
	struct chance chance = { .state = 424242 };
	unsigned int nr;
	__u64 cursor, gone = 0;
	int ret;

	for (int i = 0; i < NR_LISTED; i++) {
		ASSERT_NE(0, stays[i] = add_after(self->fd, HOUR, i));
		ASSERT_NE(0, other[i] = add_after(self->fd, HOUR, NR_LISTED));
	}
	for (int round = 0; round < 20; round++) {
		cursor = 0;
		nr = 0;
		while ((ret = tw_list(self->fd, &cursor, listed, 1 + chance_below(&chance, 300)))) {
			ASSERT_LT(0, ret);
			for (int k = 0; k < ret; k++) {
				/* Those that stay are listed in the order of their slots. */
				ASSERT_GE(NR_LISTED, listed[k].data);
				if (listed[k].data < NR_LISTED)
					ASSERT_EQ(stays[nr++], listed[k].id);
				ASSERT_NE(gone, listed[k].id);
			}
			for (int i = 0; i < 100; i++) {
				__u64 *id = &other[chance_below(&chance, NR_LISTED)];

				ASSERT_EQ(0, tw_cancel(self->fd, gone = *id));
				ASSERT_NE(0, *id = add_after(self->fd, HOUR, NR_LISTED));
			}
		}
		EXPECT_EQ(NR_LISTED, nr);
	}
}
