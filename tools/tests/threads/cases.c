// SPDX-License-Identifier: MIT
/*
 * What chance seldom brings about: somebody else acts at the one moment that matters
 */
#include <unistd.h>

#include <uapi/linux/twheel.h>

#include "clock.h"
#include "kernel.h"
#include "workers.h"

/* Soon enough to wait for it, and late enough that an add has begun by then. */
#define SOON_NS		(2 * MSEC)

static struct file *wheel;
static u64 deadline;

/* Brings the wheel's clock past the deadline, without which nobody would. */
static void add_after_the_deadline(void)
{
	struct twheel_add add = { .time_ns = SEC };

	while (clock_now(CLOCK_MONOTONIC) < deadline + MSEC)
		usleep(100);
	if (sys_ioctl(wheel, TWHEEL_ADD, &add))
		broken("an add in the meantime fails");
}

/* While the level is made that a timer needs, its time comes: who waits has to be woken. */
static void fall_due_without_a_level(void)
{
	const struct twheel_setup setup = {
		.tick_ns = 1000,
		.wheel_size = TWHEEL_SIZE_DEFAULT,
		.clock_id = CLOCK_MONOTONIC,
	};
	struct twheel_add add = { .flags = TWHEEL_ABSTIME };
	struct watch watch;

	if (sys_open(NR_WHEELS, &wheel) || sys_ioctl(wheel, TWHEEL_SETUP, (void *)&setup))
		broken("a wheel cannot be opened");
	/* One that is past takes memory for timers, and no level. */
	if (sys_ioctl(wheel, TWHEEL_ADD, &add) || sys_ioctl(wheel, TWHEEL_CANCEL, &add.id))
		broken("a timer that is past cannot be added or cancelled");
	watch_add(&watch, wheel, true);
	deadline = clock_now(CLOCK_MONOTONIC) + SOON_NS;
	add.time_ns = deadline;
	current->meanwhile = add_after_the_deadline;
	if (sys_ioctl(wheel, TWHEEL_ADD, &add))
		wrong(ANSWERS, "an add of what falls due meanwhile fails");
	if (current->meanwhile)
		broken("no level was made");
	if (!READ_ONCE(watch.triggered))
		wrong(WAKING, "a timer fell due while its level was made, and who waits sleeps");
	watch_remove(&watch);
	sys_close(wheel);
}

static struct task_struct *adder;
static unsigned int allocations;
static bool has_been_set_up;

/* Sets the wheel up when its adder has allocated so often without the lock. */
static void set_up_after_allocations(void)
{
	const struct twheel_setup setup = {
		.tick_ns = TWHEEL_TICK_MAX_NS,
		.wheel_size = TWHEEL_SIZE_DEFAULT,
		.clock_id = CLOCK_BOOTTIME,
	};

	if (adder->mutexes || allocations--)
		adder->meanwhile = set_up_after_allocations;
	else
		has_been_set_up = !sys_ioctl(wheel, TWHEEL_SETUP, (void *)&setup);
}

/* A timer that is valid for the wheel as it was is not added to the one that it has become. */
static void add_while_it_is_set_up(unsigned int nr)
{
	struct twheel_add add = { .interval_ns = TWHEEL_TICK_DEFAULT_NS };
	long err;

	if (sys_open(NR_WHEELS, &wheel))
		broken("a wheel cannot be opened");
	adder = current;
	allocations = nr;
	has_been_set_up = false;
	current->meanwhile = set_up_after_allocations;
	err = sys_ioctl(wheel, TWHEEL_ADD, &add);
	if (err != (has_been_set_up ? -EINVAL : 0))
		wrong(ANSWERS, "an add, set up meanwhile, at allocation %u: %ld", nr, err);
	current->meanwhile = NULL;
	sys_close(wheel);
}

/*
 * A crowd that is not due for another second is not in the way of a call that wants to know, or
 * to let expire, what is due: it cascades a part of it at most.
 */
static void call_ahead_of_a_crowd(unsigned int cmd, void *arg)
{
	const struct twheel_setup setup = {
		.tick_ns = TWHEEL_TICK_DEFAULT_NS,
		.wheel_size = TWHEEL_SIZE_DEFAULT,
		.clock_id = CLOCK_BOOTTIME,
	};
	/* A bucket of the third level is opened a sixteenth of its length ahead. */
	const u64 length = setup.tick_ns * setup.wheel_size * setup.wheel_size;
	u64 due = (clock_now(CLOCK_BOOTTIME) / length + 2) * length + SEC;
	struct twheel_add add = { .time_ns = due, .flags = TWHEEL_ABSTIME };
	struct twheel_info info;
	unsigned int i;
	long err;

	if (sys_open(NR_WHEELS, &wheel) || sys_ioctl(wheel, TWHEEL_SETUP, (void *)&setup))
		broken("no wheel for a crowd");
	for (i = 0; i < 1000; i++) {
		if (sys_ioctl(wheel, TWHEEL_ADD, &add))
			broken("a crowd is not added");
	}
	clock_suspend(due - 2 * SEC - clock_now(CLOCK_BOOTTIME));
	err = sys_ioctl(wheel, cmd, arg) ?: sys_ioctl(wheel, TWHEEL_INFO, &info);
	if (err || info.cascaded > 500)
		wrong(ANSWERS, "a call ahead of a crowd: %ld, %llu cascaded", err,
		      (unsigned long long)info.cascaded);
	sys_close(wheel);
}

void play_cases(void)
{
	struct twheel_add past = { .flags = TWHEEL_ABSTIME };
	struct twheel_info info;
	unsigned int nr;

	fall_due_without_a_level();
	for (nr = 0; nr < 8; nr++)
		add_while_it_is_set_up(nr);
	call_ahead_of_a_crowd(TWHEEL_INFO, &info);
	call_ahead_of_a_crowd(TWHEEL_ADD, &past);
}
