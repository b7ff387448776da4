// SPDX-License-Identifier: MIT
/*
 * twheel-limits - what a user of /dev/twheel can take from others, and what not
 *
 * Memory is charged to the control group of the process that opened a wheel, and
 * to the user; both have limits, and so has the number of timers. No call holds a
 * CPU for long, whatever the wheels hold; and memory that never comes holds up those
 * who share a wheel and nobody else. Prints TAP; needs root, as it makes control groups,
 * becomes other users and sets the module's parameters.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#include "clock.h"
#include "helpers.h"
#include "libtwheel.h"
#include "machine.h"
#include "tap.h"

#define CGROUP		"/sys/fs/cgroup/"
#define PARAMETERS	"/sys/module/twheel/parameters/"

#define MB		(1024 * 1024UL)
#define SMALL_LIMIT	(12 * MB)
#define BATCH		1024
#define CROWD		1000000U
#define FDS		10000
#define LARGEST		50

/* How long another task may have to wait for the CPU, in the counting machine. */
#define WAIT_LIMIT	MSEC

static struct twheel_info info_of(int fd)
{
	struct twheel_info info;

	if (twheel_get_info(fd, &info))
		bail_out("TWHEEL_INFO failed");
	return info;
}

static int open_wheel(void)
{
	int fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		bail_out("cannot open " TWHEEL_DEVICE);
	return fd;
}

/* Adds up to @count timers; returns how many, and in errno why no more. */
static unsigned int add_timers(int fd, unsigned int count, uint64_t time_ns, uint32_t flags)
{
	struct twheel_add add[BATCH] = { };
	unsigned int done = 0, want;
	int ret;

	for (want = 0; want < BATCH; want++)
		add[want] = (struct twheel_add) { .time_ns = time_ns, .flags = flags };
	while (done < count) {
		want = count - done < BATCH ? count - done : BATCH;
		ret = twheel_add_batch(fd, add, want);
		if (ret < 0)
			break;
		done += ret;
	}
	return done;
}

/* ---- Processes in control groups ------------------------------------------ */

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

/* How often the kernel has killed somebody in the group for its memory. */
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

static void remove_group(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), CGROUP "%s", group);
	rmdir(path);
}

/* With all the memory one has, as there may be no more. */
static void enter_group(const char *group)
{
	write_group(group, "cgroup.procs", "0");
	if (mlockall(MCL_CURRENT))
		bail_out("cannot lock memory");
}

/* Memory that a child reports in. */
struct report {
	atomic_int stage;
	int error;
	unsigned int wheels;
	unsigned int timers;
	uint64_t memory;
	bool works;
};

static struct report *new_report(void)
{
	struct report *report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (report == MAP_FAILED)
		bail_out("no memory");
	return report;
}

static bool wait_stage(struct report *report, int stage)
{
	uint64_t end = now_ns() + MINUTE;

	while (report->stage < stage) {
		if (now_ns() > end)
			return false;
		sleep_for(MSEC);
	}
	return true;
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		bail_out("cannot fork");
	return pid;
}

/* Ends well, or is killed: says which. */
static bool child_ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* ---- The control group's limit -------------------------------------------- */

/* What has been refused memory goes on working with what it has. */
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

/* A neighbour in a group of its own, with a wheel and memory of its own. */
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
		   "the limit of the control group is ENOMEM (%u timers)", report->timers);
	tap_result(report->memory > SMALL_LIMIT / 2 && report->memory < SMALL_LIMIT,
		   "all that a wheel takes is charged (%llu of %lu bytes)",
		   (unsigned long long)report->memory, SMALL_LIMIT);
	tap_result(report->works, "a wheel works on when there is no memory");
	neighbour->stage = 1;
	tap_result(child_ended_well(other), "a neighbour is not harmed");
	tap_result(!kills_in("small") && !kills_in("neighbour"), "nobody is killed");
}

/* Adds to a wheel that somebody in another group has opened. */
static void test_inherited(void)
{
	struct report *report = new_report();
	uint64_t before, after;
	pid_t pid = start_child(), heir;
	bool ok;
	int fd;

	if (!pid) {
		enter_group("small");
		fd = open_wheel();
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
		   "who inherits a wheel adds at the cost of who opened it (%llu bytes)",
		   (unsigned long long)report->memory);
	tap_result(report->stage, "and takes nothing from its own group");
	tap_result(!kills_in("small") && !kills_in("neighbour"), "and nobody is killed");
}

static void test_groups(void)
{
	if (!make_group("small", SMALL_LIMIT)) {
		tap_skip("needs control groups with memory", "control groups");
		return;
	}
	make_group("neighbour", 64 * MB);
	test_group_limit();
	test_inherited();
	remove_group("small");
	remove_group("neighbour");
}

/* ---- The module's limits -------------------------------------------------- */

static void set_parameter(const char *name, uint64_t value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	if (!write_line(path, text))
		bail_out("cannot write to %s", path);
}

static void test_timer_limit(void)
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
		   "the module's limit of timers is ENOSPC");
	close(fd);
	fd = open_wheel();
	tap_result(twheel_set_up(fd, &setup) && errno == ENOSPC, "no wheel is set up beyond it");
	close(fd);
	set_parameter("max_timers", limit);
}

static void become(uid_t user)
{
	struct rlimit files = { FDS + 100, FDS + 100 };

	if (setrlimit(RLIMIT_NOFILE, &files) || setuid(user))
		bail_out("cannot be user %d", user);
}

/* Fills wheels until the user may have no more; returns their memory. */
static uint64_t fill_user(void)
{
	uint64_t memory = 0;
	int fd;

	for (;;) {
		fd = twheel_open(NULL, O_CLOEXEC);
		if (fd < 0)
			break;
		add_timers(fd, 20000, HOUR, 0);
		if (errno != ENOSPC)
			bail_out("cannot add timers");
		memory += info_of(fd).memory;
	}
	return errno == ENOSPC ? memory : 0;
}

static void test_user_limit(void)
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
		   "the limit of a user's bytes is ENOSPC (%llu of %lu bytes)",
		   (unsigned long long)report->memory, 8 * MB);
	other = start_child();
	if (!other) {
		become(NOBODY - 1);
		_exit(add_timers(open_wheel(), 20000, HOUR, 0) != 20000);
	}
	tap_result(child_ended_well(other), "another user has an account of its own");
	tap_result(add_timers(open_wheel(), 20000, HOUR, 0) == 20000, "root has no limit");
	kill(pid, SIGKILL);
	child_ended_well(pid);
	other = start_child();
	if (!other) {
		become(NOBODY);
		_exit(fill_user() <= 8 * MB - 64 * 1024);
	}
	tap_result(child_ended_well(other), "what is closed is credited");
	set_parameter("max_user_bytes", limit);
	set_parameter("max_timers", 1 << 24);
}

/* ---- A great many wheels -------------------------------------------------- */

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

/* As many of the largest wheels there are as one may have. */
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

/* What is given back may be on its way for a while when the machine is busy. */
static uint64_t wait_for_memory(uint64_t bytes)
{
	uint64_t end = now_ns() + MINUTE, available;

	do {
		sleep_for(SEC);
		available = available_memory();
	} while (available < bytes && now_ns() < end);
	return available;
}

static void test_many(void)
{
	uint64_t limit = read_number(PARAMETERS "max_user_bytes"), before, during, after;
	const uint64_t unsure = 2 * MB, files = 2048UL * FDS;
	struct report *report = new_report();
	pid_t pid;

	keep_few_free_pages();
	/* The first time the kernel fills caches of its own. */
	before = available_memory();
	end_many(start_many(new_report()));
	before = wait_for_memory(before - files);
	pid = start_many(report);
	during = available_memory();
	end_many(pid);
	after = wait_for_memory(before - unsure);
	tap_result(report->memory <= limit && report->wheels == FDS && report->timers < FDS,
		   "%u of the largest wheels stay within the user's limit (%u with timers, %llu of %llu bytes)",
		   report->wheels, report->timers, (unsigned long long)report->memory,
		   (unsigned long long)limit);
	/* What any open file takes comes on top of it, 1 KB each or so. */
	tap_result(before < during + limit + files,
		   "and take no more than that (%lld bytes)", (long long)(before - during));
	tap_result(before < after + unsure, "which is given back in the end (all but %lld bytes)",
		   (long long)(before - after));
}

/* ---- The CPU -------------------------------------------------------------- */

static atomic_bool watched;
static atomic_ullong longest_wait;

/*
 * Wants the CPU every now and then, and measures how long it has to wait. Its
 * priority is above all others: it waits only for what cannot be preempted.
 */
static void *watch(void *arg)
{
	const struct sched_param priority = { .sched_priority = 50 };

	(void)arg;
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		bail_out("cannot raise the priority");
	while (watched) {
		uint64_t when = now_ns() + 100 * USEC, late;

		sleep_until(when);
		late = now_ns() - when;
		if (late > longest_wait)
			longest_wait = late;
	}
	return NULL;
}

static void measure(const char *what, void (*act)(int fd), int fd)
{
	uint64_t began;
	pthread_t thread;

	watched = true;
	longest_wait = 0;
	if (pthread_create(&thread, NULL, watch, NULL))
		bail_out("cannot create a thread");
	sleep_for(10 * MSEC);
	began = now_ns();
	act(fd);
	began = now_ns() - began;
	watched = false;
	pthread_join(thread, NULL);
	tap_result(longest_wait < WAIT_LIMIT,
		   "%s: another task waits %llu us at most, of %llu us", what,
		   (unsigned long long)longest_wait / 1000, (unsigned long long)began / 1000);
}

static struct twheel_add *crowd;
static uint64_t *crowd_id;
static struct twheel_modify *crowd_modify;
static struct twheel_event *crowd_event;

/* Pages that are not there yet would be brought in by those who are measured. */
static void *crowd_memory(size_t size)
{
	void *memory = malloc(size * CROWD);

	if (!memory)
		bail_out("no memory for a million timers");
	return memset(memory, 1, size * CROWD);
}

/* A million timers of a kind: @spread is what their deadlines differ by. */
static int crowded_wheel(uint64_t time_ns, uint64_t spread)
{
	int fd = open_wheel();
	unsigned int i, done = 0;
	int ret;

	for (i = 0; i < CROWD; i++)
		crowd[i] = (struct twheel_add) { .time_ns = time_ns + i * spread };
	while (done < CROWD) {
		ret = twheel_add_batch(fd, crowd + done, CROWD - done);
		if (ret < 0)
			bail_out("cannot add timers");
		done += ret;
	}
	for (i = 0; i < CROWD; i++) {
		crowd_id[i] = crowd[i].id;
		crowd_modify[i] = (struct twheel_modify) {
			.id = crowd[i].id,
			.time_ns = 2 * HOUR + i * USEC,
		};
	}
	return fd;
}

static void act_spin(int fd)
{
	uint64_t end = now_ns() + 200 * MSEC;

	(void)fd;
	while (now_ns() < end)
		;
}

/* Ten thousand of something else that is a file with memory of its own. */
static void act_pipes(int fd)
{
	static int end[FDS];
	unsigned int i;

	(void)fd;
	for (i = 0; i < FDS; i += 2) {
		if (pipe2(end + i, O_CLOEXEC))
			bail_out("cannot open a pipe");
	}
	for (i = 0; i < FDS; i++)
		close(end[i]);
}

static void act_add(int fd)
{
	if (twheel_add_batch(fd, crowd, CROWD) != CROWD)
		bail_out("cannot add timers");
}

static void act_cancel(int fd)
{
	if (twheel_cancel_batch(fd, crowd_id, NULL, CROWD) != CROWD)
		bail_out("cannot cancel timers");
}

static void act_modify(int fd)
{
	if (twheel_modify_batch(fd, crowd_modify, NULL, CROWD) != CROWD)
		bail_out("cannot modify timers");
}

static void act_read(int fd)
{
	if (twheel_read(fd, crowd_event, CROWD) != CROWD)
		bail_out("cannot read the events");
}

/* All of them expire, because somebody asks, and nobody reads. */
static void act_expire(int fd)
{
	uint64_t end = now_ns() + 3 * MINUTE;

	while (info_of(fd).expired < CROWD) {
		if (now_ns() > end)
			bail_out("the timers do not expire");
		sleep_for(MSEC);
	}
}

static void act_close(int fd)
{
	close(fd);
}

static void act_open_many(int fd)
{
	static int wheel[FDS];
	unsigned int i;

	(void)fd;
	for (i = 0; i < FDS; i++) {
		wheel[i] = open_wheel();
		add_timers(wheel[i], 1, HOUR, 0);
	}
	for (i = 0; i < FDS; i++)
		close(wheel[i]);
}

static void act_open_largest(int fd)
{
	struct twheel_setup setup = { .tick_ns = TWHEEL_TICK_MIN_NS,
				      .wheel_size = TWHEEL_SIZE_MAX,
				      .clock_id = CLOCK_MONOTONIC };
	int wheel[LARGEST];
	unsigned int i;

	(void)fd;
	for (i = 0; i < LARGEST; i++) {
		wheel[i] = open_wheel();
		if (twheel_set_up(wheel[i], &setup) ||
		    add_timers(wheel[i], 1, TWHEEL_TIME_MAX_NS, 0) != 1)
			bail_out("cannot add a timer to one of the largest wheels");
	}
	for (i = 0; i < LARGEST; i++)
		close(wheel[i]);
}

static void act_exit(int fd)
{
	pid_t pid = start_child();

	(void)fd;
	if (!pid) {
		unsigned int i;

		for (i = 0; i < FDS; i++)
			add_timers(open_wheel(), 100, HOUR, 0);
		_exit(0);
	}
	if (!child_ended_well(pid))
		bail_out("a process with many wheels did not end well");
}

/* As root, who has no limit: others can do less. */
static void test_cpu(void)
{
	struct rlimit files = { FDS + 100, FDS + 100 };
	int fd;

	setrlimit(RLIMIT_NOFILE, &files);
	keep_few_free_pages();
	crowd = crowd_memory(sizeof(*crowd));
	crowd_id = crowd_memory(sizeof(*crowd_id));
	crowd_modify = crowd_memory(sizeof(*crowd_modify));
	crowd_event = crowd_memory(sizeof(*crowd_event));
	measure("for comparison, a loop in user space", act_spin, -1);
	measure("for comparison, open and close five thousand pipes", act_pipes, -1);

	fd = crowded_wheel(HOUR, USEC);
	measure("modify a million timers", act_modify, fd);
	measure("cancel a million timers", act_cancel, fd);
	measure("add a million timers", act_add, fd);
	measure("close a wheel with a million timers", act_close, fd);

	fd = crowded_wheel(2 * SEC, 0);
	measure("a million timers expire at once", act_expire, fd);
	measure("read a million events", act_read, fd);
	close(fd);
	fd = crowded_wheel(2 * SEC, 6 * USEC);
	measure("a million timers cascade and expire", act_expire, fd);
	measure("close a wheel with a million events", act_close, fd);

	measure("open and close ten thousand wheels", act_open_many, -1);
	measure("open and close fifty of the largest", act_open_largest, -1);
	measure("exit with ten thousand wheels", act_exit, -1);
}

/* ---- A fault that lasts ------------------------------------------------------ */

#define ENDLESS		(5 * SEC)

/* A page that is missing until somebody else makes it, which nobody does. */
static void *missing_page(int *userfault)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	size_t size = sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	range.range.start = (uintptr_t)page;
	range.range.len = size;
	*userfault = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (page == MAP_FAILED || *userfault < 0 || ioctl(*userfault, UFFDIO_API, &api) ||
	    ioctl(*userfault, UFFDIO_REGISTER, &range))
		bail_out("cannot make a fault last");
	return page;
}

struct missing {
	int fd;
	void *page;
};

static void *add_what_is_missing(void *arg)
{
	struct missing *missing = arg;

	twheel_add_timer(missing->fd, missing->page);
	return NULL;
}

/* A process that holds the wheel's lock, and will not drop it by itself. */
static pid_t hold_for_ever(int fd)
{
	struct missing missing = { .fd = fd };
	struct pollfd fault = { .events = POLLIN };
	pthread_t thread;
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		bail_out("cannot make a pipe");
	pid = start_child();
	if (!pid) {
		missing.page = missing_page(&fault.fd);
		if (pthread_create(&thread, NULL, add_what_is_missing, &missing) ||
		    poll(&fault, 1, -1) != 1 || fault.revents != POLLIN ||
		    write(ready[1], "", 1) != 1)
			bail_out("cannot wait for the fault");
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		bail_out("no fault");
	close(ready[0]);
	return pid;
}

/* Whether a process ends by itself in time; then @status says how. */
static bool ends(pid_t pid, uint64_t time, int *status)
{
	uint64_t end = now_ns() + time;

	while (now_ns() < end) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		sleep_for(10 * MSEC);
	}
	return false;
}

/* The same, of a process that does @act; it is killed in any case. */
static bool acts(int (*act)(int fd), int fd)
{
	pid_t pid = start_child();
	int status;

	if (!pid)
		_exit(act(fd));
	if (ends(pid, ENDLESS, &status))
		return WIFEXITED(status) && !WEXITSTATUS(status);
	kill(pid, SIGKILL);
	return false;
}

static int look_at_fdinfo(int fd)
{
	char path[64], text[4096];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = read(fd, text, sizeof(text) - 1);
	if (size < 0)
		return 1;
	text[size] = '\0';
	return !strstr(text, "twheel-user-limit:");
}

static int use_another_wheel(int fd)
{
	struct twheel_add due = { };
	struct twheel_event event;

	fd = open_wheel();
	return twheel_add_timer(fd, &due) || twheel_read(fd, &event, 1) != 1;
}

static int call_setup(int fd)
{
	struct twheel_setup setup = { .tick_ns = MSEC, .wheel_size = 2,
				      .clock_id = CLOCK_MONOTONIC };

	return twheel_set_up(fd, &setup);
}

static int call_add(int fd)
{
	return !add_timers(fd, 1, HOUR, 0);
}

static int call_cancel(int fd)
{
	return twheel_cancel_timer(fd, 1);
}

static int call_modify(int fd)
{
	return twheel_modify_timer(fd, 1, HOUR, 0);
}

static int call_query(int fd)
{
	struct twheel_query query;

	return twheel_query_timer(fd, 1, &query);
}

static int call_info(int fd)
{
	struct twheel_info info;

	return twheel_get_info(fd, &info);
}

/* Somebody who waits for the lock: he does wait, and can be killed at it. */
static bool waits_killably(int (*call)(int fd), int fd)
{
	pid_t pid = start_child();
	int status;

	if (!pid)
		_exit(call(fd));
	if (ends(pid, 200 * MSEC, &status))
		return false;
	kill(pid, SIGKILL);
	return ends(pid, ENDLESS, &status);
}

/* Who makes a fault last delays those who share his wheel, and nobody else. */
static void test_fault(void)
{
	static int (*const calls[])(int fd) = {
		call_setup, call_add, call_cancel, call_modify, call_query, call_info,
	};
	int fd = open_wheel();
	pid_t holder = hold_for_ever(fd);
	unsigned int i, good = 0;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		good += waits_killably(calls[i], fd);
	tap_result(good == i, "who waits for a wheel can be killed (%u calls of %u)", good, i);
	tap_result(acts(look_at_fdinfo, fd), "fdinfo does not wait for a wheel");
	tap_result(acts(use_another_wheel, fd), "other wheels do not wait for a wheel");
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	tap_result(!info_of(fd).added && add_timers(fd, 1, 0, 0) == 1 &&
		   info_of(fd).expired == 1, "a wheel goes on when a fault has ended");
	close(fd);
}

/* ---- main ----------------------------------------------------------------- */

static const struct test {
	const char *name;
	const char *about;
	void (*run)(void);
} tests[] = {
	{ "groups", "the limits of control groups", test_groups },
	{ "timers", "the module's limit of timers", test_timer_limit },
	{ "user", "the module's limit of a user's bytes", test_user_limit },
	{ "many", "ten thousand of the largest wheels", test_many },
	{ "fault", "a page of memory that never comes", test_fault },
	{ "cpu", "how long others wait for the CPU; for the counting machine", test_cpu },
};

static void usage(FILE *out)
{
	unsigned int i;

	fputs("Usage: twheel-limits TEST...\n"
	      "Test what a user of /dev/twheel can take from others; print the results as TAP.\n"
	      "Needs root. The tests are:\n", out);
	for (i = 0; i < ARRAY_SIZE(tests); i++)
		fprintf(out, "  %-10s %s\n", tests[i].name, tests[i].about);
}

static void run_test(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (!strcmp(tests[i].name, name)) {
			tests[i].run();
			return;
		}
	}
	fprintf(stderr, "twheel-limits: no test is called '%s'\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	int i;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (argc < 2 || argv[1][0] == '-') {
		usage(stderr);
		return 2;
	}
	puts("TAP version 13");
	for (i = 1; i < argc; i++)
		run_test(argv[i]);
	return tap_done();
}
