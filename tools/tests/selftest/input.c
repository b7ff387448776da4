// SPDX-License-Identifier: MIT
/*
 * Every field of every ioctl on a single timer or on the wheel: an invalid value fails
 * with the errno in the contract and changes nothing, and the extreme valid values work.
 */
#include <asm/ioctls.h>

#include "selftest.h"

#define TICK	TWHEEL_TICK_DEFAULT_NS
#define SIZE	TWHEEL_SIZE_DEFAULT
#define MONO	CLOCK_MONOTONIC

CHANGING_FIXTURE(input);

/* tick_ns, max_timers, wheel_size, clock_id, flags, reserved */
static const struct {
	const char *what;
	struct twheel_setup setup;
} bad_setups[] = {
	{ "tick 0", { 0, 0, SIZE, MONO, 0, { 0 } } },
	{ "tick 1", { 1, 0, SIZE, MONO, 0, { 0 } } },
	{ "tick 999 ns", { 999, 0, SIZE, MONO, 0, { 0 } } },
	{ "tick 1 h + 1 ns", { HOUR + 1, 0, SIZE, MONO, 0, { 0 } } },
	{ "tick 2^63", { 1ULL << 63, 0, SIZE, MONO, 0, { 0 } } },
	{ "tick 2^64-1", { ~0ULL, 0, SIZE, MONO, 0, { 0 } } },
	{ "size 0", { TICK, 0, 0, MONO, 0, { 0 } } },
	{ "size 1", { TICK, 0, 1, MONO, 0, { 0 } } },
	{ "size 65537", { TICK, 0, 65537, MONO, 0, { 0 } } },
	{ "size 2^31", { TICK, 0, 1U << 31, MONO, 0, { 0 } } },
	{ "size 2^32-1", { TICK, 0, ~0U, MONO, 0, { 0 } } },
	{ "process time", { TICK, 0, SIZE, CLOCK_PROCESS_CPUTIME_ID, 0, { 0 } } },
	{ "raw", { TICK, 0, SIZE, CLOCK_MONOTONIC_RAW, 0, { 0 } } },
	{ "coarse", { TICK, 0, SIZE, CLOCK_MONOTONIC_COARSE, 0, { 0 } } },
	{ "boottime alarm", { TICK, 0, SIZE, CLOCK_BOOTTIME_ALARM, 0, { 0 } } },
	{ "realtime alarm", { TICK, 0, SIZE, CLOCK_REALTIME_ALARM, 0, { 0 } } },
	{ "realtime coarse", { TICK, 0, SIZE, CLOCK_REALTIME_COARSE, 0, { 0 } } },
	{ "clock 99", { TICK, 0, SIZE, 99, 0, { 0 } } },
	{ "clock -1", { TICK, 0, SIZE, -1, 0, { 0 } } },
	{ "flag 0", { TICK, 0, SIZE, MONO, 1, { 0 } } },
	{ "flag 31", { TICK, 0, SIZE, MONO, 1U << 31, { 0 } } },
	{ "reserved[0]", { TICK, 0, SIZE, MONO, 0, { 1, 0, 0 } } },
	{ "reserved[1]", { TICK, 0, SIZE, MONO, 0, { 0, 1, 0 } } },
	{ "reserved[2]", { TICK, 0, SIZE, MONO, 0, { 0, 0, 1U << 31 } } },
};

TEST_F(input, setup_rejects_every_bad_field) /* SECURITY: arguments */
{
	struct twheel_info before = tw_info(self->fd);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad_setups); i++) {
		struct twheel_setup setup = bad_setups[i].setup;

		EXPECT_EQ(-EINVAL, tw_ioctl(self->fd, TWHEEL_SETUP, &setup))
			TH_LOG("%s", bad_setups[i].what);
		EXPECT_STREQ("", changes(self->fd, &before))
			TH_LOG("%s", bad_setups[i].what);
	}
	EXPECT_EQ(0, tw_setup(self->fd, TICK, SIZE, MONO, 0))
		TH_LOG("a set-up that failed used up the one that is allowed");
}

TEST_F(input, setup_above_the_module_limit_is_enospc) /* SECURITY: timers */
{
	struct twheel_info before = tw_info(self->fd);
	__u64 limit = before.max_timers;

	ASSERT_LT(0, limit);
	ASSERT_GT(~0ULL, limit);
	EXPECT_EQ(-ENOSPC, tw_setup(self->fd, TICK, SIZE, MONO, limit + 1));
	EXPECT_EQ(-ENOSPC, tw_setup(self->fd, TICK, SIZE, MONO, 1ULL << 63));
	EXPECT_EQ(-ENOSPC, tw_setup(self->fd, TICK, SIZE, MONO, ~0ULL));
	EXPECT_STREQ("", changes(self->fd, &before));
	EXPECT_EQ(0, tw_setup(self->fd, TICK, SIZE, MONO, limit));
	EXPECT_EQ(limit, tw_info(self->fd).max_timers);
}

TEST_F(input, setup_rejects_bad_pointers) /* SECURITY: arguments */
{
	struct twheel_info before = tw_info(self->fd);
	struct twheel_setup setup = { .tick_ns = TICK, .wheel_size = SIZE, .clock_id = MONO };
	void *half = before_hole(sizeof(setup) / 2);
	unsigned int i;

	for (i = 0; i < NR_BAD_POINTERS; i++)
		EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_SETUP, bad_pointer(i)));
	memcpy(half, &setup, sizeof(setup) / 2);
	EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_SETUP, half));
	EXPECT_STREQ("", changes(self->fd, &before));
	EXPECT_EQ(0, tw_ioctl(self->fd, TWHEEL_SETUP, read_only_copy(&setup, sizeof(setup))))
		TH_LOG("a set-up is only read, so it may be in a read-only page");
}

TEST_F(input, defaults_without_setup) /* SECURITY: kernel information */
{
	struct twheel_info info = tw_info(self->fd);
	unsigned int i;

	EXPECT_EQ(MSEC, info.tick_ns);
	EXPECT_EQ(256, info.wheel_size);
	EXPECT_EQ(CLOCK_MONOTONIC, info.clock_id);
	EXPECT_LT(0, info.max_timers);
	EXPECT_EQ(0, info.pending + info.expired + info.added + info.modified);
	EXPECT_EQ(0, info.cancelled + info.delivered + info.cascaded + info.fires);
	EXPECT_EQ(1, info.levels);
	for (i = 0; i < ARRAY_SIZE(info.reserved); i++)
		EXPECT_EQ(0, info.reserved[i]);
}

TEST_F(input, setup_accepts_the_bounds) /* SECURITY: extreme times and sizes */
{
	static const struct {
		__u64 tick, max_timers;
		__u32 size, clock;
	} good[] = {
		{ 1000, 0, 2, CLOCK_MONOTONIC },
		{ HOUR, 0, 65536, CLOCK_BOOTTIME },
		{ 1001, 1, 3, CLOCK_BOOTTIME },
		{ 1000, 0, 2, CLOCK_REALTIME },
		{ 1024, 0, 2, CLOCK_TAI },
		{ HOUR, 0, 65536, CLOCK_TAI },
		{ 1000, 0, 65536, CLOCK_REALTIME },
		{ 999999937, 12345, 65535, CLOCK_MONOTONIC },
	};
	__u64 limit = tw_info(self->fd).max_timers;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		int fd = tw_open(O_NONBLOCK);
		struct twheel_info info;

		ASSERT_LE(0, fd);
		EXPECT_EQ(0, tw_setup(fd, good[i].tick, good[i].size, good[i].clock,
				      good[i].max_timers));
		info = tw_info(fd);
		EXPECT_EQ(good[i].tick, info.tick_ns);
		EXPECT_EQ(good[i].size, info.wheel_size);
		EXPECT_EQ(good[i].clock, info.clock_id);
		EXPECT_EQ(good[i].max_timers ?: limit, info.max_timers);
		EXPECT_NE(0, add_after(fd, 0, 1));
		close(fd);
	}
}

TEST_F(input, setup_twice_is_ebusy)
{
	struct twheel_info before;

	ASSERT_EQ(0, tw_setup(self->fd, 5 * MSEC, 10, MONO, 7));
	before = tw_info(self->fd);
	EXPECT_EQ(-EBUSY, tw_setup(self->fd, TICK, SIZE, MONO, 0));
	EXPECT_EQ(-EBUSY, tw_setup(self->fd, 5 * MSEC, 10, MONO, 7));
	EXPECT_STREQ("", changes(self->fd, &before));
}

TEST_F(input, setup_after_the_first_timer_is_ebusy)
{
	__u64 id = add_after(self->fd, HOUR, 1);
	struct twheel_info before = tw_info(self->fd);

	ASSERT_NE(0, id);
	EXPECT_EQ(-EBUSY, tw_setup(self->fd, 5 * MSEC, 10, MONO, 0));
	EXPECT_STREQ("", changes(self->fd, &before));
	ASSERT_EQ(0, tw_cancel(self->fd, id));
	EXPECT_EQ(-EBUSY, tw_setup(self->fd, 5 * MSEC, 10, MONO, 0))
		TH_LOG("the wheel is empty again, but it has had its first timer");
}

TEST_F(input, setup_is_possible_after_calls_that_made_no_timer)
{
	struct twheel_add add = { .time_ns = HOUR, .flags = 2 };
	struct twheel_query query;
	struct twheel_event event;

	EXPECT_EQ(-EINVAL, tw_ioctl(self->fd, TWHEEL_ADD, &add));
	EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_ADD, NULL));
	add.flags = 0;
	EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_ADD, read_only_copy(&add, sizeof(add))));
	EXPECT_EQ(-ENOENT, tw_cancel(self->fd, 1));
	EXPECT_EQ(-ENOENT, tw_modify(self->fd, 1, HOUR, 0));
	EXPECT_EQ(-ENOENT, tw_query(self->fd, 1, &query));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, 1));
	EXPECT_EQ(0, tw_batch(self->fd, TWHEEL_ADD_BATCH, NULL, 0));
	EXPECT_FALSE(readable(self->fd));
	EXPECT_EQ(0, tw_setup(self->fd, 5 * MSEC, 10, MONO, 0));
}

/* id, time_ns, interval_ns, data, flags, reserved */
static const struct {
	const char *what;
	struct twheel_add add;
} bad_adds[] = {
	{ "flag 1", { 0, HOUR, 0, 0, 2, 0 } },
	{ "flag 31", { 0, HOUR, 0, 0, 1U << 31, 0 } },
	{ "TWHEEL_ABSTIME and flag 1", { 0, HOUR, 0, 0, TWHEEL_ABSTIME | 2, 0 } },
	{ "reserved 1", { 0, HOUR, 0, 0, 0, 1 } },
	{ "reserved 2^31", { 0, HOUR, 0, 0, 0, 1U << 31 } },
	{ "delay 2^63", { 0, 1ULL << 63, 0, 0, 0, 0 } },
	{ "delay 2^64-1", { 0, ~0ULL, 0, 0, 0, 0 } },
	{ "deadline 2^63", { 0, 1ULL << 63, 0, 0, TWHEEL_ABSTIME, 0 } },
	{ "deadline 2^64-1", { 0, ~0ULL, 0, 0, TWHEEL_ABSTIME, 0 } },
	{ "interval 1", { 0, HOUR, 1, 0, 0, 0 } },
	{ "interval one short of a tick", { 0, HOUR, TICK - 1, 0, 0, 0 } },
	{ "interval 2^63", { 0, HOUR, 1ULL << 63, 0, 0, 0 } },
	{ "interval 2^64-1", { 0, HOUR, ~0ULL, 0, 0, 0 } },
};

TEST_F(input, add_rejects_every_bad_field) /* SECURITY: arguments */
{
	struct twheel_info before = tw_info(self->fd);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad_adds); i++) {
		struct twheel_add add = bad_adds[i].add;

		add.id = UNTOUCHED;
		EXPECT_EQ(-EINVAL, tw_ioctl(self->fd, TWHEEL_ADD, &add))
			TH_LOG("%s", bad_adds[i].what);
		EXPECT_EQ(UNTOUCHED, add.id)
			TH_LOG("%s", bad_adds[i].what);
		EXPECT_STREQ("", changes(self->fd, &before))
			TH_LOG("%s", bad_adds[i].what);
	}
}

TEST_F(input, add_checks_the_interval_against_the_tick_of_the_wheel)
{
	ASSERT_EQ(0, tw_setup(self->fd, 50 * MSEC, 3, MONO, 0));
	EXPECT_EQ(0, tw_add(self->fd, HOUR, 0, 50 * MSEC - 1, 0));
	EXPECT_NE(0, tw_add(self->fd, HOUR, 0, 50 * MSEC, 0));
	EXPECT_NE(0, tw_add(self->fd, HOUR, 0, TWHEEL_TIME_MAX_NS, 0));
	EXPECT_EQ(2, tw_info(self->fd).pending);
}

TEST_F(input, add_accepts_the_bounds_of_time) /* SECURITY: extreme times and sizes */
{
	struct twheel_query query;
	struct twheel_event event;
	__u64 far, farther, past;

	far = add_at(self->fd, TWHEEL_TIME_MAX_NS, 1);
	ASSERT_NE(0, far);
	ASSERT_EQ(0, tw_query(self->fd, far, &query));
	EXPECT_EQ(TWHEEL_TIME_MAX_NS, query.deadline_ns);
	EXPECT_EQ(TWHEEL_PENDING, query.state);

	farther = add_after(self->fd, TWHEEL_TIME_MAX_NS, 2);
	ASSERT_NE(0, farther);
	ASSERT_EQ(0, tw_query(self->fd, farther, &query));
	EXPECT_EQ(TWHEEL_TIME_MAX_NS, query.deadline_ns)
		TH_LOG("now + KTIME_MAX is to saturate");

	past = add_at(self->fd, 0, 3);
	ASSERT_NE(0, past);
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_EQ(past, event.id);
	EXPECT_EQ(0, event.deadline_ns);
	EXPECT_EQ(2, tw_info(self->fd).pending);
	EXPECT_EQ(0, tw_cancel(self->fd, far));
	EXPECT_EQ(0, tw_cancel(self->fd, farther));
}

TEST_F(input, add_ignores_the_id_and_writes_nothing_else_back) /* SECURITY: kernel information */
{
	struct twheel_add add = {
		.id = UNTOUCHED,
		.time_ns = HOUR,
		.interval_ns = 3 * SEC,
		.data = ~0ULL,
	};
	struct twheel_add was = add;

	ASSERT_EQ(0, tw_ioctl(self->fd, TWHEEL_ADD, &add));
	EXPECT_NE(UNTOUCHED, add.id);
	EXPECT_NE(0, add.id);
	was.id = add.id;
	EXPECT_EQ(0, memcmp(&was, &add, sizeof(add)));
}

TEST_F(input, add_rejects_bad_pointers) /* SECURITY: arguments */
{
	struct twheel_info before = tw_info(self->fd);
	struct twheel_add add = { .time_ns = 0 };
	void *half = before_hole(sizeof(add) - 1);
	unsigned int i;

	for (i = 0; i < NR_BAD_POINTERS; i++)
		EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_ADD, bad_pointer(i)));
	memcpy(half, &add, sizeof(add) - 1);
	EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_ADD, half));
	EXPECT_STREQ("", changes(self->fd, &before));
	EXPECT_FALSE(readable(self->fd));
}

TEST_F(input, a_timer_whose_id_cannot_be_handed_back_does_not_exist) /* SECURITY: missing pages */
{
	static const __u64 delays[] = { 0, 1, 20 * MSEC, HOUR, TWHEEL_TIME_MAX_NS };
	struct twheel_info before = tw_info(self->fd);
	struct twheel_event event;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(delays); i++) {
		struct twheel_add add = { .time_ns = delays[i] };
		void *page = read_only_copy(&add, sizeof(add));

		EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_ADD, page));
		add.interval_ns = TICK;
		page = read_only_copy(&add, sizeof(add));
		EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_ADD, page));
		EXPECT_STREQ("", changes(self->fd, &before))
			TH_LOG("delay %llu", delays[i]);
	}
	sleep_for(50 * MSEC);
	EXPECT_FALSE(readable(self->fd));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, 1));
	EXPECT_STREQ("", changes(self->fd, &before));
}

/* Ids that are no timer of @fd; @id is one of its timers, @other one of another fd. */
static void expect_enoent(struct __test_metadata *_metadata, int fd, __u64 id, __u64 other)
{
	struct twheel_info before = tw_info(fd);
	struct twheel_query query;
	__u64 bad[64 + 5] = { 0, ~0ULL, 1ULL << 63, 0xffffffffULL, other };
	unsigned int i;

	for (i = 0; i < 64; i++)
		bad[5 + i] = id ^ (1ULL << i);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		if (bad[i] == id)
			continue;
		EXPECT_EQ(-ENOENT, tw_cancel(fd, bad[i]))
			TH_LOG("cancel of id %#llx; the only timer is %#llx", bad[i], id);
		EXPECT_EQ(-ENOENT, tw_modify(fd, bad[i], 0, 0))
			TH_LOG("modify of id %#llx; the only timer is %#llx", bad[i], id);
		EXPECT_EQ(-ENOENT, tw_query(fd, bad[i], &query))
			TH_LOG("query of id %#llx; the only timer is %#llx", bad[i], id);
	}
	EXPECT_STREQ("", changes(fd, &before));
}

TEST_F(input, ids_that_are_no_timer_are_enoent) /* SECURITY: wheels */
{
	int other = tw_open(O_NONBLOCK);
	__u64 id, stranger = 0;
	unsigned int i;

	ASSERT_LE(0, other);
	/* An id of another fd: not the first one, which this fd may use too. */
	for (i = 0; i < 300; i++) {
		stranger = add_after(other, HOUR, i);
		ASSERT_NE(0, stranger);
	}
	id = add_after(self->fd, HOUR, 1);
	ASSERT_NE(0, id);
	expect_enoent(_metadata, self->fd, id, stranger);
	EXPECT_EQ(300, tw_info(other).pending);
	EXPECT_EQ(0, tw_cancel(other, stranger));
	EXPECT_EQ(0, tw_cancel(self->fd, id));
	close(other);
}

TEST_F(input, ids_are_enoent_in_a_wheel_that_never_had_a_timer)
{
	expect_enoent(_metadata, self->fd, 0, 1);
}

TEST_F(input, cancel_rejects_bad_pointers) /* SECURITY: arguments */
{
	__u64 id = add_after(self->fd, HOUR, 1);
	struct twheel_info before = tw_info(self->fd);
	char *half = before_hole(sizeof(id) / 2);
	unsigned int i;

	for (i = 0; i < NR_BAD_POINTERS; i++)
		EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_CANCEL, bad_pointer(i)));
	memcpy(half, &id, sizeof(id) / 2);
	EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_CANCEL, half));
	EXPECT_STREQ("", changes(self->fd, &before));
	EXPECT_EQ(0, tw_ioctl(self->fd, TWHEEL_CANCEL, read_only_copy(&id, sizeof(id))));
}

TEST_F(input, modify_rejects_every_bad_field) /* SECURITY: arguments */
{
	static const struct {
		const char *what;
		__u64 time_ns;
		__u32 flags, reserved;
	} bad[] = {
		{ "flag 1", SEC, 2, 0 },
		{ "flag 31", SEC, 1U << 31, 0 },
		{ "TWHEEL_ABSTIME and flag 2", SEC, TWHEEL_ABSTIME | 4, 0 },
		{ "reserved", SEC, 0, 1 },
		{ "reserved 2^31", SEC, 0, 1U << 31 },
		{ "delay 2^63", 1ULL << 63, 0, 0 },
		{ "delay 2^64-1", ~0ULL, 0, 0 },
		{ "deadline 2^63", 1ULL << 63, TWHEEL_ABSTIME, 0 },
		{ "deadline 2^64-1", ~0ULL, TWHEEL_ABSTIME, 0 },
	};
	__u64 deadline = now_ns() + HOUR;
	__u64 id = add_at(self->fd, deadline, 1);
	struct twheel_info before = tw_info(self->fd);
	struct twheel_query query;
	unsigned int i;

	ASSERT_NE(0, id);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct twheel_modify modify = {
			.id = id,
			.time_ns = bad[i].time_ns,
			.flags = bad[i].flags,
			.reserved = bad[i].reserved,
		};

		EXPECT_EQ(-EINVAL, tw_ioctl(self->fd, TWHEEL_MODIFY, &modify))
			TH_LOG("%s", bad[i].what);
		EXPECT_STREQ("", changes(self->fd, &before))
			TH_LOG("%s", bad[i].what);
		ASSERT_EQ(0, tw_query(self->fd, id, &query));
		EXPECT_EQ(deadline, query.deadline_ns)
			TH_LOG("%s", bad[i].what);
	}
}

TEST_F(input, modify_accepts_the_bounds_of_time) /* SECURITY: extreme times and sizes */
{
	__u64 id = add_after(self->fd, HOUR, 1);
	struct twheel_query query;
	struct twheel_event event;

	ASSERT_NE(0, id);
	EXPECT_EQ(0, tw_modify(self->fd, id, TWHEEL_TIME_MAX_NS, TWHEEL_ABSTIME));
	ASSERT_EQ(0, tw_query(self->fd, id, &query));
	EXPECT_EQ(TWHEEL_TIME_MAX_NS, query.deadline_ns);
	EXPECT_EQ(0, tw_modify(self->fd, id, TWHEEL_TIME_MAX_NS, 0));
	ASSERT_EQ(0, tw_query(self->fd, id, &query));
	EXPECT_EQ(TWHEEL_TIME_MAX_NS, query.deadline_ns);
	EXPECT_EQ(0, tw_modify(self->fd, id, 0, TWHEEL_ABSTIME));
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(0, event.deadline_ns);
	EXPECT_EQ(3, tw_info(self->fd).modified);
}

TEST_F(input, modify_rejects_bad_pointers) /* SECURITY: arguments */
{
	struct twheel_modify modify = { .id = add_after(self->fd, HOUR, 1), .time_ns = HOUR };
	struct twheel_info before = tw_info(self->fd);
	char *half = before_hole(sizeof(modify) - 4);
	unsigned int i;

	for (i = 0; i < NR_BAD_POINTERS; i++)
		EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_MODIFY, bad_pointer(i)));
	memcpy(half, &modify, sizeof(modify) - 4);
	EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_MODIFY, half));
	EXPECT_STREQ("", changes(self->fd, &before));
	EXPECT_EQ(0, tw_ioctl(self->fd, TWHEEL_MODIFY, read_only_copy(&modify, sizeof(modify))));
}

TEST_F(input, query_rejects_a_reserved_field) /* SECURITY: arguments */
{
	struct twheel_query query = { .id = add_after(self->fd, HOUR, 1) };
	struct twheel_info before = tw_info(self->fd);
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		query.reserved = 1U << bit;
		EXPECT_EQ(-EINVAL, tw_ioctl(self->fd, TWHEEL_QUERY, &query));
	}
	EXPECT_STREQ("", changes(self->fd, &before));
	query.reserved = 0;
	EXPECT_EQ(0, tw_ioctl(self->fd, TWHEEL_QUERY, &query));
}

TEST_F(input, query_rejects_bad_pointers) /* SECURITY: arguments */
{
	struct twheel_query query = { .id = add_after(self->fd, HOUR, 1) };
	struct twheel_info before = tw_info(self->fd);
	char *half = before_hole(sizeof(query.id));
	unsigned int i;

	for (i = 0; i < NR_BAD_POINTERS; i++)
		EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_QUERY, bad_pointer(i)));
	memcpy(half, &query, sizeof(query.id));
	EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_QUERY, half))
		TH_LOG("there is room for the id only, not for the answer");
	EXPECT_EQ(-EFAULT,
		  tw_ioctl(self->fd, TWHEEL_QUERY, read_only_copy(&query, sizeof(query))));
	EXPECT_STREQ("", changes(self->fd, &before));
}

TEST_F(input, info_rejects_bad_pointers) /* SECURITY: arguments */
{
	struct twheel_info info = tw_info(self->fd);
	unsigned int i;

	for (i = 0; i < NR_BAD_POINTERS; i++)
		EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_INFO, bad_pointer(i)));
	EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_INFO, before_hole(sizeof(info) / 2)));
	EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_INFO, read_only_copy(&info, sizeof(info))));
	EXPECT_EQ(0, tw_ioctl(self->fd, TWHEEL_INFO, before_hole(sizeof(info))));
	EXPECT_STREQ("", changes(self->fd, &info));
}

TEST_F(input, unknown_commands_are_enotty) /* SECURITY: arguments */
{
	static const unsigned long commands[] = {
		0,
		TCGETS,
		_IO(TWHEEL_IOC_MAGIC, 0x00),
		_IO(TWHEEL_IOC_MAGIC, 0x7f),
		_IO(TWHEEL_IOC_MAGIC, 0xff),
		_IOW(TWHEEL_IOC_MAGIC, 0x10, struct twheel_batch),
		_IOW(TWHEEL_IOC_MAGIC, 0x14, struct twheel_batch),
		_IOW(TWHEEL_IOC_MAGIC, 0x06, struct twheel_setup),
		/* The right number with another size or direction. */
		_IOW(TWHEEL_IOC_MAGIC, 0x00, __u32),
		_IOR(TWHEEL_IOC_MAGIC, 0x00, struct twheel_setup),
		_IOW(TWHEEL_IOC_MAGIC, 0x01, struct twheel_add),
		_IOW(TWHEEL_IOC_MAGIC, 0x02, __u32),
		/* The right number and size with another magic. */
		_IOW(TWHEEL_IOC_MAGIC + 1, 0x00, struct twheel_setup),
	};
	struct twheel_info before = tw_info(self->fd);
	char buffer[1024] = { 0 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		EXPECT_EQ(-ENOTTY, tw_ioctl(self->fd, commands[i], buffer))
			TH_LOG("command %#lx", commands[i]);
		EXPECT_EQ(-ENOTTY, tw_ioctl(self->fd, commands[i], NULL))
			TH_LOG("command %#lx with a null pointer", commands[i]);
	}
	EXPECT_STREQ("", changes(self->fd, &before));
}

#undef TICK
#undef SIZE
#undef MONO

/* Operations of other files that wheels do not have. */
TEST_F(input, what_is_no_ioctl_and_no_read_is_refused) /* SECURITY: arguments */
{
	struct twheel_info before = tw_info(self->fd);
	struct twheel_event event = { 0 };
	int end[2];

	ASSERT_EQ(0, pipe(end));
	EXPECT_EQ(-1, write(self->fd, &event, sizeof(event)));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, pwrite(self->fd, &event, sizeof(event), 0));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(-1, pread(self->fd, &event, sizeof(event), 0));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(-1, lseek(self->fd, 0, SEEK_SET));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(-1, splice(self->fd, NULL, end[1], NULL, 4096, SPLICE_F_NONBLOCK));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, ftruncate(self->fd, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, self->fd, 0));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_STREQ("", changes(self->fd, &before));
	close(end[0]);
	close(end[1]);
}
