// SPDX-License-Identifier: MIT
/*
 * Tasks that sleep and are woken, locks, time and hrtimers: implements ../threads/kernel.h
 *
 * Time advances in two steps: first the clocks show it, then the interrupt comes. So a task can
 * always run before the interrupt.
 */
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include "schedule.h"

__thread struct task_struct *current;

/* Operations have points; the additional ones of the suite threads are not needed. */
void breathing_space(void)
{
}

bool is_traced(void)
{
	return false;
}

bool out_of_memory(void)
{
	may_sleep();
	if (!current || !current->lean)
		return false;
	POINT("allocate memory");
	/* One allocation fails. */
	if (!schedule_any(2))
		return false;
	current->lean = 0;
	current->failed++;
	return true;
}

static bool lock_is_free(const void *lock)
{
	return !((const struct mutex *)lock)->owner;
}

/* An owner can be preempted, which stands for a CPU that is slower than others. */
void native_lock(struct mutex *lock)
{
	schedule_until(lock_is_free, lock);
}

void native_unlock(struct mutex *lock)
{
}

void task_init(struct task_struct *task, struct mm_struct *mm, u64 seed)
{
	*task = (struct task_struct) { .awake = true, .mm = mm, .alone = true };
	chance_init(&task->chance, seed, 0);
	task_mend(task);
}

/* Returns whether it was asleep, or about to be. */
bool task_wake(struct task_struct *task)
{
	bool slept = !task->awake;

	task->awake = true;
	return slept;
}

void task_signal(struct task_struct *task, bool kill)
{
	POINT("send a signal");
	task->killed |= kill;
	task->signalled = true;
	task_wake(task);
}

void task_about_to_sleep(void)
{
	POINT("set the state of the task");
	current->awake = false;
}

static bool is_awake(const void *task)
{
	return ((const struct task_struct *)task)->awake ||
	       ((const struct task_struct *)task)->signalled;
}

void task_sleep(void)
{
	may_sleep();
	schedule_until(is_awake, current);
	current->awake = true;
}

/*
 * Time.
 */

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
		broken("an hrtimer is started with a wrong time or mode");
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
