// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mistakes of callers, which a debug build of the core detects
 *
 * Each runs in a child, which has to be aborted. The same calls without a mistake must pass.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
	twheel_advance(&w, S64_MAX / 1000 - 1, 64);
	twheel_cancel(&w, &timer);
	twheel_tick(&w, S64_MAX);
	twheel_floor(&w, S64_MAX);
	add_level(1);
	add(S64_MAX);
	twheel_init(&w, 1, 65536, S64_MAX);
}

static void tick_of_zero(void)
{
	twheel_init(&w, 0, 256, 0);
}

static void size_of_one(void)
{
	twheel_init(&w, 1, 1, 0);
}

static void size_too_large(void)
{
	twheel_init(&w, 1, 65537, 0);
}

static void start_after_the_end_of_time(void)
{
	twheel_init(&w, 2, 256, S64_MAX / 2 + 1);
}

static void deadline_after_the_end_of_time(void)
{
	add((u64)S64_MAX + 1);
}

static void tick_of_a_time_after_the_end(void)
{
	twheel_tick(&w, (u64)S64_MAX + 1);
}

static void time_after_the_end(void)
{
	twheel_floor(&w, (u64)S64_MAX + 1);
}

static void advance_beyond_the_end_of_time(void)
{
	twheel_advance(&w, S64_MAX / 1000, 64);
}

static void cancel_twice(void)
{
	add(3);
	twheel_cancel(&w, &timer);
	twheel_cancel(&w, &timer);
}

static void cancel_what_was_never_added(void)
{
	timer.bucket = 1000;
	twheel_cancel(&w, &timer);
}

static void level_installed_twice(void)
{
	add_level(0);
}

static void too_many_levels(void)
{
	twheel_level_alloc(&w, TWHEEL_MAX_LEVELS, GFP_KERNEL);
}

static const struct {
	const char *name;
	void (*run)(void);
} mistake[] = {
	{ "a tick of zero", tick_of_zero },
	{ "a size of one", size_of_one },
	{ "a size that is too large", size_too_large },
	{ "a start after the end of time", start_after_the_end_of_time },
	{ "a deadline after the end of time", deadline_after_the_end_of_time },
	{ "the tick of a time after the end", tick_of_a_time_after_the_end },
	{ "the last tick before a time after the end", time_after_the_end },
	{ "advancing beyond the end of time", advance_beyond_the_end_of_time },
	{ "cancelling twice", cancel_twice },
	{ "cancelling what was never added", cancel_what_was_never_added },
	{ "a level that is installed twice", level_installed_twice },
	{ "too many levels", too_many_levels },
};

/* Return whether it is aborted. */
static bool aborts(void (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		twheel_init(&w, 1000, 256, 0);
		add_level(0);
		run();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return false;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
		abort();
	return true;
}

int main(void)
{
	unsigned int i, missed = 0;

	if (aborts(no_mistake)) {
		fprintf(stderr, "correct calls are taken for mistakes\n");
		missed++;
	}
	for (i = 0; i < ARRAY_SIZE(mistake); i++) {
		if (aborts(mistake[i].run))
			continue;
		fprintf(stderr, "not noticed: %s\n", mistake[i].name);
		missed++;
	}
	printf("operations: %zu\n", ARRAY_SIZE(mistake));
	return !!missed;
}
