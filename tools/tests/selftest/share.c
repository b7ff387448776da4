// SPDX-License-Identifier: MIT
/*
 * One open file description, one wheel: the descriptors that share it, and the last close.
 */
#include <sys/prctl.h>
#include <sys/socket.h>

#include "selftest.h"
#include "pass.h"

WHEEL_FIXTURE(sharing, O_NONBLOCK);

TEST_F(sharing, each_open_is_a_wheel_of_its_own) /* SECURITY: wheels */
{
	int other = tw_open(O_NONBLOCK);
	struct twheel_event event;
	__u64 id;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, tw_setup(other, 5 * MSEC, 3, CLOCK_BOOTTIME, 5));
	ASSERT_NE(0, id = add_at(self->fd, 0, 1));
	EXPECT_FALSE(readable(other));
	EXPECT_EQ(-EAGAIN, tw_read(other, &event, 1));
	EXPECT_EQ(0, tw_info(other).added);
	EXPECT_EQ(MSEC, tw_info(self->fd).tick_ns);
	ASSERT_EQ(0, close(other));
	EXPECT_EQ(1, tw_read(self->fd, &event, 1));
	EXPECT_EQ(id, event.id);
}

TEST_F(sharing, dup_shares_the_wheel)
{
	int copy = dup(self->fd);
	struct twheel_event event;
	__u64 id;

	ASSERT_LE(0, copy);
	ASSERT_EQ(0, tw_setup(copy, 5 * MSEC, 3, CLOCK_MONOTONIC, 0));
	EXPECT_EQ(-EBUSY, tw_setup(self->fd, 5 * MSEC, 3, CLOCK_MONOTONIC, 0));
	ASSERT_NE(0, id = add_after(self->fd, HOUR, 1));
	EXPECT_EQ(0, tw_modify(copy, id, 0, 0));
	EXPECT_TRUE(readable(self->fd));
	EXPECT_TRUE(readable(copy));
	ASSERT_EQ(1, tw_read(copy, &event, 1));
	EXPECT_EQ(id, event.id);
	EXPECT_FALSE(readable(self->fd));

	/* Not the last close: nothing is dropped. */
	ASSERT_NE(0, id = add_after(copy, 50 * MSEC, 2));
	ASSERT_EQ(0, close(copy));
	ASSERT_EQ(1, wait_and_read(self->fd, &event, 1));
	EXPECT_EQ(id, event.id);
}

/* Set-up in two threads at once: one gets it, the other EBUSY. */
struct setup_race {
	int fd, ret;
	pthread_barrier_t *start;
};

static void *set_up(void *arg)
{
	struct setup_race *race = arg;

	pthread_barrier_wait(race->start);
	race->ret = tw_setup(race->fd, 3 * MSEC, 10, CLOCK_MONOTONIC, 0);
	return NULL;
}

TEST_F(sharing, two_setups_at_once) /* SECURITY: concurrent calls */
{
	struct setup_race race[2];
	pthread_barrier_t start;
	pthread_t thread[2];
	int round, i;

	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, 2));
	for (round = 0; round < 50; round++) {
		int fd = tw_open(O_NONBLOCK);

		ASSERT_LE(0, fd);
		for (i = 0; i < 2; i++) {
			race[i] = (struct setup_race) { .fd = fd, .start = &start };
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, set_up, &race[i]));
		}
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(-EBUSY, race[0].ret + race[1].ret);
		EXPECT_TRUE(!race[0].ret || !race[1].ret);
		close(fd);
	}
}

/* A child's calls on the wheel; it exits with 0 if all succeeded. */
static int use_inherited(int fd, __u64 id)
{
	if (tw_cancel(fd, id))
		return 1;
	if (!add_after(fd, 50 * MSEC, 77))
		return 2;
	return tw_info(fd).added == 2 ? 0 : 3;
}

static int wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(sharing, fork_shares_the_wheel)
{
	__u64 id = add_after(self->fd, HOUR, 1);
	struct twheel_event event;
	pid_t pid;

	ASSERT_NE(0, id);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(use_inherited(self->fd, id));
	EXPECT_EQ(0, wait_for(pid));
	EXPECT_EQ(-ENOENT, tw_cancel(self->fd, id));
	ASSERT_EQ(1, wait_and_read(self->fd, &event, 1));
	EXPECT_EQ(77, event.data);
}

TEST_F(sharing, scm_rights_shares_the_wheel) /* SECURITY: close */
{
	struct twheel_event event;
	int sock[2], received;
	__u64 id, gone;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	ASSERT_NE(0, id = add_after(self->fd, 100 * MSEC, 1));
	ASSERT_NE(0, gone = add_after(self->fd, HOUR, 2));
	ASSERT_EQ(0, send_fd(sock[0], self->fd));
	/* While the message is in flight, only the message holds the wheel. */
	ASSERT_EQ(0, close(self->fd));
	sleep_for(150 * MSEC);
	received = receive_fd(sock[1]);
	self->fd = received;
	ASSERT_LE(0, received);
	EXPECT_EQ(0, tw_cancel(received, gone));
	ASSERT_EQ(1, wait_and_read(received, &event, 1));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(2, tw_info(received).added);
}

TEST_F(sharing, the_last_close_drops_the_timers) /* SECURITY: close */
{
	__u64 id = add_at(self->fd, 0, 1);
	struct twheel_info info;
	int other;

	ASSERT_NE(0, id);
	ASSERT_NE(0, add_after(self->fd, HOUR, 2));
	ASSERT_EQ(0, close(self->fd));
	other = tw_open(O_NONBLOCK);
	self->fd = other;
	ASSERT_LE(0, other);
	info = tw_info(other);
	EXPECT_EQ(0, info.added + info.pending + info.expired);
	EXPECT_FALSE(readable(other));
	EXPECT_EQ(-ENOENT, tw_cancel(other, id));
}

/* Timers that fall due just before, while and just after their wheel is closed. */
TEST_F(sharing, close_with_timers_about_to_expire) /* SECURITY: close */
{
	unsigned int round, i;

	for (round = 0; round < 40; round++) {
		int fd = tw_open(O_NONBLOCK);

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, tw_setup(fd, 10 * USEC, 2 + round, CLOCK_MONOTONIC, 0));
		for (i = 0; i < 100; i++)
			ASSERT_NE(0, tw_add(fd, i * 50 * USEC, 0, i % 2 ? MSEC : 0, i));
		if (round % 2)
			sleep_for(round * 100 * USEC);
		ASSERT_EQ(0, close(fd));
	}
	sleep_for(50 * MSEC);
	EXPECT_EQ(0, tw_info(self->fd).added);
}

/* A child without privileges opens a wheel and uses it. */
static int use_as_nobody(void)
{
	struct twheel_event event;
	int fd;

	if (setgid(65534) || setuid(65534))
		return 1;
	fd = tw_open(O_NONBLOCK);
	if (fd < 0)
		return 2;
	if (!add_after(fd, HOUR, 1) || !add_at(fd, 0, 2))
		return 3;
	return tw_read(fd, &event, 1) == 1 && event.data == 2 ? 0 : 4;
}

TEST_F(sharing, an_unprivileged_user_can_open_a_wheel) /* SECURITY: rights */
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(use_as_nobody());
	EXPECT_EQ(0, wait_for(pid));
}

/* It matters that the device was opened, not for which access. */
TEST_F(sharing, only_read_depends_on_what_the_device_was_opened_for) /* SECURITY: rights */
{
	int reader = open(DEVICE, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int writer = open(DEVICE, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	struct twheel_event event;

	ASSERT_LE(0, reader);
	ASSERT_LE(0, writer);
	ASSERT_NE(0, add_at(reader, 0, 1));
	EXPECT_EQ(1, tw_read(reader, &event, 1));
	ASSERT_NE(0, add_at(writer, 0, 1));
	EXPECT_EQ(-EBADF, tw_read(writer, &event, 1));
	EXPECT_EQ(1, tw_info(writer).expired);
	close(reader);
	close(writer);
}

TEST_F(sharing, a_descriptor_of_o_path_is_no_wheel) /* SECURITY: rights */
{
	int path = open(DEVICE, O_PATH | O_CLOEXEC);
	struct twheel_event event;

	ASSERT_LE(0, path);
	EXPECT_EQ(-EBADF, try_add(path));
	EXPECT_EQ(-EBADF, tw_read(path, &event, 1));
	EXPECT_EQ(~0ULL, fdinfo_field(path, "twheel-tick-ns"));
	EXPECT_EQ(TWHEEL_TICK_DEFAULT_NS, fdinfo_field(self->fd, "twheel-tick-ns"));
	close(path);
}

#define USER_LIMIT	"/sys/module/twheel/parameters/max_user_bytes"

/* Sets the limit of a user's memory; returns the old limit, or 0. */
static unsigned long set_user_limit(unsigned long bytes)
{
	FILE *file = fopen(USER_LIMIT, "r+");
	unsigned long was = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%lu", &was) != 1)
		was = 0;
	rewind(file);
	if (fprintf(file, "%lu\n", bytes) < 0)
		was = 0;
	return fclose(file) ? 0 : was;
}

/* Opens a wheel and adds a timer: 0, or the errno of what failed. */
static int open_and_add(void)
{
	struct twheel_info before;
	int fd, ret;

	fd = tw_open(O_NONBLOCK);
	if (fd < 0)
		return -fd;
	before = tw_info(fd);
	ret = try_add(fd);
	return ret && *changes(fd, &before) ? 254 : -ret;
}

/* Opens a wheel and adds a timer that is not valid: the errno. */
static int open_and_add_nonsense(void)
{
	struct twheel_add add = { .flags = ~0U };
	int fd = tw_open(O_NONBLOCK);

	return -tw_ioctl(fd, TWHEEL_ADD, &add);
}

static int open_and_add_nothing(void)
{
	int fd = tw_open(O_NONBLOCK);

	return -tw_batch(fd, TWHEEL_ADD_BATCH, NULL, 1);
}

/* The result of @act by another user with this limit of bytes. */
static int within(unsigned long bytes, int (*act)(void))
{
	unsigned long was = set_user_limit(bytes);
	pid_t pid = fork();
	int ret;

	if (!pid)
		_exit(setgid(65534) || setuid(65534) ? 255 : act());
	ret = wait_for(pid);
	return set_user_limit(was) == bytes ? ret : -1;
}

TEST_F(sharing, a_user_without_room_gets_enospc)
{
	unsigned int empty = tw_info(self->fd).memory, full;

	ASSERT_EQ(0, try_add(self->fd));
	full = tw_info(self->fd).memory;
	EXPECT_EQ(ENOSPC, within(empty - 1, open_and_add));	/* no wheel */
	EXPECT_EQ(ENOSPC, within(empty, open_and_add));		/* no level */
	EXPECT_EQ(ENOSPC, within(full - 1, open_and_add));	/* no page of timers */
	EXPECT_EQ(EINVAL, within(empty, open_and_add_nonsense));
	EXPECT_EQ(EFAULT, within(empty, open_and_add_nothing));
	EXPECT_EQ(0, within(full, open_and_add));
	/* Root is exempt. */
	EXPECT_EQ(0, try_add(self->fd));
}

/* Repeatedly tries to get a level for which there is no room. */
static int ask_for_too_much(void)
{
	int fd = tw_open(O_NONBLOCK);

	if (fd < 0 || tw_setup(fd, MSEC, TWHEEL_SIZE_MAX, CLOCK_MONOTONIC, 0))
		return 1;
	while (try_add(fd) == -ENOSPC)
		;
	return 1;
}

/* Opens wheels during that, for which there is room: 0, or the errno of a failure. */
static int open_beside_that(void)
{
	pid_t pid = fork();
	int i, fd = 0;

	if (pid < 0)
		return 253;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(ask_for_too_much());
	}
	for (i = 0; i < 5000 && fd >= 0; i++) {
		fd = tw_open(O_NONBLOCK);
		if (fd >= 0)
			close(fd);
	}
	if (kill(pid, SIGKILL) || wait_for(pid) != -1)
		return 254;
	return fd < 0 ? -fd : 0;
}

TEST_F(sharing, what_a_wheel_is_refused_is_not_missing_to_others) /* SECURITY: bytes of a user */
{
	EXPECT_EQ(0, within(64 * 1024, open_beside_that));
}

/* Runs this program to see whether @fd is open after exec: 0 open, 1 not. */
static int open_after_exec(int fd)
{
	pid_t pid = fork();
	char number[16];

	if (pid)
		return pid < 0 ? -1 : wait_for(pid);
	snprintf(number, sizeof(number), "%d", fd);
	execl("/proc/self/exe", "twheel-selftest", "--is-open", number, NULL);
	_exit(99);
}

TEST_F(sharing, exec_keeps_the_wheel_unless_o_cloexec) /* SECURITY: exec */
{
	int kept = open(DEVICE, O_RDWR);

	ASSERT_LE(0, kept);
	EXPECT_EQ(1, open_after_exec(self->fd));
	EXPECT_EQ(0, open_after_exec(kept));
	ASSERT_EQ(0, fcntl(kept, F_SETFD, FD_CLOEXEC));
	EXPECT_EQ(1, open_after_exec(kept));
	close(kept);
}

TEST_F(sharing, fdinfo_has_all_that_info_has) /* SECURITY: rights */
{
	struct twheel_event event;
	struct twheel_info info;
	__u64 id, before, then;

	ASSERT_EQ(0, tw_setup(self->fd, 2 * MSEC, 10, CLOCK_BOOTTIME, 1000));
	ASSERT_NE(0, id = add_after(self->fd, HOUR, 1));
	ASSERT_NE(0, add_after(self->fd, 2 * HOUR, 2));
	/* Not due before the test waits for it, even on a busy host, so that the hrtimer fires. */
	ASSERT_NE(0, add_after(self->fd, 500 * MSEC, 3));
	ASSERT_NE(0, add_at(self->fd, 0, 4));
	ASSERT_EQ(0, tw_modify(self->fd, id, 2 * HOUR, 0));
	ASSERT_EQ(0, tw_cancel(self->fd, id));
	ASSERT_EQ(1, tw_read(self->fd, &event, 1));
	ASSERT_EQ(1, wait_and_read(self->fd, &event, 1));
	ASSERT_NE(0, add_at(self->fd, 0, 5));
	before = now_on(CLOCK_BOOTTIME);
	info = tw_info(self->fd);
	EXPECT_EQ(2 * MSEC, fdinfo_field(self->fd, "twheel-tick-ns"));
	EXPECT_EQ(10, fdinfo_field(self->fd, "twheel-wheel-size"));
	EXPECT_EQ(CLOCK_BOOTTIME, fdinfo_field(self->fd, "twheel-clock-id"));
	EXPECT_EQ(info.levels, fdinfo_field(self->fd, "twheel-levels"));
	EXPECT_EQ(info.memory, fdinfo_field(self->fd, "twheel-memory"));
	EXPECT_EQ(1000, fdinfo_field(self->fd, "twheel-max-timers"));
	EXPECT_EQ(1, fdinfo_field(self->fd, "twheel-pending"));
	EXPECT_EQ(1, fdinfo_field(self->fd, "twheel-expired"));
	EXPECT_EQ(5, fdinfo_field(self->fd, "twheel-added"));
	EXPECT_EQ(1, fdinfo_field(self->fd, "twheel-modified"));
	EXPECT_EQ(1, fdinfo_field(self->fd, "twheel-cancelled"));
	EXPECT_EQ(2, fdinfo_field(self->fd, "twheel-delivered"));
	EXPECT_EQ(info.cascaded, fdinfo_field(self->fd, "twheel-cascaded"));
	EXPECT_LT(0, info.fires);
	EXPECT_EQ(info.fires, fdinfo_field(self->fd, "twheel-fires"));
	then = fdinfo_field(self->fd, "twheel-now-ns");
	EXPECT_LE(before, then);
	EXPECT_GE(now_on(CLOCK_BOOTTIME), then);
	EXPECT_EQ(geteuid(), fdinfo_field(self->fd, "twheel-user-id"));
}

/* Whether two descriptors have one wheel: monitoring counts each wheel once. */
TEST_F(sharing, fdinfo_has_a_number_for_each_wheel)
{
	unsigned long long id = fdinfo_field(self->fd, "twheel-id");
	int copy = dup(self->fd);
	int other = tw_open(O_NONBLOCK);

	EXPECT_NE(0, id);
	EXPECT_NE(~0ULL, id);
	EXPECT_EQ(id, fdinfo_field(copy, "twheel-id"));
	EXPECT_NE(id, fdinfo_field(other, "twheel-id"));
	close(copy);
	close(other);
	other = tw_open(O_NONBLOCK);
	EXPECT_LT(id + 1, fdinfo_field(other, "twheel-id"));
	close(other);
}

/* A bucket of level 6 spans 1000 seconds. */
TEST_F(sharing, fdinfo_shows_what_is_in_each_level)
{
	__u64 hour = now_ns() + HOUR, ids[3];
	char name[32];
	int level;

	ASSERT_EQ(0, tw_setup(self->fd, MSEC, 10, CLOCK_MONOTONIC, 0));
	EXPECT_EQ(~0ULL, fdinfo_field(self->fd, "twheel-level-0-timers"));
	ASSERT_NE(0, ids[0] = add_at(self->fd, hour, 1));
	ASSERT_NE(0, ids[1] = add_at(self->fd, hour, 2));
	ASSERT_NE(0, ids[2] = add_at(self->fd, hour + 1000 * SEC, 3));
	for (level = 0; level < 6; level++) {
		snprintf(name, sizeof(name), "twheel-level-%d-timers", level);
		EXPECT_EQ(0, fdinfo_field(self->fd, name));
		snprintf(name, sizeof(name), "twheel-level-%d-busy", level);
		EXPECT_EQ(0, fdinfo_field(self->fd, name));
	}
	EXPECT_EQ(3, fdinfo_field(self->fd, "twheel-level-6-timers"));
	EXPECT_EQ(2, fdinfo_field(self->fd, "twheel-level-6-busy"));
	EXPECT_EQ(~0ULL, fdinfo_field(self->fd, "twheel-level-7-timers"));
	ASSERT_EQ(0, tw_cancel(self->fd, ids[2]));
	EXPECT_EQ(2, fdinfo_field(self->fd, "twheel-level-6-timers"));
	EXPECT_EQ(1, fdinfo_field(self->fd, "twheel-level-6-busy"));
}

/* The values that explain an ENOSPC. */
TEST_F(sharing, fdinfo_shows_the_account_of_the_user) /* SECURITY: bytes of a user */
{
	unsigned long long was, other, limit;
	int fd;

	was = fdinfo_field(self->fd, "twheel-user-memory");
	EXPECT_LE(tw_info(self->fd).memory, was);
	fd = open_wheel(_metadata, O_NONBLOCK);
	ASSERT_NE(0, add_after(fd, HOUR, 1));
	other = tw_info(fd).memory;
	EXPECT_EQ(was + other, fdinfo_field(self->fd, "twheel-user-memory"));
	close(fd);
	EXPECT_EQ(was, fdinfo_field(self->fd, "twheel-user-memory"));

	limit = fdinfo_field(self->fd, "twheel-user-limit");
	ASSERT_EQ(limit, set_user_limit(12345678));
	EXPECT_EQ(12345678, fdinfo_field(self->fd, "twheel-user-limit"));
	EXPECT_EQ(12345678, set_user_limit(limit));
}
