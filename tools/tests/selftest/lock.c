// SPDX-License-Identifier: MIT
/*
 * Somebody holds a wheel's lock for as long as he likes, in a page fault that does not
 * end: he delays those who share the wheel, who can be killed, and nobody else.
 */
#include <linux/userfaultfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "selftest.h"

/* A page whose first fault ends when the test says so. */
struct trap {
	int fd;
	size_t size;
	void *page;
};

static bool set_trap(struct trap *trap)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	trap->size = sysconf(_SC_PAGESIZE);
	trap->page = mmap(NULL, trap->size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	trap->fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	range.range.start = (uintptr_t)trap->page;
	range.range.len = trap->size;
	return trap->fd >= 0 && !ioctl(trap->fd, UFFDIO_API, &api) &&
	       !ioctl(trap->fd, UFFDIO_REGISTER, &range);
}

/* Ends the fault: the page has what is in @content, which is as long. */
static bool release_trap(struct trap *trap, const void *content)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)trap->page,
		.src = (uintptr_t)content,
		.len = trap->size,
	};

	return !ioctl(trap->fd, UFFDIO_COPY, &copy);
}

/* A thread that holds the lock of @fd. */
struct holder {
	int fd;
	int result;
	struct trap trap;
	pthread_t thread;
};

static void *hold_in_add(void *arg)
{
	struct holder *holder = arg;

	holder->result = tw_ioctl(holder->fd, TWHEEL_ADD, holder->trap.page);
	return NULL;
}

static void *hold_in_read(void *arg)
{
	struct holder *holder = arg;

	holder->result = tw_read(holder->fd, holder->trap.page, 1);
	return NULL;
}

/* Returns true when the lock is held. */
static bool start_holder(struct holder *holder, int fd, void *(*hold)(void *arg))
{
	holder->fd = fd;
	return set_trap(&holder->trap) &&
	       !pthread_create(&holder->thread, NULL, hold, holder) &&
	       poll_for(holder->trap.fd, POLLIN, 5000) == POLLIN;
}

/* Adds a timer far ahead, or reads into zeros. */
static bool end_holder(struct holder *holder)
{
	struct twheel_add *content = calloc(1, holder->trap.size);

	content->time_ns = HOUR;
	return release_trap(&holder->trap, content) && !pthread_join(holder->thread, NULL);
}

/*
 * A wheel with an unread timer and one that is pending, whose lock is held.
 */
FIXTURE(waiting_for_the_lock)
{
	int fd;
	__u64 id;
	struct holder holder;
};

FIXTURE_VARIANT(waiting_for_the_lock)
{
	void *(*hold)(void *arg);
	int result;
};

FIXTURE_VARIANT_ADD(waiting_for_the_lock, of_an_add) { .hold = hold_in_add, .result = 0 };
FIXTURE_VARIANT_ADD(waiting_for_the_lock, of_a_read) { .hold = hold_in_read, .result = 1 };

FIXTURE_SETUP(waiting_for_the_lock)
{
	self->fd = open_wheel(_metadata, O_NONBLOCK);
	ASSERT_NE(0, self->id = add_after(self->fd, HOUR, 1));
	ASSERT_NE(0, add_at(self->fd, 0, 2));
	ASSERT_TRUE(start_holder(&self->holder, self->fd, variant->hold));
}

FIXTURE_TEARDOWN(waiting_for_the_lock)
{
	EXPECT_TRUE(end_holder(&self->holder));
	EXPECT_EQ(variant->result, self->holder.result);
	close(self->fd);
}

TEST_F(waiting_for_the_lock, is_not_what_fdinfo_does)
{
	EXPECT_EQ(1, fdinfo_field(self->fd, "twheel-pending"));
	EXPECT_EQ(1, fdinfo_field(self->fd, "twheel-expired"));
	EXPECT_LT(0, fdinfo_field(self->fd, "twheel-user-memory"));
}

TEST_F(waiting_for_the_lock, is_not_what_other_wheels_do)
{
	int other = open_wheel(_metadata, O_NONBLOCK);
	struct twheel_event event;

	ASSERT_NE(0, add_after(other, 20 * MSEC, 1));
	ASSERT_EQ(1, wait_and_read(other, &event, 1));
	EXPECT_EQ(0, tw_cancel(other, add_after(other, HOUR, 2)));
	EXPECT_EQ(0, close(other));
}

TEST_F(waiting_for_the_lock, is_not_what_a_read_does_that_is_not_to_wait)
{
	struct twheel_event event;
	struct iovec iov = { &event, sizeof(event) };

	EXPECT_EQ(-1, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(EAGAIN, errno);
}

/* What takes the lock, whatever it returns. */
static void call_read(int fd, __u64 id)
{
	struct twheel_event event;

	(void)id;
	tw_read(fd, &event, 1);
}

static void call_setup(int fd, __u64 id)
{
	(void)id;
	tw_setup(fd, MSEC, 2, CLOCK_MONOTONIC, 0);
}

static void call_add(int fd, __u64 id)
{
	add_after(fd, HOUR, id);
}

static void call_modify(int fd, __u64 id)
{
	tw_modify(fd, id, HOUR, 0);
}

static void call_cancel(int fd, __u64 id)
{
	tw_cancel(fd, id);
}

static void call_query(int fd, __u64 id)
{
	struct twheel_query query;

	tw_query(fd, id, &query);
}

static void call_info(int fd, __u64 id)
{
	(void)id;
	tw_info(fd);
}

/* It has ended within a time that is long enough for it. */
static bool has_ended(pid_t pid)
{
	__u64 until = now_ns() + AT_LAST;

	while (!waitpid(pid, NULL, WNOHANG)) {
		if (now_ns() > until)
			return false;
		sleep_for(MSEC);
	}
	return true;
}

TEST_F(waiting_for_the_lock, can_be_killed)
{
	static void (*const calls[])(int fd, __u64 id) = {
		call_read, call_setup, call_add, call_modify, call_cancel, call_query, call_info,
	};
	unsigned int i;
	pid_t pid;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			calls[i](self->fd, self->id);
			_exit(0);
		}
		EXPECT_LE(0, wait_asleep(pid))
			TH_LOG("call %u does not wait for the lock", i);
		kill(pid, SIGKILL);
		EXPECT_TRUE(has_ended(pid))
			TH_LOG("call %u cannot be killed", i);
	}
	EXPECT_EQ(1, fdinfo_field(self->fd, "twheel-pending"));
	EXPECT_EQ(1, fdinfo_field(self->fd, "twheel-expired"));
}

/*
 * Of two blocked readers the first is woken, waits for the lock, and is killed there.
 */
FIXTURE(waiting_to_read)
{
	int fd;
	struct holder holder;
	pid_t reader[2];
};

FIXTURE_SETUP(waiting_to_read)
{
	self->fd = open_wheel(_metadata, 0);
}

FIXTURE_TEARDOWN(waiting_to_read)
{
	close(self->fd);
}

static pid_t start_reader_of(int fd, __u64 data)
{
	struct twheel_event event;
	pid_t pid = fork();

	if (!pid)
		_exit(tw_read(fd, &event, 1) != 1 || event.data != data);
	return wait_asleep(pid) < 0 ? -1 : pid;
}

TEST_F(waiting_to_read, leaves_it_to_the_next_when_killed_before)
{
	/* The readers and the holder are there by then, on a busy host too. */
	__u64 deadline = now_ns() + 3 * SEC;
	int i;

	ASSERT_NE(0, add_at(self->fd, deadline, 7));
	for (i = 0; i < 2; i++)
		ASSERT_LT(0, self->reader[i] = start_reader_of(self->fd, 7));
	ASSERT_TRUE(start_holder(&self->holder, self->fd, hold_in_add));
	sleep_until(deadline + 50 * MSEC);
	ASSERT_EQ(0, kill(self->reader[0], SIGKILL));
	ASSERT_TRUE(has_ended(self->reader[0]));
	ASSERT_TRUE(end_holder(&self->holder));
	EXPECT_EQ(0, self->holder.result);
	EXPECT_TRUE(has_ended(self->reader[1]));
	EXPECT_EQ(1, tw_info(self->fd).delivered);
}
