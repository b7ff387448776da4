// SPDX-License-Identifier: MIT
/*
 * A crowd that is not due for another second does not delay a call that checks or expires due
 * timers: the call cascades a part of it at most.
 */
#include "clock.h"
#include "kernel.h"
#include "threads.h"

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
	struct file *wheel;
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

	call_ahead_of_a_crowd(TWHEEL_INFO, &info);
	if (info.max_timers != 1 << 24)
		wrong(ANSWERS, "the module limits wheels to %llu timers", info.max_timers);
	call_ahead_of_a_crowd(TWHEEL_ADD, &past);
}
