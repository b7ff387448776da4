// SPDX-License-Identifier: MIT
/*
 * The ring of events that a program maps: polls fill it, and the program empties it.
 */
#include "selftest.h"

/* As many as there may be. */
#define ALL	TWHEEL_RING_SLOTS_MAX

/* Polls until there are events, and takes them; returns how many, or -ETIMEDOUT. */
static int poll_and_take(struct mapped *map, unsigned int max)
{
	return poll_for(map->fd, POLLIN, 5000) == POLLIN ? take(map, max) : -ETIMEDOUT;
}

/*
 * Making and mapping it.
 */
WHEEL_FIXTURE(making_a_ring, O_NONBLOCK, struct twheel_ring_setup setup;);

/* Not what the last one left in these pages. */
TEST_F(making_a_ring, gives_memory_of_zeros) /* SECURITY: kernel information */
{
	struct mapped map;

	for (int i = 0; i < 20; i++) {
		int fd = open_wheel(_metadata, O_NONBLOCK);
		char *byte;

		ASSERT_TRUE(map_ring(&map, fd, ALL));
		byte = (char *)map.ring;
		ASSERT_EQ(0, *byte);
		ASSERT_EQ(0, memcmp(byte, byte + 1, map.size - 1));
		memset(byte, 0xa5, map.size);
		munmap(byte, map.size);
		close(fd);
	}
}

TEST_F(making_a_ring, is_charged_until_the_last_close) /* SECURITY: the ring of events */
{
	__u64 charged = fdinfo_field(self->fd, "twheel-user-memory");
	int fd = open_wheel(_metadata, 0);
	__u64 wheel = tw_info(fd).memory;
	void *map;

	ASSERT_EQ(0, make_ring(fd, 1000, &self->setup));
	EXPECT_LE(wheel + self->setup.size, tw_info(fd).memory);
	EXPECT_GE(wheel + self->setup.size + 64, tw_info(fd).memory);
	EXPECT_EQ(charged + tw_info(fd).memory, fdinfo_field(self->fd, "twheel-user-memory"));
	ASSERT_NE(NULL, map = map_fd(fd, self->setup.size, PROT_READ, MAP_SHARED, 0));
	close(fd);
	/* The mapping keeps the wheel. */
	EXPECT_LT(charged, fdinfo_field(self->fd, "twheel-user-memory"));
	munmap(map, self->setup.size);
	EXPECT_EQ(charged, fdinfo_field(self->fd, "twheel-user-memory"));
}

TEST_F(making_a_ring, lets_all_of_it_be_mapped_and_nothing_else) /* SECURITY: the ring of events */
{
	const int rw = PROT_READ | PROT_WRITE, fd = self->fd;
	const size_t page = sysconf(_SC_PAGESIZE);
	int reader = open(DEVICE, O_RDONLY | O_CLOEXEC);
	size_t size;
	void *map;

	ASSERT_EQ(0, make_ring(fd, 500, &self->setup));
	size = self->setup.size;
	EXPECT_EQ(EINVAL, errno_of((long)mmap(NULL, size, rw, MAP_PRIVATE, fd, 0)));
	EXPECT_EQ(EINVAL, errno_of((long)mmap(NULL, size, rw, MAP_SHARED, fd, page)));
	EXPECT_EQ(EINVAL, errno_of((long)mmap(NULL, size - page, rw, MAP_SHARED, fd, 0)));
	EXPECT_EQ(EINVAL, errno_of((long)mmap(NULL, size + page, rw, MAP_SHARED, fd, 0)));
	ASSERT_NE(NULL, map = map_fd(fd, size, rw, MAP_SHARED, 0));
	/* The mapping cannot grow, neither in place nor elsewhere. */
	EXPECT_EQ(MAP_FAILED, mremap(map, size, size + page, 0));
	EXPECT_EQ(MAP_FAILED, mremap(map, size, size + page, MREMAP_MAYMOVE));
	EXPECT_EQ(0, munmap(map, size));
	/* Without write access, it can be made and read. */
	ASSERT_EQ(0, make_ring(reader, 500, &self->setup));
	EXPECT_NE(NULL, map_fd(reader, size, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EACCES, errno_of((long)mmap(NULL, size, rw, MAP_SHARED, reader, 0)));
}

/*
 * The contents of the ring.
 */
FIXTURE_OF_WHEEL(a_ring, struct mapped map;);

FIXTURE_SETUP(a_ring)
{
	self->fd = open_wheel(_metadata, O_NONBLOCK);
	ASSERT_TRUE(map_ring(&self->map, self->fd, 100));
}

TEST_F(a_ring, gets_what_has_expired_when_the_wheel_is_polled)
{
	__u64 deadline = now_ns() + 20 * MSEC;
	__u64 id = add_at(self->fd, deadline, 7);

	EXPECT_FALSE(readable(self->fd));
	sleep_until(deadline + 2 * MSEC);
	EXPECT_EQ(0, take(&self->map, 1));
	EXPECT_TRUE(readable(self->fd));
	/* It is delivered, though the wheel stays readable until the event is taken. */
	EXPECT_EQ(1, tw_info(self->fd).delivered);
	EXPECT_EQ(-ENOENT, tw_cancel(self->fd, id));
	EXPECT_EQ(-ENOENT, tw_modify(self->fd, id, HOUR, 0));
	EXPECT_EQ(-ENOENT, tw_query(self->fd, id));
	EXPECT_TRUE(readable(self->fd));
	ASSERT_EQ(1, take(&self->map, 2));
	EXPECT_EQ(id, event->id);
	EXPECT_EQ(7, event->data);
	EXPECT_EQ(deadline, event->deadline_ns);
	EXPECT_EQ(1, event->count);
	EXPECT_FALSE(readable(self->fd));
}

TEST_F(a_ring, wakes_nobody_for_a_later_timer)
{
	struct waiter waiter;

	ASSERT_NE(0, add_at(self->fd, 0, 1));
	ASSERT_EQ(1, poll_and_take(&self->map, 2));
	ASSERT_NE(0, add_after(self->fd, HOUR, 2));
	ASSERT_TRUE(start_waiter(&waiter, self->fd, &in_poll));
	ASSERT_NE(0, add_after(self->fd, HOUR / 2, 3));
	sleep_for(A_WHILE);
	EXPECT_TRUE(is_undisturbed(&waiter));
	ASSERT_NE(0, add_at(self->fd, 0, 4));
	EXPECT_EQ(1, result_of(&waiter));
}

/* Poll, which moves a bounded number of events, until the ring is full or nothing more is due. */
static bool poll_until_full(const struct mapped *map)
{
	unsigned int polls = 0;

	while (readable(map->fd) && (map->ring->tail + 1) % map->slots != map->ring->head &&
	       map->ring->flags && polls < map->slots)
		polls++;
	return polls < map->slots;
}

TEST_F(a_ring, leaves_the_rest_in_the_wheel_when_full)
{
	const unsigned int room = self->map.slots - 1, all = 3 * room + 5;

	ASSERT_TRUE(add_due(self->fd, all, 0));
	ASSERT_TRUE(poll_until_full(&self->map));
	EXPECT_EQ(TWHEEL_RING_MORE, self->map.ring->flags);
	EXPECT_EQ(all - room, tw_info(self->fd).expired);
	/* Another poll finds no room, and overwrites nothing. */
	ASSERT_TRUE(readable(self->fd));
	for (unsigned int done = 0, n; done < all; done += n) {
		n = all - done > room ? room : all - done;
		ASSERT_TRUE(poll_until_full(&self->map));
		EXPECT_EQ(n < all - done ? TWHEEL_RING_MORE : 0, self->map.ring->flags);
		ASSERT_EQ(n, in_order(take(&self->map, ALL), done));
	}
	EXPECT_FALSE(readable(self->fd));
	EXPECT_TRUE(balanced(self->fd));
}

/* Beside threads that add due timers, it would not end otherwise. */
TEST_F(a_ring, is_filled_in_parts_by_polls)
{
	int fd = open_wheel(_metadata, 0);
	struct mapped map;
	__u64 expired;

	ASSERT_TRUE(map_ring(&map, fd, ALL));
	ASSERT_TRUE(add_due(fd, 2000, 0));
	ASSERT_TRUE(readable(fd));
	expired = tw_info(fd).expired;
	EXPECT_LE(1000, expired);
	EXPECT_GT(2000, expired);
	EXPECT_EQ(TWHEEL_RING_MORE, map.ring->flags);
}

/* Each in its own tick, so that one poll cannot sort them all. */
TEST_F(a_ring, sets_more_while_a_poll_can_move_events)
{
	const unsigned int all = 5000;
	int fd = open_wheel(_metadata, 0), n, done = 0;
	__u64 base = now_ns();
	struct mapped map;

	ASSERT_EQ(0, tw_setup(fd, TWHEEL_TICK_MIN_NS, 256, CLOCK_MONOTONIC, 0));
	ASSERT_TRUE(map_ring(&map, fd, 1000));
	for (unsigned int i = 0; i < all; i++)
		ASSERT_NE(0, add_at(fd, base + i * TWHEEL_TICK_MIN_NS, i));
	sleep_until(base + all * TWHEEL_TICK_MIN_NS + MSEC);
	do {
		readable(fd);
		n = take(&map, ALL);
		ASSERT_EQ(n, in_order(n, done));
		done += n;
	} while (map.ring->flags & TWHEEL_RING_MORE);
	EXPECT_EQ(all, done);
}

TEST_F(a_ring, gets_each_period_or_a_count_of_them)
{
	__u64 base = now_ns() + 20 * MSEC;
	__u64 id = tw_add(self->fd, base, TWHEEL_ABSTIME, 10 * MSEC, 5);

	sleep_until(base + 35 * MSEC);
	ASSERT_TRUE(readable(self->fd));
	ASSERT_EQ(1, take(&self->map, 2));
	EXPECT_EQ(base, event->deadline_ns);
	EXPECT_LE(4, event->count);
	/* It was rearmed when its event moved to the ring. */
	base += event->count * 10 * MSEC;
	ASSERT_EQ(1, poll_and_take(&self->map, 2));
	EXPECT_EQ(base, event->deadline_ns);
	EXPECT_EQ(0, tw_cancel(self->fd, id));
}

TEST_F(a_ring, makes_reads_fail)
{
	EXPECT_EQ(-EBUSY, read_one(self->fd));
	ASSERT_NE(0, add_at(self->fd, 0, 1));
	EXPECT_EQ(-EBUSY, read_one(self->fd));
	EXPECT_EQ(-EINVAL, read_events(self->fd, 0));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	EXPECT_EQ(-EBUSY, read_one(self->fd));
	EXPECT_EQ(1, poll_and_take(&self->map, 1));
}

TEST_F(a_ring, stops_the_hrtimer_while_full) /* SECURITY: expiry */
{
	ASSERT_TRUE(add_many(self->fd, 400, 20 * MSEC, 0, 0));
	ASSERT_EQ(POLLIN, poll_for(self->fd, POLLIN, 5000));
	ASSERT_TRUE(add_many(self->fd, 10, 5 * MSEC, 5 * MSEC, 0));
	sleep_for(100 * MSEC);
	EXPECT_GE(2, tw_info(self->fd).fires);
}

/*
 * Other processes and other mappings.
 */

/* The kernel can read the memory, so it is mapped. */
static bool is_mapped(void *address)
{
	int ends[2];

	return !pipe(ends) && write(ends[1], address, 1) == 1;
}

TEST_F(a_ring, is_not_inherited_but_can_be_mapped) /* SECURITY: the ring of events */
{
	struct mapped own;
	pid_t pid;

	ASSERT_TRUE(add_due(self->fd, 3, 0));
	ASSERT_TRUE(readable(self->fd));
	EXPECT_TRUE(is_mapped(self->map.ring));
	pid = fork();
	if (!pid)
		_exit(is_mapped(self->map.ring) || !map_ring(&own, self->fd, 0) ||
		      own.slots != self->map.slots || in_order(take(&own, 4), 0) != 3);
	EXPECT_EQ(0, wait_for(pid));
	/* The child has taken them. */
	EXPECT_FALSE(readable(self->fd));
	EXPECT_EQ(0, take(&self->map, 1));
}

TEST_F(a_ring, is_the_same_memory_in_every_mapping)
{
	struct mapped other;

	ASSERT_TRUE(map_ring(&other, self->fd, 0));
	ASSERT_TRUE(add_due(self->fd, 2, 0));
	ASSERT_TRUE(readable(self->fd));
	EXPECT_EQ(1, in_order(take(&other, 1), 0));
	EXPECT_EQ(0, munmap(other.ring, other.size));
	EXPECT_EQ(0, munmap(self->map.ring, self->map.size));
	/* Nobody maps it now. */
	ASSERT_NE(0, add_at(self->fd, 0, 2));
	ASSERT_TRUE(readable(self->fd));
	ASSERT_TRUE(map_ring(&self->map, self->fd, 0));
	EXPECT_EQ(2, in_order(take(&self->map, 9), 1));
}

TEST_F(a_ring, outlives_the_descriptor_as_long_as_it_is_mapped) /* SECURITY: close */
{
	int same = dup(self->fd);

	ASSERT_TRUE(add_due(self->fd, 1, 9));
	ASSERT_TRUE(readable(self->fd));
	close(same);
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(1, in_order(take(&self->map, 2), 9));
}

/* The page is freed with the pipe, after the wheel is gone. */
TEST_F(a_ring, leaves_a_page_to_a_pipe_that_has_it) /* SECURITY: the ring of events */
{
	struct iovec iov = { self->map.ring, 4096 };
	char buffer[4096];
	int ends[2];

	ASSERT_TRUE(add_due(self->fd, 1, 0x77));
	ASSERT_TRUE(readable(self->fd));
	ASSERT_EQ(0, pipe(ends));
	ASSERT_EQ(4096, vmsplice(ends[1], &iov, 1, 0));
	munmap(self->map.ring, self->map.size);
	close(self->fd);
	/* Freed pages are reused. */
	for (int i = 0; i < 64; i++)
		memset(new_pages(65536), 0xff, 65536);
	ASSERT_EQ(4096, read(ends[0], buffer, sizeof(buffer)));
	EXPECT_EQ(0x77, ((struct twheel_event *)(buffer + sizeof(struct twheel_ring)))->data);
	self->fd = open_wheel(_metadata, O_NONBLOCK);
	ASSERT_TRUE(map_ring(&self->map, self->fd, 100));
}

TEST_F(a_ring, can_be_made_read_only_and_fills_up) /* SECURITY: the ring of events */
{
	ASSERT_EQ(0, mprotect(self->map.ring, self->map.size, PROT_READ));
	ASSERT_TRUE(add_due(self->fd, self->map.slots + 10, 0));
	ASSERT_TRUE(poll_until_full(&self->map));
	EXPECT_EQ(11, tw_info(self->fd).expired);
	ASSERT_EQ(0, mprotect(self->map.ring, self->map.size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(self->map.slots - 1, take(&self->map, ALL));
	EXPECT_EQ(11, poll_and_take(&self->map, ALL));
}
