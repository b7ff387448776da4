// SPDX-License-Identifier: MIT
/*
 * What `twheel save` and `twheel load` have in common; see snapshot.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libtwheel.h"
#include "messages.h"
#include "snapshot.h"

/* How often to try to read two clocks together: an interrupt in between spoils a try. */
#define TRIES	8

#define PROGRESS_FIRST_NS	2000000000
#define PROGRESS_NEXT_NS	250000000

static int fail_process(pid_t pid, int fd)
{
	switch (errno) {
	case ESRCH:
		complain("there is no process %d", (int)pid);
		break;
	case EPERM:
	case EACCES:
		complain("no permission to use a descriptor of process %d: use sudo", (int)pid);
		break;
	case EBADF:
		complain("process %d has no descriptor %d: twheel top shows those of wheels",
			 (int)pid, fd);
		break;
	default:
		complain("cannot get descriptor %d of process %d: %s", fd, (int)pid,
			 strerror(errno));
	}
	return -1;
}

/* Duplicate a descriptor of another process. */
static int take_descriptor(pid_t pid, int fd)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), copy;

	if (process < 0)
		return fail_process(pid, fd);
	copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	if (copy < 0)
		fail_process(pid, fd);
	close(process);
	return copy;
}

/**
 * snapshot_open() - find the wheel
 * @options: where it is.
 * @info: set to its parameters.
 *
 * Return: a descriptor, or -1 after a message.
 */
int snapshot_open(const struct snapshot_options *options, struct twheel_info *info)
{
	int fd = options->fd;

	if (options->pid) {
		fd = take_descriptor(options->pid, options->fd);
		if (fd < 0)
			return -1;
	}
	if (!twheel_get_info(fd, info))
		return fd;
	if (errno == EBADF)
		complain("descriptor %d is not open: a shell opens a wheel with exec %d<>"
			 TWHEEL_DEVICE, fd, fd);
	else if (errno == ENOTTY || errno == EINVAL)
		complain("descriptor %d is not a wheel", options->fd);
	else
		complain("cannot query the wheel: %s", strerror(errno));
	return -1;
}

/**
 * snapshot_clocks() - read a wheel's clock and the wall clock together
 * @clock_id: the wheel's clock.
 * @clocks: set to the moment.
 *
 * Return: 0, or -1 after a message.
 */
int snapshot_clocks(uint32_t clock_id, struct snapshot_clocks *clocks)
{
	struct snapshot_clocks now;
	int i;

	for (i = 0; i < TRIES; i++) {
		if (twheel_now(clock_id, &now.before_ns) ||
		    twheel_now(CLOCK_REALTIME, &now.wall_ns) ||
		    twheel_now(clock_id, &now.after_ns)) {
			complain("cannot read the clocks: %s", strerror(errno));
			return -1;
		}
		if (!i || now.after_ns - now.before_ns < clocks->after_ns - clocks->before_ns)
			*clocks = now;
	}
	return 0;
}

/* Return the sum, or the end of time if that is earlier. */
static int64_t saturated_sum(uint64_t time_ns, int64_t offset_ns)
{
	int64_t sum;

	return __builtin_add_overflow((int64_t)time_ns, offset_ns, &sum) ? INT64_MAX : sum;
}

/**
 * snapshot_to_wall() - convert a deadline to the wall clock
 * @clocks: a moment on both clocks.
 * @deadline_ns: the deadline on the wheel's clock, up to TWHEEL_TIME_MAX_NS.
 *
 * An error of @clocks makes it later, never earlier. The end of time is kept.
 *
 * Return: the deadline in nanoseconds since 1970, 0 for what was before, and at most
 * TWHEEL_TIME_MAX_NS.
 */
uint64_t snapshot_to_wall(const struct snapshot_clocks *clocks, uint64_t deadline_ns)
{
	int64_t wall_ns;

	if (deadline_ns >= TWHEEL_TIME_MAX_NS)
		return TWHEEL_TIME_MAX_NS;
	wall_ns = saturated_sum(deadline_ns, (int64_t)(clocks->wall_ns - clocks->before_ns));
	return wall_ns > 0 ? (uint64_t)wall_ns : 0;
}

/**
 * snapshot_to_wheel() - convert a deadline to a wheel's clock
 * @clocks: a moment on both clocks.
 * @wall_ns: the deadline in nanoseconds since 1970, up to TWHEEL_TIME_MAX_NS.
 * @interval_ns: the period, or 0.
 *
 * The result may be later than it should be, but never earlier. The end of time is kept. All
 * times before the wheel's clock began are the same, but a period keeps its phase.
 *
 * Return: the deadline, 0 to TWHEEL_TIME_MAX_NS.
 */
uint64_t snapshot_to_wheel(const struct snapshot_clocks *clocks, uint64_t wall_ns,
			   uint64_t interval_ns)
{
	int64_t deadline_ns;

	if (wall_ns >= TWHEEL_TIME_MAX_NS)
		return TWHEEL_TIME_MAX_NS;
	deadline_ns = saturated_sum(wall_ns, (int64_t)(clocks->after_ns - clocks->wall_ns));
	if (deadline_ns >= 0)
		return (uint64_t)deadline_ns;
	if (!interval_ns)
		return 0;
	deadline_ns %= (int64_t)interval_ns;
	return (uint64_t)(deadline_ns ? deadline_ns + (int64_t)interval_ns : 0);
}

static uint64_t now_ns(void)
{
	uint64_t ns = 0;

	twheel_now(CLOCK_MONOTONIC, &ns);
	return ns;
}

/**
 * progress_begin() - begin something that may take long
 * @progress: its progress.
 * @what: what is done to timers: "saved", "loaded".
 */
void progress_begin(struct progress *progress, const char *what)
{
	*progress = (struct progress){
		.what = what,
		.next_ns = isatty(STDERR_FILENO) ? now_ns() + PROGRESS_FIRST_NS : UINT64_MAX,
	};
}

/**
 * progress_show() - show progress on a terminal, after two seconds
 * @progress: the progress.
 * @count: how many timers have been done.
 */
void progress_show(struct progress *progress, uint64_t count)
{
	uint64_t now = now_ns();

	if (now < progress->next_ns)
		return;
	fprintf(stderr, "\rtwheel: %ju timers %s\033[K", (uintmax_t)count, progress->what);
	progress->next_ns = now + PROGRESS_NEXT_NS;
	progress->shown = true;
}

/**
 * progress_end() - clear the line
 * @progress: the progress.
 */
void progress_end(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
