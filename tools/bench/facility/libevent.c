// SPDX-License-Identifier: MIT
/*
 * libevent, for twheel-bench: a heap in user space
 */
#include <err.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "bench.h"

static struct event_base *base;
static struct event *timers;
static uint64_t *sum_expired;
static size_t expired;

static void open_base(void)
{
	timers = bench_array(work.pending, sizeof(*timers));
	base = event_base_new();
	if (!base)
		errx(1, "event_base_new");
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	expired++;
	*sum_expired += (uintptr_t)arg;
}

static void set(struct event *timer, uint64_t delay_ns)
{
	struct timeval tv = {
		.tv_sec = delay_ns / SEC,
		.tv_usec = delay_ns % SEC / 1000,
	};

	if (evtimer_add(timer, &tv))
		errx(1, "evtimer_add");
}

static void add(size_t first, size_t n)
{
	for (; n; n--, first++) {
		if (evtimer_assign(&timers[first], base, on_timer, (void *)first))
			errx(1, "evtimer_assign");
		set(&timers[first], work.delay_ns[first]);
	}
}

static void modify(const uint32_t *which, size_t n)
{
	for (; n; n--, which++)
		set(&timers[*which], work.timeout_ns);
}

static void cancel(const uint32_t *which, size_t n)
{
	for (; n; n--, which++)
		if (evtimer_del(&timers[*which]))
			errx(1, "evtimer_del");
}

/* libevent calls back for all due timers, whatever @max is. */
static size_t deliver(size_t max, bool waits, uint64_t *sum)
{
	expired = 0;
	sum_expired = sum;
	if (event_base_loop(base, waits ? EVLOOP_ONCE : EVLOOP_NONBLOCK) < 0)
		errx(1, "event_base_loop");
	return expired;
}

FACILITY(libevent, "libevent", open_base, deliver, BENCH_CHANGES, .loop = true);
