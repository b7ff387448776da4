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
		struct { __u64 entries, count_and_flags; } batch_words;
		struct twheel_list list;
		struct { __u64 cursor, entries, count_and_flags; } list_words;
		struct twheel_ring_setup ring;
	};
};

enum {
	SET_UP, ADD, ADD_AT, CANCEL, MODIFY, MODIFY_AT, QUERY, INFO, ADD_BATCH, CANCEL_BATCH,
	MODIFY_BATCH, LIST, RING, NR_CALLS
};

static const struct call valid[] = {
	[SET_UP] = { "set-up", TWHEEL_SETUP, .setup = { TICK, 0, SIZE, MONO } },
	[ADD] = { "add", TWHEEL_ADD, .add = { UNTOUCHED, HOUR } },
	[ADD_AT] = { "add at", TWHEEL_ADD, .add = { UNTOUCHED, .flags = TWHEEL_ABSTIME } },
	[CANCEL] = { "cancel", TWHEEL_CANCEL, .id = 0 },
	[MODIFY] = { "modify", TWHEEL_MODIFY, .modify = { 0, HOUR } },
	[MODIFY_AT] = { "modify to", TWHEEL_MODIFY, .modify = { 0, ~0ULL >> 1, TWHEEL_ABSTIME } },
	[QUERY] = { "query", TWHEEL_QUERY, .query = { .id = 0 } },
	[INFO] = { "info", TWHEEL_INFO, .info = { .added = 0 } },
	[ADD_BATCH] = { "batch of adds", TWHEEL_ADD_BATCH, .batch = { .count = 0 } },
	[CANCEL_BATCH] = { "batch of cancels", TWHEEL_CANCEL_BATCH, .batch = { .count = 0 } },
	[MODIFY_BATCH] = { "batch of modifies", TWHEEL_MODIFY_BATCH, .batch = { .count = 0 } },
	[LIST] = { "list", TWHEEL_LIST, .list = { .count = 1 } },
	[RING] = { "ring", TWHEEL_RING, .ring = { .slots = 2 } },
};

/* A field of a valid call, and values that are invalid there. */
#define BAD(nr, field, ...)						\
{									\
	#field, nr, offsetof(struct call, field), sizeof(((struct call *)0)->field),	\
	(const __u64 []){ __VA_ARGS__ }, sizeof((const __u64 []){ __VA_ARGS__ }) / 8	\
}

static const struct bad_field {
	const char *name;
	unsigned int call;
	size_t offset, size;
	const __u64 *values;
	unsigned int nr_values;
} bad_fields[] = {
	BAD(SET_UP, setup.tick_ns, 0, 1, 999, HOUR + 1, 1ULL << 63, ~0ULL),
	BAD(SET_UP, setup.wheel_size, 0, 1, 65537, 1U << 31, ~0U),
	BAD(SET_UP, setup.clock_id, CLOCK_PROCESS_CPUTIME_ID, CLOCK_MONOTONIC_RAW,
	    CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME_ALARM, CLOCK_REALTIME_ALARM,
	    CLOCK_REALTIME_COARSE, 99, -1),
	BAD(SET_UP, setup.flags, 1, 1U << 31),
	BAD(SET_UP, setup.reserved[0], 1),
	BAD(SET_UP, setup.reserved[1], 1),
	BAD(SET_UP, setup.reserved[2], 1U << 31),
	BAD(ADD, add.flags, 2, 1U << 31, TWHEEL_ABSTIME | 2),
	BAD(ADD, add.reserved, 1, 1U << 31),
	BAD(ADD, add.time_ns, 1ULL << 63, ~0ULL),
	BAD(ADD_AT, add.time_ns, 1ULL << 63, ~0ULL),
	BAD(ADD, add.interval_ns, 1, TICK - 1, 1ULL << 63, ~0ULL),
	BAD(MODIFY, modify.flags, 2, 1U << 31, TWHEEL_ABSTIME | 4),
	BAD(MODIFY, modify.reserved, 1, 1U << 31),
	BAD(MODIFY, modify.time_ns, 1ULL << 63, ~0ULL),
	BAD(MODIFY_AT, modify.time_ns, 1ULL << 63, ~0ULL),
	BAD(QUERY, query.reserved, 1, 1U << 31),
	/* With an entry and flag 0, and without an entry and with flag 31. */
	BAD(ADD_BATCH, batch_words.count_and_flags, 1 | 1ULL << 32, 1ULL << 63),
	BAD(CANCEL_BATCH, batch_words.count_and_flags, 1 | 1ULL << 32, 1ULL << 63),
	BAD(MODIFY_BATCH, batch_words.count_and_flags, 1 | 1ULL << 32, 1ULL << 63),
	BAD(LIST, list_words.count_and_flags, 1 | 1ULL << 32, 1ULL << 63),
	BAD(RING, ring.slots, 1, TWHEEL_RING_SLOTS_MAX + 1, -1),
	BAD(RING, ring.flags, 1),
	BAD(RING, ring.reserved, 1),
};

/* Return the size of the argument. */
static size_t size_of(const struct call *call)
{
	return _IOC_SIZE(call->command);
}

/* Copy a call, with memory for a list; if it is for a timer, which is its first field, for @id. */
static struct call for_timer(unsigned int nr, __u64 id)
{
	struct call copy = valid[nr];

	if (copy.command == TWHEEL_CANCEL || copy.command == TWHEEL_MODIFY ||
	    copy.command == TWHEEL_QUERY)
		copy.id = id;
	if (copy.command == TWHEEL_LIST)
		copy.list.entries = (uintptr_t)listed;
	return copy;
}

/* SECURITY: arguments; the ring of events */
TEST_F(input, rejects_every_bad_field)
{
	__u64 deadline = now_ns() + HOUR, id;
	struct twheel_ring_setup ring;

	for (unsigned int i = 0; i < ARRAY_SIZE(bad_fields); i++) {
		const struct bad_field *bad = &bad_fields[i];
		int fd = open_wheel(_metadata, O_NONBLOCK);

		id = bad->call == SET_UP ? 0 : add_at(fd, deadline, 1);
		before = tw_info(fd);
		for (unsigned int v = 0; v < bad->nr_values; v++) {
			struct call call = for_timer(bad->call, id), was;

			memcpy((char *)&call + bad->offset, &bad->values[v], bad->size);
			was = call;
			EXPECT_EQ(-EINVAL, tw_ioctl(fd, call.command, &call.setup))
				TH_LOG("%s: %s %#llx", call.what, bad->name, bad->values[v]);
			EXPECT_EQ(0, memcmp(&was.setup, &call.setup, size_of(&call)));
			EXPECT_STREQ("", changes(fd, &before));
			EXPECT_EQ(before.memory, tw_info(fd).memory);
		}
		if (id) {
			EXPECT_EQ(deadline, deadline_of(fd, id));
		} else {
			EXPECT_EQ(0, tw_setup(fd, TICK, SIZE, MONO, 0))
				TH_LOG("a set-up that failed used up the one that is allowed");
		}
		EXPECT_EQ(-ENOENT, make_ring(fd, 0, &ring));
		close(fd);
	}
}

TEST_F(input, defaults_without_setup) /* SECURITY: kernel information */
{
	struct twheel_info info = tw_info(self->fd);

	EXPECT_EQ(MSEC, info.tick_ns);
	EXPECT_EQ(256, info.wheel_size);
	EXPECT_EQ(CLOCK_MONOTONIC, info.clock_id);
	EXPECT_LT(0, info.max_timers);
	EXPECT_EQ(0, info.pending + info.expired + info.added + info.modified);
	EXPECT_EQ(0, info.cancelled + info.delivered + info.cascaded + info.fires);
	EXPECT_EQ(1, info.levels);
	for (unsigned int i = 0; i < ARRAY_SIZE(info.reserved); i++)
		EXPECT_EQ(0, info.reserved[i]);
}

TEST_F(input, setup_accepts_the_bounds) /* SECURITY: extreme times and sizes; timers */
{
	static const struct twheel_setup good[] = {
		{ 1000, 0, 2, CLOCK_MONOTONIC }, { HOUR, 0, 65536, CLOCK_BOOTTIME },
		{ 1001, 3, 3, CLOCK_BOOTTIME }, { 1000, 0, 2, CLOCK_REALTIME },
		{ 1024, 0, 2, CLOCK_TAI }, { HOUR, 0, 65536, CLOCK_TAI },
		{ 1000, 0, 65536, CLOCK_REALTIME }, { 999999937, 12345, 65535, CLOCK_MONOTONIC },
	};
	__u64 limit = tw_info(self->fd).max_timers;

	for (unsigned int i = 0; i < ARRAY_SIZE(good); i++) {
		__u64 tick = good[i].tick_ns;
		int fd = open_wheel(_metadata, O_NONBLOCK);
		struct twheel_info info;

		EXPECT_EQ(0, tw_setup(fd, tick, good[i].wheel_size, good[i].clock_id,
				      good[i].max_timers));
		info = tw_info(fd);
		EXPECT_EQ(tick, info.tick_ns);
		EXPECT_EQ(good[i].wheel_size, info.wheel_size);
		EXPECT_EQ(good[i].clock_id, info.clock_id);
		EXPECT_EQ(good[i].max_timers ?: limit, info.max_timers);
		EXPECT_NE(0, add_after(fd, 0, 1));
		/* Intervals are at least a tick of this wheel. */
		EXPECT_EQ(0, tw_add(fd, HOUR, 0, tick - 1, 0));
		EXPECT_NE(0, tw_add(fd, HOUR, 0, tick, 0));
		EXPECT_NE(0, tw_add(fd, HOUR, 0, TWHEEL_TIME_MAX_NS, 0));
		close(fd);
	}
	/* Above the module's limit: ENOSPC. */
	ASSERT_LT(0, limit);
	ASSERT_GT(~0ULL, limit);
	before = tw_info(self->fd);
	EXPECT_EQ(-ENOSPC, tw_setup(self->fd, TICK, SIZE, MONO, limit + 1));
	EXPECT_EQ(-ENOSPC, tw_setup(self->fd, TICK, SIZE, MONO, 1ULL << 63));
	EXPECT_EQ(-ENOSPC, tw_setup(self->fd, TICK, SIZE, MONO, ~0ULL));
	EXPECT_STREQ("", changes(self->fd, &before));
	EXPECT_EQ(0, tw_setup(self->fd, TICK, SIZE, MONO, limit));
	EXPECT_EQ(limit, tw_info(self->fd).max_timers);
}

#ifdef __x86_64__
/* The ioctl of a program of 32 bits. */
static int compat_ioctl(int fd, __u32 cmd, void *arg)
{
	int ret;

	asm volatile("int $0x80" : "=a" (ret) : "a" (54), "b" (fd), "c" (cmd), "d" (arg)
		     : "memory", "r8", "r9", "r10", "r11");
	return ret;
}
#else
#define compat_ioctl	tw_ioctl
#endif
#ifndef MAP_32BIT
#define MAP_32BIT	0
#endif

TEST_F(input, programs_of_32_bits_have_all_calls)
{
	struct twheel_add *add = mmap(NULL, sizeof(*add), PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	*add = (struct twheel_add) { .time_ns = HOUR, .data = 7 };
	EXPECT_EQ(0, compat_ioctl(self->fd, TWHEEL_ADD, add));
	EXPECT_EQ(0, tw_query(self->fd, add->id));
	EXPECT_EQ(7, query.data);
	EXPECT_EQ(0, compat_ioctl(self->fd, TWHEEL_CANCEL, add));
	EXPECT_EQ(-ENOENT, tw_query(self->fd, add->id));
}

TEST_F(input, setup_twice_or_after_the_first_timer_is_ebusy)
{
	int with_timer = open_wheel(_metadata, O_NONBLOCK);
	__u64 id;

	ASSERT_EQ(0, tw_setup(self->fd, 5 * MSEC, 10, MONO, 7));
	before = tw_info(self->fd);
	EXPECT_EQ(-EBUSY, tw_setup(self->fd, TICK, SIZE, MONO, 0));
	EXPECT_EQ(-EBUSY, tw_setup(self->fd, 5 * MSEC, 10, MONO, 7));
	EXPECT_STREQ("", changes(self->fd, &before));
	ASSERT_NE(0, id = add_after(with_timer, HOUR, 1));
	before = tw_info(with_timer);
	EXPECT_EQ(-EBUSY, tw_setup(with_timer, 5 * MSEC, 10, MONO, 0));
	EXPECT_STREQ("", changes(with_timer, &before));
	ASSERT_EQ(0, tw_cancel(with_timer, id));
	EXPECT_EQ(-EBUSY, tw_setup(with_timer, 5 * MSEC, 10, MONO, 0))
		TH_LOG("the wheel is empty again, but it has had its first timer");
}

TEST_F(input, add_and_modify_accept_the_bounds_of_time) /* SECURITY: extreme times and sizes */
{
	__u64 far = add_at(self->fd, TWHEEL_TIME_MAX_NS, 1), farther;

	EXPECT_EQ(TWHEEL_TIME_MAX_NS, deadline_of(self->fd, far));
	EXPECT_EQ(TWHEEL_PENDING, query.state);
	farther = add_after(self->fd, TWHEEL_TIME_MAX_NS, 2);
	EXPECT_EQ(TWHEEL_TIME_MAX_NS, deadline_of(self->fd, farther))
		TH_LOG("now + KTIME_MAX is to saturate");
	ASSERT_NE(0, add_at(self->fd, 0, 3));
	ASSERT_EQ(3, read_one(self->fd));
	EXPECT_EQ(0, event->deadline_ns);
	EXPECT_EQ(2, tw_info(self->fd).pending);

	EXPECT_EQ(0, tw_modify(self->fd, far, TWHEEL_TIME_MAX_NS, 0));
	EXPECT_EQ(TWHEEL_TIME_MAX_NS, deadline_of(self->fd, far));
	EXPECT_EQ(0, tw_modify(self->fd, farther, 0, TWHEEL_ABSTIME));
	ASSERT_EQ(2, read_one(self->fd));
	EXPECT_EQ(0, event->deadline_ns);
	EXPECT_EQ(0, tw_modify(self->fd, far, TWHEEL_TIME_MAX_NS, TWHEEL_ABSTIME));
	EXPECT_EQ(0, tw_cancel(self->fd, far));
}

TEST_F(input, add_ignores_the_id_and_writes_nothing_else_back) /* SECURITY: kernel information */
{
	struct twheel_add add = { UNTOUCHED, HOUR, 3 * SEC, ~0ULL }, was = add;

	ASSERT_EQ(0, tw_ioctl(self->fd, TWHEEL_ADD, &add));
	was.id = add.id;
	EXPECT_EQ(0, memcmp(&was, &add, sizeof(add)));
	EXPECT_EQ(0, tw_cancel(self->fd, add.id));
}

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
	EXPECT_STREQ("", changes(fd, &before));
}

TEST_F(input, unknown_ids_are_enoent) /* SECURITY: wheels */
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
	char buffer[1024] = { 0 };

	before = tw_info(self->fd);
	for (unsigned int i = 0; i < ARRAY_SIZE(commands); i++) {
		EXPECT_EQ(-ENOTTY, tw_ioctl(self->fd, commands[i], buffer))
			TH_LOG("command %#lx", commands[i]);
		EXPECT_EQ(-ENOTTY, tw_ioctl(self->fd, commands[i], NULL));
	}
	EXPECT_STREQ("", changes(self->fd, &before));
}

#undef BAD
#undef TICK
#undef SIZE
#undef MONO

/* Operations of other files that wheels do not have. */
TEST_F(input, other_file_operations_are_refused) /* SECURITY: arguments */
{
	int fd = self->fd, end[2];

	before = tw_info(fd);
	ASSERT_EQ(0, pipe(end));
	EXPECT_EQ(EINVAL, errno_of(write(fd, event, sizeof(*event))));
	EXPECT_EQ(ESPIPE, errno_of(pwrite(fd, event, sizeof(*event), 0)));
	EXPECT_EQ(ESPIPE, errno_of(pread(fd, event, sizeof(*event), 0)));
	EXPECT_EQ(ESPIPE, errno_of(lseek(fd, 0, SEEK_SET)));
	EXPECT_EQ(EINVAL, errno_of(splice(fd, NULL, end[1], NULL, 4096, SPLICE_F_NONBLOCK)));
	EXPECT_EQ(EINVAL, errno_of(ftruncate(fd, 0)));
	EXPECT_EQ(ENODEV, errno_of((long)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0)));
	EXPECT_EQ(ENODEV, errno_of((long)mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0)));
	EXPECT_STREQ("", changes(fd, &before));
}
