// SPDX-License-Identifier: MIT
/*
 * The cgroup's limit of memory
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "limits.h"
#include "machine.h"
#include "tap.h"

#define CGROUP		"/sys/fs/cgroup/"
#define SMALL_LIMIT	(12 * MB)

static void write_group(const char *group, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), CGROUP "%s/%s", group, file);
	if (!write_line(path, text))
		bail_out("cannot write %s to %s", text, path);
}

static uint64_t read_group(const char *group, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), CGROUP "%s/%s", group, file);
	return read_number(path);
}

/* How often the kernel has killed a process of the group for its memory. */
static uint64_t kills_in(const char *group)
{
	char path[128], text[512], *line;
	FILE *file;
	uint64_t kills = 0;

	snprintf(path, sizeof(path), CGROUP "%s/memory.events", group);
	file = fopen(path, "r");
	if (!file)
		bail_out("cannot open %s", path);
	while ((line = fgets(text, sizeof(text), file))) {
		if (!strncmp(line, "oom_kill ", 9))
			kills = strtoull(line + 9, NULL, 10);
	}
	fclose(file);
	return kills;
}

static bool make_group(const char *group, uint64_t limit)
{
	char path[128], text[32];

	if (!write_line(CGROUP "cgroup.subtree_control", "+memory"))
		return false;
	snprintf(path, sizeof(path), CGROUP "%s", group);
	if (mkdir(path, 0755) && errno != EEXIST)
		bail_out("cannot create %s", path);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)limit);
	write_group(group, "memory.max", text);
	return true;
}

static bool remove_group(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), CGROUP "%s", group);
	return !rmdir(path);
}

/* In memory that is there already, as there may be no more. */
static void enter_group(const char *group)
{
	write_group(group, "cgroup.procs", "0");
	if (mlockall(MCL_CURRENT))
		bail_out("cannot lock memory");
}

/* A wheel that was refused memory keeps working with what it has. */
static bool works_at_the_limit(int fd)
{
	struct twheel_add due = { };
	struct twheel_event event;

	if (add_timers(fd, 1, HOUR, 0) || errno != ENOMEM)
		return false;
	/* The timer that is read makes room for another. */
	return twheel_read(fd, &event, 1) == 1 && !twheel_add_timer(fd, &due) &&
	       twheel_read(fd, &event, 1) == 1 && event.id == due.id;
}

static void fill_group(struct report *report, int fd)
{
	if (add_timers(fd, 1, 0, 0) != 1)
		_exit(1);
	report->timers = add_timers(fd, UINT32_MAX, HOUR, 0);
	report->error = errno;
	report->memory = info_of(fd).memory;
	report->works = works_at_the_limit(fd);
}

/* A neighbour in its own group, with its own wheel and memory. */
static void be_neighbour(struct report *report)
{
	bool ok = true;

	enter_group("neighbour");
	while (!report->stage && ok) {
		int fd = open_wheel();
		char *memory = malloc(MB);

		memset(memory, 1, MB);
		ok = add_timers(fd, 10000, HOUR, 0) == 10000;
		free(memory);
		close(fd);
	}
	_exit(!ok);
}

/* As many as fit, repeatedly: closing wheels makes room for as many as before. */
static void test_group_rings(void)
{
	struct report *report = new_report();
	pid_t pid = start_child();
	unsigned int i;
	bool ok;

	if (!pid) {
		enter_group("small");
		for (i = 0; i < 3; i++) {
			pid_t filler = start_child();

			if (filler) {
				if (!child_ended_well(filler))
					_exit(1);
				continue;
			}
			report->memory = fill_with_rings(&report->error);
			_exit(report->error != ENOMEM || report->memory < SMALL_LIMIT / 2 ||
			      report->memory > SMALL_LIMIT);
		}
		_exit(0);
	}
	ok = child_ended_well(pid);
	tap_result(ok,
		   "rings are charged to the cgroup, and given back (%llu of %lu bytes)",
		   (unsigned long long)report->memory, SMALL_LIMIT);
	tap_result(!kills_in("small"), "and nobody is killed for them"); /* SECURITY: cgroups */
}

static void test_group_limit(void)
{
	struct report *report = new_report(), *neighbour = new_report();
	pid_t other = start_child(), pid;
	bool ok;

	if (!other)
		be_neighbour(neighbour);
	pid = start_child();
	if (!pid) {
		enter_group("small");
		fill_group(report, open_wheel());
		_exit(0);
	}
	ok = child_ended_well(pid);
	tap_result(ok && report->error == ENOMEM,
		   /* SECURITY: cgroups */
		   "the limit of the cgroup is ENOMEM (%u timers)", report->timers);
	tap_result(report->memory > SMALL_LIMIT / 2 && report->memory < SMALL_LIMIT,
		   "all that a wheel takes is charged (%llu of %lu bytes)", /* SECURITY: cgroups */
		   (unsigned long long)report->memory, SMALL_LIMIT);
	/* SECURITY: cgroups */
	tap_result(report->works, "a wheel works on when there is no memory");
	neighbour->stage = 1;
	tap_result(child_ended_well(other), "a neighbour is not harmed"); /* SECURITY: cgroups */
	tap_result(!kills_in("small") && !kills_in("neighbour"), "nobody is killed");
}

/* Adds to a wheel that a process of another group has opened, and grows its levels of 2 MB. */
static void test_inherited(void)
{
	struct twheel_setup setup = {
		.tick_ns = TWHEEL_TICK_DEFAULT_NS,
		.wheel_size = TWHEEL_SIZE_MAX,
		.clock_id = CLOCK_MONOTONIC,
	};
	struct report *report = new_report();
	uint64_t before, after;
	pid_t pid = start_child(), heir;
	bool ok;
	int fd;

	if (!pid) {
		enter_group("small");
		fd = open_wheel();
		if (ioctl(fd, TWHEEL_SETUP, &setup))
			_exit(1);
		heir = start_child();
		if (heir)
			_exit(!child_ended_well(heir));
		enter_group("neighbour");
		before = read_group("neighbour", "memory.current");
		fill_group(report, fd);
		after = read_group("neighbour", "memory.current");
		report->stage = after < before + MB;
		_exit(0);
	}
	ok = child_ended_well(pid);
	tap_result(ok && report->error == ENOMEM && report->memory > SMALL_LIMIT / 2 &&
		   report->memory < SMALL_LIMIT,
		   /* SECURITY: cgroups; spend another cgroup's memory after a restart */
		   "who inherits a wheel adds at the cost of who opened it (%llu bytes)",
		   (unsigned long long)report->memory);
	/* SECURITY: cgroups; spend another cgroup's memory after a restart */
	tap_result(report->stage, "and takes nothing from its own group");
	tap_result(!kills_in("small") && !kills_in("neighbour"), "and nobody is killed");
}

/*
 * A service is moved, or restarted, and the group that its wheel is charged to is removed:
 * from then on the parent is charged.
 */
static void test_removed(void)
{
	struct report *report = new_report();
	pid_t pid;
	bool ok;
	int fd, i;

	make_group("outer", SMALL_LIMIT);
	write_group("outer", "cgroup.subtree_control", "+memory");
	make_group("outer/inner", SMALL_LIMIT);
	pid = start_child();
	if (!pid) {
		enter_group("outer/inner");
		fd = open_wheel();
		enter_group("neighbour");
		if (!remove_group("outer/inner"))
			_exit(1);
		fill_group(report, fd);
		/* Some memory of the removed group may have been freed only after that. */
		for (i = 0; i < 10 && !report->works; i++) {
			add_timers(fd, UINT32_MAX, HOUR, 0);
			report->works = works_at_the_limit(fd);
		}
		_exit(0);
	}
	ok = child_ended_well(pid);
	/* SECURITY: cgroups */
	tap_result(ok && report->works, "a wheel works on when its cgroup is removed");
	tap_result(report->error == ENOMEM && report->memory > SMALL_LIMIT / 2 &&
		   report->memory < SMALL_LIMIT,
		   "and the limit of the group above holds (%llu bytes)", /* SECURITY: cgroups */
		   (unsigned long long)report->memory);
	tap_result(!kills_in("outer") && !kills_in("neighbour"), "and nobody is killed");
	remove_group("outer");
}

void test_groups(void)
{
	if (!make_group("small", SMALL_LIMIT)) {
		tap_skip("needs cgroups with memory", "cgroups");
		return;
	}
	make_group("neighbour", 64 * MB);
	test_group_limit();
	test_inherited();
	test_removed();
	test_group_rings();
	remove_group("small");
	remove_group("neighbour");
}
