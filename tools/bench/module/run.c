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
#include <linux/timer.h>
#include <linux/vmalloc.h>

#include "twheel.h"
#include "twheel_compat.h"
#include "module.h"

/* Steps of the core at a time, as in the driver. */
#define BUDGET		64
#define TICK_NS		NSEC_PER_MSEC
#define WHEEL_SIZE	256
/* Timers between two checks whether another task needs the CPU. */
#define STRIDE		1024

/**
 * struct kind - a facility
 * @add: arms timer @i for its delay.
 * @modify: postpones timer @i to the end of the span.
 * @cancel: drops timer @i.
 * @expire: lets all timers expire; returns when that began.
 *
 * Constant wherever it is used, so that its functions are inlined there.
 */
struct kind {
	void (*add)(u32 i);
	void (*modify)(u32 i);
	void (*cancel)(u32 i);
	u64 (*expire)(void);
};

union any_timer {
	struct twheel_timer core;
	struct hrtimer hrtimer;
	struct timer_list list;
};

/* The run in progress: the delay of each timer, in ns, and their numbers, in a random order. */
static struct twheel_bench_run run;
static u64 *delay;
static u32 *order;
static union any_timer *timers;
/* How many timers have yet to expire, and when the last of them had. */
static u64 left, end_ns;

/* The last timer to expire stops the clock. */
static void expired(void)
{
	if (!--left)
		end_ns = ktime_get_ns();
}

/* The core of twheel: no lock, no clock. The wheel's time is 0 until it expires. */

static struct twheel wheel;

static int core_open(void)
{
	struct twheel_level *level;

	twheel_init(&wheel, TICK_NS, WHEEL_SIZE, 0);
	while (wheel.nr_levels < twheel_levels_until(&wheel, 2 * run.span_ns)) {
		level = twheel_level_alloc(&wheel, wheel.nr_levels, GFP_KERNEL);
		if (!level) {
			twheel_destroy(&wheel);
			return -ENOMEM;
		}
		twheel_level_install(&wheel, level);
	}
	return 0;
}

static __always_inline void core_add(u32 i)
{
	timers[i].core.deadline = delay[i];
	twheel_add(&wheel, &timers[i].core);
}

static __always_inline void core_modify(u32 i)
{
	twheel_cancel(&wheel, &timers[i].core);
	timers[i].core.deadline = run.span_ns;
	twheel_add(&wheel, &timers[i].core);
}

static __always_inline void core_cancel(u32 i)
{
	twheel_cancel(&wheel, &timers[i].core);
}

static u64 core_expire(void)
{
	u64 began = ktime_get_ns();
	u64 end = twheel_tick(&wheel, run.span_ns);
	bool more;

	do {
		more = twheel_advance(&wheel, end, BUDGET);
		while (twheel_pop(&wheel)) {
			expired();
			/* Each is counted in memory, as for the other kinds. */
			barrier();
		}
		cond_resched();
	} while (more);
	return began;
}

static const struct kind core_kind = { core_add, core_modify, core_cancel, core_expire };

/* hrtimer */

static enum hrtimer_restart hrtimer_expired(struct hrtimer *timer)
{
	expired();
	return HRTIMER_NORESTART;
}

static __always_inline void hrtimer_add_one(u32 i)
{
	hrtimer_setup(&timers[i].hrtimer, hrtimer_expired, CLOCK_BOOTTIME, HRTIMER_MODE_REL);
	hrtimer_start(&timers[i].hrtimer, delay[i], HRTIMER_MODE_REL);
}

static __always_inline void hrtimer_modify_one(u32 i)
{
	hrtimer_start(&timers[i].hrtimer, run.span_ns, HRTIMER_MODE_REL);
}

static __always_inline void hrtimer_cancel_one(u32 i)
{
	hrtimer_cancel(&timers[i].hrtimer);
}

static u64 hrtimer_expire(void)
{
	u64 began = ktime_get_ns();

	bench_jump(run.span_ns);
	while (READ_ONCE(left))
		cond_resched();
	return began;
}

static const struct kind hrtimer_kind = {
	hrtimer_add_one, hrtimer_modify_one, hrtimer_cancel_one, hrtimer_expire
};

/* timer_list */

static void timer_list_expired(struct timer_list *timer)
{
	expired();
}

static __always_inline void timer_list_add_one(u32 i)
{
	timer_setup(&timers[i].list, timer_list_expired, 0);
	mod_timer(&timers[i].list, jiffies + nsecs_to_jiffies(delay[i]));
}

static __always_inline void timer_list_modify_one(u32 i)
{
	mod_timer(&timers[i].list, jiffies + nsecs_to_jiffies(run.span_ns));
}

static __always_inline void timer_list_cancel_one(u32 i)
{
	timer_delete_sync(&timers[i].list);
}

static u64 timer_list_expire(void)
{
	/* The kernel's wheel allows a timer to be late by an eighth of its delay. */
	u64 span = run.span_ns + run.span_ns / 8 + NSEC_PER_SEC;
	unsigned long end = jiffies + nsecs_to_jiffies(span);
	u64 began;

	local_bh_disable();
	while (time_before(jiffies, end)) {
		local_irq_disable();
		safe_halt();
	}
	began = ktime_get_ns();
	local_bh_enable();
	while (READ_ONCE(left))
		cond_resched();
	return began;
}

static const struct kind timer_list_kind = {
	timer_list_add_one, timer_list_modify_one, timer_list_cancel_one, timer_list_expire
};

/* The phases */

static __always_inline u64 each(const u32 *which, void (*op)(u32 i))
{
	u64 began = ktime_get_ns();
	u64 i, end;

	for (i = 0; i < run.pending; cond_resched()) {
		end = min(run.pending, i + STRIDE);
		for (; i < end; i++)
			op(which ? which[i] : i);
	}
	return ktime_get_ns() - began;
}

static __always_inline void measure(const struct kind *kind)
{
	run.add_ns = each(NULL, kind->add);
	if (run.op == TWHEEL_BENCH_EXPIRE) {
		u64 began = kind->expire();

		run.op_ns = end_ns - began;
		return;
	}
	if (run.op == TWHEEL_BENCH_CANCEL) {
		run.op_ns = each(order, kind->cancel);
	} else {
		run.op_ns = each(order, kind->modify);
		each(order, kind->cancel);
	}
}

static int measure_facility(void)
{
	int err;

	switch (run.facility) {
	case TWHEEL_BENCH_CORE:
		err = core_open();
		if (err)
			return err;
		measure(&core_kind);
		twheel_destroy(&wheel);
		return 0;
	case TWHEEL_BENCH_HRTIMER:
		measure(&hrtimer_kind);
		return 0;
	default:
		measure(&timer_list_kind);
		return 0;
	}
}

/* Draw the delays, and shuffle the order. */
static void plan(void)
{
	struct rnd_state rnd;
	u64 i;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < run.pending; i++) {
		u64 random = (u64)prandom_u32_state(&rnd) << 32 | prandom_u32_state(&rnd);
		u32 other;

		/* A timer that is due at once would disturb the adding of the others. */
		delay[i] = max_t(u64, NSEC_PER_SEC, mul_u64_u64_shr(random, run.span_ns, 64));
		div64_u64_rem(random, i + 1, &random);
		other = random;
		order[i] = order[other];
		order[other] = i;
	}
}

int bench_run(struct twheel_bench_run *request)
{
	int err = -ENOMEM;

	run = *request;
	left = run.pending;
	delay = vmalloc(array_size(run.pending, sizeof(*delay)));
	order = vmalloc(array_size(run.pending, sizeof(*order)));
	timers = vzalloc(array_size(run.pending, sizeof(*timers)));
	if (delay && order && timers) {
		plan();
		err = measure_facility();
	}
	vfree(timers);
	vfree(order);
	vfree(delay);
	*request = run;
	return err;
}
