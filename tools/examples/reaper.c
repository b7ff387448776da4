// SPDX-License-Identifier: MIT
/*
 * Kills a command when its time is up, even if this program is killed before
 *
 *	cc -O2 reaper.c -o reaper $(pkg-config --cflags --libs libtwheel libsystemd)
 *
 * The deadline is a timer. The next reaper with the same wheel lists it, and waits for the same
 * command. The wheel is descriptor 3, from a parent:
 *
 *	exec 3<>/dev/twheel
 *	while ./reaper 3600 make check; [ $? = 137 ]; do :; done
 *
 * or from systemd, which keeps it for a unit with FileDescriptorStoreMax=1, NotifyAccess=main,
 * Restart=on-abnormal and KillMode=process.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <systemd/sd-daemon.h>
#include <libtwheel-device.h>

#define PID_BITS	22
#define KILL_GROUP	4 /* PIDFD_SIGNAL_PROCESS_GROUP */

/* Name a process by its id and its start, as ids are used again. Return 0 if it is gone. */
static uint64_t name_of(pid_t pid)
{
	char path[32], stat[512] = "", *word;
	int fd, field;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	word = read(fd, stat, sizeof(stat) - 1) > 0 ? strrchr(stat, ')') : NULL;
	close(fd);
	for (field = 2; word && field < 22; field++)
		word = strchr(word + 1, ' ');
	return word ? strtoull(word, NULL, 10) << PID_BITS | pid : 0;
}

/* Become the command, in a group of its own. Its timer expires until it is cancelled. */
static void become(int wheel, const char *seconds, char **command)
{
	struct twheel_add add = {
		.time_ns = atof(seconds) * TWHEEL_SEC,
		.interval_ns = TWHEEL_SEC,
		.data = name_of(getpid()),
	};

	if (add.data && !setpgid(0, 0) && !twheel_add_timer(wheel, &add))
		execvp(*command, command);
	err(127, "cannot run %s", *command);
}

int main(int argc, char **argv)
{
	struct pollfd fds[2] = { { .events = POLLIN }, { .fd = 3, .events = POLLIN } };
	struct twheel_listed timer = { };
	uint64_t cursor = 0, again = 0;
	int status, *wheel = &fds[1].fd;
	pid_t pid;

	if (argc < 3)
		errx(2, "usage: reaper SECONDS COMMAND [ARGUMENT...]");
	if (twheel_list_timers(*wheel, &cursor, &timer, 1) < 0) {
		*wheel = twheel_open(NULL, 0);
		if (*wheel < 0)
			err(1, TWHEEL_DEVICE);
		sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDPOLL=0", wheel, 1);
	}
	fcntl(*wheel, F_SETFD, FD_CLOEXEC);
	pid = timer.data ? (pid_t)(timer.data & ((1 << PID_BITS) - 1)) : fork();
	if (!pid)
		become(*wheel, argv[1], argv + 2);
	fds[0].fd = syscall(SYS_pidfd_open, pid, 0);
	if (fds[0].fd < 0 && !timer.data)
		err(1, "cannot watch %s", argv[2]);
	if (fds[0].fd >= 0 && (!timer.data || name_of(pid) == timer.data))
		poll(fds, 2, -1);
	if (fds[1].revents && !fds[0].revents) {
		/* Linux before 6.9 has no signals for groups by descriptor. */
		if (syscall(SYS_pidfd_send_signal, fds[0].fd, SIGKILL, NULL, KILL_GROUP))
			kill(-pid, SIGKILL);
		status = 124 << 8; /* as timeout(1) exits */
	} else if (waitpid(pid, &status, 0) != pid) {
		status = 0; /* It is an earlier reaper's child, so its status is unknown. */
	}
	if (twheel_list_timers(*wheel, &again, &timer, 1) == 1)
		twheel_cancel_timer(*wheel, timer.id);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
