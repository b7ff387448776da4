// SPDX-License-Identifier: MIT
/*
 * Tasks that sleep and are woken, and allocations that fail: implements ../threads/kernel.h
 */
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
