// SPDX-License-Identifier: MIT
/*
 * Helpers of the tests: wheels with timers or rings, and children that report
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "limits.h"
#include "tap.h"

/* More wheels with rings than fit. */
#define RINGS		220

struct twheel_info info_of(int fd)
{
	struct twheel_info info;

	if (twheel_get_info(fd, &info))
		bail_out("TWHEEL_INFO failed");
	return info;
}

int open_wheel(void)
{
	int fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		bail_out("cannot open " TWHEEL_DEVICE);
	return fd;
}

/* Adds up to @count timers; returns how many, and sets errno if there are fewer. */
unsigned int add_timers(int fd, unsigned int count, uint64_t time_ns, uint32_t flags)
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

/*
 * Gives wheels the largest ring until one is refused; returns the memory of all. They are
 * opened before that: in a full group, the process would be killed for the other memory that
 * an open takes. It also keeps some memory to free as soon as the group is full.
 */
uint64_t fill_with_rings(int *error)
{
	struct twheel_ring_setup setup;
	uint64_t memory = 0;
	int fd[RINGS], i;
	void *spare = mmap(NULL, MB, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (spare == MAP_FAILED)
		bail_out("no memory to give back");
	for (i = 0; i < RINGS; i++) {
		fd[i] = open_wheel();
		memory += info_of(fd[i]).memory;
	}
	for (i = 0; i < RINGS - 1; i++) {
		setup = (struct twheel_ring_setup) { .slots = TWHEEL_RING_SLOTS_MAX };
		memory -= info_of(fd[i]).memory;
		if (ioctl(fd[i], TWHEEL_RING, &setup))
			break;
		memory += info_of(fd[i]).memory;
	}
	*error = errno;
	munmap(spare, MB);
	memory += info_of(fd[i]).memory;
	/* It has none, and needs none. */
	setup.slots = 0;
	return ioctl(fd[i], TWHEEL_RING, &setup) && errno == ENOENT ? memory : 0;
}

struct report *new_report(void)
{
	struct report *report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (report == MAP_FAILED)
		bail_out("no memory");
	return report;
}

bool wait_stage(struct report *report, int stage)
{
	uint64_t end = now_ns() + MINUTE;

	while (report->stage < stage) {
		if (now_ns() > end)
			return false;
		sleep_for(MSEC);
	}
	return true;
}

pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		bail_out("cannot fork");
	return pid;
}

/* Wait until it ends or is killed, and report which. */
bool child_ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}
