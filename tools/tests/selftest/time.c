// SPDX-License-Identifier: MIT
/*
 * Delivery of timers: never early, at the first tick boundary at or after the deadline,
 * each once, in the order of their ticks; an empty wheel delivers none.
 */
#include "selftest.h"

WHEEL_FIXTURE(timing, O_NONBLOCK);

/*
 * Wheels of many shapes.
 */
FIXTURE_OF_WHEEL(shape);

FIXTURE_VARIANT(shape)
{
	__u64 tick;
	__u32 size;
	clockid_t clock;
};

FIXTURE_VARIANT_ADD(shape, of_3) { MSEC, 3, CLOCK_MONOTONIC };
FIXTURE_VARIANT_ADD(shape, of_65536) { MSEC, 65536, CLOCK_MONOTONIC };
FIXTURE_VARIANT_ADD(shape, microsecond_of_2) { USEC, 2, CLOCK_MONOTONIC };
FIXTURE_VARIANT_ADD(shape, microsecond_of_256) { USEC, 256, CLOCK_MONOTONIC };
FIXTURE_VARIANT_ADD(shape, odd_tick_of_60) { 1234567, 60, CLOCK_MONOTONIC };
FIXTURE_VARIANT_ADD(shape, tenth_of_a_second_of_20) { 100 * MSEC, 20, CLOCK_MONOTONIC };
FIXTURE_VARIANT_ADD(shape, boottime) { MSEC, 256, CLOCK_BOOTTIME };

FIXTURE_SETUP(shape)
{
	self->fd = open_wheel(_metadata, O_NONBLOCK);
	ASSERT_EQ(0, tw_setup(self->fd, variant->tick, variant->size, variant->clock, 0));
}

#define NR_SHAPED	500

/* Some are added, and all that are due are read, in turn. twheel-fuzz checks what is read. */
TEST_F(shape, delivers_each_timer_once_in_order_and_not_early)
{
	struct chance chance = { .state = 88172645463325252ULL };
	unsigned int added = 0, read = 0;
	__u64 last = 0, due, now;

	while (read < NR_SHAPED) {
		/* None is due when it is added: those would queue at once. */
		for (int i = 0; i < 16 && added < NR_SHAPED; i++, added++) {
			due = now_on(variant->clock) + SEC / 20 + chance_below(&chance, SEC / 2);
			ASSERT_NE(0, add_at(self->fd, due, added));
		}
		if (added == NR_SHAPED)
			ASSERT_EQ(POLLIN, poll_for(self->fd, POLLIN, 5000))
				TH_LOG("%u timers are lost", added - read);
		for (int n; (n = read_events(self->fd, 64)) != -EAGAIN; read += n) {
			ASSERT_LT(0, n);
			now = now_on(variant->clock);
			for (int i = 0; i < n; i++) {
				due = boundary_of(event[i].deadline_ns, variant->tick);
				ASSERT_LE(last, due);
				ASSERT_LE(due, now);
				/* Until all are added, reads do not wait for them. */
				if (added == NR_SHAPED)
					ASSERT_GE(due + lateness_max, now);
				last = due;
			}
		}
	}
	EXPECT_EQ(NR_SHAPED, tw_info(self->fd).delivered);
	EXPECT_TRUE(balanced(self->fd));
	EXPECT_FALSE(readable(self->fd));
}

/* A level covers the ticks up to its last bucket; only the one after that needs another level. */
TEST_F(timing, levels_are_made_for_the_first_timer_beyond_the_others)
{
	const __u64 tick = 200 * MSEC;

	for (unsigned int size = 2; size < 5; size++) {
		for (unsigned int ticks = 1; ticks <= size; ticks++) {
			__u64 base, levels;

			/* Again if the host stalls for a tick. */
			do {
				int fd = open_wheel(_metadata, O_NONBLOCK);

				ASSERT_EQ(0, tw_setup(fd, tick, size, CLOCK_MONOTONIC, 0));
				base = boundary_of(now_ns(), tick);
				sleep_until(base);
				ASSERT_NE(0, add_at(fd, base + ticks * tick, 1));
				levels = tw_info(fd).levels;
				close(fd);
			} while (base + tick <= now_ns());
			EXPECT_EQ(ticks < size ? 1 : 2, levels)
				TH_LOG("size %u, tick %u from now", size, ticks);
		}
	}
}

TEST_F(timing, due_timer_queues_when_it_is_added_or_modified)
{
	__u64 expired, pending;

	ASSERT_NE(0, expired = add_at(self->fd, 0, 4));
	ASSERT_NE(0, add_after(self->fd, MSEC, 1));
	ASSERT_NE(0, pending = add_after(self->fd, HOUR, 5));
	ASSERT_TRUE(wait_expired(self->fd, 2));
	/* Their deadlines are earlier, but they come later. */
	ASSERT_NE(0, add_at(self->fd, 1, 2));
	ASSERT_NE(0, add_at(self->fd, 0, 3));
	ASSERT_EQ(0, tw_modify(self->fd, expired, 0, TWHEEL_ABSTIME));
	ASSERT_EQ(0, tw_modify(self->fd, pending, 0, 0));
	ASSERT_NE(0, add_after(self->fd, MSEC, 6));
	ASSERT_TRUE(wait_expired(self->fd, 6));
	EXPECT_EQ(6, in_order(read_events(self->fd, 8), 1));
}

/*
 * With this many timers and levels, an expiry takes a while. A timer that is added or
 * modified during that, and is due at once, comes after all of them.
 */
TEST_F(timing, due_timer_queues_behind_a_backlog)
{
	const unsigned int count = 4000;
	__u64 base = now_ns() + SEC, id[2];

	ASSERT_EQ(0, tw_setup(self->fd, 10 * USEC, 2, CLOCK_MONOTONIC, 0));
	ASSERT_NE(0, id[0] = add_after(self->fd, HOUR, count));
	ASSERT_TRUE(add_many(self->fd, count, base, -USEC, TWHEEL_ABSTIME));
	ASSERT_GT(base - 5 * MSEC, now_ns())
		TH_LOG("the machine is too slow for this test");
	sleep_until(base + 10 * USEC);
	ASSERT_EQ(0, tw_modify(self->fd, id[0], 0, TWHEEL_ABSTIME));
	ASSERT_NE(0, id[1] = add_at(self->fd, 0, count));
	for (unsigned int i = 0; i < count; i++) {
		ASSERT_EQ(1, wait_and_read(self->fd, 1));
		ASSERT_GT(count, event->data);
	}
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(count, read_one(self->fd));
		EXPECT_EQ(id[i], event->id);
	}
}

/* Most of a bucket's timers, which go to the level below ahead of their time. */
TEST_F(timing, a_crowd_is_counted_as_cascaded)
{
	const __u64 length = 256 * 256 * USEC, begin = (now_ns() / length + 3) * length;

	ASSERT_EQ(0, tw_setup(self->fd, USEC, 256, CLOCK_MONOTONIC, 0));
	ASSERT_TRUE(add_many(self->fd, 200, begin + MSEC, 300 * USEC, TWHEEL_ABSTIME));
	EXPECT_EQ(0, tw_info(self->fd).cascaded);
	EXPECT_TRUE(wait_until(tw_info(self->fd).cascaded));
}
