// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A wheel in the kernel: the core of twheel, used by another module
 *
 * A heartbeat comes every 200 ms, and postpones an idle timeout of 500 ms. After the fifth
 * one only the idle timeout expires. The kernel's log shows that.
 *
 * The core has no clock and takes no lock. Here, after module_init, one work item makes all
 * calls. It sleeps in jiffies; a module that has to be exact uses an hrtimer.
 *
 * With twheel's source in /usr/src/twheel, after make there:
 *
 *	make -C /lib/modules/$(uname -r)/build M=$PWD TWHEEL=/usr/src/twheel \
 *		KBUILD_EXTRA_SYMBOLS=/usr/src/twheel/build/running/Module.symvers modules
 *	modprobe twheel; insmod twheel_heartbeat.ko
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "twheel.h"

#define TICK_NS		NSEC_PER_MSEC
#define BUCKETS		64
#define LONGEST_NS	(3600 * NSEC_PER_SEC)
#define BUDGET		1000

static void work(struct work_struct *unused);

static struct twheel wheel;
static struct twheel_timer heartbeat, idle;
static int beats;
static DECLARE_DELAYED_WORK(waker, work);

static u64 now_ticks(void)
{
	return twheel_floor(&wheel, ktime_get_ns());
}

/* The wheel has levels for this delay: see make_levels(). */
static void arm(struct twheel_timer *timer, u64 delay_ns)
{
	twheel_advance(&wheel, now_ticks(), 0);
	timer->deadline = ktime_get_ns() + delay_ns;
	WARN_ON(!twheel_add(&wheel, timer));
}

static void expire(struct twheel_timer *timer)
{
	if (timer == &idle) {
		pr_info("idle\n");
		return;
	}
	pr_info("heartbeat %d\n", ++beats);
	twheel_cancel(&wheel, &idle);
	arm(&idle, 500 * NSEC_PER_MSEC);
	if (beats < 5)
		arm(&heartbeat, 200 * NSEC_PER_MSEC);
}

/* Wake up when the first bucket has to be opened, but not before. */
static void sleep_until_next(void)
{
	u64 now = now_ticks();
	u64 next;

	if (!twheel_next(&wheel, &next))
		return;
	next = next > now ? next - now : 0;
	schedule_delayed_work(&waker, nsecs_to_jiffies(next * TICK_NS) + 1);
}

/* Advance the wheel in steps, so that crowded buckets do not hog the CPU. */
static void work(struct work_struct *unused)
{
	struct twheel_timer *timer;
	bool more;

	do {
		more = twheel_advance(&wheel, now_ticks(), BUDGET);
		while ((timer = twheel_pop(&wheel)))
			expire(timer);
		cond_resched();
	} while (more);
	sleep_until_next();
}

/* Allocate all levels that a delay can need, so that arming a timer cannot fail. */
static int make_levels(void)
{
	while (twheel_max_delay(&wheel) < LONGEST_NS) {
		struct twheel_level *level = twheel_level_alloc(&wheel, wheel.nr_levels,
								GFP_KERNEL);

		if (!level)
			return -ENOMEM;
		twheel_level_install(&wheel, level);
	}
	return 0;
}

static int __init twheel_heartbeat_init(void)
{
	int error;

	twheel_init(&wheel, TICK_NS, BUCKETS, div_u64(ktime_get_ns(), TICK_NS));
	error = make_levels();
	if (error) {
		twheel_destroy(&wheel);
		return error;
	}
	arm(&heartbeat, 200 * NSEC_PER_MSEC);
	arm(&idle, 500 * NSEC_PER_MSEC);
	sleep_until_next();
	return 0;
}
module_init(twheel_heartbeat_init);

static void __exit twheel_heartbeat_exit(void)
{
	cancel_delayed_work_sync(&waker);
	twheel_destroy(&wheel);
}
module_exit(twheel_heartbeat_exit);

MODULE_DESCRIPTION("Example of a module that has a timing wheel");
MODULE_LICENSE("Dual MIT/GPL");
