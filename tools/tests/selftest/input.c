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

/* An ioctl with its argument. */
struct call {
	const char *what;
	unsigned long command;
	union {
		struct twheel_setup setup;
		struct twheel_add add;
		__u64 id;
		struct twheel_modify modify;
		struct twheel_query query;
		struct twheel_info info;
		struct twheel_batch batch;
		struct twheel_list list;
		struct twheel_ring_setup ring;
	};
};

/* struct twheel_setup: tick_ns, max_timers, wheel_size, clock_id, flags, reserved. */
#define SET_UP(what, ...)	{ what, TWHEEL_SETUP, .setup = { __VA_ARGS__ } }
/* struct twheel_add: time_ns, interval_ns, data, flags, reserved. */
#define ADD(what, ...)		{ what, TWHEEL_ADD, .add = { UNTOUCHED, __VA_ARGS__ } }
/* struct twheel_modify: time_ns, flags, reserved. */
#define MODIFY(what, ...)	{ what, TWHEEL_MODIFY, .modify = { 0, __VA_ARGS__ } }

static const struct call invalid[] = {
	SET_UP("tick 0", 0, 0, SIZE, MONO),
	SET_UP("tick 1", 1, 0, SIZE, MONO),
	SET_UP("tick 999 ns", 999, 0, SIZE, MONO),
	SET_UP("tick 1 h + 1 ns", HOUR + 1, 0, SIZE, MONO),
	SET_UP("tick 2^63", 1ULL << 63, 0, SIZE, MONO),
	SET_UP("tick 2^64-1", ~0ULL, 0, SIZE, MONO),
	SET_UP("size 0", TICK, 0, 0, MONO),
	SET_UP("size 1", TICK, 0, 1, MONO),
	SET_UP("size 65537", TICK, 0, 65537, MONO),
	SET_UP("size 2^31", TICK, 0, 1U << 31, MONO),
	SET_UP("size 2^32-1", TICK, 0, ~0U, MONO),
	SET_UP("process time", TICK, 0, SIZE, CLOCK_PROCESS_CPUTIME_ID),
	SET_UP("raw", TICK, 0, SIZE, CLOCK_MONOTONIC_RAW),
	SET_UP("coarse", TICK, 0, SIZE, CLOCK_MONOTONIC_COARSE),
	SET_UP("boottime alarm", TICK, 0, SIZE, CLOCK_BOOTTIME_ALARM),
	SET_UP("realtime alarm", TICK, 0, SIZE, CLOCK_REALTIME_ALARM),
	SET_UP("realtime coarse", TICK, 0, SIZE, CLOCK_REALTIME_COARSE),
	SET_UP("clock 99", TICK, 0, SIZE, 99),
	SET_UP("clock -1", TICK, 0, SIZE, -1),
	SET_UP("flag 0", TICK, 0, SIZE, MONO, 1),
	SET_UP("flag 31", TICK, 0, SIZE, MONO, 1U << 31),
	SET_UP("reserved[0]", TICK, 0, SIZE, MONO, 0, { 1, 0, 0 }),
	SET_UP("reserved[1]", TICK, 0, SIZE, MONO, 0, { 0, 1, 0 }),
	SET_UP("reserved[2]", TICK, 0, SIZE, MONO, 0, { 0, 0, 1U << 31 }),
	ADD("flag 1", HOUR, 0, 0, 2, 0),
	ADD("flag 31", HOUR, 0, 0, 1U << 31, 0),
	ADD("TWHEEL_ABSTIME and flag 1", HOUR, 0, 0, TWHEEL_ABSTIME | 2, 0),
	ADD("reserved 1", HOUR, 0, 0, 0, 1),
	ADD("reserved 2^31", HOUR, 0, 0, 0, 1U << 31),
	ADD("delay 2^63", 1ULL << 63, 0, 0, 0, 0),
	ADD("delay 2^64-1", ~0ULL, 0, 0, 0, 0),
	ADD("deadline 2^63", 1ULL << 63, 0, 0, TWHEEL_ABSTIME, 0),
	ADD("deadline 2^64-1", ~0ULL, 0, 0, TWHEEL_ABSTIME, 0),
	ADD("interval 1", HOUR, 1, 0, 0, 0),
	ADD("interval one short of a tick", HOUR, TICK - 1, 0, 0, 0),
	ADD("interval 2^63", HOUR, 1ULL << 63, 0, 0, 0),
	ADD("interval 2^64-1", HOUR, ~0ULL, 0, 0, 0),
	MODIFY("flag 1", SEC, 2, 0),
	MODIFY("flag 31", SEC, 1U << 31, 0),
	MODIFY("TWHEEL_ABSTIME and flag 2", SEC, TWHEEL_ABSTIME | 4, 0),
	MODIFY("reserved", SEC, 0, 1),
	MODIFY("reserved 2^31", SEC, 0, 1U << 31),
	MODIFY("delay 2^63", 1ULL << 63, 0, 0),
	MODIFY("delay 2^64-1", ~0ULL, 0, 0),
	MODIFY("deadline 2^63", 1ULL << 63, TWHEEL_ABSTIME, 0),
	MODIFY("deadline 2^64-1", ~0ULL, TWHEEL_ABSTIME, 0),
	{ "reserved 1", TWHEEL_QUERY, .query = { .reserved = 1 } },
	{ "reserved 2^31", TWHEEL_QUERY, .query = { .reserved = 1U << 31 } },
	{ "flag 0", TWHEEL_ADD_BATCH, .batch = { .count = 1, .flags = 1 } },
	{ "flag 31, no entry", TWHEEL_ADD_BATCH, .batch = { .flags = 1U << 31 } },
	{ "flag 0", TWHEEL_CANCEL_BATCH, .batch = { .count = 1, .flags = 1 } },
	{ "flag 31, no entry", TWHEEL_CANCEL_BATCH, .batch = { .flags = 1U << 31 } },
	{ "flag 0", TWHEEL_MODIFY_BATCH, .batch = { .count = 1, .flags = 1 } },
	{ "flag 31, no entry", TWHEEL_MODIFY_BATCH, .batch = { .flags = 1U << 31 } },
	{ "flag 0", TWHEEL_LIST, .list = { .count = 1, .flags = 1 } },
	{ "flag 31, no entry", TWHEEL_LIST, .list = { .flags = 1U << 31 } },
	{ "1 slot", TWHEEL_RING, .ring = { .slots = 1 } },
	{ "a slot too many", TWHEEL_RING, .ring = { .slots = TWHEEL_RING_SLOTS_MAX + 1 } },
	{ "2^32-1 slots", TWHEEL_RING, .ring = { .slots = -1 } },
	{ "flag 0", TWHEEL_RING, .ring = { .slots = 2, .flags = 1 } },
	{ "reserved", TWHEEL_RING, .ring = { .slots = 2, .reserved = 1 } },
};

/* Return the size of the argument. */
static size_t size_of(const struct call *call)
{
	return _IOC_SIZE(call->command);
}

/* Copy a call; if it is for a timer, which is its first field, for @id. */
static struct call for_timer(const struct call *call, __u64 id)
{
	struct call copy = *call;

	if (call->command == TWHEEL_CANCEL || call->command == TWHEEL_MODIFY ||
	    call->command == TWHEEL_QUERY)
		copy.id = id;
	return copy;
}

/* SECURITY: arguments; the ring of events */
TEST_F(input, rejects_every_bad_field)
{
	__u64 deadline = now_ns() + HOUR, id;
	int with_timer = open_wheel(_metadata, O_NONBLOCK);
	struct twheel_info before[2];
	struct twheel_ring_setup ring;
	struct twheel_query query;
	unsigned int i;

	ASSERT_NE(0, id = add_at(with_timer, deadline, 1));
	before[0] = tw_info(self->fd);
	before[1] = tw_info(with_timer);
	for (i = 0; i < ARRAY_SIZE(invalid); i++) {
		bool timer = invalid[i].command != TWHEEL_SETUP;
		struct call call = for_timer(&invalid[i], id), was = call;
		int fd = timer ? with_timer : self->fd;

		EXPECT_EQ(-EINVAL, tw_ioctl(fd, call.command, &call.setup))
			TH_LOG("command %#lx: %s", call.command, call.what);
		EXPECT_EQ(0, memcmp(&was.setup, &call.setup, size_of(&call)))
			TH_LOG("command %#lx: %s", call.command, call.what);
		EXPECT_STREQ("", changes(fd, &before[timer]))
			TH_LOG("command %#lx: %s", call.command, call.what);
		EXPECT_EQ(before[timer].memory, tw_info(fd).memory);
	}
	ASSERT_EQ(0, tw_query(with_timer, id, &query));
	EXPECT_EQ(deadline, query.deadline_ns);
	EXPECT_EQ(-ENOENT, make_ring(with_timer, 0, &ring));
	EXPECT_EQ(0, tw_setup(self->fd, TICK, SIZE, MONO, 0))
		TH_LOG("a set-up that failed used up the one that is allowed");
	close(with_timer);
}

/* One that is only read may be in a read-only page. */
TEST_F(input, rejects_bad_pointers) /* SECURITY: arguments; the ring of events */
{
	static struct twheel_listed listed;
	const struct call calls[] = {
		SET_UP("set-up", TICK, 0, SIZE, MONO),
		ADD("add", 0, 0, 0, 0, 0),
		{ "cancel", TWHEEL_CANCEL, .id = 0 },
		MODIFY("modify", HOUR, 0, 0),
		{ "query", TWHEEL_QUERY, .query = { .id = 0 } },
		{ "info", TWHEEL_INFO, .info = { .added = 0 } },
		{ "batch of adds", TWHEEL_ADD_BATCH, .batch = { .count = 0 } },
		{ "batch of cancels", TWHEEL_CANCEL_BATCH, .batch = { .count = 0 } },
		{ "batch of modifies", TWHEEL_MODIFY_BATCH, .batch = { .count = 0 } },
		{ "list", TWHEEL_LIST, .list = { 0, (uintptr_t)&listed, 1, 0 } },
		{ "ring", TWHEEL_RING, .ring = { .slots = 2 } },
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		int fd = open_wheel(_metadata, O_NONBLOCK);
		__u64 id = calls[i].command == TWHEEL_SETUP ? 0 : add_after(fd, HOUR, 1);
		struct call call = for_timer(&calls[i], id);
		const size_t part[] = { 4, size_of(&call) / 2, size_of(&call) - 1 };
		bool is_written = _IOC_DIR(call.command) & _IOC_READ;
		struct twheel_info before = tw_info(fd);

		for (k = 0; k < NR_BAD_POINTERS; k++)
			EXPECT_EQ(-EFAULT, tw_ioctl(fd, call.command, bad_pointer(k)))
				TH_LOG("%s", call.what);
		for (k = 0; k < ARRAY_SIZE(part); k++) {
			void *half = before_hole(part[k]);

			memcpy(half, &call.setup, part[k]);
			EXPECT_EQ(-EFAULT, tw_ioctl(fd, call.command, half))
				TH_LOG("%s: %zu bytes", call.what, part[k]);
		}
		EXPECT_STREQ("", changes(fd, &before)) TH_LOG("%s", call.what);
		EXPECT_EQ(is_written ? -EFAULT : 0,
			  tw_ioctl(fd, call.command, read_only_copy(&call.setup, size_of(&call))))
			TH_LOG("%s: read-only", call.what);
		if (is_written)
			EXPECT_STREQ("", changes(fd, &before)) TH_LOG("%s", call.what);
		EXPECT_FALSE(readable(fd));
		close(fd);
	}
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

TEST_F(input, setup_twice_or_after_the_first_timer_is_ebusy)
{
	int with_timer = open_wheel(_metadata, O_NONBLOCK);
	struct twheel_info before[2];
	__u64 id;

	ASSERT_EQ(0, tw_setup(self->fd, 5 * MSEC, 10, MONO, 7));
	ASSERT_NE(0, id = add_after(with_timer, HOUR, 1));
	before[0] = tw_info(self->fd);
	before[1] = tw_info(with_timer);
	EXPECT_EQ(-EBUSY, tw_setup(self->fd, TICK, SIZE, MONO, 0));
	EXPECT_EQ(-EBUSY, tw_setup(self->fd, 5 * MSEC, 10, MONO, 7));
	EXPECT_EQ(-EBUSY, tw_setup(with_timer, 5 * MSEC, 10, MONO, 0));
	EXPECT_STREQ("", changes(self->fd, &before[0]));
	EXPECT_STREQ("", changes(with_timer, &before[1]));
	ASSERT_EQ(0, tw_cancel(with_timer, id));
	EXPECT_EQ(-EBUSY, tw_setup(with_timer, 5 * MSEC, 10, MONO, 0))
		TH_LOG("the wheel is empty again, but it has had its first timer");
	close(with_timer);
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

TEST_F(input, add_checks_the_interval_against_the_tick_of_the_wheel)
{
	ASSERT_EQ(0, tw_setup(self->fd, 50 * MSEC, 3, MONO, 0));
	EXPECT_EQ(0, tw_add(self->fd, HOUR, 0, 50 * MSEC - 1, 0));
	EXPECT_NE(0, tw_add(self->fd, HOUR, 0, 50 * MSEC, 0));
	EXPECT_NE(0, tw_add(self->fd, HOUR, 0, TWHEEL_TIME_MAX_NS, 0));
	EXPECT_EQ(2, tw_info(self->fd).pending);
}

TEST_F(input, add_and_modify_accept_the_bounds_of_time) /* SECURITY: extreme times and sizes */
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

	EXPECT_EQ(0, tw_modify(self->fd, far, TWHEEL_TIME_MAX_NS, 0));
	ASSERT_EQ(0, tw_query(self->fd, far, &query));
	EXPECT_EQ(TWHEEL_TIME_MAX_NS, query.deadline_ns);
	EXPECT_EQ(0, tw_modify(self->fd, farther, 0, TWHEEL_ABSTIME));
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_EQ(farther, event.id);
	EXPECT_EQ(0, event.deadline_ns);
	EXPECT_EQ(0, tw_modify(self->fd, far, TWHEEL_TIME_MAX_NS, TWHEEL_ABSTIME));
	EXPECT_EQ(0, tw_cancel(self->fd, far));
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

#undef SET_UP
#undef ADD
#undef MODIFY
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
