// SPDX-License-Identifier: MIT
/*
 * Batches: in order, up to the first entry that fails. twheel-fuzz has bad entries of each kind and
 * arrays that end in any place; the suite threads has those that become read-only.
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
