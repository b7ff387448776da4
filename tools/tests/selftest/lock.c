// SPDX-License-Identifier: MIT
/*
 * A thread holds a wheel's lock in a page fault, for as long as the test needs.
 * It delays calls on that wheel, which can be killed, and nothing else: no poll waits.
 */
#include <linux/userfaultfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "selftest.h"
#include "aio.h"

/* A page whose first fault ends when the test decides. */
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

/* Ends the fault: the page gets @content, which is as long as a page. */
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

/* Calls that take the lock; their results do not matter. */
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

/* Whether it has ended within a sufficient time. */
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
	/* Late enough for the readers and the holder to be ready, even on a busy host. */
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

/*
 * A timer falls due while the lock is held: without the lock, no poll can find it.
 */
FIXTURE(a_poll)
{
	int fd;
	struct holder holder;
};

FIXTURE_SETUP(a_poll)
{
	__u64 deadline = now_ns() + SEC;

	self->fd = open_wheel(_metadata, O_NONBLOCK);
	ASSERT_NE(0, add_at(self->fd, deadline, 7));
	ASSERT_TRUE(start_holder(&self->holder, self->fd, hold_in_add));
	sleep_until(deadline + MSEC);
}

FIXTURE_TEARDOWN(a_poll)
{
	close(self->fd);
}

/* A pipe with something to read. */
static int full_pipe(void)
{
	int ends[2];

	return pipe(ends) || write(ends[1], "x", 1) != 1 ? -1 : ends[0];
}

static int epoll_add(int epoll, int fd, __u32 events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

TEST_F(a_poll, of_a_held_wheel_returns_at_once)
{
	EXPECT_EQ(0, poll_for(self->fd, POLLIN, 0));
	EXPECT_EQ(0, poll_for(self->fd, POLLIN, 20));
	EXPECT_TRUE(end_holder(&self->holder));
	EXPECT_TRUE(readable(self->fd));
}

TEST_F(a_poll, of_a_held_wheel_leaves_an_epoll_to_its_other_descriptors)
{
	int pipe_end = full_pipe(), epoll = watch(self->fd, EPOLLIN), nested;
	struct epoll_event event;

	ASSERT_LE(0, epoll);
	EXPECT_EQ(0, epoll_for(epoll, 20));
	ASSERT_EQ(0, epoll_add(epoll, pipe_end, EPOLLIN));
	EXPECT_EQ(1, epoll_wait(epoll, &event, 1, 5000));
	EXPECT_EQ(pipe_end, event.data.fd);
	ASSERT_LE(0, nested = watch(epoll, EPOLLIN));
	EXPECT_EQ(EPOLLIN, epoll_for(nested, 5000));
	EXPECT_TRUE(end_holder(&self->holder));
}

/* Enough to occupy all of the kernel's workers. */
TEST_F(a_poll, of_a_held_wheel_takes_no_workers)
{
	aio_context_t aio = aio_open(300), other = aio_open(1);
	int i, pipe_end = full_pipe();

	for (i = 0; i < 300; i++)
		ASSERT_TRUE(aio_poll(aio, self->fd));
	ASSERT_TRUE(aio_poll(other, pipe_end));
	EXPECT_EQ(POLLIN, aio_next(other, 1000));
	EXPECT_EQ(0, aio_next(aio, 20));
	EXPECT_TRUE(end_holder(&self->holder));
	for (i = 0; i < 300; i++)
		ASSERT_EQ(POLLIN, aio_next(aio, 5000));
}

static int (*const poll_kinds[])(struct waiter *waiter) = {
	in_poll, in_select, in_epoll, in_edge, in_exclusive, in_nested, in_nested_edge,
	in_ring_poll, in_aio,
};

TEST_F(a_poll, of_a_held_wheel_is_woken_when_the_lock_is_dropped)
{
	struct waiter waiter[ARRAY_SIZE(poll_kinds)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(poll_kinds); i++)
		ASSERT_TRUE(start_waiter(&waiter[i], self->fd, poll_kinds[i]));
	EXPECT_TRUE(end_holder(&self->holder));
	for (i = 0; i < ARRAY_SIZE(poll_kinds); i++)
		EXPECT_EQ(1, result_of(&waiter[i]))
			TH_LOG("kind %u", i);
}

TEST_F(a_poll, of_a_held_wheel_can_be_killed)
{
	unsigned int i;
	pid_t pid;

	for (i = 0; i < ARRAY_SIZE(poll_kinds); i++) {
		struct waiter waiter = { .fd = self->fd };

		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			poll_kinds[i](&waiter);
			_exit(0);
		}
		EXPECT_LE(0, wait_asleep(pid));
		kill(pid, SIGKILL);
		EXPECT_TRUE(has_ended(pid))
			TH_LOG("kind %u", i);
	}
	EXPECT_TRUE(end_holder(&self->holder));
	EXPECT_TRUE(readable(self->fd));
}

static int read_nowait(int fd, struct twheel_event *event, unsigned int max)
{
	struct iovec iov = { event, max * sizeof(*event) };
	ssize_t size = preadv2(fd, &iov, 1, -1, RWF_NOWAIT);

	return size < 0 ? -errno : (int)(size / sizeof(*event));
}

/* The same for a read that does not wait: after EAGAIN there is an edge. */
TEST_F(a_poll, is_woken_after_a_read_that_did_not_wait)
{
	int epoll = watch(self->fd, EPOLLIN | EPOLLET);
	struct twheel_event event;

	EXPECT_EQ(0, epoll_for(epoll, 20));
	EXPECT_EQ(-EAGAIN, read_nowait(self->fd, &event, 1));
	EXPECT_TRUE(end_holder(&self->holder));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	EXPECT_EQ(1, read_nowait(self->fd, &event, 1));
	EXPECT_EQ(7, event.data);
	EXPECT_EQ(-EAGAIN, read_nowait(self->fd, &event, 1));
	EXPECT_EQ(0, epoll_for(epoll, 20));
}

/* The same if something was unread before. */
TEST_F(waiting_for_the_lock, of_a_read_that_does_not_is_followed_by_an_edge)
{
	int epoll = watch(self->fd, EPOLLIN | EPOLLET);
	struct twheel_event event;

	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 20));
	EXPECT_EQ(-EAGAIN, read_nowait(self->fd, &event, 1));
	EXPECT_EQ(0, epoll_for(epoll, 20));
	ASSERT_NE(0, pthread_tryjoin_np(self->holder.thread, NULL));
	/* A read takes the event away. */
	if (variant->hold == hold_in_read)
		return;
	EXPECT_TRUE(end_holder(&self->holder));
	EXPECT_EQ(EPOLLIN, epoll_for(epoll, 5000));
	EXPECT_EQ(1, read_nowait(self->fd, &event, 1));
	ASSERT_TRUE(start_holder(&self->holder, self->fd, variant->hold));
}

/* Many timers that have to cascade are read by edges only, without waiting. */
TEST_F(waiters, get_an_edge_when_a_read_that_does_not_wait_leaves_work)
{
	const unsigned int count = 20000;
	__u64 due = now_ns() + 500 * MSEC;
	struct twheel_add *add = calloc(count, sizeof(*add));
	struct twheel_event event[64];
	unsigned int i, got = 0;
	int epoll, n;

	ASSERT_EQ(0, tw_setup(self->fd, 10 * USEC, 3, CLOCK_MONOTONIC, 0));
	for (i = 0; i < count; i++)
		add[i] = (struct twheel_add){
			.time_ns = due + (i * 7919 % count) * USEC,
			.flags = TWHEEL_ABSTIME,
		};
	ASSERT_EQ(count, tw_batch(self->fd, TWHEEL_ADD_BATCH, add, count));
	ASSERT_LE(0, epoll = watch(self->fd, EPOLLIN | EPOLLET));
	while (got < count) {
		ASSERT_EQ(EPOLLIN, epoll_for(epoll, 5000));
		while ((n = read_nowait(self->fd, event, 64)) > 0)
			got += n;
		ASSERT_EQ(-EAGAIN, n);
	}
	free(add);
}
