// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mistakes of callers, which a debug build of the core detects; prints TAP
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "twheel.h"

static struct twheel w;
static struct twheel_timer timer;

static void add_level(u8 nr)
{
	twheel_level_install(&w, twheel_level_alloc(&w, nr, GFP_KERNEL));
}

static void add(u64 deadline)
{
	timer.deadline = deadline;
	twheel_add(&w, &timer);
}

static void no_mistake(void)
{
	add(3);
	twheel_cancel(&w, &timer);
	add(3);
	twheel_advance(&w, S64_MAX / 1000, 64);
	twheel_cancel(&w, &timer);
	twheel_tick(&w, S64_MAX);
	twheel_floor(&w, S64_MAX);
	add_level(1);
	add(S64_MAX);
	twheel_init(&w, 1, 65536, S64_MAX);
}

#define MISTAKES	12

/* Make a mistake. Returns only if that is not noticed: its name. */
static const char *mistake(unsigned int nr)
{
	switch (nr) {
	case 0:
		twheel_init(&w, 0, 256, 0);
		return "a tick of zero";
	case 1:
		twheel_init(&w, 1, 1, 0);
		return "a size of one";
	case 2:
		twheel_init(&w, 1, 65537, 0);
		return "a size that is too large";
	case 3:
		twheel_init(&w, 2, 256, S64_MAX / 2 + 1);
		return "a start after the end of time";
	case 4:
		add((u64)S64_MAX + 1);
		return "a deadline after the end of time";
	case 5:
		twheel_tick(&w, (u64)S64_MAX + 1);
		return "the tick of a time after the end";
	case 6:
		twheel_floor(&w, (u64)S64_MAX + 1);
		return "the last tick before a time after the end";
	case 7:
		twheel_advance(&w, S64_MAX / 1000 + 1, 64);
		return "advancing beyond the end of time";
	case 8:
		add(3);
		twheel_cancel(&w, &timer);
		twheel_cancel(&w, &timer);
		return "cancelling twice";
	case 9:
		timer.bucket = 1000;
		twheel_cancel(&w, &timer);
		return "cancelling what was never added";
	case 10:
		add_level(0);
		return "a level that is installed twice";
	default:
		twheel_level_alloc(&w, TWHEEL_MAX_LEVELS, GFP_KERNEL);
		return "too many levels";
	}
}

static void begin(void)
{
	twheel_init(&w, 1000, 256, 0);
	add_level(0);
}

/* A child that makes it has to be aborted. */
static void check_mistake(unsigned int nr)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		begin();
		tap_note("not noticed: %s", mistake(nr));
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	tap_result(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "mistake %u is noticed", nr);
}

int main(void)
{
	unsigned int nr;

	for (nr = 0; nr < MISTAKES; nr++)
		check_mistake(nr);
	begin();
	no_mistake();
	tap_result(true, "calls without a mistake pass");
	return tap_done();
}
