// SPDX-License-Identifier: MIT
/*
 * Time and hrtimers; see schedule.h
 *
 * Time advances in two steps: first the clocks show it, then the interrupt comes. So a task can
 * always run before the interrupt.
 */
#include <linux/hrtimer.h>
#include <linux/list.h>

#include "schedule.h"

static struct {
	u64 now;
	/* The offset of CLOCK_REALTIME. */
	s64 offset;
	struct list_head timers;
	struct hrtimer *running;
	/* Time has advanced, and the interrupt has not ended. */
	bool in_irq;
} base WORLD = { .now = CLOCK_BEGIN, .timers = LIST_HEAD_INIT(base.timers) };

u64 clock_now(clockid_t clock)
{
	return base.now + (clock == CLOCK_REALTIME ? base.offset : 0);
}

u64 clock_look(clockid_t clock)
{
	POINT("read the clock");
	return clock_now(clock);
}

u64 clock_wall(void)
{
	return clock_now(CLOCK_REALTIME);
}

u64 clock_latest(void)
{
	return running ? running->latest : clock_wall();
}

void clock_call_begins(void)
{
	if (running)
		running->latest = clock_wall();
}

static void clocks_have_moved(void)
{
	struct coroutine *c;

	for (c = coroutines; c < coroutines + nr_coroutines; c++)
		c->latest = max(c->latest, clock_wall());
}

void clock_pass(u64 ns)
{
	POINT("time passes");
	base.now += ns;
	clocks_have_moved();
}

void clock_set(s64 ns)
{
	POINT("the clock is set");
	base.offset += ns;
	clocks_have_moved();
}

/*
 * Hrtimers.
 */

static u64 until_first_fire(void)
{
	return hrtimer_get_remaining(hrtimer_earliest(&base.timers));
}

u64 clock_next_fire(void)
{
	return clock_timers() ? clock_wall() + until_first_fire() : U64_MAX;
}

unsigned int clock_timers(void)
{
	return !list_empty(&base.timers);
}

void hrtimer_start(struct hrtimer *timer, ktime_t time, enum hrtimer_mode mode)
{
	POINT("hrtimer_start");
	may_call();
	if (time < 0 || mode != HRTIMER_MODE_ABS)
		broken("an hrtimer is started for what is no time");
	timer->expires = time;
	list_del(&timer->node);
	list_add(&timer->node, &base.timers);
}

static bool is_not_running(const void *timer)
{
	return base.running != timer;
}

/* Returns when the hrtimer is neither queued nor running. */
void hrtimer_cancel(struct hrtimer *timer)
{
	POINT("hrtimer_cancel");
	may_call();
	list_del_init(&timer->node);
	schedule_until(is_not_running, timer);
	list_del_init(&timer->node);
}

/*
 * The interrupt.
 */

/* As in the kernel, the function runs unlocked, and may start its hrtimer again. */
static void fire(struct hrtimer *timer)
{
	list_del_init(&timer->node);
	base.running = timer;
	timer->function(timer);
	POINT("the interrupt ends");
	base.running = NULL;
}

static bool can_go_on(const void *unused)
{
	return clock_timers() && base.now + until_first_fire() < CLOCK_END;
}

void clock_run(void)
{
	current->in_irq = true;
	for (;;) {
		struct hrtimer *timer;

		schedule_until(can_go_on, NULL);
		base.in_irq = true;
		base.now += until_first_fire();
		clocks_have_moved();
		POINT("the interrupt comes");
		timer = hrtimer_earliest(&base.timers);
		if (timer && !hrtimer_get_remaining(timer))
			fire(timer);
		base.in_irq = false;
		POINT("wait for time to pass");
	}
}

bool clock_is_waiting(const struct coroutine *c)
{
	return c->run == clock_run && !base.in_irq;
}
