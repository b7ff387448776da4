// SPDX-License-Identifier: MIT
/*
 * A call is stalled in a page fault, for as long as the test needs. It delays nobody else, and its
 * timers and events are as if it had been called when the fault ends.
 */
#include <linux/userfaultfd.h>
#include <sys/syscall.h>

#include "selftest.h"

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

/* A thread that is stalled in a call. */
struct holder {
	int fd;
	int (*call)(int fd, void *page);
	int result;
	struct trap trap;
	pthread_t thread;
};

static void *stall(void *arg)
{
	struct holder *holder = arg;

	holder->result = holder->call(holder->fd, holder->trap.page);
	return NULL;
}

/* The holder's wheel, with an unread timer and one that is pending. */
FIXTURE_OF_WHEEL(a_stalled_call, __u64 id; struct holder holder;);

FIXTURE_VARIANT(a_stalled_call)
{
	int (*call)(int fd, void *page);
	int result;
};

FIXTURE_VARIANT_ADD(a_stalled_call, add) { stalled_add, 0 };
/* Nothing is left for it when its memory comes. A list is of the time before. */
FIXTURE_VARIANT_ADD(a_stalled_call, read) { stalled_read, -EAGAIN };
FIXTURE_VARIANT_ADD(a_stalled_call, list) { list_timers, 2 };

FIXTURE_SETUP(a_stalled_call)
{
	struct holder *holder = &self->holder;

	self->fd = open_wheel(_metadata, O_NONBLOCK);
	holder->fd = self->fd;
	holder->call = variant->call;
	ASSERT_NE(0, self->id = add_after(self->fd, HOUR, 1));
	ASSERT_NE(0, add_at(self->fd, 0, 2));
	ASSERT_TRUE(set_trap(&holder->trap));
	ASSERT_EQ(0, pthread_create(&holder->thread, NULL, stall, holder));
	ASSERT_EQ(POLLIN, poll_for(holder->trap.fd, POLLIN, 5000));
}

/* SECURITY: missing pages; kernel information */
TEST_F(a_stalled_call, delays_no_other_call_and_takes_nothing_away)
{
	const struct trap *trap = &self->holder.trap;
	struct twheel_add *content = new_pages(trap->size);
	struct uffdio_copy copy = {
		.dst = (uintptr_t)trap->page,
		.src = (uintptr_t)content,
		.len = trap->size,
	};
	__u64 id, until = now_ns() + SEC;

	EXPECT_EQ(-EBUSY, tw_setup(self->fd, MSEC, 2, CLOCK_MONOTONIC, 0));
	EXPECT_EQ(POLLIN, poll_for(self->fd, POLLIN, 0));
	ASSERT_NE(0, id = add_after(self->fd, HOUR, 3));
	EXPECT_EQ(0, tw_query(self->fd, id));
	EXPECT_EQ(0, tw_modify(self->fd, id, 2 * HOUR, 0));
	EXPECT_EQ(3, list_timers(self->fd, listed));
	EXPECT_EQ(0, tw_cancel(self->fd, id));
	EXPECT_EQ(0, tw_cancel(self->fd, self->id));
	/* A read that was about to write this event leaves it to others. */
	EXPECT_EQ(1, in_order(read_events(self->fd, 2), 2));
	EXPECT_EQ(-EAGAIN, read_events(self->fd, 2));
	EXPECT_EQ(1, tw_info(self->fd).delivered);
	EXPECT_EQ(0, fdinfo_field(self->fd, "twheel-pending"));
	EXPECT_GT(until, now_ns());
	ASSERT_NE(0, pthread_tryjoin_np(self->holder.thread, NULL));

	/* The page comes, with a timer far ahead. */
	memset(content, 0x5a, trap->size);
	*content = (struct twheel_add) { .time_ns = HOUR };
	ASSERT_EQ(0, ioctl(trap->fd, UFFDIO_COPY, &copy));
	ASSERT_EQ(0, pthread_join(self->holder.thread, NULL));
	EXPECT_EQ(variant->result, self->holder.result);
	if (self->holder.result == -EAGAIN)
		EXPECT_EQ(0, memcmp(trap->page, content, trap->size));
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
