// SPDX-License-Identifier: MIT
/*
 * Batches: in order, up to the first entry that fails; entries before it stay done, the
 * others are untouched.
 */
#include <sys/eventfd.h>

#include "selftest.h"

#define MAX_BATCH	5000

CHANGING_FIXTURE(batch);

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

/* A kind of batches; an entry can be bad in two ways. */
static const struct kind {
	unsigned long command;
	size_t size;
	int errors[2];
} kinds[] = {
	{ TWHEEL_ADD_BATCH, sizeof(struct twheel_add), { -EINVAL, -EINVAL } },
	{ TWHEEL_CANCEL_BATCH, sizeof(__u64), { -ENOENT, -ENOENT } },
	{ TWHEEL_MODIFY_BATCH, sizeof(struct twheel_modify), { -EINVAL, -ENOENT } },
};

static const struct kind *const last_kind = kinds + ARRAY_SIZE(kinds);

TEST_F(batch, with_bad_pointers_is_efault_unless_it_is_empty) /* SECURITY: arguments */
{
	void *const pointers[] = {
		bad_pointer(0), bad_pointer(1), bad_pointer(2), before_hole(7), (void *)~0UL,
		(void *)~7UL, (void *)(1UL << 63), (void *)(1UL << 47), (void *)0xffff888000000000,
	};
	struct twheel_info before = tw_info(self->fd);
	const struct kind *kind;
	unsigned int i;

	for (kind = kinds; kind < last_kind; kind++) {
		for (i = 0; i < ARRAY_SIZE(pointers); i++) {
			EXPECT_EQ(0, tw_batch(self->fd, kind->command, pointers[i], 0));
			EXPECT_EQ(-EFAULT, tw_batch(self->fd, kind->command, pointers[i], 1));
			EXPECT_EQ(-EFAULT, tw_batch(self->fd, kind->command, pointers[i], 1000));
			EXPECT_EQ(-EFAULT, tw_batch(self->fd, kind->command, pointers[i], ~0U));
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

/* Fill an array with @n valid entries, for the timers of these ids. */
static void fill(const struct kind *kind, void *entries, const __u64 *id, unsigned int n)
{
	struct twheel_modify *modify = entries;
	unsigned int i;

	if (kind->command == TWHEEL_ADD_BATCH)
		fill_adds(entries, n);
	else if (kind->command == TWHEEL_CANCEL_BATCH)
		memcpy(entries, id, n * sizeof(*id));
	else
		for (i = 0; i < n; i++)
			modify[i] = (struct twheel_modify) { .id = id[i], .time_ns = 2 * HOUR };
}

static void spoil(const struct kind *kind, void *entry, int way)
{
	struct twheel_add *add = entry;
	struct twheel_modify *modify = entry;

	if (kind->command == TWHEEL_ADD_BATCH && way)
		add->flags = 2;
	else if (kind->command == TWHEEL_ADD_BATCH)
		add->time_ns = ~0ULL;
	else if (kind->command == TWHEEL_MODIFY_BATCH && !way)
		modify->flags = ~0U;
	else
		memcpy(entry, way ? &(__u64){ 0 } : &(__u64){ UNTOUCHED }, sizeof(__u64));
}

#define NR_ENTRIES	1000

/* A wheel with that many timers, except for adds. */
static int wheel_for(struct __test_metadata *_metadata, const struct kind *kind, __u64 *id)
{
	int fd = open_wheel(_metadata, O_NONBLOCK);

	if (kind->command != TWHEEL_ADD_BATCH && !add_ids(fd, id, NR_ENTRIES))
		abort();
	return fd;
}

/* Check that the wheel has done @done entries and no more, and close it. */
static void expect_done(struct __test_metadata *_metadata, const struct kind *kind, int fd,
			unsigned int done)
{
	struct twheel_info info = tw_info(fd);
	bool adds = kind->command == TWHEEL_ADD_BATCH;
	bool cancels = kind->command == TWHEEL_CANCEL_BATCH;

	EXPECT_EQ(adds ? done : NR_ENTRIES, info.added)
		TH_LOG("command %#lx ends after %u entries", kind->command, done);
	EXPECT_EQ(cancels ? done : 0, info.cancelled);
	EXPECT_EQ(adds || cancels ? 0 : done, info.modified);
	EXPECT_EQ(info.added - info.cancelled, info.pending);
	close(fd);
}

TEST_F(batch, stops_at_a_bad_entry)
{
	static const unsigned int places[] = { 0, 1, 50, 127, 128, 129, 500, 999 };
	static char entries[NR_ENTRIES * sizeof(struct twheel_add)], was[sizeof(entries)];
	static __u64 id[NR_ENTRIES];
	const struct kind *kind;
	unsigned int i, bad;
	size_t done;
	int fd;

	for (kind = kinds; kind < last_kind; kind++) {
		for (i = 0; i < ARRAY_SIZE(places); i++) {
			bad = places[i];
			done = bad * kind->size;
			fd = wheel_for(_metadata, kind, id);
			fill(kind, entries, id, NR_ENTRIES);
			spoil(kind, entries + done, i % 2);
			memcpy(was, entries, sizeof(entries));
			EXPECT_EQ(bad ?: kind->errors[i % 2],
				  tw_batch(fd, kind->command, entries, NR_ENTRIES));
			EXPECT_EQ(0, memcmp(was + done, entries + done, sizeof(was) - done))
				TH_LOG("entries after %u were touched", bad);
			expect_done(_metadata, kind, fd, bad);
		}
	}
}

TEST_F(batch, cancel_stops_at_a_repeated_id)
{
	__u64 id[300], list[4];

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

TEST_F(batch, from_an_array_that_ends)
{
	static __u64 id[NR_ENTRIES];
	const struct kind *kind;
	unsigned int i;

	for (kind = kinds; kind < last_kind; kind++) {
		for (i = 0; i < ARRAY_SIZE(ends); i++) {
			size_t part = i % 2 ? kind->size / 2 : 0;
			void *entries = before_hole(ends[i] * kind->size + part);
			int fd = wheel_for(_metadata, kind, id);

			fill(kind, entries, id, ends[i]);
			EXPECT_EQ(ends[i] ?: -EFAULT, tw_batch(fd, kind->command, entries, ~0U));
			expect_done(_metadata, kind, fd, ends[i]);
		}
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
	bool cut_short = false;
	int ret;

	fill_adds(add, MAX_BATCH);
	ASSERT_TRUE(start_signals(2000, 0));
	for (round = 1; round <= 20 || !cut_short; round++) {
		for (done = 0; done < MAX_BATCH; done += ret) {
			ret = tw_batch(self->fd, TWHEEL_ADD_BATCH, add + done, MAX_BATCH - done);
			if (ret == -EINTR)
				ret = 0;
			ASSERT_LE(0, ret);
			cut_short |= ret < (int)(MAX_BATCH - done);
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
