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
#include <linux/uaccess.h>

#include "module.h"

/* The benchmark makes one request at a time. */
static long bench_ioctl(struct file *filp, unsigned int cmd, unsigned long user)
{
	void __user *arg = (void __user *)user;
	struct twheel_bench_watch watch;
	struct twheel_bench_run run;
	u64 ns;
	int err;

	switch (cmd) {
	case TWHEEL_BENCH_JUMP:
		if (get_user(ns, (u64 __user *)arg))
			return -EFAULT;
		bench_jump(ns);
		return 0;
	case TWHEEL_BENCH_BUSY:
		return bench_busy(&ns) ?: put_user(ns, (u64 __user *)arg);
	case TWHEEL_BENCH_RUN:
		if (copy_from_user(&run, arg, sizeof(run)))
			return -EFAULT;
		err = bench_run(&run);
		return err ?: copy_to_user(arg, &run, sizeof(run)) ? -EFAULT : 0;
	case TWHEEL_BENCH_WATCH:
		return bench_watch();
	case TWHEEL_BENCH_WATCHED:
		bench_watched(&watch);
		return copy_to_user(arg, &watch, sizeof(watch)) ? -EFAULT : 0;
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
