// SPDX-License-Identifier: GPL-2.0-only
/*
 * The facilities that exist only inside the kernel, on the benchmark's work
 *
 * As for the others, all timers are armed, postponed or cancelled in a random order, and
 * expire at once, when the last one is due: for hrtimers CLOCK_BOOTTIME jumps. The clock
 * of timer_list cannot jump, so its bottom half is held back while the CPU idles until
 * everything is due.
 */
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>

#include "twheel.h"
#include "twheel_compat.h"
#include "module.h"
#include "compat.h"

/* Steps of the core at a time, as in the driver. */
#define BUDGET		64
#define TICK_NS		NSEC_PER_MSEC
#define WHEEL_SIZE	256
/* Timers between two checks whether another task needs the CPU. */
#define STRIDE		1024

/**
 * struct job - a run in progress
 * @run: the request, and the result.
 * @delay: of each timer, in ns.
 * @order: the numbers of the timers, in a random order.
 * @timers: the timers, of whatever type.
 * @left: how many have yet to expire.
 * @end_ns: when the last of them had.
 * @wheel: the wheel of the core; its time is 0 until it expires.
 */
struct job {
	struct twheel_bench_run *run;
	u64 *delay;
	u32 *order;
	void *timers;
	u64 left;
	u64 end_ns;
	struct twheel wheel;
};

static struct job *current_job;

/* The last timer to expire stops the clock. */
static void job_expired(struct job *job)
{
	if (!--job->left)
		job->end_ns = ktime_get_ns();
}

/**
 * struct kind - a facility
 * @size: of its timers.
 * @open: prepares, or fails.
 * @add: arms timer @i for its delay.
 * @modify: postpones timer @i to the end of the span.
 * @cancel: drops timer @i.
 * @expire: lets all remaining timers expire; returns when that began.
 * @close: undoes @open.
 *
 * Constant wherever it is used, so that its functions are inlined there.
 */
struct kind {
	size_t size;
	int (*open)(struct job *job);
	void (*add)(struct job *job, u32 i);
	void (*modify)(struct job *job, u32 i);
	void (*cancel)(struct job *job, u32 i);
	u64 (*expire)(struct job *job);
	void (*close)(struct job *job);
};

/* The core of twheel: no lock, no clock. */

static struct twheel_timer *core_timer(struct job *job, u32 i)
{
	return (struct twheel_timer *)job->timers + i;
}

static void core_close(struct job *job)
{
	twheel_destroy(&job->wheel);
}

static int core_open(struct job *job)
{
	struct twheel *w = &job->wheel;
	struct twheel_level *level;

	twheel_init(w, TICK_NS, WHEEL_SIZE, 0);
	while (!twheel_covers(w, 2 * job->run->span_ns)) {
		level = twheel_level_alloc(w, w->nr_levels, GFP_KERNEL);
		if (!level) {
			core_close(job);
			return -ENOMEM;
		}
		twheel_level_install(w, level);
	}
	return 0;
}

static __always_inline void core_add(struct job *job, u32 i)
{
	struct twheel_timer *timer = core_timer(job, i);

	timer->deadline = job->delay[i];
	twheel_add(&job->wheel, timer);
}

static __always_inline void core_modify(struct job *job, u32 i)
{
	struct twheel_timer *timer = core_timer(job, i);

	twheel_cancel(&job->wheel, timer);
	timer->deadline = job->run->span_ns;
	twheel_add(&job->wheel, timer);
}

static __always_inline void core_cancel(struct job *job, u32 i)
{
	twheel_cancel(&job->wheel, core_timer(job, i));
}

static u64 core_expire(struct job *job)
{
	u64 began = ktime_get_ns();
	u64 end = twheel_tick(&job->wheel, job->run->span_ns);
	bool more;

	do {
		more = twheel_advance(&job->wheel, end, BUDGET);
		while (twheel_pop(&job->wheel))
			job_expired(job);
		cond_resched();
	} while (more);
	return began;
}

static const struct kind core_kind = {
	.size = sizeof(struct twheel_timer),
	.open = core_open,
	.add = core_add,
	.modify = core_modify,
	.cancel = core_cancel,
	.expire = core_expire,
	.close = core_close,
};

/* hrtimer */

static enum hrtimer_restart hrtimer_expired(struct hrtimer *timer)
{
	job_expired(current_job);
	return HRTIMER_NORESTART;
}

static __always_inline void hrtimer_add_one(struct job *job, u32 i)
{
	struct hrtimer *timer = (struct hrtimer *)job->timers + i;

	hrtimer_setup(timer, hrtimer_expired, CLOCK_BOOTTIME, HRTIMER_MODE_REL);
	hrtimer_start(timer, job->delay[i], HRTIMER_MODE_REL);
}

static __always_inline void hrtimer_modify_one(struct job *job, u32 i)
{
	hrtimer_start((struct hrtimer *)job->timers + i, job->run->span_ns,
		      HRTIMER_MODE_REL);
}

static __always_inline void hrtimer_cancel_one(struct job *job, u32 i)
{
	hrtimer_cancel((struct hrtimer *)job->timers + i);
}

static u64 hrtimer_expire(struct job *job)
{
	u64 began = ktime_get_ns();

	bench_jump(job->run->span_ns);
	while (READ_ONCE(job->left))
		cond_resched();
	return began;
}

static const struct kind hrtimer_kind = {
	.size = sizeof(struct hrtimer),
	.add = hrtimer_add_one,
	.modify = hrtimer_modify_one,
	.cancel = hrtimer_cancel_one,
	.expire = hrtimer_expire,
};

/* timer_list */

static void timer_list_expired(struct timer_list *timer)
{
	job_expired(current_job);
}

static __always_inline void timer_list_add_one(struct job *job, u32 i)
{
	struct timer_list *timer = (struct timer_list *)job->timers + i;

	timer_setup(timer, timer_list_expired, 0);
	mod_timer(timer, jiffies + nsecs_to_jiffies(job->delay[i]));
}

static __always_inline void timer_list_modify_one(struct job *job, u32 i)
{
	mod_timer((struct timer_list *)job->timers + i,
		  jiffies + nsecs_to_jiffies(job->run->span_ns));
}

static __always_inline void timer_list_cancel_one(struct job *job, u32 i)
{
	timer_delete_sync((struct timer_list *)job->timers + i);
}

static u64 timer_list_expire(struct job *job)
{
	/* The kernel's wheel allows a timer to be late by an eighth of its delay. */
	u64 span = job->run->span_ns + job->run->span_ns / 8 + NSEC_PER_SEC;
	unsigned long end = jiffies + nsecs_to_jiffies(span);
	u64 began;

	local_bh_disable();
	while (time_before(jiffies, end)) {
		local_irq_disable();
		safe_halt();
	}
	began = ktime_get_ns();
	local_bh_enable();
	while (READ_ONCE(job->left))
		cond_resched();
	return began;
}

static const struct kind timer_list_kind = {
	.size = sizeof(struct timer_list),
	.add = timer_list_add_one,
	.modify = timer_list_modify_one,
	.cancel = timer_list_cancel_one,
	.expire = timer_list_expire,
};

/* The phases */

static __always_inline u64 job_each(struct job *job, const u32 *order, u64 n,
				    void (*op)(struct job *job, u32 i))
{
	u64 began = ktime_get_ns();
	u64 i, end;

	for (i = 0; i < n; cond_resched()) {
		end = min(n, i + STRIDE);
		for (; i < end; i++)
			op(job, order ? order[i] : i);
	}
	return ktime_get_ns() - began;
}

static __always_inline int job_phases(struct job *job, const struct kind *kind)
{
	struct twheel_bench_run *run = job->run;
	u64 n = run->pending;
	u64 cancel = n * run->cancel_percent / 100;
	int err = 0;

	job->timers = vzalloc(array_size(n, kind->size));
	if (!job->timers)
		return -ENOMEM;
	job->left = n - cancel;
	if (kind->open)
		err = kind->open(job);
	if (err)
		goto free;

	run->add_ns = job_each(job, NULL, n, kind->add);
	if (run->modify)
		run->modify_ns = job_each(job, job->order, n, kind->modify);
	run->cancel_ns = job_each(job, job->order, cancel, kind->cancel);
	if (cancel < n) {
		u64 began = kind->expire(job);

		run->expire_ns = job->end_ns - began;
	}
	if (kind->close)
		kind->close(job);
free:
	vfree(job->timers);
	return err;
}

static int job_start(struct job *job)
{
	switch (job->run->facility) {
	case TWHEEL_BENCH_CORE:
		return job_phases(job, &core_kind);
	case TWHEEL_BENCH_HRTIMER:
		return job_phases(job, &hrtimer_kind);
	case TWHEEL_BENCH_TIMER_LIST:
		return job_phases(job, &timer_list_kind);
	default:
		return -EINVAL;
	}
}

/* Draw the delays, and shuffle the order. */
static void job_plan(struct job *job)
{
	struct twheel_bench_run *run = job->run;
	struct rnd_state rnd;
	u64 i;

	prandom_seed_state(&rnd, run->seed);
	for (i = 0; i < run->pending; i++) {
		u64 random = (u64)prandom_u32_state(&rnd) << 32 | prandom_u32_state(&rnd);
		u32 other;

		/* A timer that is due at once would disturb the adding of the others. */
		job->delay[i] = max_t(u64, NSEC_PER_SEC,
				      mul_u64_u64_shr(random, run->span_ns, 64));
		div64_u64_rem(random, i + 1, &random);
		other = random;
		job->order[i] = job->order[other];
		job->order[other] = i;
	}
}

int bench_run(struct twheel_bench_run *run)
{
	struct job *job;
	int err = -ENOMEM;

	if (!run->pending || run->pending > U32_MAX || run->cancel_percent > 100)
		return -EINVAL;

	job = kzalloc(sizeof(*job), GFP_KERNEL);
	if (!job)
		return -ENOMEM;
	job->run = run;
	job->delay = vmalloc(array_size(run->pending, sizeof(*job->delay)));
	job->order = vmalloc(array_size(run->pending, sizeof(*job->order)));
	if (job->delay && job->order) {
		job_plan(job);
		current_job = job;
		err = job_start(job);
	}
	vfree(job->order);
	vfree(job->delay);
	kfree(job);
	return err;
}
