// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bugs for tools/tests/planted-test, which expects the kernel to report them
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "../twheel_compat.h"

static DEFINE_SPINLOCK(one);
static DEFINE_SPINLOCK(other);
static unsigned long counter;

/* KASAN: a byte behind an object. */
static void write_behind_object(void)
{
	char *p = kmalloc(8, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	if (p)
		p[8] = 1;
	kfree(p);
}

/* KCSAN: two CPUs change a word, without a lock. */
static int change_counter(void *arg)
{
	while (!kthread_should_stop()) {
		counter++;
		cond_resched();
	}
	return 0;
}

static void race(void)
{
	struct task_struct *task[2];
	unsigned int i;

	for (i = 0; i < 2; i++)
		task[i] = kthread_run(change_counter, NULL, "planted");
	msleep(3000);
	for (i = 0; i < 2; i++) {
		if (!IS_ERR(task[i]))
			kthread_stop(task[i]);
	}
}

/* Lockdep: two orders. */
static void lock_in_two_orders(void)
{
	spin_lock(&one);
	spin_lock(&other);
	spin_unlock(&other);
	spin_unlock(&one);
	spin_lock(&other);
	spin_lock(&one);
	spin_unlock(&one);
	spin_unlock(&other);
}

static enum hrtimer_restart fire(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

/* DEBUG_OBJECTS: the memory of an hrtimer that is armed. */
static void free_armed_hrtimer(void)
{
	struct hrtimer *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	hrtimer_setup(timer, fire, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	hrtimer_start(timer, ktime_set(3600, 0), HRTIMER_MODE_REL);
	kfree(timer);
}

/* kmemleak, which may still find the address of one of them: several. */
static void leak(void)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		char *p = kmalloc(64, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(p);
	}
}

static int __init planted_init(void)
{
	/* First, as lockdep ends when another bug is reported. */
	lock_in_two_orders();
	write_behind_object();
	free_armed_hrtimer();
	leak();
	race();
	return 0;
}

static void __exit planted_exit(void)
{
}

module_init(planted_init);
module_exit(planted_exit);
MODULE_DESCRIPTION("Bugs that a debug kernel has to report");
MODULE_LICENSE("GPL");
