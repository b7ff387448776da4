// SPDX-License-Identifier: MIT
/*
 * Listing: each timer that exists throughout is listed exactly once, whatever the buffer
 * and whatever others do to the wheel; and no cursor does harm.
 */
#include "selftest.h"

/* Some pages of timers, the last one not full. */
#define NR_LISTED	1000
#define LIST_MAX	(NR_LISTED + 100)

WHEEL_FIXTURE(list, O_NONBLOCK);

/* Like tw_ioctl(), for one part of a walk. */
static int tw_list(int fd, __u64 *cursor, struct twheel_listed *listed, __u32 count)
{
	struct twheel_list list = {
		.cursor = *cursor,
		.entries = (uintptr_t)listed,
		.count = count,
	};
	int ret = tw_ioctl(fd, TWHEEL_LIST, &list);

	*cursor = list.cursor;
	return ret;
}

/* A whole walk, @count timers at a time; returns how many, less than @max, or minus an errno. */
static int walk(int fd, struct twheel_listed *listed, unsigned int max, unsigned int count)
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
	} while (ret);
	return n;
}

static int by_data(const void *a, const void *b)
{
	const struct twheel_listed *one = a, *other = b;

	return one->data < other->data ? -1 : one->data > other->data;
}

/* Timers with data 0, 1, ..., none of which is due for an hour. */
static bool add_listed(int fd, __u64 *id, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		id[i] = add_after(fd, HOUR, i);
		if (!id[i])
			return false;
	}
	return true;
}

/* Check that a walk lists exactly these timers. */
static bool lists_exactly(int fd, const __u64 *id, int count, unsigned int at_once)
{
	static struct twheel_listed listed[LIST_MAX];
	int n = walk(fd, listed, LIST_MAX, at_once), i;

	if (n != count)
		return false;
	qsort(listed, n, sizeof(*listed), by_data);
	for (i = 0; i < n; i++) {
		if (listed[i].data != (__u64)i || listed[i].id != id[i])
			return false;
	}
	return true;
}

TEST_F(list, of_an_empty_wheel_or_array_has_nothing)
{
	struct twheel_listed listed = { .id = UNTOUCHED };
	unsigned int i;
	__u64 cursor = 0;

	EXPECT_EQ(0, tw_list(self->fd, &cursor, &listed, 1));
	EXPECT_EQ(0, cursor);
	EXPECT_EQ(UNTOUCHED, listed.id);
	EXPECT_EQ(0, tw_list(self->fd, &cursor, bad_pointer(1), 1000));
	ASSERT_NE(0, add_after(self->fd, HOUR, 0));
	for (i = 0; i < NR_BAD_POINTERS; i++)
		EXPECT_EQ(0, tw_list(self->fd, &cursor, bad_pointer(i), 0));
	EXPECT_EQ(0, cursor);
}

TEST_F(list, has_what_a_query_has) /* SECURITY: kernel information */
{
	struct twheel_listed listed[4];
	__u64 id[3], now = now_ns();
	struct twheel_query query;
	int i;

	id[0] = add_at(self->fd, now + HOUR, 11);
	id[1] = tw_add(self->fd, MINUTE, 0, 7 * MSEC, ~0ULL);
	id[2] = add_at(self->fd, now, 33);
	memset(listed, 0xa5, sizeof(listed));
	ASSERT_EQ(3, walk(self->fd, listed, 4, 4));
	for (i = 0; i < 3; i++) {
		unsigned int nr = listed[i].id == id[0] ? 0 : listed[i].id == id[1] ? 1 : 2;

		ASSERT_EQ(id[nr], listed[i].id);
		ASSERT_EQ(0, tw_query(self->fd, id[nr], &query));
		EXPECT_EQ(query.data, listed[i].data);
		EXPECT_EQ(query.deadline_ns, listed[i].deadline_ns);
		EXPECT_EQ(query.interval_ns, listed[i].interval_ns);
		EXPECT_EQ(nr == 2 ? TWHEEL_EXPIRED : TWHEEL_PENDING, listed[i].state);
		EXPECT_EQ(0, listed[i].reserved);
	}
	EXPECT_EQ(0xa5a5a5a5a5a5a5a5ULL, listed[3].id);
}

TEST_F(list, with_any_buffer_has_every_timer_once)
{
	static const unsigned int sizes[] = { 1, 2, 3, 41, 42, 43, 83, 84, 85, 127, 999, LIST_MAX };
	static __u64 id[NR_LISTED];
	struct twheel_info before;
	unsigned int i;

	ASSERT_TRUE(add_listed(self->fd, id, NR_LISTED));
	before = tw_info(self->fd);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_TRUE(lists_exactly(self->fd, id, NR_LISTED, sizes[i]))
			TH_LOG("%u at a time", sizes[i]);
	}
	EXPECT_STREQ("", changes(self->fd, &before));
}

/* A spike leaves blocks without a page: a walk passes many of them in one call. */
TEST_F(list, after_a_spike_has_what_is_left)
{
	const unsigned int spike = 100000;
	struct twheel_add *add = calloc(spike, sizeof(*add));
	struct twheel_listed listed[4];
	__u64 *id = calloc(spike, sizeof(*id));
	unsigned int i;

	for (i = 0; i < spike; i++)
		add[i] = (struct twheel_add) { .time_ns = HOUR, .data = i };
	ASSERT_EQ(spike, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, spike));
	for (i = 0; i < spike - 1; i++)
		id[i] = add[i].id;
	ASSERT_EQ(spike - 1, tw_batch(self->fd, TWHEEL_CANCEL_BATCH, id, spike - 1));
	ASSERT_EQ(1, walk(self->fd, listed, 4, 4));
	EXPECT_EQ(add[spike - 1].id, listed[0].id);
	ASSERT_EQ(0, tw_cancel(self->fd, add[spike - 1].id));
	EXPECT_EQ(0, walk(self->fd, listed, 4, 4));
	free(add);
	free(id);
}

/* The wheel was not advanced: there was no call since the timers fell due. */
TEST_F(list, says_what_a_read_would_return)
{
	struct twheel_listed listed[5];
	struct twheel_event event[4];
	unsigned int due = 0, i;

	add_after(self->fd, 3 * MSEC, 0);
	add_after(self->fd, 500 * MSEC, 0);
	add_after(self->fd, HOUR, 1);
	tw_add(self->fd, 2 * MSEC, 0, HOUR, 0);
	sleep_for(700 * MSEC);
	ASSERT_EQ(4, walk(self->fd, listed, 5, 4));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(listed[i].data ? TWHEEL_PENDING : TWHEEL_EXPIRED, listed[i].state);
		due += listed[i].state;
	}
	EXPECT_EQ(due, tw_read(self->fd, event, 4));
	/* The periodic one lives on. */
	ASSERT_EQ(2, walk(self->fd, listed, 5, 4));
	EXPECT_EQ(TWHEEL_PENDING, listed[0].state);
	EXPECT_EQ(TWHEEL_PENDING, listed[1].state);
}

TEST_F(list, from_any_cursor_does_no_harm) /* SECURITY: arguments */
{
	struct chance chance = { .state = 1122334455 };
	static struct twheel_listed listed[LIST_MAX];
	static __u64 id[NR_LISTED];
	unsigned int i, refused = 0;
	struct twheel_info before;

	ASSERT_TRUE(add_listed(self->fd, id, NR_LISTED));
	before = tw_info(self->fd);
	for (i = 0; i < 20000; i++) {
		__u64 cursor = chance_any_size(&chance), given = cursor;
		int ret = tw_list(self->fd, &cursor, listed, LIST_MAX), k;

		if (ret <= 0) {
			/* Beyond the end, or invalid. */
			ASSERT_TRUE(!ret || ret == -EINVAL);
			ASSERT_EQ(given, cursor);
			refused += !!ret;
			continue;
		}
		for (k = 0; k < ret; k++) {
			ASSERT_GT(NR_LISTED, listed[k].data);
			ASSERT_EQ(id[listed[k].data], listed[k].id);
		}
	}
	EXPECT_NE(0, refused);
	EXPECT_STREQ("", changes(self->fd, &before));
}

TEST_F(list, from_what_never_was_a_cursor_is_einval)
{
	/* Ids, and the slots of more timers than fit in any page. */
	__u64 cursors[] = { 1ULL << 32, ~0ULL, 0xffffffff, 0xfff, add_after(self->fd, HOUR, 0) };
	struct twheel_listed listed;
	__u64 end = 0xff000000;
	unsigned int i;

	/* It is one if it is only beyond the end. */
	EXPECT_EQ(0, tw_list(self->fd, &end, &listed, 1));
	EXPECT_EQ(0xff000000, end);
	for (i = 0; i < ARRAY_SIZE(cursors); i++) {
		__u64 cursor = cursors[i];

		EXPECT_EQ(-EINVAL, tw_list(self->fd, &cursor, &listed, 1))
			TH_LOG("cursor %#llx", cursors[i]);
		EXPECT_EQ(cursors[i], cursor);
	}
}

TEST_F(list, with_bad_pointers_is_efault) /* SECURITY: arguments */
{
	static __u64 id[NR_LISTED];
	struct twheel_listed listed;
	__u64 cursor = 0;
	unsigned int i;

	ASSERT_TRUE(add_listed(self->fd, id, NR_LISTED));
	for (i = 0; i < NR_BAD_POINTERS; i++) {
		EXPECT_EQ(-EFAULT, tw_list(self->fd, &cursor, bad_pointer(i), 1));
		EXPECT_EQ(-EFAULT, tw_list(self->fd, &cursor, bad_pointer(i), 1000));
		EXPECT_EQ(-EFAULT, tw_list(self->fd, &cursor, bad_pointer(i), ~0U));
		EXPECT_EQ(0, cursor);
	}
	EXPECT_EQ(-EFAULT, tw_list(self->fd, &cursor, before_hole(sizeof(listed) - 1), ~0U));
	EXPECT_EQ(0, cursor);
}

/* Whole entries up to the bad page, and the walk misses none after that. */
TEST_F(list, into_an_array_that_ends) /* SECURITY: kernel information */
{
	static struct twheel_listed listed[NR_LISTED];
	static __u64 id[NR_LISTED];
	unsigned int room;

	ASSERT_TRUE(add_listed(self->fd, id, NR_LISTED));
	for (room = 1; room < 200; room += 1 + room / 10) {
		size_t part = room % sizeof(struct twheel_listed);
		struct twheel_listed *array = before_hole(room * sizeof(*array) + part);
		__u64 cursor = 0;
		int n, ret;

		ASSERT_EQ(room, tw_list(self->fd, &cursor, array, NR_LISTED));
		memcpy(listed, array, room * sizeof(*array));
		EXPECT_EQ(-EFAULT, tw_list(self->fd, &cursor, array + room, 1));
		for (n = room; n < NR_LISTED; n += ret) {
			ret = tw_list(self->fd, &cursor, listed + n, NR_LISTED - n);
			ASSERT_LT(0, ret);
		}
		qsort(listed, n, sizeof(*listed), by_data);
		for (n = 0; n < NR_LISTED; n++)
			ASSERT_EQ(id[n], listed[n].id);
	}
}

/* A signal shows as a short count, and the walk continues. */
TEST_F(list, a_signal_in_the_middle) /* SECURITY: calls */
{
	static struct twheel_listed listed[20000];
	static struct twheel_add add[20000];
	unsigned int round, n, i;
	bool cut_short = false;

	for (i = 0; i < ARRAY_SIZE(add); i++)
		add[i] = (struct twheel_add) { .time_ns = HOUR, .data = i };
	ASSERT_EQ(ARRAY_SIZE(add), tw_batch(self->fd, TWHEEL_ADD_BATCH, add, ARRAY_SIZE(add)));
	ASSERT_TRUE(start_signals(500, 0));
	for (round = 1; round <= 10 || !cut_short; round++) {
		__u64 cursor = 0;
		int ret;

		for (n = 0; n < ARRAY_SIZE(add); n += ret) {
			ret = tw_list(self->fd, &cursor, listed + n, ARRAY_SIZE(add) - n);
			ASSERT_LT(0, ret);
			cut_short |= ret < (int)(ARRAY_SIZE(add) - n);
		}
		qsort(listed, n, sizeof(*listed), by_data);
		for (i = 0; i < n; i++)
			ASSERT_EQ(add[i].id, listed[i].id);
	}
}

/* Each call finds other timers come and gone. */
TEST_F(list, while_others_come_and_go) /* SECURITY: concurrent calls */
{
	static __u64 stays[NR_LISTED], other[NR_LISTED];
	struct chance chance = { .state = 424242 };
	static struct twheel_listed listed[300];
	unsigned int i, nr, round;
	__u64 cursor, gone = 0;
	int ret, k;

	for (i = 0; i < NR_LISTED; i++) {
		ASSERT_NE(0, stays[i] = add_after(self->fd, HOUR, i));
		ASSERT_NE(0, other[i] = add_after(self->fd, HOUR, NR_LISTED));
	}
	for (round = 0; round < 20; round++) {
		for (cursor = nr = 0; ; ) {
			ret = tw_list(self->fd, &cursor, listed, 1 + chance_below(&chance, 300));
			ASSERT_LE(0, ret);
			if (!ret)
				break;
			for (k = 0; k < ret; k++) {
				/* Those that stay are listed in the order of their slots. */
				ASSERT_GE(NR_LISTED, listed[k].data);
				if (listed[k].data < NR_LISTED)
					ASSERT_EQ(stays[nr++], listed[k].id);
				ASSERT_NE(gone, listed[k].id);
			}
			for (i = 0; i < 100; i++) {
				__u64 *id = &other[chance_below(&chance, NR_LISTED)];

				ASSERT_EQ(0, tw_cancel(self->fd, gone = *id));
				ASSERT_NE(0, *id = add_after(self->fd, HOUR, NR_LISTED));
			}
		}
		EXPECT_EQ(NR_LISTED, nr);
	}
}
