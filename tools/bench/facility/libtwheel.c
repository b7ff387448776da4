// SPDX-License-Identifier: MIT
/*
 * libtwheel's loop, for twheel-bench: over the device, and without it
 *
 * The program asks for the length of each wait, as in tools/examples/echo-server.c. One facility
 * waits for the descriptor instead, as in the loops of other libraries.
 */
#include <err.h>
#include <sys/epoll.h>

#include "bench.h"

static struct twheel_loop *loop;
static int epoll;
static struct twheel_handle *timers;
static uint64_t *sum_expired;
static bool asks = true;

static void on_timer(struct twheel_loop *l, struct twheel_handle *timer)
{
	*sum_expired += timer - timers;
}

static void on_timer_again(struct twheel_loop *l, struct twheel_handle *timer)
{
	on_timer(l, timer);
	if (twheel_start(l, timer, work.timeout_ns))
		err(1, "twheel_start");
}

static void open_loop(void)
{
	bool user = work.facility->loop;
	struct twheel_loop_config config = {
		.tick_ns = work.tick_ns,
		.wheel_size = work.wheel_size,
		.clock = TWHEEL_CLOCK_REALTIME + (user ? CLOCK_MONOTONIC : work.clock),
		.backend = user ? TWHEEL_BACKEND_USER : TWHEEL_BACKEND_DEVICE,
		.flags = asks ? TWHEEL_LOOP_TIMEOUT : 0,
	};
	size_t i;

	timers = bench_array(work.pending, sizeof(*timers));
	for (i = 0; i < work.pending; i++)
		timers[i].callback = work.rearm ? on_timer_again : on_timer;
	loop = twheel_loop_new(&config);
	if (!loop)
		err(1, "twheel_loop_new");
	/* Edge-triggered, so epoll does not poll a wheel again that was read. */
	epoll = bench_epoll(asks && user ? -1 : twheel_loop_fd(loop), EPOLLIN | EPOLLET);
	if (asks)
		twheel_loop_timeout(loop);
}

static void open_woken(void)
{
	asks = false;
	open_loop();
}

/* A single start waits for a flush with others, as it may be stopped before that. */
static void flush(size_t n)
{
	if (asks && n > 1 && twheel_loop_flush(loop))
		err(1, "twheel_loop_flush");
}

static void add(size_t first, size_t n)
{
	struct twheel_handle *timer = timers + first, *last = timer + n;
	const uint64_t *delay = work.delay_ns + first;

	for (; timer < last; timer++, delay++)
		if (twheel_start(loop, timer, *delay))
			err(1, "twheel_start");
	flush(n);
}

static void modify(const uint32_t *which, size_t n)
{
	const uint32_t *end = which + n;
	uint64_t delay = work.timeout_ns;

	for (; which < end; which++)
		if (twheel_again(&timers[*which], delay))
			err(1, "twheel_again");
}

static void cancel(const uint32_t *which, size_t n)
{
	const uint32_t *end = which + n;

	for (; which < end; which++)
		if (twheel_stop(&timers[*which]) < 0)
			err(1, "twheel_stop");
	flush(n);
}

/* None of them reaches the kernel. */
static void churn(size_t first, size_t n)
{
	struct twheel_handle *timer = timers + first, *last = timer + n;
	const uint64_t *delay = work.delay_ns + first;

	for (; timer < last; timer++, delay++)
		if (twheel_start(loop, timer, *delay) || twheel_stop(timer) < 0)
			err(1, "twheel_start, twheel_stop");
}

/*
 * A server would have its sockets in the same epoll. With a timeout, it needs no system call to
 * learn that no timer is due. libtwheel calls back for all due timers, whatever @max is.
 */
static size_t deliver(size_t max, bool waits, uint64_t *sum)
{
	int64_t left = asks ? twheel_loop_timeout(loop) : -1;
	struct epoll_event event;
	int ready = 0, expired;

	sum_expired = sum;
	if (left < 0) {
		ready = epoll_wait(epoll, &event, 1, waits ? -1 : 0);
	} else if (waits && left) {
		const struct timespec wait = timespec_of(left);

		ready = epoll_pwait2(epoll, &event, 1, &wait, NULL);
	}
	if (ready < 0)
		err(1, "epoll_wait");
	expired = ready || !left || waits ? twheel_loop_dispatch(loop) : 0;
	if (expired < 0)
		err(1, "twheel_loop_dispatch");
	return expired;
}

FACILITY(in_kernel, "libtwheel", open_loop, deliver, BENCH_CHANGES, .churn = churn);
FACILITY(in_user_space, "libtwheel-user", open_loop, deliver, BENCH_CHANGES, .churn = churn,
	 .loop = true);
FACILITY(woken, "libtwheel-woken", open_woken, deliver, BENCH_CHANGES, .churn = churn,
	 .loop = true);
