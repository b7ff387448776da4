// SPDX-License-Identifier: GPL-2.0-only
/*
 * twheel_bench - the benchmark's part inside the kernel
 *
 * /dev/twheel-bench lets the clock jump, so that half an hour of timers falls
 * due at once; measures the facilities that exist only inside the kernel; and
 * watches how long locks are held and interrupts are off. It is only for the benchmark's
 * virtual machine, as it calls functions that are not exported.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/tick.h>
#include <linux/uaccess.h>

#include "module.h"

static DEFINE_MUTEX(bench_lock);	/* one run at a time */

static long bench_jump_ioctl(u64 __user *arg)
{
	u64 ns;

	if (get_user(ns, arg))
		return -EFAULT;
	bench_jump(ns);
	return 0;
}

static long bench_idle(u64 __user *arg)
{
	int cpu = raw_smp_processor_id();
	u64 us = get_cpu_idle_time_us(cpu, NULL) + get_cpu_iowait_time_us(cpu, NULL);

	return put_user(us * NSEC_PER_USEC, arg);
}

static long bench_watch_ioctl(void)
{
	int err;

	mutex_lock(&bench_lock);
	err = bench_watch();
	mutex_unlock(&bench_lock);
	return err;
}

static long bench_watched_ioctl(struct twheel_bench_watch __user *arg)
{
	struct twheel_bench_watch watch;

	mutex_lock(&bench_lock);
	bench_watched(&watch);
	mutex_unlock(&bench_lock);
	return copy_to_user(arg, &watch, sizeof(watch)) ? -EFAULT : 0;
}

static long bench_run_ioctl(struct twheel_bench_run __user *arg)
{
	struct twheel_bench_run run;
	int err;

	if (copy_from_user(&run, arg, sizeof(run)))
		return -EFAULT;
	mutex_lock(&bench_lock);
	err = bench_run(&run);
	mutex_unlock(&bench_lock);
	if (err)
		return err;
	return copy_to_user(arg, &run, sizeof(run)) ? -EFAULT : 0;
}

static long bench_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	void __user *argp = (void __user *)arg;

	switch (cmd) {
	case TWHEEL_BENCH_JUMP:
		return bench_jump_ioctl(argp);
	case TWHEEL_BENCH_IDLE:
		return bench_idle(argp);
	case TWHEEL_BENCH_RUN:
		return bench_run_ioctl(argp);
	case TWHEEL_BENCH_WATCH:
		return bench_watch_ioctl();
	case TWHEEL_BENCH_WATCHED:
		return bench_watched_ioctl(argp);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations bench_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= bench_ioctl,
};

static struct miscdevice bench_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= TWHEEL_BENCH_DEVICE,
	.fops	= &bench_fops,
	.mode	= 0600,
};

static int __init bench_init(void)
{
	int err = bench_clock_init();

	return err ?: misc_register(&bench_misc);
}
module_init(bench_init);

static void __exit bench_exit(void)
{
	struct twheel_bench_watch unused;

	bench_watched(&unused);
	misc_deregister(&bench_misc);
	bench_clock_exit();
}
module_exit(bench_exit);

MODULE_DESCRIPTION("What the benchmark of twheel needs inside the kernel");
MODULE_LICENSE("GPL");
