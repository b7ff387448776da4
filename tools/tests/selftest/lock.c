// SPDX-License-Identifier: MIT
/*
 * A call is stalled in a page fault, for as long as the test needs. It delays nobody else, and its
 * timers and events are as if it had been called when the fault ends.
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
	trap->page = new_pages(trap->size);
	trap->fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	range.range.start = (uintptr_t)trap->page;
	range.range.len = trap->size;
	return trap->fd >= 0 && !ioctl(trap->fd, UFFDIO_API, &api) &&
	       !ioctl(trap->fd, UFFDIO_REGISTER, &range);
}

static int stalled_add(int fd, void *page)
{
	return tw_ioctl(fd, TWHEEL_ADD, page);
}

static int stalled_read(int fd, void *page)
{
	return tw_read(fd, page, 1);
}

static int list_timers(int fd, void *to)
{
	struct twheel_list list = { .entries = (uintptr_t)to, .count = 4 };

	return tw_ioctl(fd, TWHEEL_LIST, &list);
}

/* A thread that is stalled in a call on @fd. */
struct holder {
	int fd;
	int (*call)(int fd, void *page);
	int result;
	struct trap trap;
	pthread_t thread;
	void *content;	/* of the page, when it has come */
};

static void *stall(void *arg)
{
	struct holder *holder = arg;

	holder->result = holder->call(holder->fd, holder->trap.page);
	return NULL;
}

/* Returns true when it is stalled. */
static bool start_holder(struct holder *holder, int fd, int (*call)(int fd, void *page))
{
	holder->fd = fd;
	holder->call = call;
	return set_trap(&holder->trap) && !pthread_create(&holder->thread, NULL, stall, holder) &&
	       poll_for(holder->trap.fd, POLLIN, 5000) == POLLIN;
}

/* Ends the fault. The page has a timer far ahead, or its events. */
static bool end_holder(struct holder *holder)
{
	struct twheel_add *content = new_pages(holder->trap.size);
	struct uffdio_copy copy = {
		.dst = (uintptr_t)holder->trap.page,
		.src = (uintptr_t)content,
		.len = holder->trap.size,
	};

	memset(content, 0x5a, holder->trap.size);
	*content = (struct twheel_add) { .time_ns = HOUR };
	holder->content = content;
	return !ioctl(holder->trap.fd, UFFDIO_COPY, &copy) && !pthread_join(holder->thread, NULL);
}

/*
 * A wheel with an unread timer and one that is pending, of which a call is stalled.
 */
FIXTURE(a_stalled_call)
{
	int fd;
	__u64 id;
	struct holder holder;
	int result;
};

FIXTURE_VARIANT(a_stalled_call)
{
	int (*call)(int fd, void *page);
	int result;
};

FIXTURE_VARIANT_ADD(a_stalled_call, add) { .call = stalled_add, .result = 0 };
FIXTURE_VARIANT_ADD(a_stalled_call, read) { .call = stalled_read, .result = 1 };
FIXTURE_VARIANT_ADD(a_stalled_call, list) { .call = list_timers, .result = 2 };

FIXTURE_SETUP(a_stalled_call)
{
	self->fd = open_wheel(_metadata, O_NONBLOCK);
	self->result = variant->result;
	ASSERT_NE(0, self->id = add_after(self->fd, HOUR, 1));
	ASSERT_NE(0, add_at(self->fd, 0, 2));
	ASSERT_TRUE(start_holder(&self->holder, self->fd, variant->call));
}

FIXTURE_TEARDOWN(a_stalled_call)
{
	EXPECT_TRUE(end_holder(&self->holder));
	EXPECT_EQ(self->result, self->holder.result);
	/* A read that returns no event leaves the page alone. SECURITY: kernel information */
	if (self->result == -EAGAIN)
		EXPECT_EQ(0, memcmp(self->holder.trap.page, self->holder.content, 4096));
	close(self->fd);
}

TEST_F(a_stalled_call, delays_no_other_call) /* SECURITY: missing pages */
{
	__u64 id, until = now_ns() + SEC;

	EXPECT_EQ(-EBUSY, tw_setup(self->fd, MSEC, 2, CLOCK_MONOTONIC, 0));
	EXPECT_EQ(POLLIN, poll_for(self->fd, POLLIN, 0));
	ASSERT_NE(0, id = add_after(self->fd, HOUR, 3));
	EXPECT_EQ(0, tw_query(self->fd, id));
	EXPECT_EQ(0, tw_modify(self->fd, id, 2 * HOUR, 0));
	EXPECT_EQ(3, list_timers(self->fd, listed));
	EXPECT_EQ(0, tw_cancel(self->fd, id));
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(1, tw_info(self->fd).expired);
	EXPECT_EQ(1, fdinfo_field(self->fd, "twheel-pending"));
	EXPECT_GT(until, now_ns());
	ASSERT_NE(0, pthread_tryjoin_np(self->holder.thread, NULL));
}

static int read_nowait(int fd, unsigned int max)
{
	struct iovec iov = { event, max * sizeof(*event) };

	return whole_events(preadv2(fd, &iov, 1, -1, RWF_NOWAIT));
}

/* The event that a read was about to write is read by another, or its timer cancelled. */
TEST_F(a_stalled_call, takes_nothing_away) /* SECURITY: missing pages */
{
	EXPECT_EQ(0, tw_cancel(self->fd, self->id));
	EXPECT_EQ(1, in_order(read_nowait(self->fd, 2), 2));
	EXPECT_EQ(-EAGAIN, read_nowait(self->fd, 2));
	EXPECT_EQ(1, tw_info(self->fd).delivered);
	/* Nothing is left for it when its memory comes. A list is of the time before. */
	if (variant->call == stalled_read)
		self->result = -EAGAIN;
}

static pid_t start_reader_of(int fd, __u64 data, bool stalled)
{
	struct twheel_event *to = event;
	struct trap trap;
	pid_t pid = fork();

	if (!pid) {
		if (stalled && set_trap(&trap))
			to = trap.page;
		_exit(tw_read(fd, to, 1) != 1 || to->data != data);
	}
	return wait_asleep(pid) < 0 ? -1 : pid;
}

/* The first is woken, waits for its memory, and leaves the event to the next. */
TEST_F(waiters, stalled_reader_wakes_the_next) /* SECURITY: missing pages */
{
	/* Late enough for the readers to be ready, even on a busy host. */
	__u64 deadline = now_ns() + 2 * SEC;
	pid_t reader[2];
	int i;

	ASSERT_NE(0, add_at(self->fd, deadline, 7));
	for (i = 0; i < 2; i++)
		ASSERT_LT(0, reader[i] = start_reader_of(self->fd, 7, !i));
	EXPECT_TRUE(wait_until(waitpid(reader[1], NULL, WNOHANG)));
	ASSERT_EQ(0, waitpid(reader[0], NULL, WNOHANG));
	ASSERT_EQ(0, kill(reader[0], SIGKILL));
	ASSERT_TRUE(wait_until(waitpid(reader[0], NULL, WNOHANG)));
	EXPECT_EQ(1, tw_info(self->fd).delivered);
}

/* Of every kind, by one fire. */
TEST_F(waiters, pollers_are_woken_while_a_call_is_stalled) /* SECURITY: missing pages */
{
	static const struct way *const ways[] = {
		&in_poll, &in_select, &in_epoll, &in_edge, &in_exclusive, &in_nested,
		&in_nested_edge, &in_ring_poll, &in_aio,
	};
	struct waiter waiter[ARRAY_SIZE(ways)];
	struct holder holder;
	__u64 deadline;

	ASSERT_TRUE(start_holder(&holder, self->fd, stalled_add));
	deadline = now_ns() + 2 * SOON;
	ASSERT_NE(0, add_at(self->fd, deadline, 1));
	for (unsigned int i = 0; i < ARRAY_SIZE(ways); i++)
		ASSERT_TRUE(start_waiter(&waiter[i], self->fd, ways[i]));
	for (unsigned int i = 0; i < ARRAY_SIZE(ways); i++) {
		EXPECT_EQ(1, result_of(&waiter[i]))
			TH_LOG("way %u", i);
	}
	EXPECT_GT(deadline + SEC, now_ns());
	EXPECT_EQ(1, tw_info(self->fd).fires);
	EXPECT_TRUE(end_holder(&holder));
}

/* Many timers that have to cascade are read by edges only, without waiting. */
TEST_F(waiters, nonblocking_read_that_leaves_work_gives_an_edge) /* SECURITY: polls */
{
	const int count = MAX_EVENTS;
	__u64 due = now_ns() + 500 * MSEC;
	int epoll = watch(self->fd, EDGE), got = 0, n;

	ASSERT_EQ(0, tw_setup(self->fd, 10 * USEC, 3, CLOCK_MONOTONIC, 0));
	fill_adds(count, 0, 0, TWHEEL_ABSTIME);
	for (int i = 0; i < count; i++)
		adds[i].time_ns = due + (i * 7919 % count) * USEC;
	ASSERT_EQ(count, tw_batch(self->fd, TWHEEL_ADD_BATCH, adds, count));
	while (got < count) {
		ASSERT_EQ(EPOLLIN, epoll_for(epoll, 5000));
		while ((n = read_nowait(self->fd, 64)) > 0)
			got += n;
		ASSERT_EQ(-EAGAIN, n);
	}
}
