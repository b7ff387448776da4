// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long twheel holds a lock, and how long it keeps interrupts off
 *
 * Probes at the functions of spin locks time how long twheel holds them;
 * tracepoints time its hrtimer's function. The cost of the probes is measured beforehand
 * and subtracted. So is the time in which the holder of a wheel's lock does not run:
 * interrupts are not twheel's. A reader that falls asleep is timed until then; after
 * that the kernel takes the spin lock on its behalf.
 *
 * For the icount VM, whose time stamp counter counts instructions, and one CPU:
 * there is one set of variables, and locks are never contended.
 */
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include <asm/msr.h>

#include "module.h"

#define WATCHED		"twheel"
#define CALIBRATIONS	1000

/**
 * struct span - a piece of code that is timed
 * @began: when it began, plus the time that does not count; 0 while nothing is timed.
 * @shortest: the shortest that was seen.
 * @longest: the longest.
 * @count: how many there were.
 */
struct span {
	u64 began;
	u64 shortest;
	u64 longest;
	u64 count;
};

static struct span lock_span, spin_span, fire_span;
static bool watching, calibrating;
static struct module *watched;
/* The holder of a lock, and the lock; since when, and how deeply nested, something else runs. */
static struct task_struct *holder;
static unsigned long held;
static u64 away_since;
static unsigned int away;
/* The result for locks that are held for nothing: a wheel's, and one with interrupts off. */
static u64 lock_ns, spin_ns;
/* The cost of a probe within the time that it interrupts. */
static u64 hit_ns;

/* The kernel's clocks may jump when it adjusts them: see ktime_get_mono_fast_ns(). */
static u64 watch_now(void)
{
	return rdtsc();
}

/* No interrupt may come between reading the time and storing it. */
static void begin(struct span *span)
{
	unsigned long flags;

	local_irq_save(flags);
	span->began = watch_now();
	local_irq_restore(flags);
}

static void end(struct span *span)
{
	unsigned long flags;
	u64 ns;

	local_irq_save(flags);
	if (span->began) {
		ns = watch_now() - span->began;
		span->began = 0;
		span->shortest = min(span->shortest, ns);
		span->longest = max(span->longest, ns);
		span->count++;
	}
	local_irq_restore(flags);
}

static void reset(struct span *span)
{
	*span = (struct span){ .shortest = U64_MAX };
}

/* The lock was held for that long, but twheel did not use the time. */
static void skip(u64 ns)
{
	if (lock_span.began)
		lock_span.began += ns;
}

static bool is_watched(unsigned long addr)
{
	return calibrating || (watching && within_module(addr, watched));
}

static bool is_caller_watched(struct pt_regs *regs)
{
	return is_watched(regs_get_kernel_stack_nth(regs, 0));
}

/* A probe was hit that does not time the lock. While the holder does not run, skip all of it. */
static void hit(void)
{
	if (!away)
		skip(hit_ns);
}

static int on_lock(struct kprobe *probe, struct pt_regs *regs)
{
	if (is_caller_watched(regs)) {
		holder = current;
		held = regs_get_kernel_argument(regs, 0);
		begin(&lock_span);
	} else {
		hit();
	}
	return 0;
}

/* A tail call has no return address in the module. */
static int on_unlock(struct kprobe *probe, struct pt_regs *regs)
{
	if (holder && held == regs_get_kernel_argument(regs, 0)) {
		end(&lock_span);
		holder = NULL;
	} else {
		hit();
	}
	return 0;
}

static int on_spin_lock(struct kprobe *probe, struct pt_regs *regs)
{
	hit();
	if (is_caller_watched(regs))
		begin(&spin_span);
	return 0;
}

/* Interrupts are on again, whichever function enabled them. */
static int on_spin_unlock(struct kprobe *probe, struct pt_regs *regs)
{
	end(&spin_span);
	hit();
	return 0;
}

static struct kprobe probes[] = {
	{ .symbol_name = "_raw_spin_lock", .pre_handler = on_lock },
	{ .symbol_name = "_raw_spin_unlock", .pre_handler = on_unlock },
	{ .symbol_name = "_raw_spin_lock_irq", .pre_handler = on_spin_lock },
	{ .symbol_name = "_raw_spin_unlock_irq", .pre_handler = on_spin_unlock },
};

static struct kprobe *probe_list[] = { &probes[0], &probes[1], &probes[2], &probes[3] };

static void on_expire_entry(void *data, struct hrtimer *timer, ktime_t *now)
{
	if (is_watched((unsigned long)timer->function))
		begin(&fire_span);
}

static void on_expire_exit(void *data, struct hrtimer *timer)
{
	end(&fire_span);
}

/* Interrupts and softirqs have a number, which does not matter. */
static void leave(void *data, unsigned int nr)
{
	if (!away++)
		away_since = watch_now();
}

static void come_back(void *data, unsigned int nr)
{
	u64 ns = watch_now() - away_since;

	if (!away || --away)
		return;
	skip(ns);
	/* _raw_spin_lock_irq() has been called, and has not disabled interrupts yet. */
	if (spin_span.began)
		spin_span.began += ns;
}

static void on_switch(void *data, bool preempt, struct task_struct *prev,
		      struct task_struct *next, unsigned int prev_state)
{
	if (holder && prev == holder)
		leave(data, 0);
	if (holder && next == holder)
		come_back(data, 0);
}

/* Probes that end a span come before those that begin it, so that every span that begins ends. */
static struct bench_probe trace_probes[] = {
	{ "hrtimer_expire_exit", on_expire_exit },
	{ "hrtimer_expire_entry", on_expire_entry },
	{ "local_timer_exit", come_back },
	{ "local_timer_entry", leave },
	{ "softirq_exit", come_back },
	{ "softirq_entry", leave },
	{ "sched_switch", on_switch },
};

static void unregister_probes(void)
{
	unsigned int i;

	unregister_kprobes(probe_list, ARRAY_SIZE(probe_list));
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		/* Allows registering it again. */
		probes[i].addr = NULL;
		probes[i].flags = 0;
	}
}

static void lock_pair(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	spin_unlock(&lock);
}

static void spin_pair(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock_irq(&lock);
	spin_unlock_irq(&lock);
}

/* The minimum cost of a pair of calls: without an interrupt. */
static u64 time_pair(void (*pair)(void))
{
	u64 least = U64_MAX;
	unsigned int i;

	for (i = 0; i < CALIBRATIONS; i++) {
		u64 began = watch_now();

		pair();
		least = min(least, watch_now() - began);
	}
	return least;
}

/* The result for a lock that is held for nothing is the cost of the probes. */
static void calibrate(u64 plain_ns)
{
	reset(&lock_span);
	reset(&spin_span);
	calibrating = true;
	time_pair(lock_pair);
	lock_ns = lock_span.shortest;
	hit_ns = (time_pair(spin_pair) - plain_ns) / 2;
	spin_ns = spin_span.shortest;
	calibrating = false;
}

/* The watched module, which is in use until watching ends. */
static int find_watched(void)
{
	struct module *(*find)(const char *name) = bench_symbol("find_module");

	if (IS_ERR(find))
		return PTR_ERR(find);
	preempt_disable();
	watched = find(WATCHED);
	preempt_enable();
	return watched ? 0 : -ENOENT;
}

/**
 * bench_watch() - watch from now on
 *
 * Return: 0, or an error.
 */
int bench_watch(void)
{
	u64 plain_ns = time_pair(spin_pair);
	int err;

	if (watching)
		return -EBUSY;
	err = find_watched();
	if (err)
		return err;
	err = bench_attach(trace_probes, ARRAY_SIZE(trace_probes));
	if (err)
		return err;
	err = register_kprobes(probe_list, ARRAY_SIZE(probe_list));
	if (err) {
		bench_detach(trace_probes, ARRAY_SIZE(trace_probes));
		return err;
	}
	calibrate(plain_ns);
	reset(&lock_span);
	reset(&spin_span);
	reset(&fire_span);
	watching = true;
	return 0;
}

static struct twheel_bench_span told(const struct span *span, u64 probes_ns)
{
	return (struct twheel_bench_span){
		.longest_ns = span->longest - min(probes_ns, span->longest),
		.count = span->count,
	};
}

/**
 * bench_watched() - stop watching
 * @watch: what was seen; nothing if bench_watch() was not called.
 */
void bench_watched(struct twheel_bench_watch *watch)
{
	memset(watch, 0, sizeof(*watch));
	if (!watching)
		return;
	watching = false;
	unregister_probes();
	bench_detach(trace_probes, ARRAY_SIZE(trace_probes));
	holder = NULL;
	away = 0;
	watch->lock = told(&lock_span, lock_ns);
	watch->wait = told(&spin_span, spin_ns);
	watch->fire = told(&fire_span, 0);
}
