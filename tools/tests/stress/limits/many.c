// SPDX-License-Identifier: MIT
/*
 * Very many wheels
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "limits.h"
#include "machine.h"
#include "tap.h"

static uint64_t available_memory(void)
{
	char text[256];
	FILE *file = fopen("/proc/meminfo", "r");
	uint64_t kilobytes = 0;

	while (file && fgets(text, sizeof(text), file)) {
		if (sscanf(text, "MemAvailable: %llu", (unsigned long long *)&kilobytes) == 1)
			break;
	}
	if (file)
		fclose(file);
	return kilobytes * 1024;
}

/* As many of the largest wheels as a user may have. */
static unsigned int open_wheels(int *fd)
{
	struct twheel_setup setup = { .tick_ns = TWHEEL_TICK_MIN_NS,
				      .wheel_size = TWHEEL_SIZE_MAX,
				      .clock_id = CLOCK_MONOTONIC };
	unsigned int opened;

	for (opened = 0; opened < FDS; opened++) {
		fd[opened] = twheel_open(NULL, O_CLOEXEC);
		if (fd[opened] < 0)
			break;
		if (twheel_set_up(fd[opened], &setup))
			bail_out("cannot set up a wheel");
	}
	return opened;
}

/* Timers at every distance, in as many of them as can have one. */
static void open_many(struct report *report)
{
	static int fd[FDS];
	unsigned int i;

	report->wheels = open_wheels(fd);
	for (i = 0; i < report->wheels; i++) {
		if (add_timers(fd[i], 1, HOUR, 0) == 1)
			report->timers++;
		else if (errno != ENOSPC)
			bail_out("cannot add a timer");
		add_timers(fd[i], 1, TWHEEL_TIME_MAX_NS, 0);
		report->memory += info_of(fd[i]).memory;
	}
}

static pid_t start_many(struct report *report)
{
	pid_t pid = start_child();

	if (!pid) {
		become(NOBODY);
		open_many(report);
		report->stage = 1;
		pause();
	}
	if (!wait_stage(report, 1))
		bail_out("%d wheels take too long to open", FDS);
	return pid;
}

static void end_many(pid_t pid)
{
	kill(pid, SIGKILL);
	child_ended_well(pid);
}

/* On a busy machine, freed memory may take a while to show. */
static uint64_t wait_for_memory(uint64_t bytes)
{
	uint64_t end = now_ns() + MINUTE, available;

	do {
		sleep_for(SEC);
		available = available_memory();
	} while (available < bytes && now_ns() < end);
	return available;
}

void test_many(void)
{
	uint64_t limit = read_number(PARAMETERS "max_user_bytes"), before, during, after;
	const uint64_t unsure = 2 * MB, files = 2048UL * FDS;
	struct report *report = new_report();
	pid_t pid;

	keep_few_free_pages();
	/* The first time the kernel fills its own caches. */
	before = available_memory();
	end_many(start_many(new_report()));
	before = wait_for_memory(before - files);
	pid = start_many(report);
	during = available_memory();
	end_many(pid);
	after = wait_for_memory(before - unsure);
	tap_result(report->memory <= limit && report->wheels == FDS && report->timers < FDS,
		   /* SECURITY: bytes of a user */
		   "%u of the largest wheels stay within the user's limit (%u with timers, %llu of %llu bytes)",
		   report->wheels, report->timers, (unsigned long long)report->memory,
		   (unsigned long long)limit);
	/* The memory of any open file comes in addition, about 1 KB each. */
	tap_result(before < during + limit + files,
		   /* SECURITY: bytes of a user */
		   "and take no more than that (%lld bytes)", (long long)(before - during));
	/* SECURITY: bytes of a user */
	tap_result(before < after + unsure, "which is given back in the end (all but %lld bytes)",
		   (long long)(before - after));
}
