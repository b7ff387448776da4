// SPDX-License-Identifier: MIT
/*
 * The ring of events that a program maps: polls fill it, and the program empties it.
 */
#include "selftest.h"
#include "chance.h"

/* Polls until there are events, and takes them; returns how many, or -ETIMEDOUT. */
static int poll_and_take(struct mapped *map, struct twheel_event *events, unsigned int max)
{
	if (poll_for(map->fd, POLLIN, 5000) != POLLIN)
		return -ETIMEDOUT;
	return take(map, events, max);
}

static bool add_due(int fd, unsigned int count, __u64 first)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (!add_at(fd, 0, first + i))
			return false;
	return true;
}

/*
 * Making and mapping it.
 */
FIXTURE_OF_WHEEL(making_a_ring, size_t page; struct twheel_ring_setup setup;);

FIXTURE_SETUP(making_a_ring)
{
	self->fd = open_wheel(_metadata, O_NONBLOCK);
	self->page = sysconf(_SC_PAGESIZE);
}

TEST_F(making_a_ring, gives_whole_pages_with_at_least_as_many_slots)
{
	static const __u32 wanted[] = { 2, 100, 124, 125, 1000, TWHEEL_RING_SLOTS_MAX };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		int fd = open_wheel(_metadata, 0);

		ASSERT_EQ(0, make_ring(fd, wanted[i], &self->setup));
		EXPECT_LE(wanted[i], self->setup.slots);
		EXPECT_EQ(0, self->setup.size % self->page);
		EXPECT_EQ((self->setup.size - sizeof(struct twheel_ring)) /
			  sizeof(struct twheel_event), self->setup.slots);
		EXPECT_GT(self->page, self->setup.size - sizeof(struct twheel_ring) -
			  wanted[i] * sizeof(struct twheel_event));
		close(fd);
	}
}

TEST_F(making_a_ring, twice_describes_the_first_one)
{
	struct twheel_ring_setup again;

	ASSERT_EQ(0, make_ring(self->fd, 500, &self->setup));
	ASSERT_EQ(0, make_ring(self->fd, 2, &again));
	EXPECT_EQ(0, memcmp(&self->setup, &again, sizeof(again)));
	/* Also after the set-up of the wheel, which it may come before. */
	ASSERT_EQ(0, tw_setup(self->fd, 5 * MSEC, 3, CLOCK_BOOTTIME, 0));
	ASSERT_EQ(0, make_ring(self->fd, 0, &again));
	EXPECT_EQ(0, memcmp(&self->setup, &again, sizeof(again)));
	ASSERT_EQ(0, make_ring(self->fd, -1, &again));
	EXPECT_EQ(0, memcmp(&self->setup, &again, sizeof(again)));
}

TEST_F(making_a_ring, is_charged_until_the_last_close) /* SECURITY: the ring of events */
{
	__u64 before = fdinfo_field(self->fd, "twheel-user-memory");
	int fd = open_wheel(_metadata, 0);
	__u64 wheel = tw_info(fd).memory;
	void *map;

	ASSERT_EQ(0, make_ring(fd, 1000, &self->setup));
	EXPECT_LE(wheel + self->setup.size, tw_info(fd).memory);
	EXPECT_GE(wheel + self->setup.size + 64, tw_info(fd).memory);
	EXPECT_EQ(before + tw_info(fd).memory, fdinfo_field(self->fd, "twheel-user-memory"));
	ASSERT_NE(NULL, map = map_fd(fd, self->setup.size, PROT_READ, MAP_SHARED, 0));
	close(fd);
	/* The mapping keeps the wheel. */
	EXPECT_LT(before, fdinfo_field(self->fd, "twheel-user-memory"));
	munmap(map, self->setup.size);
	EXPECT_EQ(before, fdinfo_field(self->fd, "twheel-user-memory"));
}

TEST_F(making_a_ring, needs_no_write_access)
{
	int fd = open(DEVICE, O_RDONLY | O_CLOEXEC);
	void *map;

	ASSERT_EQ(0, make_ring(fd, 500, &self->setup));
	ASSERT_NE(NULL, map = map_fd(fd, self->setup.size, PROT_READ, MAP_SHARED, 0));
	munmap(map, self->setup.size);
	EXPECT_EQ(NULL, map_fd(fd, self->setup.size, PROT_READ | PROT_WRITE, MAP_SHARED, 0));
	EXPECT_EQ(EACCES, errno);
	close(fd);
}

TEST_F(making_a_ring, lets_all_of_it_be_mapped_and_nothing_else) /* SECURITY: the ring of events */
{
	const int rw = PROT_READ | PROT_WRITE;
	size_t size;
	void *map;
	int i;

	ASSERT_EQ(0, make_ring(self->fd, 500, &self->setup));
	size = self->setup.size;
	EXPECT_EQ(NULL, map_fd(self->fd, size, rw, MAP_PRIVATE, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, map_fd(self->fd, size, rw, MAP_SHARED, self->page));
	EXPECT_EQ(EINVAL, errno);
	for (i = -1; i <= 1; i += 2) {
		EXPECT_EQ(NULL, map_fd(self->fd, size + i * self->page, rw, MAP_SHARED, 0));
		EXPECT_EQ(EINVAL, errno);
	}
	ASSERT_NE(NULL, map = map_fd(self->fd, size, rw, MAP_SHARED, 0));
	/* The mapping cannot grow, neither in place nor elsewhere. */
	EXPECT_EQ(MAP_FAILED, mremap(map, size, size + self->page, 0));
	EXPECT_EQ(MAP_FAILED, mremap(map, size, size + self->page, MREMAP_MAYMOVE));
	EXPECT_EQ(0, munmap(map, size));
}

/*
 * The contents of the ring.
 */
FIXTURE(a_ring)
{
	int fd;
	struct mapped map;
	struct twheel_event event[TWHEEL_RING_SLOTS_MAX];
};

FIXTURE_SETUP(a_ring)
{
	self->fd = open_wheel(_metadata, O_NONBLOCK);
	ASSERT_TRUE(map_ring(&self->map, self->fd, 100));
}

FIXTURE_TEARDOWN(a_ring)
{
	munmap(self->map.ring, self->map.size);
	close(self->fd);
}

TEST_F(a_ring, gets_what_has_expired_when_the_wheel_is_polled)
{
	__u64 deadline = now_ns() + 20 * MSEC;
	__u64 id = add_at(self->fd, deadline, 7);

	ASSERT_NE(0, id);
	EXPECT_FALSE(readable(self->fd));
	sleep_until(deadline + 2 * MSEC);
	EXPECT_EQ(0, take(&self->map, self->event, 1));
	EXPECT_TRUE(readable(self->fd));
	/* The wheel stays readable until the event is taken. */
	EXPECT_TRUE(readable(self->fd));
	ASSERT_EQ(1, take(&self->map, self->event, 2));
	EXPECT_EQ(id, self->event->id);
	EXPECT_EQ(7, self->event->data);
	EXPECT_EQ(deadline, self->event->deadline_ns);
	EXPECT_EQ(1, self->event->count);
	EXPECT_FALSE(readable(self->fd));
	EXPECT_EQ(1, tw_info(self->fd).delivered);
}

TEST_F(a_ring, that_was_filled_wakes_nobody_for_a_later_timer)
{
	struct waiter waiter;

	ASSERT_NE(0, add_at(self->fd, 0, 1));
	ASSERT_EQ(1, poll_and_take(&self->map, self->event, 2));
	ASSERT_NE(0, add_after(self->fd, HOUR, 2));
	ASSERT_TRUE(start_waiter(&waiter, self->fd, in_poll));
	ASSERT_NE(0, add_after(self->fd, HOUR / 2, 3));
	sleep_for(A_WHILE);
	EXPECT_TRUE(is_undisturbed(&waiter));
	ASSERT_NE(0, add_at(self->fd, 0, 4));
	EXPECT_EQ(1, result_of(&waiter));
}

/* Several times around the ring, in steps that do not divide its size. */
TEST_F(a_ring, goes_around)
{
	unsigned int i, k, n;

	for (i = 0; i < 300; i += n) {
		n = 1 + i % 37;
		ASSERT_TRUE(add_due(self->fd, n, i));
		ASSERT_TRUE(readable(self->fd));
		ASSERT_EQ(n, take(&self->map, self->event, 100));
		for (k = 0; k < n; k++)
			ASSERT_EQ(i + k, self->event[k].data);
	}
	EXPECT_FALSE(readable(self->fd));
}

TEST_F(a_ring, that_is_full_leaves_the_rest_in_the_wheel)
{
	const unsigned int room = self->map.slots - 1, all = 3 * room + 5;
	unsigned int i, n, done = 0;

	ASSERT_TRUE(add_due(self->fd, all, 0));
	ASSERT_TRUE(readable(self->fd));
	EXPECT_EQ(TWHEEL_RING_MORE, self->map.ring->flags);
	EXPECT_EQ(all - room, tw_info(self->fd).expired);
	/* Another poll finds no room, and overwrites nothing. */
	ASSERT_TRUE(readable(self->fd));
	while (done < all) {
		ASSERT_TRUE(readable(self->fd));
		EXPECT_EQ(all - done > room ? TWHEEL_RING_MORE : 0, self->map.ring->flags);
		n = take(&self->map, self->event, TWHEEL_RING_SLOTS_MAX);
		ASSERT_EQ(all - done > room ? room : all - done, n);
		for (i = 0; i < n; i++)
			ASSERT_EQ(done + i, self->event[i].data);
		done += n;
	}
	EXPECT_FALSE(readable(self->fd));
	EXPECT_TRUE(balanced(self->fd));
}

/* Beside threads that add due timers, it would not end otherwise. */
TEST_F(a_ring, is_filled_a_part_by_each_poll)
{
	int fd = open_wheel(_metadata, 0);
	struct mapped map;
	__u64 expired;

	ASSERT_TRUE(map_ring(&map, fd, TWHEEL_RING_SLOTS_MAX));
	ASSERT_TRUE(add_due(fd, 2000, 0));
	ASSERT_TRUE(readable(fd));
	expired = tw_info(fd).expired;
	EXPECT_LE(1000, expired);
	EXPECT_GT(2000, expired);
	EXPECT_EQ(TWHEEL_RING_MORE, map.ring->flags);
	munmap(map.ring, map.size);
	close(fd);
}

/* Each in its own tick, so that one poll cannot sort them all. */
TEST_F(a_ring, says_so_as_long_as_a_poll_can_move_more)
{
	const unsigned int all = 5000;
	__u64 base = now_ns();
	unsigned int i, n, done = 0;
	int fd = open_wheel(_metadata, 0);
	struct mapped map;

	ASSERT_EQ(0, tw_setup(fd, TWHEEL_TICK_MIN_NS, 256, CLOCK_MONOTONIC, 0));
	ASSERT_TRUE(map_ring(&map, fd, 1000));
	for (i = 0; i < all; i++)
		ASSERT_NE(0, add_at(fd, base + i * TWHEEL_TICK_MIN_NS, i));
	sleep_until(base + all * TWHEEL_TICK_MIN_NS + MSEC);
	do {
		readable(fd);
		n = take(&map, self->event, TWHEEL_RING_SLOTS_MAX);
		for (i = 0; i < n; i++)
			ASSERT_EQ(done + i, self->event[i].data);
		done += n;
	} while (map.ring->flags & TWHEEL_RING_MORE);
	EXPECT_EQ(all, done);
	munmap(map.ring, map.size);
	close(fd);
}

TEST_F(a_ring, holds_events_that_are_delivered)
{
	__u64 id = add_at(self->fd, 0, 1);
	struct twheel_query query;

	ASSERT_TRUE(readable(self->fd));
	EXPECT_EQ(-ENOENT, tw_cancel(self->fd, id));
	EXPECT_EQ(-ENOENT, tw_modify(self->fd, id, HOUR, 0));
	EXPECT_EQ(-ENOENT, tw_query(self->fd, id, &query));
	EXPECT_EQ(1, take(&self->map, self->event, 2));
	EXPECT_EQ(id, self->event->id);
}

TEST_F(a_ring, gets_each_period_or_a_count_of_them)
{
	__u64 base = now_ns() + 20 * MSEC;
	__u64 id = tw_add(self->fd, base, TWHEEL_ABSTIME, 10 * MSEC, 5);

	ASSERT_NE(0, id);
	sleep_until(base + 35 * MSEC);
	ASSERT_TRUE(readable(self->fd));
	ASSERT_EQ(1, take(&self->map, self->event, 2));
	EXPECT_EQ(base, self->event->deadline_ns);
	EXPECT_LE(4, self->event->count);
	/* It was rearmed when its event moved to the ring. */
	base += self->event->count * 10 * MSEC;
	ASSERT_EQ(1, poll_and_take(&self->map, self->event, 2));
	EXPECT_EQ(base, self->event->deadline_ns);
	EXPECT_EQ(0, tw_cancel(self->fd, id));
}

TEST_F(a_ring, keeps_a_wheel_from_being_read)
{
	EXPECT_EQ(-EBUSY, tw_read(self->fd, self->event, 1));
	ASSERT_NE(0, add_at(self->fd, 0, 1));
	EXPECT_EQ(-EBUSY, tw_read(self->fd, self->event, 1));
	EXPECT_EQ(-EINVAL, tw_read(self->fd, self->event, 0));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	EXPECT_EQ(-EBUSY, tw_read(self->fd, self->event, 1));
	EXPECT_EQ(1, poll_and_take(&self->map, self->event, 1));
}

TEST_F(a_ring, that_nobody_empties_lets_the_hrtimer_rest) /* SECURITY: expiry */
{
	unsigned int i;

	for (i = 0; i < 400; i++)
		ASSERT_NE(0, add_after(self->fd, 20 * MSEC, i));
	ASSERT_EQ(POLLIN, poll_for(self->fd, POLLIN, 5000));
	for (i = 0; i < 10; i++)
		ASSERT_NE(0, add_after(self->fd, (i + 1) * 5 * MSEC, i));
	sleep_for(100 * MSEC);
	EXPECT_GE(2, tw_info(self->fd).fires);
}

/* An edge-triggered loop that empties the ring each time. */
TEST_F(a_ring, brings_an_edge_for_each_tick)
{
	int epoll = watch(self->fd, EPOLLIN | EPOLLET);
	__u64 base = now_ns() + A_WHILE;
	unsigned int i, n = 0, waits = 0;

	ASSERT_LE(0, epoll);
	for (i = 0; i < 100; i++)
		ASSERT_NE(0, add_at(self->fd, base + i * 3 * MSEC, i));
	while (n < 100) {
		ASSERT_EQ(EPOLLIN, epoll_for(epoll, 5000))
			TH_LOG("%u of 100 after %u waits", n, waits);
		n += take(&self->map, self->event + n, 100 - n);
		waits++;
	}
	for (i = 0; i < 100; i++)
		EXPECT_EQ(i, self->event[i].data);
	EXPECT_GE(200, waits);
	EXPECT_GE(101, tw_info(self->fd).fires);
}

/* The flag shows that: a program that polls again loses nothing. */
TEST_F(a_ring, that_was_full_is_polled_again_in_an_edge_triggered_loop)
{
	int epoll = watch(self->fd, EPOLLIN | EPOLLET);
	unsigned int n = 0;

	ASSERT_TRUE(add_due(self->fd, 1000, 0));
	ASSERT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	do {
		n += take(&self->map, self->event, TWHEEL_RING_SLOTS_MAX);
	} while (self->map.ring->flags & TWHEEL_RING_MORE && readable(self->fd));
	EXPECT_EQ(1000, n);
	EXPECT_EQ(0, epoll_for(epoll, 20));
	ASSERT_NE(0, add_after(self->fd, 20 * MSEC, 1));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
}

/* The first ones were taken; another thread's poll moves the rest before the program looks. */
TEST_F(a_ring, brings_an_edge_for_what_another_poll_moves)
{
	const unsigned int room = self->map.slots - 1;
	int epoll = watch(self->fd, EPOLLIN | EPOLLET);

	ASSERT_TRUE(add_due(self->fd, room + 5, 0));
	ASSERT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	ASSERT_EQ(room, take(&self->map, self->event, TWHEEL_RING_SLOTS_MAX));
	ASSERT_TRUE(readable(self->fd));
	EXPECT_EQ(0, self->map.ring->flags);
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	EXPECT_EQ(5, take(&self->map, self->event, TWHEEL_RING_SLOTS_MAX));
}

/*
 * Other processes and other mappings.
 */

/* The kernel can read the memory, so it is mapped. */
static bool is_mapped(void *address)
{
	int ends[2];
	bool ok;

	if (pipe(ends))
		return false;
	ok = write(ends[1], address, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return ok;
}

static int take_in_child(struct mapped *inherited)
{
	struct twheel_event event[4];
	struct mapped own;

	if (is_mapped(inherited->ring))
		return 1;
	if (!map_ring(&own, inherited->fd, 0) || own.slots != inherited->slots)
		return 2;
	return take(&own, event, 4) == 3 && event[2].data == 2 ? 0 : 3;
}

TEST_F(a_ring, is_not_inherited_but_can_be_mapped) /* SECURITY: the ring of events */
{
	int status;
	pid_t pid;

	ASSERT_TRUE(add_due(self->fd, 3, 0));
	ASSERT_TRUE(readable(self->fd));
	EXPECT_TRUE(is_mapped(self->map.ring));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(take_in_child(&self->map));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
	/* The child has taken them. */
	EXPECT_FALSE(readable(self->fd));
	EXPECT_EQ(0, take(&self->map, self->event, 1));
}

TEST_F(a_ring, is_the_same_memory_in_every_mapping)
{
	struct mapped other;

	ASSERT_TRUE(map_ring(&other, self->fd, 0));
	ASSERT_TRUE(add_due(self->fd, 2, 0));
	ASSERT_TRUE(readable(self->fd));
	EXPECT_EQ(1, take(&other, self->event, 1));
	EXPECT_EQ(0, self->event->data);
	EXPECT_EQ(0, munmap(other.ring, other.size));
	EXPECT_EQ(0, munmap(self->map.ring, self->map.size));
	/* Nobody maps it now. */
	ASSERT_NE(0, add_at(self->fd, 0, 2));
	ASSERT_TRUE(readable(self->fd));
	ASSERT_TRUE(map_ring(&self->map, self->fd, 0));
	ASSERT_EQ(2, take(&self->map, self->event, 9));
	EXPECT_EQ(1, self->event[0].data);
	EXPECT_EQ(2, self->event[1].data);
}

TEST_F(a_ring, outlives_the_descriptor_as_long_as_it_is_mapped) /* SECURITY: close */
{
	int same = dup(self->fd);

	ASSERT_TRUE(add_due(self->fd, 1, 9));
	ASSERT_TRUE(readable(self->fd));
	close(same);
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(1, take(&self->map, self->event, 2));
	EXPECT_EQ(9, self->event->data);
}

/* The page is freed with the pipe, after the wheel is gone. */
TEST_F(a_ring, leaves_a_page_to_a_pipe_that_has_it) /* SECURITY: the ring of events */
{
	struct iovec iov = { self->map.ring, 4096 };
	char buffer[4096];
	int ends[2], i;

	ASSERT_TRUE(add_due(self->fd, 1, 0x77));
	ASSERT_TRUE(readable(self->fd));
	ASSERT_EQ(0, pipe(ends));
	ASSERT_EQ(4096, vmsplice(ends[1], &iov, 1, 0));
	munmap(self->map.ring, self->map.size);
	close(self->fd);
	/* Freed pages are reused. */
	for (i = 0; i < 64; i++)
		memset(map_fd(-1, 65536, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, 0), 0xff, 65536);
	ASSERT_EQ(4096, read(ends[0], buffer, sizeof(buffer)));
	EXPECT_EQ(0x77, ((struct twheel_event *)(buffer + sizeof(struct twheel_ring)))->data);
	self->fd = open_wheel(_metadata, O_NONBLOCK);
	ASSERT_TRUE(map_ring(&self->map, self->fd, 100));
}

/*
 * Programs that write rubbish may lose their own events, but nothing else.
 */
TEST_F(a_ring, takes_no_more_when_its_head_makes_no_sense) /* SECURITY: the ring of events */
{
	static const __u32 heads[] = { 0x80000000, 0xffffffff, 0 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(heads); i++) {
		self->map.ring->head = heads[i] ?: self->map.slots;
		ASSERT_NE(0, add_at(self->fd, 0, i));
		EXPECT_TRUE(readable(self->fd));
		EXPECT_EQ(i + 1, tw_info(self->fd).expired);
	}
	/* When the head is valid again, the rest works again. */
	self->map.ring->head = 0;
	ASSERT_TRUE(readable(self->fd));
	ASSERT_EQ(3, take(&self->map, self->event, 9));
	EXPECT_EQ(2, self->event[2].data);
}

TEST_F(a_ring, can_be_made_read_only_and_fills_up) /* SECURITY: the ring of events */
{
	ASSERT_EQ(0, mprotect(self->map.ring, self->map.size, PROT_READ));
	ASSERT_TRUE(add_due(self->fd, self->map.slots + 10, 0));
	ASSERT_TRUE(readable(self->fd));
	EXPECT_EQ(11, tw_info(self->fd).expired);
	ASSERT_EQ(0, mprotect(self->map.ring, self->map.size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(self->map.slots - 1, take(&self->map, self->event, TWHEEL_RING_SLOTS_MAX));
	EXPECT_EQ(11, poll_and_take(&self->map, self->event, TWHEEL_RING_SLOTS_MAX));
}

static void *write_rubbish(void *arg)
{
	struct chance chance = { .state = 12345 };
	struct mapped *map = arg;
	__u64 until = now_ns() + SEC / 4;

	while (now_ns() < until) {
		__u32 *word = (__u32 *)map->ring;
		unsigned int which = chance_below(&chance, 4);

		if (which < 2)
			map->ring->head = chance_below(&chance, which ? map->slots : 1ULL << 32);
		else
			word[chance_below(&chance, map->size / 4)] =
				chance_below(&chance, 1ULL << 32);
	}
	return NULL;
}

TEST_F(a_ring, full_of_rubbish_harms_nobody_else) /* SECURITY: the ring of events */
{
	int other = open_wheel(_metadata, O_NONBLOCK);
	__u64 until = now_ns() + SEC / 4;
	unsigned int added = 0;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, write_rubbish, &self->map));
	while (now_ns() < until) {
		ASSERT_TRUE(add_due(self->fd, 10, 0));
		ASSERT_NE(0, add_after(self->fd, 3 * MSEC, 1));
		ASSERT_NE(0, add_after(other, HOUR, 1));
		added += 11;
		readable(self->fd);
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(added, tw_info(self->fd).added);
	EXPECT_TRUE(balanced(self->fd));
	EXPECT_TRUE(balanced(other));
	EXPECT_FALSE(readable(other));
	/* A program that restarts at the kernel's position gets all remaining events. */
	sleep_for(5 * MSEC);
	ASSERT_NE(0, add_at(self->fd, 0, 1));
	self->map.ring->head = 0;
	do {
		readable(self->fd);
		self->map.ring->head = self->map.ring->tail;
	} while (tw_info(self->fd).expired);
	ASSERT_NE(0, add_at(self->fd, 0, 4711));
	ASSERT_EQ(1, poll_and_take(&self->map, self->event, 9));
	EXPECT_EQ(4711, self->event->data);
	close(other);
}
