// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long twheel keeps bottom halves off
 *
 * Probes at spin_lock_bh() and spin_unlock_bh() time how long twheel holds a
 * lock, which is what keeps bottom halves off in a task; tracepoints time the
 * bottom half of the hrtimers. What the probes take themselves is measured
 * beforehand and subtracted, and so is any interrupt that comes in between: the
 * tick is not twheel's.
 *
 * For the counting VM, whose time stamp counter counts instructions, and one CPU:
 * all of this is one set of variables, and a lock is never waited for.
 */
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include <asm/msr.h>

#include "bench.h"

/* Whose locks are watched: its name as the kernel's symbols have it. */
#define WATCHED		"[twheel]"
#define MAX_CALLERS	64
#define CALIBRATIONS	1000

/* A place that takes a lock. */
struct caller {
	unsigned long addr;
	bool watched;
};

static struct caller callers[MAX_CALLERS];
static unsigned int nr_callers;
static bool watching, calibrating;
/* When the lock was taken and the bottom half began, or 0; less interrupts. */
static u64 locked_at, softirq_at, interrupt_at;
/* What a pair of probes adds between them, and altogether. */
static u64 probe_ns, pair_ns;
static struct twheel_bench_watch watched;

/* The kernel's clocks may jump when it adjusts them: see ktime_get_mono_fast_ns(). */
static u64 watch_now(void)
{
	return rdtsc();
}

/* An interrupt must not come between the time and what it is kept in. */
static void start(u64 *at)
{
	unsigned long flags;

	local_irq_save(flags);
	*at = watch_now();
	local_irq_restore(flags);
}

/* Returns how long it has been, or 0 if it had not started. */
static u64 stop(u64 *at)
{
	unsigned long flags;
	u64 ns = 0;

	local_irq_save(flags);
	if (*at)
		ns = watch_now() - *at;
	*at = 0;
	local_irq_restore(flags);
	return ns;
}

/*
 * Looking a name up takes long, so it is done once for each place, and what was
 * being timed then does not count.
 */
static bool is_watched(unsigned long addr)
{
	char name[KSYM_SYMBOL_LEN];
	struct caller *caller;
	unsigned int i;

	for (i = 0; i < nr_callers; i++)
		if (callers[i].addr == addr)
			return callers[i].watched;
	if (nr_callers == MAX_CALLERS)
		return false;
	sprint_symbol(name, addr);
	locked_at = 0;
	softirq_at = 0;
	caller = &callers[nr_callers++];
	caller->addr = addr;
	caller->watched = strstr(name, WATCHED);
	return caller->watched;
}

static bool is_caller_watched(struct pt_regs *regs)
{
	return calibrating || (watching && is_watched(regs_get_kernel_stack_nth(regs, 0)));
}

static int on_lock(struct kprobe *probe, struct pt_regs *regs)
{
	if (is_caller_watched(regs))
		start(&locked_at);
	return 0;
}

static int on_unlock(struct kprobe *probe, struct pt_regs *regs)
{
	u64 ns = stop(&locked_at);

	if (!is_caller_watched(regs) || !ns)
		return 0;
	if (calibrating) {
		probe_ns = min(probe_ns, ns);
		return 0;
	}
	watched.lock_ns = max(watched.lock_ns, ns);
	watched.lock_holds++;
	if (softirq_at)
		softirq_at += pair_ns;
	return 0;
}

static struct kprobe lock_probe, unlock_probe;

static void on_softirq_entry(void *data, unsigned int nr)
{
	if (watching && nr == HRTIMER_SOFTIRQ)
		start(&softirq_at);
}

static void on_softirq_exit(void *data, unsigned int nr)
{
	u64 ns = nr == HRTIMER_SOFTIRQ ? stop(&softirq_at) : 0;

	if (!ns)
		return;
	watched.softirq_ns = max(watched.softirq_ns, ns);
	watched.softirqs++;
}

static void on_interrupt_entry(void *data, int vector)
{
	interrupt_at = watch_now();
}

static void on_interrupt_exit(void *data, int vector)
{
	u64 ns = watch_now() - interrupt_at;

	if (locked_at)
		locked_at += ns;
	if (softirq_at)
		softirq_at += ns;
}

static struct {
	const char *name;
	void *probe;
	struct tracepoint *tp;
} tracepoints[] = {
	{ "softirq_entry", on_softirq_entry },
	{ "softirq_exit", on_softirq_exit },
	{ "local_timer_entry", on_interrupt_entry },
	{ "local_timer_exit", on_interrupt_exit },
};

static void find_tracepoint(struct tracepoint *tp, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tracepoints); i++)
		if (!strcmp(tracepoints[i].name, tp->name))
			tracepoints[i].tp = tp;
}

static void unregister_tracepoints(unsigned int n)
{
	while (n--)
		tracepoint_probe_unregister(tracepoints[n].tp, tracepoints[n].probe, NULL);
	tracepoint_synchronize_unregister();
}

static int register_tracepoints(void)
{
	unsigned int i;
	int err;

	for_each_kernel_tracepoint(find_tracepoint, NULL);
	for (i = 0; i < ARRAY_SIZE(tracepoints); i++) {
		err = -ENOENT;
		if (tracepoints[i].tp)
			err = tracepoint_probe_register(tracepoints[i].tp,
							tracepoints[i].probe, NULL);
		if (err) {
			unregister_tracepoints(i);
			return err;
		}
	}
	return 0;
}

static int register_probes(void)
{
	int err;

	lock_probe = (struct kprobe){
		.symbol_name = "_raw_spin_lock_bh",
		.pre_handler = on_lock,
	};
	unlock_probe = (struct kprobe){
		.symbol_name = "_raw_spin_unlock_bh",
		.pre_handler = on_unlock,
	};
	err = register_kprobe(&lock_probe);
	if (err)
		return err;
	err = register_kprobe(&unlock_probe);
	if (err)
		unregister_kprobe(&lock_probe);
	return err;
}

static void unregister_all(void)
{
	unregister_kprobe(&unlock_probe);
	unregister_kprobe(&lock_probe);
	unregister_tracepoints(ARRAY_SIZE(tracepoints));
}

/* The least that a pair of calls takes: without an interrupt. */
static u64 time_pair(void)
{
	static DEFINE_SPINLOCK(lock);
	u64 least = U64_MAX;
	unsigned int i;

	for (i = 0; i < CALIBRATIONS; i++) {
		u64 began = watch_now();

		spin_lock_bh(&lock);
		spin_unlock_bh(&lock);
		least = min(least, watch_now() - began);
	}
	return least;
}

/* What comes out for a lock that is held for nothing is the probes' own. */
static void calibrate(u64 plain_ns)
{
	probe_ns = U64_MAX;
	calibrating = true;
	pair_ns = time_pair() - plain_ns;
	calibrating = false;
}

/**
 * bench_watch() - watch from now on
 *
 * Return: 0, or an error.
 */
int bench_watch(void)
{
	u64 plain_ns = time_pair();
	int err;

	if (watching)
		return -EBUSY;
	err = register_tracepoints();
	if (err)
		return err;
	err = register_probes();
	if (err) {
		unregister_tracepoints(ARRAY_SIZE(tracepoints));
		return err;
	}
	calibrate(plain_ns);
	memset(&watched, 0, sizeof(watched));
	watching = true;
	return 0;
}

/**
 * bench_watched() - stop watching
 * @watch: what was seen; nothing if bench_watch() was not called.
 */
void bench_watched(struct twheel_bench_watch *watch)
{
	if (!watching) {
		memset(watch, 0, sizeof(*watch));
		return;
	}
	watching = false;
	unregister_all();
	locked_at = 0;
	softirq_at = 0;
	*watch = watched;
	watch->probe_ns = probe_ns;
	watch->lock_ns -= min(probe_ns, watch->lock_ns);
}
