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
	unsigned long command;
	union {
		__u64 id;	/* of a timer */
		struct twheel_add add;
		struct twheel_modify modify;
		struct twheel_query query;
		struct twheel_setup setup;
		struct { __u64 entries, count_and_flags; } batch;
		struct { __u64 cursor, entries, count_and_flags; } list;
		struct twheel_ring_setup ring;
	};
};

enum {
	ADD, ADD_AT, MODIFY, MODIFY_AT, QUERY, LAST_OF_A_TIMER = QUERY, SET_UP, ADD_BATCH,
	CANCEL_BATCH, MODIFY_BATCH, LIST, RING
};

static const struct call valid[] = {
	[ADD] = { TWHEEL_ADD, .add = { .time_ns = HOUR } },
	[ADD_AT] = { TWHEEL_ADD, .add = { .flags = TWHEEL_ABSTIME } },
	[MODIFY] = { TWHEEL_MODIFY, .modify = { .time_ns = HOUR } },
	[MODIFY_AT] = { TWHEEL_MODIFY, .modify = { .flags = TWHEEL_ABSTIME } },
	[QUERY] = { TWHEEL_QUERY },
	[SET_UP] = { TWHEEL_SETUP, .setup = { TICK, 0, SIZE, MONO } },
	[ADD_BATCH] = { TWHEEL_ADD_BATCH },
	[CANCEL_BATCH] = { TWHEEL_CANCEL_BATCH },
	[MODIFY_BATCH] = { TWHEEL_MODIFY_BATCH },
	[LIST] = { TWHEEL_LIST },
	[RING] = { TWHEEL_RING, .ring = { .slots = 2 } },
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
	BAD(ADD_BATCH, batch.count_and_flags, 1 | 1ULL << 32, 1ULL << 63),
	BAD(CANCEL_BATCH, batch.count_and_flags, 1 | 1ULL << 32, 1ULL << 63),
	BAD(MODIFY_BATCH, batch.count_and_flags, 1 | 1ULL << 32, 1ULL << 63),
	BAD(LIST, list.count_and_flags, 1 | 1ULL << 32, 1ULL << 63),
	BAD(RING, ring.slots, 1, TWHEEL_RING_SLOTS_MAX + 1, -1),
	BAD(RING, ring.flags, 1),
	BAD(RING, ring.reserved, 1),
};

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
			struct call call = valid[bad->call], was;

			if (bad->call <= LAST_OF_A_TIMER)
				call.id = id;
			memcpy((char *)&call + bad->offset, &bad->values[v], bad->size);
			was = call;
			EXPECT_EQ(-EINVAL, tw_ioctl(fd, call.command, &call.id))
				TH_LOG("%s %#llx", bad->name, bad->values[v]);
			EXPECT_EQ(0, memcmp(&was.id, &call.id, _IOC_SIZE(call.command)));
			EXPECT_TRUE(is_unchanged(fd, &before));
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
	EXPECT_TRUE(is_unchanged(self->fd, &before));
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
	EXPECT_TRUE(is_unchanged(fd, &before));
}
