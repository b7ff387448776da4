// SPDX-License-Identifier: MIT
/*
 * POSIX timers, for twheel-bench: a signal for each, read from a signalfd
 */
#include <err.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "bench.h"

static int signals;
static timer_t *timers;

static void open_signals(void)
{
	sigset_t set;

	timers = bench_array(work.pending, sizeof(*timers));
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		err(1, "sigprocmask");
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals < 0)
		err(1, "signalfd");
}

static void set(timer_t timer, uint64_t delay_ns)
{
	struct itimerspec its = { .it_value = timespec_of(delay_ns) };

	if (timer_settime(timer, 0, &its, NULL))
		err(1, "timer_settime");
}

static void add(size_t first, size_t n)
{
	for (; n; n--, first++) {
		struct sigevent event = {
			.sigev_notify = SIGEV_SIGNAL,
			.sigev_signo = SIGRTMIN,
			.sigev_value.sival_int = first,
		};

		if (timer_create(CLOCK_BOOTTIME, &event, &timers[first]))
			err(1, "timer_create");
		set(timers[first], work.delay_ns[first]);
	}
}

static void modify(const uint32_t *which, size_t n)
{
	for (; n; n--, which++)
		set(timers[*which], work.timeout_ns);
}

static void cancel(const uint32_t *which, size_t n)
{
	for (; n; n--, which++)
		if (timer_delete(timers[*which]))
			err(1, "timer_delete");
}

static size_t deliver(size_t max, bool waits, uint64_t *sum)
{
	static struct signalfd_siginfo infos[BENCH_BATCH_MAX];
	ssize_t n = read(signals, infos, max * sizeof(*infos));
	ssize_t i;

	if (n < 0)
		err(1, "read");
	n /= sizeof(*infos);
	for (i = 0; i < n; i++)
		*sum += infos[i].ssi_int;
	return n;
}

FACILITY(posix, "posix", open_signals, deliver, BENCH_CHANGES,
	 .handle = sizeof(*timers));
