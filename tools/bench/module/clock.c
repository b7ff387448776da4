// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clocks: CLOCK_BOOTTIME moves forward as after a suspend, and the CPU's work is counted; and
 * how to find functions and tracepoints that the kernel does not export
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/time64.h>

#include <asm/msr.h>

#include "module.h"
#include "twheel_compat.h"

static struct hrtimer bench_hrtimer;	/* does nothing but fire */

static void (*inject_sleeptime)(const struct timespec64 *delta);

/* When the CPU became idle, or 0; and for how long it was, before that. */
static u64 idle_since, idle_ticks;
static bool counting;

void *bench_symbol(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	int err = register_kprobe(&probe);
	void *addr = probe.addr;

	if (err) {
		pr_err("no %s in this kernel\n", name);
		return ERR_PTR(err);
	}
	unregister_kprobe(&probe);
	return addr;
}

static void match(struct tracepoint *tp, void *arg)
{
	struct bench_probe *probe = arg;

	if (!strcmp(probe->name, tp->name))
		probe->tp = tp;
}

void bench_detach(struct bench_probe *probes, unsigned int n)
{
	while (n--)
		tracepoint_probe_unregister(probes[n].tp, probes[n].function, NULL);
	tracepoint_synchronize_unregister();
}

int bench_attach(struct bench_probe *probes, unsigned int n)
{
	unsigned int i;
	int err;

	for (i = 0; i < n; i++) {
		for_each_kernel_tracepoint(match, &probes[i]);
		err = probes[i].tp ? tracepoint_probe_register(probes[i].tp, probes[i].function,
							       NULL) : -ENOENT;
		if (err) {
			bench_detach(probes, i);
			return err;
		}
	}
	return 0;
}

static void end_idle(void)
{
	if (idle_since)
		idle_ticks += rdtsc() - idle_since;
	idle_since = 0;
}

static void on_idle(void *data, unsigned int state, unsigned int cpu)
{
	end_idle();
	/* The end of idling is state -1. */
	if ((int)state >= 0)
		idle_since = rdtsc();
}

/* The interrupt's work is not idle time. */
static void on_timer(void *data, int vector)
{
	end_idle();
}

static struct bench_probe idle_probes[] = {
	{ "cpu_idle", on_idle },
	{ "local_timer_entry", on_timer },
};

/*
 * The kernel's idle time has work in it, such as stopping the tick; from 7.2 on, it is also more
 * than the time that has passed. Probes cost some instructions: they are set by the first call.
 */
int bench_busy(u64 *ticks)
{
	int err = counting ? 0 : bench_attach(idle_probes, ARRAY_SIZE(idle_probes));

	counting = !err;
	*ticks = rdtsc() - idle_ticks;
	return err;
}

static enum hrtimer_restart bench_fired(struct hrtimer *hrtimer)
{
	return HRTIMER_NORESTART;
}

void bench_jump(u64 ns)
{
	struct timespec64 delta = ns_to_timespec64(ns);

	inject_sleeptime(&delta);
	/* Otherwise the kernel would check this CPU's hrtimers only at the next tick. */
	hrtimer_start(&bench_hrtimer, 0, HRTIMER_MODE_ABS);
}

int bench_clock_init(void)
{
	inject_sleeptime = bench_symbol("timekeeping_inject_sleeptime64");
	if (IS_ERR(inject_sleeptime))
		return PTR_ERR(inject_sleeptime);
	hrtimer_setup(&bench_hrtimer, bench_fired, CLOCK_BOOTTIME, HRTIMER_MODE_ABS);
	return 0;
}

void bench_clock_exit(void)
{
	hrtimer_cancel(&bench_hrtimer);
	if (counting)
		bench_detach(idle_probes, ARRAY_SIZE(idle_probes));
}
