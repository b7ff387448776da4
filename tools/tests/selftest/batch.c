// SPDX-License-Identifier: MIT
/*
 * Batches: in order, up to the first entry that fails; entries before it stay done, the
 * others are untouched.
 */
#include <sys/eventfd.h>

#include "selftest.h"

#define MAX_BATCH	5000

CHANGING_FIXTURE(batch);

static const unsigned long batch_commands[] = {
	TWHEEL_ADD_BATCH,
	TWHEEL_CANCEL_BATCH,
	TWHEEL_MODIFY_BATCH,
};

/* @count adds, with data 0, 1, ..., none of which is due for an hour. */
static struct twheel_add *fill_adds(struct twheel_add *add, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		add[i] = (struct twheel_add) {
			.id = UNTOUCHED,
			.time_ns = HOUR + i * 1000 * MSEC,
			.data = i,
		};
	}
	return add;
}

/* Adds @count timers one by one. */
static bool add_ids(int fd, __u64 *id, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		id[i] = add_after(fd, HOUR + i * MSEC, i);
		if (!id[i])
			return false;
	}
	return true;
}

static void shuffle(__u64 *id, unsigned int count)
{
	struct chance chance = { .state = 555555555 };
	unsigned int i;

	for (i = count - 1; i; i--) {
		unsigned int other = chance_below(&chance, i + 1);
		__u64 swap = id[i];

		id[i] = id[other];
		id[other] = swap;
	}
}

TEST_F(batch, of_none_does_nothing)
{
	struct twheel_info before = tw_info(self->fd);
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(batch_commands); i++) {
		for (j = 0; j < NR_BAD_POINTERS; j++) {
			EXPECT_EQ(0, tw_batch(self->fd, batch_commands[i], bad_pointer(j), 0))
				TH_LOG("command %#lx", batch_commands[i]);
		}
	}
	EXPECT_STREQ("", changes(self->fd, &before));
}

TEST_F(batch, with_bad_pointers_is_efault) /* SECURITY: arguments */
{
	struct twheel_info before = tw_info(self->fd);
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(batch_commands); i++) {
		unsigned long command = batch_commands[i];

		for (j = 0; j < NR_BAD_POINTERS; j++) {
			EXPECT_EQ(-EFAULT, tw_batch(self->fd, command, bad_pointer(j), 1));
			EXPECT_EQ(-EFAULT, tw_batch(self->fd, command, bad_pointer(j), 1000));
			EXPECT_EQ(-EFAULT, tw_batch(self->fd, command, bad_pointer(j), ~0U));
		}
		EXPECT_EQ(-EFAULT, tw_batch(self->fd, command, before_hole(7), ~0U));
	}
	EXPECT_STREQ("", changes(self->fd, &before));
}

TEST_F(batch, an_address_beyond_the_address_space_is_efault) /* SECURITY: arguments */
{
	static const __u64 addresses[] = {
		~0ULL, ~0ULL - 7, 1ULL << 63, 1ULL << 47, 0xffff888000000000ULL,
	};
	struct twheel_info before = tw_info(self->fd);
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct twheel_batch batch = { .entries = addresses[i], .count = 100 };

		for (j = 0; j < ARRAY_SIZE(batch_commands); j++) {
			EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, batch_commands[j], &batch))
				TH_LOG("address %#llx", addresses[i]);
		}
	}
	EXPECT_STREQ("", changes(self->fd, &before));
}

/* Adds @count timers in a batch and cancels them in another, in random order. */
static void add_and_cancel(struct __test_metadata *_metadata, int fd, unsigned int count)
{
	static struct twheel_add add[MAX_BATCH];
	struct twheel_info before = tw_info(fd);
	struct twheel_query query;
	static __u64 id[MAX_BATCH];
	unsigned int i;

	fill_adds(add, count);
	ASSERT_EQ(count, tw_batch(fd, TWHEEL_ADD_BATCH, add, count));
	for (i = 0; i < count; i++) {
		ASSERT_NE(0, add[i].id);
		ASSERT_NE(UNTOUCHED, add[i].id);
		ASSERT_EQ(HOUR + i * 1000 * MSEC, add[i].time_ns);
		ASSERT_EQ(i, add[i].data);
		id[i] = add[i].id;
	}
	/* Each id belongs to the timer that was added with it. */
	for (i = 0; i < count; i += 1 + count / 50) {
		ASSERT_EQ(0, tw_query(fd, id[i], &query));
		ASSERT_EQ(i, query.data);
	}
	EXPECT_EQ(before.pending + count, tw_info(fd).pending);
	EXPECT_EQ(before.added + count, tw_info(fd).added);
	shuffle(id, count);
	ASSERT_EQ(count, tw_batch(fd, TWHEEL_CANCEL_BATCH, id, count));
	EXPECT_EQ(before.pending, tw_info(fd).pending);
	EXPECT_EQ(before.cancelled + count, tw_info(fd).cancelled);
	EXPECT_EQ(-ENOENT, tw_batch(fd, TWHEEL_CANCEL_BATCH, id, count));
	EXPECT_EQ(-ENOENT, tw_cancel(fd, id[count - 1]));
}

TEST_F_TIMEOUT(batch, of_any_size_is_added_and_cancelled_in_random_order, 60)
{
	static const unsigned int counts[] = {
		1, 2, 3, 7, 16, 31, 32, 33, 63, 64, 65, 84, 85, 86, 127, 128, 129, 255, 256,
		257, 511, 512, 513, 1000, 1023, 1024, 1025, 2048, 4095, 4096, 4097, MAX_BATCH,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counts); i++)
		add_and_cancel(_metadata, self->fd, counts[i]);
	EXPECT_FALSE(readable(self->fd));
}

TEST_F(batch, timers_expire_as_single_ones_do)
{
	static struct twheel_event event[1000];
	static struct twheel_add add[1000];
	__u64 base = now_ns() + SEC, last = 0;
	struct chance chance = { .state = 31415926 };
	int i, ret, seen = 0;

	for (i = 0; i < 1000; i++) {
		add[i] = (struct twheel_add) {
			.time_ns = base + chance_below(&chance, 200 * MSEC),
			.data = i,
			.flags = TWHEEL_ABSTIME,
		};
	}
	ASSERT_EQ(1000, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, 1000));
	ASSERT_GT(base, now_ns())
		TH_LOG("the machine is too slow for this test");
	while (seen < 1000) {
		ret = wait_and_read(self->fd, event, 1000);
		ASSERT_LT(0, ret);
		for (i = 0; i < ret; i++, seen++) {
			__u64 boundary = boundary_of(event[i].deadline_ns, MSEC);

			ASSERT_EQ(add[event[i].data].id, event[i].id);
			ASSERT_EQ(add[event[i].data].time_ns, event[i].deadline_ns);
			ASSERT_LE(boundary, now_ns());
			ASSERT_LE(last, boundary);
			last = boundary;
			add[event[i].data].id = 0;
		}
	}
	EXPECT_FALSE(readable(self->fd));
	EXPECT_TRUE(balanced(self->fd));
}

TEST_F(batch, timers_that_are_due_queue_in_the_order_of_the_batch)
{
	static struct twheel_event event[400];
	static struct twheel_add add[400];
	int i;

	memset(event, 0xff, sizeof(event));
	fill_adds(add, 400);
	for (i = 0; i < 400; i++) {
		add[i].time_ns = 400 - i;
		add[i].flags = TWHEEL_ABSTIME;
	}
	ASSERT_EQ(400, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, 400));
	ASSERT_EQ(400, tw_read(self->fd, event, 400));
	for (i = 0; i < 400; i++)
		EXPECT_EQ(i, event[i].data);
}

/* Each entry takes effect, whatever the ones before it and wherever it is. */
TEST_F(batch, timers_of_all_kinds_mix_in_any_order)
{
	static struct twheel_add add[1000];
	struct twheel_event event[250];
	struct twheel_query query;
	unsigned int i, round;
	__u64 before, after;

	for (round = 0; round < 4; round++) {
		before = now_ns();
		for (i = 0; i < 1000; i++) {
			unsigned int kind = rand() % 4;

			add[i] = (struct twheel_add) {
				.time_ns = kind % 2 ? before + HOUR + i : HOUR + i,
				.flags = kind % 2 ? TWHEEL_ABSTIME : 0,
				.interval_ns = kind == 3 ? SEC + i : 0,
				.data = 1000 * round + i,
			};
			/* Every fourth one is due. */
			if (i % 4 == 3) {
				add[i].time_ns = kind % 2;
				add[i].interval_ns = 0;
			}
		}
		ASSERT_EQ(1000, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, 1000));
		after = now_ns();
		ASSERT_EQ(250, tw_read(self->fd, event, 250));
		for (i = 0; i < 1000; i++) {
			bool absolute = add[i].flags & TWHEEL_ABSTIME;

			if (i % 4 == 3) {
				ASSERT_EQ(add[i].data, event[i / 4].data);
				ASSERT_EQ(add[i].id, event[i / 4].id);
				ASSERT_EQ(-ENOENT, tw_cancel(self->fd, add[i].id));
				continue;
			}
			ASSERT_EQ(0, tw_query(self->fd, add[i].id, &query));
			ASSERT_EQ(add[i].data, query.data);
			ASSERT_EQ(add[i].interval_ns, query.interval_ns);
			ASSERT_LE(add[i].time_ns + (absolute ? 0 : before), query.deadline_ns);
			ASSERT_GE(add[i].time_ns + (absolute ? 0 : after), query.deadline_ns);
		}
		/* The next timers are in the slots of these. */
		for (i = 0; i < 1000; i += 1 + rand() % 3)
			tw_cancel(self->fd, add[i].id);
	}
	EXPECT_TRUE(balanced(self->fd));
}

/* Where the first bad entry may be: first, in the middle, last, in any chunk. */
static const unsigned int bad_places[] = { 0, 1, 50, 127, 128, 129, 500, 999 };

TEST_F(batch, add_stops_at_a_bad_entry)
{
	static struct twheel_add add[1000], was[1000];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(bad_places); i++) {
		unsigned int bad = bad_places[i];
		struct twheel_info before = tw_info(self->fd);

		fill_adds(add, 1000);
		if (i % 2)
			add[bad].flags = 2;
		else
			add[bad].time_ns = ~0ULL;
		memcpy(was, add, sizeof(add));
		EXPECT_EQ(bad ?: -EINVAL, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, 1000));
		EXPECT_EQ(before.pending + bad, tw_info(self->fd).pending);
		EXPECT_EQ(before.added + bad, tw_info(self->fd).added);
		EXPECT_EQ(0, memcmp(&was[bad], &add[bad], (1000 - bad) * sizeof(add[0])))
			TH_LOG("entries after %u were touched", bad);
		for (j = 0; j < bad; j++)
			ASSERT_EQ(0, tw_cancel(self->fd, add[j].id));
	}
}

TEST_F(batch, cancel_stops_at_an_unknown_id)
{
	static __u64 id[1000], list[1000];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad_places); i++) {
		unsigned int bad = bad_places[i];
		struct twheel_info before = tw_info(self->fd);

		ASSERT_TRUE(add_ids(self->fd, id, 1000));
		memcpy(list, id, sizeof(list));
		list[bad] = i % 2 ? 0 : UNTOUCHED;
		EXPECT_EQ(bad ?: -ENOENT,
			  tw_batch(self->fd, TWHEEL_CANCEL_BATCH, list, 1000));
		EXPECT_EQ(before.pending + 1000 - bad, tw_info(self->fd).pending);
		EXPECT_EQ(before.cancelled + bad, tw_info(self->fd).cancelled);
		/* The rest is there, starting with the one that was skipped. */
		EXPECT_EQ(1000 - bad,
			  tw_batch(self->fd, TWHEEL_CANCEL_BATCH, id + bad, 1000 - bad));
	}
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

TEST_F(batch, cancel_stops_at_a_repeated_id)
{
	__u64 id[300], pair[2], list[4];

	ASSERT_TRUE(add_ids(self->fd, id, 300));
	list[0] = id[0];
	list[1] = id[1];
	list[2] = id[0];
	list[3] = id[2];
	EXPECT_EQ(2, tw_batch(self->fd, TWHEEL_CANCEL_BATCH, list, 4));
	EXPECT_EQ(298, tw_info(self->fd).pending);
	EXPECT_EQ(-ENOENT, tw_batch(self->fd, TWHEEL_CANCEL_BATCH, list, 4));
	EXPECT_EQ(0, tw_cancel(self->fd, id[2]))
		TH_LOG("it came after the repeated id and was to be left alone");
	pair[0] = id[3];
	pair[1] = id[3];
	EXPECT_EQ(1, tw_batch(self->fd, TWHEEL_CANCEL_BATCH, pair, 2));
	/* Far apart. */
	id[299] = id[4];
	EXPECT_EQ(295, tw_batch(self->fd, TWHEEL_CANCEL_BATCH, id + 4, 296));
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_TRUE(balanced(self->fd));
}

TEST_F(batch, cancel_takes_pending_and_expired_timers)
{
	struct twheel_event event;
	__u64 id[4];

	ASSERT_NE(0, id[0] = add_after(self->fd, HOUR, 0));
	ASSERT_NE(0, id[1] = add_at(self->fd, 0, 1));
	ASSERT_NE(0, id[2] = tw_add(self->fd, 0, 0, HOUR, 2));
	ASSERT_NE(0, id[3] = add_after(self->fd, MSEC, 3));
	ASSERT_TRUE(wait_expired(self->fd, 3));
	EXPECT_EQ(4, tw_batch(self->fd, TWHEEL_CANCEL_BATCH, id, 4));
	EXPECT_FALSE(readable(self->fd));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, 1));
	EXPECT_EQ(4, tw_info(self->fd).cancelled);
}

TEST_F(batch, modify_moves_every_timer)
{
	static struct twheel_modify modify[1000];
	static struct twheel_event event[1000];
	static __u64 id[1000];
	__u64 base;
	int i, ret, seen = 0;

	ASSERT_TRUE(add_ids(self->fd, id, 1000));
	base = now_ns() + 200 * MSEC;
	for (i = 0; i < 1000; i++) {
		modify[i] = (struct twheel_modify) {
			.id = id[i],
			.time_ns = base + i * 77777,
			.flags = TWHEEL_ABSTIME,
		};
	}
	ASSERT_EQ(1000, tw_batch(self->fd, TWHEEL_MODIFY_BATCH, modify, 1000));
	EXPECT_EQ(1000, tw_info(self->fd).modified);
	while (seen < 1000) {
		ret = wait_and_read(self->fd, event, 1000);
		ASSERT_LT(0, ret);
		for (i = 0; i < ret; i++, seen++) {
			ASSERT_EQ(id[event[i].data], event[i].id);
			ASSERT_EQ(base + event[i].data * 77777, event[i].deadline_ns);
			ASSERT_LE(event[i].deadline_ns, now_ns());
		}
	}
	EXPECT_TRUE(balanced(self->fd));
	EXPECT_EQ(-ENOENT, tw_batch(self->fd, TWHEEL_MODIFY_BATCH, modify, 1000));
}

TEST_F(batch, modify_stops_at_a_bad_entry)
{
	static struct twheel_modify modify[1000];
	static __u64 id[1000];
	struct twheel_query query;
	__u64 changed = 0;
	unsigned int i, j;

	ASSERT_TRUE(add_ids(self->fd, id, 1000));
	for (i = 0; i < ARRAY_SIZE(bad_places); i++) {
		unsigned int bad = bad_places[i];
		__u64 deadline = now_ns() + (2 + i) * HOUR;

		for (j = 0; j < 1000; j++) {
			modify[j] = (struct twheel_modify) {
				.id = id[j],
				.time_ns = deadline,
				.flags = TWHEEL_ABSTIME,
			};
		}
		/* An unknown id, and a flag that is not allowed, in turn. */
		if (i % 2)
			modify[bad].id = UNTOUCHED;
		else
			modify[bad].flags = ~0U;
		EXPECT_EQ(bad ?: i % 2 ? -ENOENT : -EINVAL,
			  tw_batch(self->fd, TWHEEL_MODIFY_BATCH, modify, 1000));
		changed += bad;
		EXPECT_EQ(changed, tw_info(self->fd).modified);
		ASSERT_EQ(0, tw_query(self->fd, id[bad], &query));
		EXPECT_NE(deadline, query.deadline_ns);
		if (bad) {
			ASSERT_EQ(0, tw_query(self->fd, id[bad - 1], &query));
			EXPECT_EQ(deadline, query.deadline_ns);
		}
	}
}

TEST_F(batch, modify_may_repeat_an_id)
{
	__u64 id = add_after(self->fd, HOUR, 1), deadline = now_ns() + 3 * HOUR;
	struct twheel_query query;
	struct twheel_modify modify[3] = {
		{ .id = id, .time_ns = 0 },
		{ .id = id, .time_ns = HOUR },
		{ .id = id, .time_ns = deadline, .flags = TWHEEL_ABSTIME },
	};

	ASSERT_NE(0, id);
	EXPECT_EQ(3, tw_batch(self->fd, TWHEEL_MODIFY_BATCH, modify, 3));
	ASSERT_EQ(0, tw_query(self->fd, id, &query));
	EXPECT_EQ(deadline, query.deadline_ns);
	EXPECT_FALSE(readable(self->fd));
}

TEST_F(batch, add_stops_at_the_limit)
{
	static struct twheel_add add[400];
	struct twheel_info before;
	unsigned int i;

	ASSERT_EQ(0, tw_setup(self->fd, MSEC, 256, CLOCK_MONOTONIC, 301));
	ASSERT_EQ(0, try_add(self->fd));
	fill_adds(add, 400);
	EXPECT_EQ(300, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, 400));
	EXPECT_EQ(301, tw_info(self->fd).pending);
	for (i = 300; i < 400; i++)
		EXPECT_EQ(UNTOUCHED, add[i].id);
	before = tw_info(self->fd);
	EXPECT_EQ(-ENOSPC, tw_batch(self->fd, TWHEEL_ADD_BATCH, add + 300, 100));
	EXPECT_STREQ("", changes(self->fd, &before));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, tw_cancel(self->fd, add[i].id));
	EXPECT_EQ(10, tw_batch(self->fd, TWHEEL_ADD_BATCH, add + 300, 100));
	EXPECT_EQ(301, tw_info(self->fd).pending);
}

/* An unreadable entry is not reported as a limit. */
TEST_F(batch, add_with_a_bad_pointer_is_efault_at_the_limit_too)
{
	struct twheel_add add[2];
	unsigned int i;

	fill_adds(add, 2);
	ASSERT_EQ(0, tw_setup(self->fd, MSEC, 256, CLOCK_MONOTONIC, 1));
	ASSERT_EQ(1, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, 2));
	for (i = 0; i < NR_BAD_POINTERS; i++) {
		EXPECT_EQ(-EFAULT, tw_ioctl(self->fd, TWHEEL_ADD, bad_pointer(i)));
		EXPECT_EQ(-EFAULT, tw_batch(self->fd, TWHEEL_ADD_BATCH, bad_pointer(i), 2));
	}
	EXPECT_EQ(-ENOSPC, tw_ioctl(self->fd, TWHEEL_ADD, &add[1]));
	EXPECT_EQ(-ENOSPC, tw_ioctl(self->fd, TWHEEL_ADD, read_only_copy(add, sizeof(*add))));
	EXPECT_EQ(-ENOSPC, tw_batch(self->fd, TWHEEL_ADD_BATCH, &add[1], 1));
	EXPECT_EQ(UNTOUCHED, add[1].id);
}

/* An array of @done whole entries and a part of one, then an unmapped page. */
static const unsigned int ends[] = { 0, 1, 2, 63, 64, 100, 101, 102, 129, 1000 };

TEST_F(batch, add_from_an_array_that_ends)
{
	struct twheel_info before;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		unsigned int done = ends[i];
		struct twheel_add *add = before_hole(done * sizeof(*add) + (i % 2 ? 24 : 0));

		fill_adds(add, done);
		before = tw_info(self->fd);
		EXPECT_EQ(done ?: -EFAULT, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, ~0U));
		EXPECT_EQ(before.pending + done, tw_info(self->fd).pending)
			TH_LOG("the array ends after %u entries", done);
		for (j = 0; j < done; j++)
			ASSERT_EQ(0, tw_cancel(self->fd, add[j].id));
		EXPECT_TRUE(balanced(self->fd));
	}
}

TEST_F(batch, cancel_from_an_array_that_ends)
{
	static __u64 id[1000];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		unsigned int done = ends[i];
		char *list = before_hole(done * sizeof(*id) + (i % 2 ? 4 : 0));

		ASSERT_TRUE(add_ids(self->fd, id, 1000));
		memcpy(list, id, done * sizeof(*id));
		EXPECT_EQ(done ?: -EFAULT, tw_batch(self->fd, TWHEEL_CANCEL_BATCH, list, ~0U));
		EXPECT_EQ(1000 - done, tw_info(self->fd).pending)
			TH_LOG("the array ends after %u entries", done);
		if (done < 1000)
			EXPECT_EQ(1000 - done, tw_batch(self->fd, TWHEEL_CANCEL_BATCH,
							id + done, 1000 - done));
	}
}

TEST_F(batch, modify_from_an_array_that_ends)
{
	static __u64 id[1000];
	__u64 changed = 0;
	unsigned int i, j;

	ASSERT_TRUE(add_ids(self->fd, id, 1000));
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		unsigned int done = ends[i];
		struct twheel_modify *modify;

		modify = before_hole(done * sizeof(*modify) + (i % 2 ? 16 : 0));
		for (j = 0; j < done; j++)
			modify[j] = (struct twheel_modify) { .id = id[j], .time_ns = 2 * HOUR };
		EXPECT_EQ(done ?: -EFAULT, tw_batch(self->fd, TWHEEL_MODIFY_BATCH, modify, ~0U));
		changed += done;
		EXPECT_EQ(changed, tw_info(self->fd).modified)
			TH_LOG("the array ends after %u entries", done);
	}
}

/* The entries can be read to the end, but their ids cannot be written. */
TEST_F(batch, add_to_an_array_that_becomes_read_only) /* SECURITY: missing pages */
{
	const size_t size = sizeof(struct twheel_add);
	struct twheel_info before;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		unsigned int done = ends[i];
		struct twheel_add *add = before_page(done * size, PROT_READ | PROT_WRITE);
		void *rest = add + done;

		fill_adds(add, done + 50);
		ASSERT_EQ(0, mprotect(rest, sysconf(_SC_PAGESIZE), PROT_READ));
		before = tw_info(self->fd);
		EXPECT_EQ(done ?: -EFAULT, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, done + 50));
		EXPECT_EQ(before.pending + done, tw_info(self->fd).pending)
			TH_LOG("%u ids can be handed back", done);
		EXPECT_EQ(before.added + done, tw_info(self->fd).added);
		for (j = 0; j < done; j++)
			ASSERT_EQ(0, tw_cancel(self->fd, add[j].id));
		EXPECT_EQ(UNTOUCHED, add[done].id);
	}
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

/* Only the id of the last entry can be written; the rest is not written. */
TEST_F(batch, add_needs_to_write_no_more_than_ids) /* SECURITY: missing pages */
{
	const size_t size = sizeof(struct twheel_add);
	unsigned int i;

	for (i = 1; i < ARRAY_SIZE(ends); i++) {
		struct twheel_add *add = before_page(ends[i] * size - size + sizeof(add->id),
						     PROT_READ | PROT_WRITE);
		struct twheel_add *last = &add[ends[i] - 1];
		struct twheel_query query;

		fill_adds(add, ends[i]);
		ASSERT_EQ(0, mprotect(&last->time_ns, sysconf(_SC_PAGESIZE), PROT_READ));
		EXPECT_EQ(ends[i], tw_batch(self->fd, TWHEEL_ADD_BATCH, add, ends[i]));
		ASSERT_EQ(0, tw_query(self->fd, last->id, &query));
		EXPECT_EQ(ends[i] - 1, query.data);
		EXPECT_EQ(0, tw_ioctl(self->fd, TWHEEL_ADD, last));
	}
}

/* The memory of a file that was never touched through this mapping. */
TEST_F(batch, add_brings_in_the_pages_that_it_needs) /* SECURITY: missing pages */
{
	const size_t size = 1000 * sizeof(struct twheel_add);
	static struct twheel_add from[1000];
	struct twheel_add *add;
	unsigned int i, j;
	int file;

	fill_adds(from, 1000);
	file = memfd_create("twheel-selftest", MFD_CLOEXEC);
	ASSERT_LE(0, file);
	for (i = 0; i < 64; i += 7) {
		ASSERT_EQ(size, pwrite(file, from, size, i));
		add = (void *)((char *)mmap(NULL, size + i, PROT_READ | PROT_WRITE, MAP_SHARED,
					    file, 0) + i);
		EXPECT_EQ(1000, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, 1000));
		for (j = 0; j < 1000; j++) {
			struct twheel_query query;
			__u64 id;

			memcpy(&id, (char *)add + j * sizeof(*add), sizeof(id));
			ASSERT_EQ(0, tw_query(self->fd, id, &query));
			ASSERT_EQ(j, query.data);
			ASSERT_EQ(0, tw_cancel(self->fd, id));
		}
		munmap((char *)add - i, size + i);
	}
	close(file);
}

TEST_F(batch, cancel_and_modify_only_read_their_array)
{
	struct twheel_modify modify[2];
	__u64 id[2];

	ASSERT_TRUE(add_ids(self->fd, id, 2));
	modify[0] = (struct twheel_modify) { .id = id[0], .time_ns = HOUR };
	modify[1] = (struct twheel_modify) { .id = id[1], .time_ns = HOUR };
	EXPECT_EQ(2, tw_batch(self->fd, TWHEEL_MODIFY_BATCH,
			      read_only_copy(modify, sizeof(modify)), 2));
	EXPECT_EQ(2, tw_batch(self->fd, TWHEEL_CANCEL_BATCH, read_only_copy(id, sizeof(id)), 2));
}

/* Wherever a signal ends a batch, the count shows where. */
TEST_F(batch, a_signal_in_the_middle) /* SECURITY: calls */
{
	static struct twheel_add add[MAX_BATCH];
	unsigned int round, done;
	int ret;

	fill_adds(add, MAX_BATCH);
	ASSERT_TRUE(start_signals(2000, 0));
	for (round = 1; round <= 20 || !signals; round++) {
		for (done = 0; done < MAX_BATCH; done += ret) {
			ret = tw_batch(self->fd, TWHEEL_ADD_BATCH, add + done, MAX_BATCH - done);
			if (ret == -EINTR)
				ret = 0;
			ASSERT_LE(0, ret);
			ASSERT_EQ((round - 1) * MAX_BATCH + done + ret, tw_info(self->fd).pending);
		}
	}
	EXPECT_EQ(tw_info(self->fd).pending, tw_info(self->fd).added);
}

static atomic_bool kicking;

static void *kick(void *arg)
{
	const int *fd = arg;
	__u64 one = 1;

	while (kicking && write(*fd, &one, sizeof(one)) == sizeof(one))
		usleep(100);
	return NULL;
}

/* An io_uring completion is task work for the thread, not a signal. */
TEST_F(batch, is_not_cut_short_by_completions_of_a_ring)
{
	static struct twheel_add add[MAX_BATCH];
	int i, event = eventfd(0, 0);
	struct io_uring_cqe cqe;
	pthread_t thread;
	struct ring ring;

	fill_adds(add, MAX_BATCH);
	ASSERT_TRUE(ring_open(&ring));
	ASSERT_TRUE(ring_poll(&ring, event, IORING_POLL_ADD_MULTI));
	kicking = true;
	ASSERT_EQ(0, pthread_create(&thread, NULL, kick, &event));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(MAX_BATCH, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, MAX_BATCH));
		while (ring_next(&ring, &cqe, false))
			;
	}
	kicking = false;
	pthread_join(thread, NULL);
}
