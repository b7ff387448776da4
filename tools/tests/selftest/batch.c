// SPDX-License-Identifier: MIT
/*
 * Batches: in order, up to the first entry that fails; entries before it stay done, the
 * others are untouched.
 */
#include <sys/eventfd.h>

#include "selftest.h"

#define MAX_BATCH	MAX_EVENTS

CHANGING_FIXTURE(batch);

/* Adds that are not due for an hour. */
static struct twheel_add *far_adds(struct twheel_add *to, unsigned int count)
{
	return memcpy(to, fill_adds(count, HOUR, SEC, 0), count * sizeof(*to));
}

#define BAD(type, field, value, error)						\
	{ offsetof(struct type, field), sizeof(((struct type *)0)->field), value, error }

/* A kind of batches; an entry can be bad in two ways. */
static const struct kind {
	unsigned long command;
	size_t size;
	struct {
		size_t offset, size;
		__u64 value;
		int error;
	} bad[2];
} kinds[] = {
	{ TWHEEL_ADD_BATCH, sizeof(struct twheel_add),
	  { BAD(twheel_add, time_ns, ~0ULL, -EINVAL), BAD(twheel_add, flags, 2, -EINVAL) } },
	{ TWHEEL_CANCEL_BATCH, sizeof(__u64),
	  { { 0, 8, UNTOUCHED, -ENOENT }, { 0, 8, 0, -ENOENT } } },
	{ TWHEEL_MODIFY_BATCH, sizeof(struct twheel_modify),
	  { BAD(twheel_modify, flags, ~0U, -EINVAL), BAD(twheel_modify, id, 0, -ENOENT) } },
};

static const struct kind *const last_kind = kinds + ARRAY_SIZE(kinds);

/* Three of four are due; the fourth has a delay. */
TEST_F(batch, due_timers_queue_in_its_order)
{
	__u64 from = now_ns();

	fill_adds(400, 400, -1, TWHEEL_ABSTIME);
	for (int i = 3; i < 400; i += 4)
		adds[i] = (struct twheel_add) { .time_ns = HOUR, .interval_ns = i * SEC };
	ASSERT_EQ(400, tw_batch(self->fd, TWHEEL_ADD_BATCH, adds, 400));
	ASSERT_EQ(300, read_events(self->fd, 400));
	for (int i = 0; i < 300; i++)
		EXPECT_EQ(i / 3 * 4 + i % 3, event[i].data);
	for (int i = 3; i < 400; i += 4) {
		EXPECT_LE(from + HOUR, deadline_of(self->fd, adds[i].id));
		EXPECT_EQ(i * SEC, query.interval_ns);
	}
}

/* Fill an array with @n valid entries, for timers of @ids in a mixed order. */
static void fill(const struct kind *kind, void *entries, unsigned int n)
{
	struct twheel_modify *modify = entries;
	__u64 *cancel = entries;

	if (kind->command == TWHEEL_ADD_BATCH)
		far_adds(entries, n);
	for (unsigned int i = 0; i < n; i++) {
		__u64 id = ids[i * 7919 % n];

		if (kind->command == TWHEEL_CANCEL_BATCH)
			cancel[i] = id;
		else if (kind->command == TWHEEL_MODIFY_BATCH)
			modify[i] = (struct twheel_modify) { .id = id, .time_ns = 2 * HOUR };
	}
}

/* A cancel may repeat the id of the first entry. */
static void spoil(const struct kind *kind, char *entry, int way)
{
	bool repeat = kind->command == TWHEEL_CANCEL_BATCH && way;

	memcpy(entry + kind->bad[way].offset, repeat ? &ids[0] : &kind->bad[way].value,
	       kind->bad[way].size);
}

#define NR_ENTRIES	1000

/* A wheel with that many timers, except for adds. */
static int wheel_for(struct __test_metadata *_metadata, const struct kind *kind)
{
	int fd = open_wheel(_metadata, O_NONBLOCK);

	if (kind->command != TWHEEL_ADD_BATCH && !add_many(fd, NR_ENTRIES, HOUR, MSEC, 0))
		abort();
	return fd;
}

/* Check that the wheel has done @done entries and no more, and close it. */
static void expect_done(struct __test_metadata *_metadata, const struct kind *kind, int fd,
			unsigned int done)
{
	bool adding = kind->command == TWHEEL_ADD_BATCH;
	bool cancelling = kind->command == TWHEEL_CANCEL_BATCH;
	struct twheel_info info = tw_info(fd);

	EXPECT_EQ(adding ? done : NR_ENTRIES, info.added)
		TH_LOG("command %#lx ends after %u entries", kind->command, done);
	EXPECT_EQ(cancelling ? done : 0, info.cancelled);
	EXPECT_EQ(adding || cancelling ? 0 : done, info.modified);
	EXPECT_EQ(info.added - info.cancelled, info.pending);
	close(fd);
}

TEST_F(batch, stops_at_a_bad_entry)
{
	static const unsigned int places[] = { 0, 1, 50, 127, 128, 129, 500, 999 };
	static char entries[NR_ENTRIES * sizeof(struct twheel_add)], was[sizeof(entries)];

	for (const struct kind *kind = kinds; kind < last_kind; kind++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(places); i++) {
			unsigned int bad = places[i];
			size_t done = bad * kind->size;
			int fd = wheel_for(_metadata, kind);

			fill(kind, entries, NR_ENTRIES);
			spoil(kind, entries + done, i % 2);
			memcpy(was, entries, sizeof(entries));
			EXPECT_EQ(bad ?: kind->bad[i % 2].error,
				  tw_batch(fd, kind->command, entries, NR_ENTRIES));
			EXPECT_EQ(0, memcmp(was + done, entries + done, sizeof(was) - done))
				TH_LOG("entries after %u were touched", bad);
			expect_done(_metadata, kind, fd, bad);
		}
	}
}

/* An array of @done whole entries and a part of one, then an unmapped page. */
static const unsigned int ends[] = { 0, 1, 2, 63, 64, 100, 101, 102, 129, 1000 };

TEST_F(batch, from_an_array_that_ends)
{
	for (const struct kind *kind = kinds; kind < last_kind; kind++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(ends); i++) {
			size_t part = i % 2 ? kind->size / 2 : 0;
			void *entries = before_hole(ends[i] * kind->size + part);
			int fd = wheel_for(_metadata, kind);

			fill(kind, entries, ends[i]);
			EXPECT_EQ(ends[i] ?: -EFAULT, tw_batch(fd, kind->command, entries, ~0U));
			EXPECT_EQ(0, tw_batch(fd, kind->command, bad_pointer(i % 3), 0));
			expect_done(_metadata, kind, fd, ends[i]);
		}
	}
}

/*
 * The entries can be read to the end, but from an entry on nothing can be written; or of the last
 * entry only the id, and no more is needed.
 */
TEST_F(batch, add_to_an_array_that_becomes_read_only) /* SECURITY: missing pages */
{
	const size_t page = sysconf(_SC_PAGESIZE);

	for (unsigned int i = 0; i < 2 * ARRAY_SIZE(ends); i++) {
		unsigned int done = ends[i / 2], only_id = i % 2 && done;
		size_t size = done * sizeof(*adds);
		struct twheel_add *add;

		if (only_id)
			size -= sizeof(*adds) - sizeof(add->id);
		add = before_page(size, PROT_READ | PROT_WRITE);
		far_adds(add, done + 50);
		ASSERT_EQ(0, mprotect((char *)add + size, page, PROT_READ));
		before = tw_info(self->fd);
		EXPECT_EQ(done ?: -EFAULT, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, done + 50));
		EXPECT_EQ(before.pending + done, tw_info(self->fd).pending)
			TH_LOG("%u ids can be handed back", done);
		EXPECT_EQ(before.added + done, tw_info(self->fd).added);
		for (unsigned int j = 0; j < done; j++) {
			ASSERT_EQ(0, tw_query(self->fd, add[j].id));
			ASSERT_EQ(j, query.data);
			ASSERT_EQ(0, tw_cancel(self->fd, add[j].id));
		}
		EXPECT_EQ(UNTOUCHED, add[done].id);
		if (only_id) {
			EXPECT_EQ(0, tw_ioctl(self->fd, TWHEEL_ADD, &add[done - 1]));
			EXPECT_EQ(0, tw_cancel(self->fd, add[done - 1].id));
		}
	}
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

/* Wherever a signal ends a batch, the count shows where. */
TEST_F(batch, a_signal_in_the_middle) /* SECURITY: calls */
{
	bool cut_short = false;
	int ret;

	fill_adds(MAX_BATCH, HOUR, SEC, 0);
	ASSERT_TRUE(start_signals(2000, 0));
	for (unsigned int round = 0; round < 20 || !cut_short; round++) {
		for (unsigned int done = 0; done < MAX_BATCH; done += ret) {
			ret = tw_batch(self->fd, TWHEEL_ADD_BATCH, adds + done, MAX_BATCH - done);
			if (ret == -EINTR)
				ret = 0;
			ASSERT_LE(0, ret);
			cut_short |= ret < (int)(MAX_BATCH - done);
			ASSERT_EQ(round * MAX_BATCH + done + ret, tw_info(self->fd).pending);
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
	int kicked = eventfd(0, 0);
	struct io_uring_cqe cqe;
	pthread_t thread;
	struct ring ring;

	fill_adds(MAX_BATCH, HOUR, SEC, 0);
	ASSERT_TRUE(ring_open(&ring, 0));
	ASSERT_TRUE(ring_poll(&ring, kicked, IORING_POLL_ADD_MULTI));
	kicking = true;
	ASSERT_EQ(0, pthread_create(&thread, NULL, kick, &kicked));
	for (int i = 0; i < 20; i++) {
		EXPECT_EQ(MAX_BATCH, tw_batch(self->fd, TWHEEL_ADD_BATCH, adds, MAX_BATCH));
		while (ring_next(&ring, &cqe, false))
			;
	}
	kicking = false;
	pthread_join(thread, NULL);
}
