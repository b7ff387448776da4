// SPDX-License-Identifier: MIT
/*
 * libtwheel - the ioctls of /dev/twheel as functions; see libtwheel.h
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "libtwheel.h"

/**
 * twheel_version() - which version of the library this is
 *
 * Return: "MAJOR.MINOR.PATCH". It says nothing of the module that is loaded.
 */
const char *twheel_version(void)
{
	return TWHEEL_VERSION;
}

/**
 * twheel_open() - make a wheel
 * @path: the device, or NULL for TWHEEL_DEVICE.
 * @flags: 0, or O_NONBLOCK and O_CLOEXEC, as for open().
 *
 * close() drops the wheel with all its timers.
 *
 * Return: a file descriptor, or -1 with errno set.
 */
int twheel_open(const char *path, int flags)
{
	return open(path ? path : TWHEEL_DEVICE, O_RDWR | flags);
}

/**
 * twheel_setup() - set the parameters of a wheel, once, before its first timer
 * @fd: the wheel.
 * @setup: the parameters.
 *
 * Return: 0, or -1 with errno set.
 */
int twheel_setup(int fd, const struct twheel_setup *setup)
{
	return ioctl(fd, TWHEEL_SETUP, setup);
}

/**
 * twheel_add() - arm a timer
 * @fd: the wheel.
 * @add: the timer. @add->id is set when the call succeeds.
 *
 * Return: 0, or -1 with errno set.
 */
int twheel_add(int fd, struct twheel_add *add)
{
	return ioctl(fd, TWHEEL_ADD, add);
}

/**
 * twheel_cancel() - make sure that a timer will not be read any more
 * @fd: the wheel.
 * @id: the timer.
 *
 * Return: 0 when the timer will never be read, even if it had expired; -1 with
 * errno ENOENT when it was read or cancelled before, or never existed.
 */
int twheel_cancel(int fd, uint64_t id)
{
	__u64 arg = id;

	return ioctl(fd, TWHEEL_CANCEL, &arg);
}

/**
 * twheel_modify() - give a timer that has not been read a new deadline
 * @fd: the wheel.
 * @id: the timer.
 * @time_ns: the new delay, or with TWHEEL_ABSTIME the new deadline.
 * @flags: 0 or TWHEEL_ABSTIME.
 *
 * Return: 0, or -1 with errno set.
 */
int twheel_modify(int fd, uint64_t id, uint64_t time_ns, uint32_t flags)
{
	struct twheel_modify mod = {
		.id = id,
		.time_ns = time_ns,
		.flags = flags,
	};

	return ioctl(fd, TWHEEL_MODIFY, &mod);
}

/**
 * twheel_query() - look at a timer
 * @fd: the wheel.
 * @id: the timer.
 * @query: filled in when the call succeeds.
 *
 * Return: 0, or -1 with errno set.
 */
int twheel_query(int fd, uint64_t id, struct twheel_query *query)
{
	query->id = id;
	query->reserved = 0;
	return ioctl(fd, TWHEEL_QUERY, query);
}

/**
 * twheel_info() - read the parameters and counters of a wheel
 * @fd: the wheel.
 * @info: filled in when the call succeeds.
 *
 * Return: 0, or -1 with errno set.
 */
int twheel_info(int fd, struct twheel_info *info)
{
	return ioctl(fd, TWHEEL_INFO, info);
}

static int batch(int fd, unsigned long request, const void *entries,
		 uint32_t count)
{
	struct twheel_batch arg = {
		.entries = (uintptr_t)entries,
		.count = count,
	};

	return ioctl(fd, request, &arg);
}

/**
 * twheel_add_batch() - arm many timers
 * @fd: the wheel.
 * @adds: the timers. The id of each that was added is set.
 * @count: number of timers.
 *
 * Return: how many were added, in order from the first one; -1 with errno set
 * when the first one failed.
 */
int twheel_add_batch(int fd, struct twheel_add *adds, uint32_t count)
{
	return batch(fd, TWHEEL_ADD_BATCH, adds, count);
}

/**
 * twheel_cancel_batch() - cancel many timers
 * @fd: the wheel.
 * @ids: the timers.
 * @count: number of timers.
 *
 * Return: how many were cancelled, in order from the first one; -1 with errno
 * set when the first one failed.
 */
int twheel_cancel_batch(int fd, const uint64_t *ids, uint32_t count)
{
	return batch(fd, TWHEEL_CANCEL_BATCH, ids, count);
}

/**
 * twheel_modify_batch() - give many timers new deadlines
 * @fd: the wheel.
 * @mods: the timers and their deadlines.
 * @count: number of timers.
 *
 * Return: how many were modified, in order from the first one; -1 with errno
 * set when the first one failed.
 */
int twheel_modify_batch(int fd, const struct twheel_modify *mods,
			uint32_t count)
{
	return batch(fd, TWHEEL_MODIFY_BATCH, mods, count);
}

/**
 * twheel_read() - take expired timers
 * @fd: the wheel.
 * @events: set to the timers that expired, in the order of their ticks.
 * @max: number of events that fit.
 *
 * Waits for at least one, unless the wheel was opened with O_NONBLOCK.
 *
 * Return: how many were taken, or -1 with errno set: EAGAIN when there was none
 * and the wheel does not block, EINTR when a signal ended the wait.
 */
ssize_t twheel_read(int fd, struct twheel_event *events, size_t max)
{
	ssize_t bytes;

	if (max > SSIZE_MAX / sizeof(*events))
		max = SSIZE_MAX / sizeof(*events);
	bytes = read(fd, events, max * sizeof(*events));
	return bytes < 0 ? -1 : bytes / (ssize_t)sizeof(*events);
}

/**
 * twheel_now() - the time on a wheel's clock
 * @clock_id: the clock of the wheel, as in struct twheel_info.
 * @now_ns: set to the time in nanoseconds.
 *
 * Return: 0, or -1 with errno set.
 */
int twheel_now(uint32_t clock_id, uint64_t *now_ns)
{
	struct timespec now;

	if (clock_gettime((clockid_t)clock_id, &now))
		return -1;
	*now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return 0;
}

/**
 * twheel_deadline() - when a delay ends
 * @now_ns: when it begins.
 * @delay_ns: the delay.
 *
 * Return: the sum, or TWHEEL_TIME_MAX_NS where the sum is later than that.
 */
uint64_t twheel_deadline(uint64_t now_ns, uint64_t delay_ns)
{
	uint64_t sum;

	if (__builtin_add_overflow(now_ns, delay_ns, &sum) ||
	    sum > TWHEEL_TIME_MAX_NS)
		return TWHEEL_TIME_MAX_NS;
	return sum;
}
