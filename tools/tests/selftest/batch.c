// SPDX-License-Identifier: MIT
/*
 * Batches: in order, up to the first entry that fails. twheel-fuzz has bad entries of each kind and
 * arrays that end in any place.
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

TEST_F(batch, stops_at_a_bad_entry)
{
	fill_adds(100, HOUR, SEC, 0);
	adds[60].flags = 2;
	EXPECT_EQ(60, tw_batch(self->fd, TWHEEL_ADD_BATCH, adds, 100));
	EXPECT_EQ(-EINVAL, tw_batch(self->fd, TWHEEL_ADD_BATCH, adds + 60, 40));
	EXPECT_EQ(UNTOUCHED, adds[60].id);
	for (int i = 0; i < 60; i++)
		ids[i] = adds[i == 50 ? 0 : i].id;
	EXPECT_EQ(50, tw_batch(self->fd, TWHEEL_CANCEL_BATCH, ids, 60));
	EXPECT_EQ(-ENOENT, tw_batch(self->fd, TWHEEL_CANCEL_BATCH, ids + 50, 10));
	EXPECT_EQ(10, tw_info(self->fd).pending);
}

/* The second one needs more levels, and the id of the first one cannot be written. */
TEST_F(batch, that_cannot_hand_back_an_id_leaves_the_wheel_as_it_was)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct twheel_add *add = before_page(page, PROT_READ | PROT_WRITE);

	add[0] = (struct twheel_add) { .time_ns = MSEC };
	add[1] = (struct twheel_add) { .time_ns = TWHEEL_TIME_MAX_NS, .flags = TWHEEL_ABSTIME };
	ASSERT_EQ(0, mprotect(add, page, PROT_READ));
	EXPECT_EQ(-EFAULT, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, 2));
	EXPECT_EQ(0, tw_setup(self->fd, MSEC, 60, CLOCK_MONOTONIC, 0));
}

static const unsigned int ends[] = { 0, 1, 2, 63, 64, 100, 101, 102, 129, 1000 };

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
