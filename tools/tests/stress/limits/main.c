// SPDX-License-Identifier: MIT
/*
 * twheel-limits - memory of wheels is charged to the cgroup
 *
 * Prints TAP; needs root, as it makes cgroups.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "libtwheel-device.h"
#include "machine.h"
#include "tap.h"

#define CGROUP		"/sys/fs/cgroup/"
#define MB		(1024 * 1024UL)
#define SMALL_LIMIT	(12 * MB)
/* More wheels with rings than fit. */
#define RINGS		220
#define BATCH		1024

/* Shared memory: what a child has done. */
static struct {
	atomic_bool over;	/* it has to end */
	int error;
	uint64_t memory;
	bool works;
} *report;

/* ---- Children, and their wheels ------------------------------------------- */

static pid_t start(bool (*run)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		bail_out("cannot fork");
	if (!pid)
		_exit(!run());
	return pid;
}

/* Wait until a child ends or is killed; return whether it returned true. */
static bool ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static int open_wheel(void)
{
	int fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		bail_out("cannot open " TWHEEL_DEVICE);
	return fd;
}

static void set_up_largest(int fd, uint64_t tick_ns)
{
	struct twheel_setup setup = { .tick_ns = tick_ns, .wheel_size = TWHEEL_SIZE_MAX,
				      .clock_id = CLOCK_MONOTONIC };

	if (twheel_set_up(fd, &setup))
		bail_out("cannot set up a wheel");
}

static uint64_t memory_of(int fd)
{
	struct twheel_info info;

	if (twheel_get_info(fd, &info))
		bail_out("TWHEEL_INFO failed");
	return info.memory;
}

/* Add up to @count timers; return how many, and set errno if there are fewer. */
static unsigned int add_timers(int fd, unsigned int count, uint64_t time_ns)
{
	struct twheel_add add[BATCH] = { };
	unsigned int done = 0, i;
	int ret;

	for (i = 0; i < BATCH; i++)
		add[i].time_ns = time_ns;
	while (done < count) {
		ret = twheel_add_batch(fd, add, count - done < BATCH ? count - done : BATCH);
		if (ret < 0)
			break;
		done += ret;
	}
	return done;
}

/* Return the number after a word that begins a line of a file. */
static uint64_t number_after(const char *word, const char *path)
{
	char line[256];
	FILE *file = fopen(path, "r");
	uint64_t number = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, word, strlen(word)))
			number = strtoull(line + strlen(word), NULL, 10);
	}
	if (!file || fclose(file))
		bail_out("cannot read %s", path);
	return number;
}

/* ---- The limit of a cgroup ------------------------------------------------ */

static bool write_group(const char *group, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), CGROUP "%s/%s", group, file);
	return write_line(path, text);
}

/* Enter a group with memory that is there already, as there may be no more. */
static void enter_group(const char *group)
{
	if (!write_group(group, "cgroup.procs", "0") || mlockall(MCL_CURRENT))
		bail_out("cannot enter %s", group);
}

/* A wheel that was refused memory keeps working with what it has. */
static bool works_at_the_limit(int fd)
{
	struct twheel_add due = { };
	struct twheel_event event;

	if (add_timers(fd, 1, HOUR) || errno != ENOMEM)
		return false;
	/* The timer that is read makes room for another. */
	return twheel_read(fd, &event, 1) == 1 && !twheel_add_timer(fd, &due) &&
	       twheel_read(fd, &event, 1) == 1 && event.id == due.id;
}

static bool fill(int fd)
{
	if (add_timers(fd, 1, 0) != 1)
		return false;
	add_timers(fd, UINT32_MAX, HOUR);
	report->error = errno;
	report->memory = memory_of(fd);
	report->works = works_at_the_limit(fd);
	return true;
}

static bool fill_small(void)
{
	enter_group("small");
	return fill(open_wheel());
}

/* A wheel that a process of another group has opened. */
static int inherited;

static bool fill_inherited(void)
{
	struct twheel_ring_setup setup = { .slots = TWHEEL_RING_SLOTS_MAX };
	uint64_t before;

	enter_group("other");
	before = read_number(CGROUP "other/memory.current");
	return fill(inherited) && read_number(CGROUP "other/memory.current") < before + MB &&
	       ioctl(inherited, TWHEEL_RING, &setup) && errno == ENOMEM;
}

/* Its levels are 2 MB each, and grow while the heir adds. */
static bool leave_to_heir(void)
{
	enter_group("small");
	inherited = open_wheel();
	set_up_largest(inherited, TWHEEL_TICK_DEFAULT_NS);
	return ended_well(start(fill_inherited));
}

/*
 * A service is moved, or restarted, and the group that its wheel is charged to is removed:
 * from then on the parent is charged.
 */
static bool outlive_group(void)
{
	int fd, i;

	enter_group("outer/inner");
	fd = open_wheel();
	enter_group("other");
	if (rmdir(CGROUP "outer/inner") || !fill(fd))
		return false;
	/* Some memory of the removed group may have been freed only after that. */
	for (i = 0; i < 10 && !report->works; i++) {
		add_timers(fd, UINT32_MAX, HOUR);
		report->works = works_at_the_limit(fd);
	}
	return true;
}

/*
 * Give wheels the largest ring until one is refused. They are opened before that: in a full
 * group, the process would be killed for the other memory that an open takes. Also keep some
 * memory to free as soon as the group is full.
 */
static bool fill_with_rings(void)
{
	struct twheel_ring_setup setup = { };
	void *spare = mmap(NULL, MB, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int fd[RINGS], i;

	if (spare == MAP_FAILED)
		bail_out("no memory to give back");
	for (i = 0; i < RINGS; i++)
		fd[i] = open_wheel();
	for (i = 0; i < RINGS - 1; i++) {
		setup.slots = TWHEEL_RING_SLOTS_MAX;
		if (ioctl(fd[i], TWHEEL_RING, &setup))
			break;
	}
	report->error = errno;
	munmap(spare, MB);
	/* The last one has none, and needs none. */
	setup.slots = 0;
	report->works = ioctl(fd[i], TWHEEL_RING, &setup) && errno == ENOENT;
	for (i = 0, report->memory = 0; i < RINGS; i++)
		report->memory += memory_of(fd[i]);
	return true;
}

/* Closing wheels makes room for as many as before. */
static bool fill_with_rings_again(void)
{
	unsigned int i;

	enter_group("small");
	for (i = 0; i < 3; i++) {
		if (!ended_well(start(fill_with_rings)))
			return false;
	}
	return true;
}

/* A neighbour in its own group, with its own wheel and memory. */
static bool be_neighbour(void)
{
	bool ok = true;

	enter_group("neighbour");
	while (!report->over && ok) {
		int fd = open_wheel();
		char *memory = malloc(MB);

		memset(memory, 1, MB);
		ok = add_timers(fd, 10000, HOUR) == 10000;
		free(memory);
		close(fd);
	}
	return ok;
}

/* In the order in which they are made, and all their directories. */
static const struct {
	const char *name;
	const char *limit;
} groups[] = {
	{ "small", "12M" }, { "neighbour", "64M" }, { "other", "64M" },
	{ "outer", "12M" }, { "outer/inner", "12M" },
};

static void make_groups(void)
{
	char path[128];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		snprintf(path, sizeof(path), CGROUP "%s", groups[i].name);
		if (mkdir(path, 0755) ||
		    !write_group(groups[i].name, "memory.max", groups[i].limit))
			bail_out("cannot make %s", path);
		/* A group with such groups has no processes. */
		if (!strcmp(groups[i].name, "outer") &&
		    !write_group("outer", "cgroup.subtree_control", "+memory"))
			bail_out("cannot make groups in outer");
	}
}

static void test_groups(void)
{
	static const struct {
		const char *about;
		bool (*run)(void);
	} ways[] = {
		{ "a wheel in a full cgroup gets ENOMEM, and works on", fill_small },
		/* SECURITY: cgroups; spend another cgroup's memory after a restart */
		{ "adds on an inherited wheel are charged to its opener's group", leave_to_heir },
		{ "a wheel whose cgroup is removed is charged to the one above", outlive_group },
		{ "rings are charged to the cgroup, and given back", fill_with_rings_again },
	};
	uint64_t kills = number_after("oom_kill ", "/proc/vmstat");
	pid_t neighbour;
	unsigned int i;

	if (!write_group("", "cgroup.subtree_control", "+memory")) {
		tap_skip("needs cgroups with memory", "cgroups");
		return;
	}
	make_groups();
	neighbour = start(be_neighbour);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		bool ok = ended_well(start(ways[i].run));

		tap_result(ok && report->error == ENOMEM && report->works &&
			   report->memory > SMALL_LIMIT / 2 && report->memory < SMALL_LIMIT,
			   "%s (%llu of %lu bytes)", ways[i].about, /* SECURITY: cgroups */
			   (unsigned long long)report->memory, SMALL_LIMIT);
	}
	report->over = true;
	/* SECURITY: cgroups */
	tap_result(ended_well(neighbour), "another cgroup is not affected");
	kills = number_after("oom_kill ", "/proc/vmstat") - kills;
	tap_result(!kills, "nobody is killed"); /* SECURITY: cgroups */
}

int main(void)
{
	puts("TAP version 13");
	fflush(stdout);
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (report == MAP_FAILED)
		bail_out("no memory");
	test_groups();
	return tap_done();
}
