// SPDX-License-Identifier: MIT
/*
 * One open file description, one wheel: the descriptors that share it, and the last close.
 */
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "selftest.h"
#include "machine.h"
#include "pass.h"

WHEEL_FIXTURE(sharing, O_NONBLOCK);

TEST_F(sharing, each_open_is_a_wheel_of_its_own) /* SECURITY: wheels */
{
	int other = open_wheel(_metadata, O_NONBLOCK);

	ASSERT_EQ(0, tw_setup(other, 5 * MSEC, 3, CLOCK_BOOTTIME, 5));
	ASSERT_NE(0, add_at(self->fd, 0, 1));
	EXPECT_FALSE(readable(other));
	EXPECT_EQ(-EAGAIN, read_one(other));
	EXPECT_EQ(0, tw_info(other).added);
	EXPECT_EQ(MSEC, tw_info(self->fd).tick_ns);
	ASSERT_EQ(0, close(other));
	EXPECT_EQ(1, read_one(self->fd));
}

TEST_F(sharing, dup_shares_the_wheel)
{
	int copy = dup(self->fd);
	__u64 id;

	ASSERT_EQ(0, tw_setup(copy, 5 * MSEC, 3, CLOCK_MONOTONIC, 0));
	EXPECT_EQ(-EBUSY, tw_setup(self->fd, 5 * MSEC, 3, CLOCK_MONOTONIC, 0));
	ASSERT_NE(0, id = add_after(self->fd, HOUR, 1));
	EXPECT_EQ(0, tw_modify(copy, id, 0, 0));
	EXPECT_TRUE(readable(self->fd));
	EXPECT_TRUE(readable(copy));
	ASSERT_EQ(1, read_one(copy));
	EXPECT_FALSE(readable(self->fd));

	/* Not the last close: nothing is dropped. */
	ASSERT_NE(0, add_after(copy, 50 * MSEC, 2));
	ASSERT_EQ(0, close(copy));
	ASSERT_EQ(1, wait_and_read(self->fd, 1));
	EXPECT_EQ(2, event->data);
}

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

TEST_F(sharing, the_last_close_drops_the_timers) /* SECURITY: close */
{
	__u64 id = add_at(self->fd, 0, 1);

	before = tw_info(open_wheel(_metadata, O_NONBLOCK));
	ASSERT_NE(0, add_after(self->fd, HOUR, 2));
	ASSERT_EQ(0, close(self->fd));
	self->fd = open_wheel(_metadata, O_NONBLOCK);
	EXPECT_TRUE(is_unchanged(self->fd, &before));
	EXPECT_FALSE(readable(self->fd));
	EXPECT_EQ(-ENOENT, tw_cancel(self->fd, id));
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
	/* Root is exempt. */
	limit = set_user_limit(1);
	EXPECT_LE(0, tw_open(O_NONBLOCK));
	EXPECT_EQ(1, set_user_limit(limit));
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
	close(fd);
}

/* A root of its own user namespace only. */
static int open_and_add_as_such_a_root(void)
{
	return unshare(CLONE_NEWUSER) ? 253 : open_and_add();
}

TEST_F(sharing, root_of_a_user_namespace_has_the_limit_of_its_user) /* SECURITY: bytes of a user */
{
	unsigned int empty = tw_info(self->fd).memory;

	EXPECT_EQ(0, within(1 << 20, open_and_add_as_such_a_root));
	EXPECT_EQ(ENOSPC, within(empty, open_and_add_as_such_a_root));
}

static int set_up_after_enospc(void)
{
	int fd = tw_open(O_NONBLOCK);

	return fd < 0 ? 2 : try_add(fd) != -ENOSPC ? 3 :
	       -tw_setup(fd, 5 * MSEC, 2, CLOCK_BOOTTIME, 0);
}

TEST_F(sharing, a_wheel_can_be_set_up_after_an_enospc)
{
	EXPECT_EQ(0, within(tw_info(self->fd).memory, set_up_after_enospc));
}

TEST_F(sharing, parameters_of_all_wheels_can_be_read_and_two_written) /* SECURITY: rights */
{
	static const struct {
		const char *path;
		mode_t mode;
	} parameters[] = {
		{ "/sys/module/twheel/parameters/tick_ns", 0444 },
		{ "/sys/module/twheel/parameters/wheel_size", 0444 },
		{ TIMER_LIMIT, 0644 },
		{ USER_LIMIT, 0644 },
	};
	struct stat st;

	for (unsigned int i = 0; i < ARRAY_SIZE(parameters); i++) {
		ASSERT_EQ(0, stat(parameters[i].path, &st));
		EXPECT_EQ(parameters[i].mode, st.st_mode & 07777)
			TH_LOG("%s", parameters[i].path);
	}
}

static bool is_open_after_exec(int fd)
{
	char command[32];

	snprintf(command, sizeof(command), "[ -e /proc/self/fd/%d ]", fd);
	return !system(command);
}

TEST_F(sharing, exec_keeps_the_wheel_unless_o_cloexec) /* SECURITY: exec */
{
	int kept = open(DEVICE, O_RDWR);

	EXPECT_FALSE(is_open_after_exec(self->fd));
	EXPECT_TRUE(is_open_after_exec(kept));
	ASSERT_EQ(0, fcntl(kept, F_SETFD, FD_CLOEXEC));
	EXPECT_FALSE(is_open_after_exec(kept));
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

/* Check how many timers and busy buckets a level has. */
static void expect_level(struct __test_metadata *_metadata, int fd, int level,
			 unsigned long long timers, unsigned long long busy)
{
	char name[32];

	snprintf(name, sizeof(name), "twheel-level-%d-timers", level);
	EXPECT_EQ(timers, fdinfo_field(fd, name));
	snprintf(name, sizeof(name), "twheel-level-%d-busy", level);
	EXPECT_EQ(busy, fdinfo_field(fd, name));
}

/* A bucket of level 6 spans 1000 seconds. */
TEST_F(sharing, fdinfo_shows_what_is_in_each_level)
{
	__u64 hour = now_ns() + HOUR, last;

	ASSERT_EQ(0, tw_setup(self->fd, MSEC, 10, CLOCK_MONOTONIC, 0));
	expect_level(_metadata, self->fd, 0, ~0ULL, ~0ULL);
	ASSERT_NE(0, add_at(self->fd, hour, 1));
	ASSERT_NE(0, add_at(self->fd, hour, 2));
	ASSERT_NE(0, last = add_at(self->fd, hour + 1000 * SEC, 3));
	for (int level = 0; level < 6; level++)
		expect_level(_metadata, self->fd, level, 0, 0);
	expect_level(_metadata, self->fd, 6, 3, 2);
	expect_level(_metadata, self->fd, 7, ~0ULL, ~0ULL);
	ASSERT_EQ(0, tw_cancel(self->fd, last));
	expect_level(_metadata, self->fd, 6, 2, 1);
}

/* Each in another quarter of a level. */
TEST_F(sharing, fdinfo_counts_all_buckets_of_a_large_level)
{
	ASSERT_EQ(0, tw_setup(self->fd, SEC, 4096, CLOCK_MONOTONIC, 0));
	ASSERT_TRUE(add_many(self->fd, 4, MINUTE, 1000 * SEC, 0));
	expect_level(_metadata, self->fd, 0, 4, 4);
}

/* The values that explain an ENOSPC. */
TEST_F(sharing, fdinfo_shows_the_account_of_the_user) /* SECURITY: bytes of a user */
{
	unsigned long long was = fdinfo_field(self->fd, "twheel-user-memory"), limit;
	int fd = open_wheel(_metadata, O_NONBLOCK);

	EXPECT_LE(tw_info(self->fd).memory, was);
	ASSERT_NE(0, add_after(fd, HOUR, 1));
	EXPECT_EQ(was + tw_info(fd).memory, fdinfo_field(self->fd, "twheel-user-memory"));
	close(fd);
	EXPECT_EQ(was, fdinfo_field(self->fd, "twheel-user-memory"));

	limit = fdinfo_field(self->fd, "twheel-user-limit");
	ASSERT_EQ(limit, set_user_limit(12345678));
	EXPECT_EQ(12345678, fdinfo_field(self->fd, "twheel-user-limit"));
	EXPECT_EQ(12345678, set_user_limit(limit));
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
