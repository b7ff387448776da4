// SPDX-License-Identifier: MIT
/*
 * Batches: in order, up to the first entry that fails. twheel-fuzz has bad entries of each kind and
 * arrays that end in any place.
 */
#include <sys/timerfd.h>

#include "selftest.h"

#define MAX_BATCH	MAX_EVENTS

CHANGING_FIXTURE(batch);

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
		memcpy(add, fill_adds(done + 50, HOUR, SEC, 0), (done + 50) * sizeof(*add));
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

/* An io_uring completion is task work for the thread, not a signal. */
TEST_F(batch, is_not_cut_short_by_completions_of_a_ring)
{
	const struct itimerspec often = { { 0, 100 * USEC }, { 0, 100 * USEC } };
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct io_uring_cqe cqe;
	struct ring ring;

	fill_adds(MAX_BATCH, HOUR, SEC, 0);
	ASSERT_TRUE(ring_open(&ring, 0));
	ASSERT_TRUE(ring_poll(&ring, timer, IORING_POLL_ADD_MULTI));
	ASSERT_EQ(0, timerfd_settime(timer, 0, &often, NULL));
	for (int i = 0; i < 20; i++) {
		EXPECT_EQ(MAX_BATCH, tw_batch(self->fd, TWHEEL_ADD_BATCH, adds, MAX_BATCH));
		while (ring_next(&ring, &cqe, false))
			;
	}
}
