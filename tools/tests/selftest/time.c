// SPDX-License-Identifier: MIT
/*
 * Delivery of timers: never early, at the first tick boundary at or after the deadline,
 * each once, in the order of their ticks; an empty wheel delivers none.
 */
#include "selftest.h"

WHEEL_FIXTURE(timing, O_NONBLOCK);

/* The ledger of a wheel; the user data of a timer is its index in @timer. */
static struct {
	int fd;
	clockid_t clock;
	__u64 tick;
	__u64 last_boundary;	/* the tick of the last timer that expired in the wheel */
	unsigned int added;
	unsigned int read;
	struct {
		__u64 id;		/* 0 when it was read */
		__u64 deadline;
		__u64 added;		/* time after the call that added it */
	} timer[10000];
} ledger;

static void open_ledger(int fd)
{
	struct twheel_info info = tw_info(fd);

	ledger.fd = fd;
	ledger.clock = info.clock_id;
	ledger.tick = info.tick_ns;
}

/* Adds a timer and records it. */
static bool arm(__u64 deadline)
{
	unsigned int nr = ledger.added++;

	ledger.timer[nr].id = add_at(ledger.fd, deadline, nr);
	ledger.timer[nr].deadline = deadline;
	ledger.timer[nr].added = now_on(ledger.clock);
	return ledger.timer[nr].id;
}

/* Checks one event that the reader has got now. */
static void check_event(struct __test_metadata *_metadata, const struct twheel_event *event,
			__u64 late_max)
{
	__u64 due = boundary_of(event->deadline_ns, ledger.tick), when = now_on(ledger.clock);
	__u64 added = ledger.timer[event->data].added;

	ASSERT_LT(event->data, ledger.added);
	ASSERT_EQ(ledger.timer[event->data].id, event->id)
		TH_LOG("timer %llu was delivered twice, or is another one", event->data);
	ASSERT_EQ(1, event->count);
	ASSERT_EQ(ledger.timer[event->data].deadline, event->deadline_ns);
	if (due > added) {
		/* It was not due when it was added, so it expired in the wheel. */
		ASSERT_LE(ledger.last_boundary, due)
			TH_LOG("timer %llu is out of order", event->data);
		ledger.last_boundary = due;
	} else {
		due = event->deadline_ns;
	}
	ASSERT_LE(due, when)
		TH_LOG("timer %llu is early", event->data);
	ASSERT_GE((due > added ? due : added) + late_max, when)
		TH_LOG("timer %llu is late", event->data);
	ledger.timer[event->data].id = 0;
	ledger.read++;
}

/* Reads all events, some in a call. */
static void read_all(struct __test_metadata *_metadata)
{
	int ret;

	while ((ret = read_events(ledger.fd, 64)) != -EAGAIN) {
		ASSERT_LT(0, ret);
		for (int i = 0; i < ret; i++)
			check_event(_metadata, &event[i], lateness_max);
	}
}

/* Reads until every timer has been read, and checks that the wheel is empty. */
static void read_the_rest(struct __test_metadata *_metadata)
{
	struct twheel_info info;

	while (ledger.read < ledger.added) {
		ASSERT_EQ(POLLIN, poll_for(ledger.fd, POLLIN, 5000))
			TH_LOG("%u of %u timers are lost", ledger.added - ledger.read,
			       ledger.added);
		read_all(_metadata);
	}
	info = tw_info(ledger.fd);
	EXPECT_EQ(0, info.pending);
	EXPECT_EQ(0, info.expired);
	EXPECT_EQ(ledger.added, info.added);
	EXPECT_EQ(ledger.added, info.delivered);
	EXPECT_EQ(0, poll_for(ledger.fd, POLLIN, 50))
		TH_LOG("there is an event more than there were timers");
}

/* Adds @count timers at random delays, reading in between; then reads the rest. */
static void arm_and_read(struct __test_metadata *_metadata, int fd, unsigned int count,
			 __u64 max_delay)
{
	struct chance chance = { .state = 88172645463325252ULL };

	open_ledger(fd);
	for (unsigned int i = 0; i < count; i++) {
		ASSERT_TRUE(arm(now_on(ledger.clock) + chance_below(&chance, max_delay)));
		if (i % 16 == 0)
			read_all(_metadata);
	}
	read_the_rest(_metadata);
}

TEST_F(timing, ten_thousand_timers_within_two_seconds)
{
	arm_and_read(_metadata, self->fd, 10000, 2 * SEC);
}

/*
 * The same deliveries in wheels of many shapes.
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

TEST_F(shape, delivers_each_timer_once_in_order_and_not_early)
{
	arm_and_read(_metadata, self->fd, 500, 500 * MSEC);
}

/* Three distances that fall into different levels of every wheel above. */
TEST_F(shape, answers_queries_on_its_clock)
{
	static const __u64 delays[] = { 300 * MSEC, HOUR, 200 * YEAR };
	__u64 from = now_on(variant->clock), now = tw_info(self->fd).now_ns;

	EXPECT_LE(from, now);
	EXPECT_GE(now_on(variant->clock), now);
	for (unsigned int i = 0; i < ARRAY_SIZE(delays); i++) {
		__u64 deadline = now_on(variant->clock) + delays[i];
		__u64 id = tw_add(self->fd, deadline, TWHEEL_ABSTIME, HOUR + i, ~(__u64)i);

		EXPECT_EQ(deadline, deadline_of(self->fd, id));
		EXPECT_EQ(id, query.id);
		EXPECT_EQ(HOUR + i, query.interval_ns);
		EXPECT_EQ(~(__u64)i, query.data);
		EXPECT_EQ(TWHEEL_PENDING, query.state);
		EXPECT_EQ(0, query.reserved);
		EXPECT_GE(delays[i], query.remaining_ns);
		EXPECT_LE(deadline, query.remaining_ns + now_on(variant->clock));
		EXPECT_EQ(0, tw_cancel(self->fd, id));
	}
}

/*
 * With a tick of a second, the boundaries are distinct on any machine. The second
 * boundary is the first one at or after three of the deadlines.
 */
TEST_F(timing, delivery_is_at_the_first_boundary_at_or_after_the_deadline)
{
	__u64 base;

	ASSERT_EQ(0, tw_setup(self->fd, SEC, 256, CLOCK_MONOTONIC, 0));
	base = boundary_of(now_ns() + 300 * MSEC, SEC);
	ids[0] = add_at(self->fd, base, 0);
	ids[1] = add_at(self->fd, base + 1, 1);
	ids[2] = add_at(self->fd, base + SEC / 2, 2);
	ids[3] = add_at(self->fd, base + SEC, 3);
	ASSERT_GT(base, now_ns())
		TH_LOG("the machine is too slow for this test");

	for (int i = 0; i < 4; i++) {
		__u64 due = base + (i ? SEC : 0), when;

		ASSERT_EQ(1, wait_and_read(self->fd, i ? 1 : 8))
			TH_LOG("only the first timer's deadline is on the first boundary");
		when = now_ns();
		EXPECT_EQ(due, boundary_of(event->deadline_ns, SEC));
		EXPECT_LE(due, when);
		EXPECT_GE(due + lateness_max, when);
		if (i)
			continue;
		/* The deadline of the next one passes, but not its boundary. */
		EXPECT_EQ(ids[0], event->id);
		sleep_until(base + 10 * MSEC);
		ASSERT_EQ(0, tw_query(self->fd, ids[1]));
		if (now_ns() < base + SEC) {
			EXPECT_EQ(TWHEEL_PENDING, query.state);
			EXPECT_EQ(0, query.remaining_ns);
		}
	}
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
	__u64 base;

	ASSERT_EQ(0, tw_setup(self->fd, 10 * USEC, 2, CLOCK_MONOTONIC, 0));
	open_ledger(self->fd);
	base = now_ns() + 4 * SEC;
	ASSERT_NE(0, ids[0] = add_after(self->fd, HOUR, count));
	for (unsigned int i = 0; i < count; i++)
		ASSERT_TRUE(arm(base - i * USEC));
	ASSERT_GT(base - 5 * MSEC, now_ns())
		TH_LOG("the machine is too slow for this test");
	sleep_until(base + 10 * USEC);
	ASSERT_EQ(0, tw_modify(self->fd, ids[0], 0, TWHEEL_ABSTIME));
	ASSERT_NE(0, ids[1] = add_at(self->fd, 0, count));
	for (unsigned int i = 0; i < count; i++) {
		ASSERT_EQ(1, wait_and_read(self->fd, 1));
		check_event(_metadata, event, HOUR);
	}
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(count, read_one(self->fd));
		EXPECT_EQ(ids[i], event->id);
	}
}

/* The wheel's clock stood still for long, which must not delay near timers. */
TEST_F(timing, is_exact_after_a_long_idle_time)
{
	ASSERT_EQ(0, tw_setup(self->fd, 10 * USEC, 3, CLOCK_MONOTONIC, 0));
	open_ledger(self->fd);
	for (int i = 0; i < 3; i++) {
		sleep_for(300 * MSEC);
		ASSERT_TRUE(arm(now_ns() + 20 * MSEC));
		ASSERT_TRUE(arm(now_ns() + 7 * MSEC));
		read_the_rest(_metadata);
	}
}

/* The wheel advances over 64 ticks and a read takes 84 events at a time: more than that is due. */
TEST_F(timing, a_read_gets_all_that_is_due)
{
	__u64 base = (now_ns() / MSEC + 20) * MSEC;

	for (int i = 0; i < 85; i++)
		ASSERT_NE(0, add_at(self->fd, base + (i < 64 ? i : i < 84 ? 63 : 64) * MSEC, i));
	sleep_for(120 * MSEC);
	EXPECT_EQ(85, read_events(self->fd, 100));
}
