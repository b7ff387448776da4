// SPDX-License-Identifier: MIT
/*
 * libev, for twheel-bench: a heap in user space
 */
#include <err.h>

#include <ev.h>

#include "bench.h"

static struct ev_loop *loop;
static ev_timer *timers;
static double timeout;
static uint64_t *sum_expired;
static size_t expired;

static void open_loop(void)
{
	timeout = work.timeout_ns / (double)SEC;
	timers = bench_array(work.pending, sizeof(*timers));
	loop = ev_loop_new(EVFLAG_AUTO);
	if (!loop)
		errx(1, "ev_loop_new");
}

static void on_timer(struct ev_loop *l, ev_timer *timer, int what)
{
	expired++;
	*sum_expired += timer - timers;
	if (work.rearm) {
		ev_timer_set(timer, timeout, 0);
		ev_timer_start(l, timer);
	}
}

static void add(size_t first, size_t n)
{
	for (; n; n--, first++) {
		ev_timer_init(&timers[first], on_timer,
			      work.delay_ns[first] / (double)SEC, 0);
		ev_timer_start(loop, &timers[first]);
	}
}

static void modify(const uint32_t *which, size_t n)
{
	for (; n; n--, which++) {
		timers[*which].repeat = timeout;
		ev_timer_again(loop, &timers[*which]);
	}
}

static void cancel(const uint32_t *which, size_t n)
{
	for (; n; n--, which++)
		ev_timer_stop(loop, &timers[*which]);
}

/* libev calls back for all due timers, whatever @max is. */
static size_t deliver(size_t max, bool waits, uint64_t *sum)
{
	expired = 0;
	sum_expired = sum;
	ev_run(loop, waits ? EVRUN_ONCE : EVRUN_NOWAIT);
	return expired;
}

FACILITY(libev, "libev", open_loop, deliver, BENCH_CHANGES, .loop = true);
