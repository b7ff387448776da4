// SPDX-License-Identifier: GPL-2.0-only
/*
 * A clock that jumps: CLOCK_BOOTTIME moves forward as after a suspend; and the addresses of
 * functions that the kernel does not export
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/printk.h>
#include <linux/time64.h>

#include "module.h"
#include "twheel_compat.h"

static struct hrtimer bench_hrtimer;	/* does nothing but fire */

static void (*inject_sleeptime)(const struct timespec64 *delta);

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
}
