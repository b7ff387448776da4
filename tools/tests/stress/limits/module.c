// SPDX-License-Identifier: MIT
/*
 * The module's limits: of timers, and of a user's bytes
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "limits.h"
#include "machine.h"
#include "tap.h"

static void set_parameter(const char *name, uint64_t value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	if (!write_line(path, text))
		bail_out("cannot write to %s", path);
}

void test_timer_limit(void)
{
	uint64_t limit = read_number(PARAMETERS "max_timers");
	struct twheel_setup setup = { .tick_ns = MSEC, .wheel_size = 256, .max_timers = 5001,
				      .clock_id = CLOCK_MONOTONIC };
	unsigned int count;
	int fd, error;

	set_parameter("max_timers", 5000);
	fd = open_wheel();
	count = add_timers(fd, 6000, HOUR, 0);
	error = errno;
	tap_result(count == 5000 && error == ENOSPC && info_of(fd).max_timers == 5000,
		   "the module's limit of timers is ENOSPC"); /* SECURITY: timers */
	close(fd);
	fd = open_wheel();
	/* SECURITY: timers */
	tap_result(twheel_set_up(fd, &setup) && errno == ENOSPC, "no wheel is set up beyond it");
	close(fd);
	set_parameter("max_timers", limit);
}

void become(uid_t user)
{
	struct rlimit files = { FDS + 100, FDS + 100 };

	if (setrlimit(RLIMIT_NOFILE, &files) || setuid(user))
		bail_out("cannot be user %d", user);
}

/* Fills wheels up to the user's limit; returns their memory. */
static uint64_t fill_user(void)
{
	uint64_t memory = 0;
	int fd;

	for (;;) {
		fd = twheel_open(NULL, O_CLOEXEC);
		if (fd < 0)
			break;
		if (add_timers(fd, 20000, HOUR, 0) < 20000 && errno != ENOSPC)
			bail_out("cannot add timers");
		memory += info_of(fd).memory;
	}
	return errno == ENOSPC ? memory : 0;
}

/* Two users, one after the other, each with rings up to the limit. */
static void test_user_rings(struct report *report)
{
	unsigned int i, good = 0;
	pid_t pid;

	for (i = 0; i < 3; i++) {
		pid = start_child();
		if (!pid) {
			become(NOBODY - i % 2);
			report->memory = fill_with_rings(&report->error);
			_exit(report->error != ENOSPC || report->memory > 8 * MB ||
			      report->memory < 8 * MB - 70 * 1024);
		}
		good += child_ended_well(pid);
	}
	tap_result(good == 3, "rings are charged to the user, and given back (%llu of %lu bytes)",
		   (unsigned long long)report->memory, 8 * MB);
}

void test_user_limit(void)
{
	uint64_t limit = read_number(PARAMETERS "max_user_bytes");
	struct report *report = new_report();
	pid_t pid, other;
	bool ok;

	set_parameter("max_timers", 20000);
	set_parameter("max_user_bytes", 8 * MB);
	pid = start_child();
	if (!pid) {
		become(NOBODY);
		report->memory = fill_user();
		report->stage = 1;
		pause();
	}
	ok = wait_stage(report, 1);
	tap_result(ok && report->memory <= 8 * MB && report->memory > 8 * MB - 64 * 1024,
		   /* SECURITY: bytes of a user */
		   "the limit of a user's bytes is ENOSPC (%llu of %lu bytes)",
		   (unsigned long long)report->memory, 8 * MB);
	other = start_child();
	if (!other) {
		become(NOBODY - 1);
		_exit(add_timers(open_wheel(), 20000, HOUR, 0) != 20000);
	}
	/* SECURITY: bytes of a user */
	tap_result(child_ended_well(other), "another user has an account of its own");
	/* SECURITY: rights */
	tap_result(add_timers(open_wheel(), 20000, HOUR, 0) == 20000, "root has no limit");
	kill(pid, SIGKILL);
	child_ended_well(pid);
	other = start_child();
	if (!other) {
		become(NOBODY);
		_exit(fill_user() <= 8 * MB - 64 * 1024);
	}
	/* SECURITY: bytes of a user */
	tap_result(child_ended_well(other), "what is closed is credited");
	test_user_rings(report);
	set_parameter("max_user_bytes", limit);
	set_parameter("max_timers", 1 << 24);
}
