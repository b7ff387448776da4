// SPDX-License-Identifier: MIT
/*
 * Tasks that sleep and are woken, and the clock with its hrtimers; see kernel.h
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include "clock.h"
#include "kernel.h"

__thread struct task_struct *current;

void broken(const char *rule)
{
	printf("Bail out! %s\n", rule);
	fflush(stdout);
	/* The sanitizer prints where. */
	abort();
}

void breathing_space(void)
{
	u64 n = current->alone ? 1024 : any_below(1024);

	if (n < 32)
		sched_yield();
	else if (n == 32)
		usleep(any_below(200));
}

bool is_traced(void)
{
	return one_in(8);
}

u64 clock_look(clockid_t clock)
{
	u64 now = clock_now(clock);

	breathing_space();
	return now;
}

bool out_of_memory(void)
{
	may_sleep();
	breathing_space();
	return fails_now();
}

void native_lock(struct mutex *lock)
{
	pthread_mutex_lock(&lock->lock.mutex);
}

void native_unlock(struct mutex *lock)
{
	pthread_mutex_unlock(&lock->lock.mutex);
}

/*
 * Tasks.
 */

void task_init(struct task_struct *task, struct mm_struct *mm, u64 seed)
{
	*task = (struct task_struct) { .awake = true, .mm = mm };
	chance_init(&task->chance, seed, 0);
	pthread_mutex_init(&task->lock, NULL);
	pthread_cond_init(&task->woken, NULL);
	task_mend(task);
}

/* Returns whether it was asleep, or about to be. */
bool task_wake(struct task_struct *task)
{
	bool slept;

	pthread_mutex_lock(&task->lock);
	slept = !task->awake;
	task->awake = true;
	pthread_cond_signal(&task->woken);
	pthread_mutex_unlock(&task->lock);
	return slept;
}

void task_signal(struct task_struct *task, bool kill)
{
	if (kill)
		WRITE_ONCE(task->killed, true);
	WRITE_ONCE(task->signalled, true);
	task_wake(task);
}

void task_forget_signals(struct task_struct *task)
{
	WRITE_ONCE(task->signalled, false);
	WRITE_ONCE(task->killed, false);
}

void task_yield(void)
{
	sched_yield();
}

/* From here on, a wake-up of the task is not too early. */
void task_about_to_sleep(void)
{
	pthread_mutex_lock(&current->lock);
	current->awake = false;
	pthread_mutex_unlock(&current->lock);
}

void task_sleep(void)
{
	may_sleep();
	pthread_mutex_lock(&current->lock);
	while (!current->awake && !READ_ONCE(current->signalled))
		pthread_cond_wait(&current->woken, &current->lock);
	current->awake = true;
	pthread_mutex_unlock(&current->lock);
}

/*
 * The clock. One thread is the interrupt of all hrtimers.
 */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t done;
	struct list_head timers;
	struct hrtimer *running;
	u64 suspended;
	u64 set_ahead;
	struct task_struct task;
} base = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
	.timers = LIST_HEAD_INIT(base.timers),
};

u64 clock_now(clockid_t clock)
{
	u64 now = now_ns();

	switch (clock) {
	case CLOCK_BOOTTIME:
		return now + READ_ONCE(base.suspended);
	case CLOCK_REALTIME:
	case CLOCK_TAI:
		return now + READ_ONCE(base.set_ahead);
	default:
		return now;
	}
}

/* As in the kernel, the function runs unlocked, and may start its hrtimer again. */
static void fire(struct hrtimer *timer)
{
	list_del_init(&timer->node);
	base.running = timer;
	pthread_mutex_unlock(&base.lock);
	breathing_space();
	timer->function(timer);
	breathing_space();
	pthread_mutex_lock(&base.lock);
	base.running = NULL;
	pthread_cond_broadcast(&base.done);
}

static void *run_clock(void *unused)
{
	struct hrtimer *timer;

	current = &base.task;
	for (;; usleep(50)) {
		pthread_mutex_lock(&base.lock);
		for (;;) {
			timer = hrtimer_earliest(&base.timers);
			if (!timer || hrtimer_get_remaining(timer))
				break;
			fire(timer);
		}
		pthread_mutex_unlock(&base.lock);
	}
	return unused;
}

void clock_start(struct mm_struct *mm)
{
	pthread_t thread;

	task_init(&base.task, mm, 0);
	base.task.in_irq = true;
	if (pthread_create(&thread, NULL, run_clock, NULL))
		broken("no thread for the clock");
	pthread_detach(thread);
}

void clock_suspend(u64 ns)
{
	__atomic_add_fetch(&base.suspended, ns, __ATOMIC_RELAXED);
}

void wall_clock_set(u64 ns_ahead)
{
	WRITE_ONCE(base.set_ahead, ns_ahead);
}

unsigned int clock_timers(void)
{
	struct hrtimer *timer;
	unsigned int n = 0;

	pthread_mutex_lock(&base.lock);
	list_for_each_entry(timer, &base.timers, node)
		n++;
	pthread_mutex_unlock(&base.lock);
	return n;
}

void hrtimer_start(struct hrtimer *timer, ktime_t time, enum hrtimer_mode mode)
{
	may_call();
	if (time < 0 || mode != HRTIMER_MODE_ABS)
		broken("an hrtimer is started with a wrong time or mode");
	pthread_mutex_lock(&base.lock);
	timer->expires = time;
	list_del(&timer->node);
	list_add(&timer->node, &base.timers);
	pthread_mutex_unlock(&base.lock);
}

/* Returns when the hrtimer is neither queued nor running. */
void hrtimer_cancel(struct hrtimer *timer)
{
	may_call();
	pthread_mutex_lock(&base.lock);
	while (base.running == timer)
		pthread_cond_wait(&base.done, &base.lock);
	list_del_init(&timer->node);
	pthread_mutex_unlock(&base.lock);
}
