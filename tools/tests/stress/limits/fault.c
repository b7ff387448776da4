// SPDX-License-Identifier: MIT
/*
 * A fault that lasts: a page that never arrives
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#include "clock.h"
#include "helpers.h"
#include "limits.h"
#include "tap.h"

#define ENDLESS		(5 * SEC)

/* A page that stays missing, as no process provides it. */
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

/* A process whose add is stalled until it is killed. */
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

/* Whether a process ends by itself in time; if so, sets @status. */
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

/* The same for a process that runs @act; it is killed in any case. */
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
	return !twheel_cancel_timer(fd, 1) || errno != ENOENT;
}

static int call_info(int fd)
{
	struct twheel_info info;

	return twheel_get_info(fd, &info);
}

/* A process that makes a fault last delays nobody else. */
void test_fault(void)
{
	static int (*const calls[])(int fd) = {
		call_setup, call_add, call_cancel, call_info,
	};
	int fd = open_wheel();
	pid_t holder = hold_for_ever(fd);
	unsigned int i, good = 0;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		good += acts(calls[i], fd);
	tap_result(good == i, "a wheel does not wait for a fault (%u calls of %u)", good, i);
	/* SECURITY: missing pages */
	tap_result(acts(look_at_fdinfo, fd), "fdinfo does not wait for a wheel");
	/* SECURITY: missing pages */
	tap_result(acts(use_another_wheel, fd), "other wheels do not wait for a wheel");
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	tap_result(info_of(fd).added == 1 && add_timers(fd, 1, 0, 0) == 1 &&
		   /* SECURITY: missing pages */
		   info_of(fd).expired == 1, "a wheel goes on when a fault has ended");
	close(fd);
}
