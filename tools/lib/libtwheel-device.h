/* SPDX-License-Identifier: MIT */
/*
 * libtwheel-device - the ioctls of /dev/twheel as functions
 *
 * For programs that share a wheel, or have no loop. Each function is a system call with a structure
 * of <linux/twheel.h>, and has no state. twheel(4) lists the errors, and describes the ring. Unless
 * documented otherwise a function returns 0, or -1 with errno set.
 */
#pragma once

#include <sys/types.h>
#include <time.h>

#include <libtwheel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TWHEEL_DEVICE	"/dev/twheel"

/**
 * twheel_open() - make a wheel
 * @path: the device, or NULL for TWHEEL_DEVICE.
 * @flags: 0, or O_NONBLOCK and O_CLOEXEC, as for open().
 *
 * Return: a descriptor, whose close() drops the wheel with all its timers; or -1 with errno set.
 */
int twheel_open(const char *path, int flags);

/**
 * twheel_set_up() - set the parameters of a wheel, once, before its first timer
 * @fd: the wheel.
 * @setup: the parameters. All of them have to be set: a @clock_id of 0 is CLOCK_REALTIME.
 */
int twheel_set_up(int fd, const struct twheel_setup *setup);

/**
 * twheel_add_timer() - arm a timer
 * @fd: the wheel.
 * @add: the timer. @add->id is set when the call succeeds.
 */
int twheel_add_timer(int fd, struct twheel_add *add);

/**
 * twheel_cancel_timer() - cancel a timer
 * @fd: the wheel.
 * @id: the timer.
 *
 * Return: 0 when the timer will never be read; -1 with errno ENOENT if it was read or cancelled.
 */
int twheel_cancel_timer(int fd, uint64_t id);

/**
 * twheel_modify_timer() - change the deadline of a timer that has not been read
 * @fd: the wheel.
 * @id: the timer.
 * @time_ns: the new delay, or with TWHEEL_ABSTIME the new deadline.
 * @flags: 0 or TWHEEL_ABSTIME.
 */
int twheel_modify_timer(int fd, uint64_t id, uint64_t time_ns, uint32_t flags);

/**
 * twheel_query_timer() - query a timer
 * @fd: the wheel.
 * @id: the timer.
 * @query: filled in when the call succeeds.
 */
int twheel_query_timer(int fd, uint64_t id, struct twheel_query *query);

/**
 * twheel_get_info() - read the parameters and counters of a wheel
 * @fd: the wheel.
 * @info: filled in when the call succeeds.
 */
int twheel_get_info(int fd, struct twheel_info *info);

/**
 * twheel_add_batch() - arm many timers
 * @fd: the wheel.
 * @adds: the timers. The id of each that was added is set.
 * @count: number of timers.
 *
 * Return: how many were added, in order from the first one; -1 with errno set if that failed.
 */
int twheel_add_batch(int fd, struct twheel_add *adds, uint32_t count);

/**
 * twheel_cancel_batch() - cancel many timers
 * @fd: the wheel.
 * @ids: the timers.
 * @results: NULL, or an array with a number for each timer, set to 0, or ENOENT if it is missing.
 * @count: number of timers.
 *
 * Without @results, it stops at the first missing timer, as twheel_add_batch() at the first error.
 * With @results, a missing timer costs one or two more system calls. Then -1 is returned only for
 * errors that do not concern a single timer, and results that were not set are -1.
 *
 * Return: how many were cancelled; or -1 with errno set.
 */
int twheel_cancel_batch(int fd, const uint64_t *ids, int *results, uint32_t count);

/**
 * twheel_modify_batch() - give many timers new deadlines
 * @fd: the wheel.
 * @mods: the timers and their deadlines.
 * @results: as for twheel_cancel_batch(), but with the errors of twheel_modify_timer().
 * @count: number of timers.
 *
 * Return: how many were modified; or -1 with errno set, as for twheel_cancel_batch().
 */
int twheel_modify_batch(int fd, const struct twheel_modify *mods, int *results,
			uint32_t count);

/**
 * twheel_list_timers() - list the timers of a wheel, a part at a time
 * @fd: the wheel.
 * @cursor: 0 to begin; set to where the next call continues. Valid for the wheel's lifetime.
 * @timers: set to timers, in no order: pending ones, and those that have expired unread.
 * @max: number of timers that fit.
 *
 * Call it until it returns 0. A timer that exists from the first call to the last is returned
 * exactly once, even if others change the wheel, and none after its cancel has returned.
 *
 * Return: how many were written, 0 at the end; or -1 with errno set: ENOTTY from a module that is
 * too old, EINVAL for an invalid cursor.
 */
ssize_t twheel_list_timers(int fd, uint64_t *cursor, struct twheel_listed *timers, size_t max);

/**
 * twheel_read() - take expired timers
 * @fd: the wheel.
 * @events: set to the timers that expired, in the order of their ticks.
 * @max: number of events that fit.
 *
 * Waits for at least one, unless the wheel was opened with O_NONBLOCK.
 *
 * Return: how many were taken; or -1 with errno set: EAGAIN without one, EINTR after a signal.
 */
ssize_t twheel_read(int fd, struct twheel_event *events, size_t max);

/**
 * struct twheel_ring_view - a wheel's ring of events, as it is mapped
 * @ring: the ring.
 * @slots: how many slots it has.
 * @size: how many bytes are mapped.
 */
struct twheel_ring_view {
	struct twheel_ring *ring;
	uint32_t slots;
	uint32_t size;
};

/**
 * twheel_ring_map() - make a wheel's ring of events, unless it has one, and map it
 * @fd: the wheel.
 * @slots: how many slots it should have: 2 to TWHEEL_RING_SLOTS_MAX. An existing ring keeps its
 *	number; with 0, one must exist.
 * @view: set to the ring.
 *
 * Only one thread at a time may use a ring. A child process does not inherit the mapping.
 *
 * Return: 0; or -1 with errno set: EINVAL, ENOENT without a ring when @slots is 0, ENOSPC,
 * ENOMEM, or ENOTTY from a module that is too old.
 */
int twheel_ring_map(int fd, uint32_t slots, struct twheel_ring_view *view);

/**
 * twheel_ring_unmap() - unmap a ring
 * @view: from twheel_ring_map(), or zero; set to zero. The wheel keeps its ring and the events.
 */
void twheel_ring_unmap(struct twheel_ring_view *view);

/**
 * twheel_ring_peek() - return the events in a ring
 * @view: the ring.
 * @count: set to the number of events in the returned array, which ends at the end of the ring's
 *	memory; another call returns the rest.
 *
 * Return: the first event; or NULL if the ring holds none.
 */
struct twheel_event *twheel_ring_peek(const struct twheel_ring_view *view, size_t *count);

/**
 * twheel_ring_consume() - take events out of a ring
 * @view: the ring.
 * @count: how many, up to those of twheel_ring_peek(); they must not be accessed any more.
 */
void twheel_ring_consume(const struct twheel_ring_view *view, size_t count);

/**
 * twheel_ring_more() - whether to poll again, when all events have been consumed, for more
 * @view: the ring.
 *
 * Return: 1 or 0.
 */
static inline int twheel_ring_more(const struct twheel_ring_view *view)
{
	return __atomic_load_n(&view->ring->flags, __ATOMIC_RELAXED) & TWHEEL_RING_MORE;
}

/**
 * twheel_now() - the program's time on a wheel's clock
 * @clock_id: the clock of the wheel, as in struct twheel_info.
 * @now_ns: set to the time in nanoseconds.
 *
 * In a time namespace, the wheel's own time differs: twheel_get_info() returns that.
 *
 * Return: 0; or -1 with errno set: EINVAL for an unknown clock, EFAULT without @now_ns.
 */
int twheel_now(uint32_t clock_id, uint64_t *now_ns);

#ifdef __cplusplus
}
#endif
