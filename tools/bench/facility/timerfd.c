// SPDX-License-Identifier: MIT
/*
 * timerfd with epoll, for twheel-bench: a descriptor for each timer
 */
#include <err.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bench.h"

static int epoll;
static int *fds;

static void open_epoll(void)
{
	fds = bench_array(work.pending, sizeof(*fds));
	epoll = bench_epoll(-1, 0);
}

static void set(int fd, uint64_t delay_ns)
{
	struct itimerspec its = { .it_value = timespec_of(delay_ns) };

	if (timerfd_settime(fd, 0, &its, NULL))
		err(1, "timerfd_settime");
}

static void add(size_t first, size_t n)
{
	for (; n; n--, first++) {
		/* Edge-triggered, so epoll does not poll a timer again that was read. */
		struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = first };
		int fd = timerfd_create(work.clock, TFD_NONBLOCK | TFD_CLOEXEC);

		if (fd < 0)
			err(1, "timerfd_create");
		set(fd, work.delay_ns[first]);
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
			err(1, "epoll_ctl");
		fds[first] = fd;
	}
}

static void modify(const uint32_t *which, size_t n)
{
	for (; n; n--, which++)
		set(fds[*which], work.timeout_ns);
}

static void cancel(const uint32_t *which, size_t n)
{
	for (; n; n--, which++)
		close(fds[*which]);
}

static size_t deliver(size_t max, bool waits, uint64_t *sum)
{
	static struct epoll_event events[BENCH_BATCH_MAX];
	int n = epoll_wait(epoll, events, max, waits ? -1 : 0);
	int i;

	if (n < 0)
		err(1, "epoll_wait");
	for (i = 0; i < n; i++) {
		uint64_t which = events[i].data.u64;
		uint64_t count;

		if (read(fds[which], &count, sizeof(count)) != sizeof(count))
			err(1, "read");
		*sum += which;
		if (work.rearm)
			set(fds[which], work.timeout_ns);
	}
	return n;
}

FACILITY(timerfd, "timerfd", open_epoll, deliver, BENCH_CHANGES,
	 .handle = sizeof(*fds));
