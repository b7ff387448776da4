// SPDX-License-Identifier: MIT
/*
 * The ring of events that a program maps: polls fill it, and the program empties it.
 */
#include "selftest.h"

/* As many as there may be. */
#define ALL	TWHEEL_RING_SLOTS_MAX

/*
 * Making and mapping it.
 */
WHEEL_FIXTURE(making_a_ring, O_NONBLOCK, struct twheel_ring_setup setup;);

/* Not what the last one left in these pages. */
TEST_F(making_a_ring, gives_memory_of_zeros) /* SECURITY: kernel information */
{
	struct mapped map = {};

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

/* twheel-fuzz maps it in wrong ways. */
TEST_F(making_a_ring, has_mappings_of_one_size_and_with_the_access_of_the_file)
{
	const int rw = PROT_READ | PROT_WRITE, fd = self->fd;
	const size_t page = sysconf(_SC_PAGESIZE);
	int reader = open(DEVICE, O_RDONLY | O_CLOEXEC);
	size_t size;
	void *map;

	ASSERT_EQ(0, make_ring(fd, 500, &self->setup));
	size = self->setup.size;
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

/* Beside threads that add due timers, it would not end otherwise. SECURITY: polls */
TEST_F(a_ring, is_filled_in_parts_by_polls)
{
	int fd = open_wheel(_metadata, 0);
	struct mapped map = {};

	ASSERT_TRUE(map_ring(&map, fd, ALL));
	ASSERT_TRUE(add_due(fd, 2000, 0));
	ASSERT_TRUE(readable(fd));
	EXPECT_LE(1000, tw_info(fd).expired);
	EXPECT_EQ(TWHEEL_RING_MORE, map.ring->flags);
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
	self->fd = -1;
}
