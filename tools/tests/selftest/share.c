// SPDX-License-Identifier: MIT
/*
 * One open file description, one wheel: the descriptors that share it, and the last close.
 */
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/socket.h>

#include "selftest.h"
#include "machine.h"
#include "pass.h"

WHEEL_FIXTURE(sharing, O_NONBLOCK);

TEST_F(sharing, scm_rights_shares_the_wheel) /* SECURITY: close */
{
	int sock[2];
	__u64 gone;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	ASSERT_NE(0, add_after(self->fd, 100 * MSEC, 1));
	ASSERT_NE(0, gone = add_after(self->fd, HOUR, 2));
	ASSERT_EQ(0, send_fd(sock[0], self->fd));
	/* While the message is in flight, only the message holds the wheel. */
	ASSERT_EQ(0, close(self->fd));
	sleep_for(150 * MSEC);
	ASSERT_LE(0, self->fd = receive_fd(sock[1]));
	EXPECT_EQ(0, tw_cancel(self->fd, gone));
	ASSERT_EQ(1, wait_and_read(self->fd, 1));
	EXPECT_EQ(1, event->data);
	EXPECT_EQ(2, tw_info(self->fd).added);
}

/* The exit status of a child without privileges that does this. */
static int as_nobody(int (*act)(void))
{
	pid_t pid = fork();

	if (!pid)
		_exit(setgid(65534) || setuid(65534) ? 255 : act());
	return wait_for(pid);
}

static int open_and_use(void)
{
	int fd = tw_open(O_NONBLOCK);

	if (fd < 0)
		return 2;
	if (!add_after(fd, HOUR, 1) || !add_at(fd, 0, 2))
		return 3;
	return read_one(fd) == 2 ? 0 : 4;
}

/* It matters that the device was opened, not for which access, except for a read. */
TEST_F(sharing, anybody_can_open_a_wheel_for_any_access) /* SECURITY: rights */
{
	int reader = open(DEVICE, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int writer = open(DEVICE, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	int path = open(DEVICE, O_PATH | O_CLOEXEC);
	char command[32];

	EXPECT_EQ(0, as_nobody(open_and_use));
	ASSERT_NE(0, add_at(reader, 0, 1));
	EXPECT_EQ(1, read_one(reader));
	ASSERT_NE(0, add_at(writer, 0, 1));
	EXPECT_EQ(-EBADF, read_one(writer));
	EXPECT_EQ(1, tw_info(writer).expired);
	/* A descriptor of O_PATH is not a wheel. */
	EXPECT_EQ(-EBADF, try_add(path));
	EXPECT_EQ(-EBADF, read_one(path));
	EXPECT_EQ(~0ULL, fdinfo_field(path, "twheel-tick-ns"));
	EXPECT_EQ(TWHEEL_TICK_DEFAULT_NS, fdinfo_field(self->fd, "twheel-tick-ns"));
	/* SECURITY: exec */
	snprintf(command, sizeof(command), "[ ! -e /proc/self/fd/%d ]", self->fd);
	EXPECT_EQ(0, system(command));
}

#define USER_LIMIT	"/sys/module/twheel/parameters/max_user_bytes"
#define TIMER_LIMIT	"/sys/module/twheel/parameters/max_timers"

/* Sets the limit of a user's memory; returns the old limit, or 0. */
static unsigned long set_user_limit(unsigned long bytes)
{
	unsigned long was = read_number(USER_LIMIT);
	char text[32];

	snprintf(text, sizeof(text), "%lu", bytes);
	return write_line(USER_LIMIT, text) ? was : 0;
}

/* Opens a wheel and adds a timer: 0, or the errno of what failed. */
static int open_and_add(void)
{
	int fd = tw_open(O_NONBLOCK), ret;

	if (fd < 0)
		return -fd;
	before = tw_info(fd);
	ret = try_add(fd);
	return ret && !is_unchanged(fd, &before) ? 254 : -ret;
}

/* Opens a wheel, whose adds that are not valid fail as if there were room. */
static int open_and_add_nonsense(void)
{
	struct twheel_add add = { .flags = ~0U };
	int fd = tw_open(O_NONBLOCK);

	return tw_ioctl(fd, TWHEEL_ADD, &add) != -EINVAL ||
	       tw_batch(fd, TWHEEL_ADD_BATCH, NULL, 1) != -EFAULT;
}

/* A root of its own user namespace only. */
static int open_and_add_as_such_a_root(void)
{
	return unshare(CLONE_NEWUSER) ? 253 : open_and_add();
}

static int set_up_after_enospc(void)
{
	int fd = tw_open(O_NONBLOCK);

	return fd < 0 ? 2 : try_add(fd) != -ENOSPC ? 3 :
	       -tw_setup(fd, 5 * MSEC, 2, CLOCK_BOOTTIME, 0);
}

/* The result of @act by another user with this limit of bytes. */
static int within(unsigned long bytes, int (*act)(void))
{
	unsigned long was = set_user_limit(bytes);
	int ret = as_nobody(act);

	return set_user_limit(was) == bytes ? ret : -1;
}

TEST_F(sharing, a_user_without_room_gets_enospc) /* SECURITY: bytes of a user; rights */
{
	unsigned int empty = tw_info(self->fd).memory, full;
	unsigned long limit;

	ASSERT_EQ(0, try_add(self->fd));
	full = tw_info(self->fd).memory;
	EXPECT_EQ(ENOSPC, within(empty - 1, open_and_add));	/* no wheel */
	EXPECT_EQ(ENOSPC, within(empty, open_and_add));		/* no level */
	EXPECT_EQ(ENOSPC, within(full - 1, open_and_add));	/* no page of timers */
	EXPECT_EQ(0, within(empty, open_and_add_nonsense));
	EXPECT_EQ(0, within(full, open_and_add));
	EXPECT_EQ(0, within(empty, set_up_after_enospc));
	/* Root is exempt, in the initial user namespace. */
	EXPECT_EQ(ENOSPC, within(empty, open_and_add_as_such_a_root));
	EXPECT_EQ(0, within(full, open_and_add_as_such_a_root));
	limit = set_user_limit(1);
	EXPECT_LE(0, tw_open(O_NONBLOCK));
	EXPECT_EQ(1, set_user_limit(limit));
}

/* As kmalloc() rounds it up. */
TEST_F(sharing, memory_is_counted_as_allocated) /* SECURITY: bytes of a user */
{
	__u64 file = tw_info(self->fd).memory, level;
	struct twheel_info low, high;

	ASSERT_EQ(0, tw_setup(self->fd, MSEC, 30, CLOCK_MONOTONIC, 0));
	ASSERT_NE(0, add_after(self->fd, MSEC, 1));
	low = tw_info(self->fd);
	ASSERT_NE(0, add_after(self->fd, HOUR, 1));
	high = tw_info(self->fd);
	level = (high.memory - low.memory) / (high.levels - low.levels);
	EXPECT_LE(256, file);
	EXPECT_EQ(0, file & (file - 1));
	EXPECT_LE(512, level);
	EXPECT_EQ(0, level & (level - 1));
}

TEST_F(sharing, the_module_limits_the_timers_of_a_wheel) /* SECURITY: timers */
{
	char most[32];
	int fd;

	ASSERT_TRUE(read_line(TIMER_LIMIT, most, sizeof(most)) && write_line(TIMER_LIMIT, "5"));
	fd = open_wheel(_metadata, O_NONBLOCK);
	EXPECT_TRUE(write_line(TIMER_LIMIT, most));
	EXPECT_EQ(5, tw_batch(fd, TWHEEL_ADD_BATCH, fill_adds(6, HOUR, 0, 0), 6));
	EXPECT_EQ(-ENOSPC, try_add(fd));
	/* Other parameters are for new wheels only. SECURITY: rights */
	EXPECT_FALSE(write_line("/sys/module/twheel/parameters/tick_ns", "2000"));
	EXPECT_FALSE(write_line("/sys/module/twheel/parameters/wheel_size", "3"));
}

TEST_F(sharing, fdinfo_has_all_that_info_has) /* SECURITY: rights */
{
	const int fd = self->fd;
	struct twheel_info info;
	__u64 from, now;

	ASSERT_EQ(0, tw_setup(fd, 2 * MSEC, 10, CLOCK_BOOTTIME, 1000));
	ASSERT_NE(0, ids[0] = add_after(fd, HOUR, 1));
	ASSERT_NE(0, add_after(fd, 2 * HOUR, 2));
	/* Not due before the test waits for it, even on a busy host, so that the hrtimer fires. */
	ASSERT_NE(0, add_after(fd, 500 * MSEC, 3));
	ASSERT_NE(0, add_at(fd, 0, 4));
	ASSERT_EQ(0, tw_modify(fd, ids[0], 2 * HOUR, 0));
	ASSERT_EQ(0, tw_cancel(fd, ids[0]));
	ASSERT_EQ(4, read_one(fd));
	ASSERT_EQ(1, wait_and_read(fd, 1));
	ASSERT_NE(0, add_at(fd, 0, 5));
	from = now_on(CLOCK_BOOTTIME);
	info = tw_info(fd);
#define SAME(name, value)	EXPECT_EQ(value, fdinfo_field(fd, "twheel-" name))
	SAME("tick-ns", 2 * MSEC);
	SAME("wheel-size", 10);
	SAME("clock-id", CLOCK_BOOTTIME);
	SAME("levels", info.levels);
	SAME("memory", info.memory);
	SAME("max-timers", 1000);
	SAME("pending", 1);
	SAME("expired", 1);
	SAME("added", 5);
	SAME("modified", 1);
	SAME("cancelled", 1);
	SAME("delivered", 2);
	SAME("cascaded", info.cascaded);
	EXPECT_LT(0, info.fires);
	SAME("fires", info.fires);
	SAME("user-id", geteuid());
	SAME("user-limit", read_number(USER_LIMIT));
#undef SAME
	now = fdinfo_field(fd, "twheel-now-ns");
	EXPECT_LE(from, now);
	EXPECT_GE(now_on(CLOCK_BOOTTIME), now);
}

/* Descriptors of one wheel show the same number: monitoring counts each wheel once. */
TEST_F(sharing, fdinfo_has_a_number_for_each_wheel)
{
	unsigned long long id = fdinfo_field(self->fd, "twheel-id");
	int other = open_wheel(_metadata, O_NONBLOCK);

	EXPECT_NE(0, id);
	EXPECT_NE(~0ULL, id);
	EXPECT_EQ(id, fdinfo_field(dup(self->fd), "twheel-id"));
	EXPECT_NE(id, fdinfo_field(other, "twheel-id"));
	close(other);
	EXPECT_LT(id + 1, fdinfo_field(open_wheel(_metadata, O_NONBLOCK), "twheel-id"));
}

/* Each in another quarter of a level. */
TEST_F(sharing, fdinfo_counts_the_timers_and_busy_buckets_of_a_level)
{
	ASSERT_EQ(0, tw_setup(self->fd, SEC, 4096, CLOCK_MONOTONIC, 0));
	EXPECT_EQ(~0ULL, fdinfo_field(self->fd, "twheel-level-0-timers"));
	ASSERT_TRUE(add_many(self->fd, 4, MINUTE, 1000 * SEC, 0));
	ASSERT_NE(0, add_after(self->fd, MINUTE, 4));
	EXPECT_EQ(5, fdinfo_field(self->fd, "twheel-level-0-timers"));
	EXPECT_LE(4, fdinfo_field(self->fd, "twheel-level-0-busy"));
	EXPECT_GE(5, fdinfo_field(self->fd, "twheel-level-0-busy"));
	EXPECT_EQ(~0ULL, fdinfo_field(self->fd, "twheel-level-1-timers"));
}

/* The number is of the real user, in the user namespace of the reader. */
TEST_F(sharing, fdinfo_shows_the_real_user_as_its_reader_knows_it) /* SECURITY: bytes of a user */
{
	int fd;

	setfsuid(1234);
	fd = open_wheel(_metadata, O_NONBLOCK);
	setfsuid(geteuid());
	EXPECT_EQ(getuid(), fdinfo_field(fd, "twheel-user-id"));
	/* Without a mapping, it has the number of unknown users. */
	ASSERT_EQ(0, unshare(CLONE_NEWUSER));
	EXPECT_EQ(65534, fdinfo_field(fd, "twheel-user-id"));
}
