// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/twheel: a hierarchical timing wheel behind a descriptor
 *
 * Opening and closing, the ioctls, and the module. An open file is twheel_file.c, waiting for it
 * twheel_wake.c, its timers are twheel_timers.c, reading and polling twheel_read.c, the ring of
 * events twheel_ring.c, commands of an io_uring twheel_uring.c; twheel_show.c shows all of it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "twheel_file.h"

#define CREATE_TRACE_POINTS
#include "twheel_trace.h"

static ulong tick_ns = TWHEEL_TICK_DEFAULT_NS;
module_param(tick_ns, ulong, 0444);
MODULE_PARM_DESC(tick_ns, "Default tick in nanoseconds (1000 to 3600000000000)");

static uint wheel_size = TWHEEL_SIZE_DEFAULT;
module_param(wheel_size, uint, 0444);
MODULE_PARM_DESC(wheel_size, "Default number of buckets in a level (2 to 65536)");

static ulong max_timers = 1UL << 24;
module_param(max_timers, ulong, 0644);
MODULE_PARM_DESC(max_timers, "Timers that one wheel may hold");

/* ---- Setting up and querying a wheel ---- */

static bool tick_is_valid(u64 tick)
{
	return tick >= TWHEEL_TICK_MIN_NS && tick <= TWHEEL_TICK_MAX_NS;
}

static bool size_is_valid(u32 size)
{
	return size >= TWHEEL_SIZE_MIN && size <= TWHEEL_SIZE_MAX;
}

static noinline long twheel_set_up(struct twheel_file *file, struct twheel_setup __user *arg)
{
	ulong limit = READ_ONCE(max_timers);
	struct twheel_setup setup;

	if (copy_from_user(&setup, arg, sizeof(setup)))
		return -EFAULT;
	if (setup.flags || memchr_inv(setup.reserved, 0, sizeof(setup.reserved)) ||
	    !tick_is_valid(setup.tick_ns) || !size_is_valid(setup.wheel_size) ||
	    (setup.clock_id != CLOCK_MONOTONIC && setup.clock_id != CLOCK_BOOTTIME &&
	     setup.clock_id != CLOCK_REALTIME && setup.clock_id != CLOCK_TAI))
		return -EINVAL;
	if (setup.max_timers > limit)
		return -ENOSPC;
	setup.max_timers = setup.max_timers ?: limit;
	return twheel_file_set_up(file, &setup);
}

static __always_inline long dispatch(struct twheel_file *file, unsigned int cmd,
				     void __user *argp)
{
	switch (cmd) {
	case TWHEEL_SETUP:
		return twheel_set_up(file, argp);
	case TWHEEL_QUERY:
		return twheel_query_timer(file, argp);
	case TWHEEL_INFO:
		return twheel_get_info(file, argp);
	case TWHEEL_RING:
		return twheel_make_ring(file, argp);
	case TWHEEL_LIST:
		return twheel_list_timers(file, argp);
	default:
		return twheel_change(file, cmd, argp);
	}
}

static noinline long dispatch_traced(struct twheel_file *file, unsigned int cmd,
				     void __user *argp)
{
	long ret = dispatch(file, cmd, argp);

	if (ret < 0)
		trace_twheel_refuse(file->id, cmd, ret);
	return ret;
}

static long twheel_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	/* Untraced single calls end in a tail call, which saves them 13 instructions. */
	if (trace_twheel_refuse_enabled())
		return dispatch_traced(filp->private_data, cmd, (void __user *)arg);
	return dispatch(filp->private_data, cmd, (void __user *)arg);
}

/* ---- Opening and closing ---- */

/* Number of files opened so far: the id of the last one. */
static atomic64_t opened;

static int twheel_open(struct inode *inode, struct file *filp)
{
	const struct twheel_setup setup = {
		.tick_ns = tick_ns,
		.wheel_size = wheel_size,
		.clock_id = CLOCK_MONOTONIC,
		.max_timers = READ_ONCE(max_timers),
	};
	struct twheel_file *file = twheel_file_open(filp->f_cred->uid, &setup);

	if (IS_ERR(file))
		return PTR_ERR(file);
	file->id = atomic64_inc_return(&opened);
	filp->private_data = file;
	filp->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, filp);
}

/* A process that closes its descriptor, or dies, leaves what it was woken for to the next. */
static int twheel_flush(struct file *filp, fl_owner_t id)
{
	twheel_file_wake_next(filp->private_data);
	return 0;
}

static int twheel_release(struct inode *inode, struct file *filp)
{
	twheel_file_close(filp->private_data);
	return 0;
}

static const struct file_operations twheel_fops = {
	.owner		= THIS_MODULE,
	.open		= twheel_open,
	.flush		= twheel_flush,
	.release	= twheel_release,
	.read		= twheel_read,
	.read_iter	= twheel_read_iter,
	.poll		= twheel_poll,
	.mmap		= twheel_mmap,
	.unlocked_ioctl	= twheel_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= twheel_show_fdinfo,
	.uring_cmd	= PTR_IF(IS_ENABLED(CONFIG_IO_URING), twheel_uring_cmd),
};

static struct miscdevice twheel_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &twheel_fops,
	.mode	= 0666,
};

static int __init twheel_module_init(void)
{
	if (!tick_is_valid(tick_ns)) {
		pr_err("tick_ns=%lu is not within %llu to %llu\n", tick_ns,
		       TWHEEL_TICK_MIN_NS, TWHEEL_TICK_MAX_NS);
		return -EINVAL;
	}
	if (!size_is_valid(wheel_size)) {
		pr_err("wheel_size=%u is not within %u to %u\n", wheel_size,
		       TWHEEL_SIZE_MIN, TWHEEL_SIZE_MAX);
		return -EINVAL;
	}
	twheel_user_init();
	return misc_register(&twheel_misc);
}
module_init(twheel_module_init);

static void __exit twheel_module_exit(void)
{
	misc_deregister(&twheel_misc);
}
module_exit(twheel_module_exit);

MODULE_AUTHOR("The twheel maintainers");
MODULE_DESCRIPTION("Hierarchical timing wheels behind a file descriptor");
MODULE_LICENSE("GPL");
MODULE_VERSION(TWHEEL_VERSION);
