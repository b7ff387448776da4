// SPDX-License-Identifier: MIT
/*
 * A loop over /dev/twheel
 *
 * An event carries the address of its handle, which may be freed as soon as it is stopped.
 * It is safe all the same: the loop alone reads the wheel, what was stopped is cancelled
 * before anything is read, and what was read is in a list that stopping takes it from.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "loop.h"

/**
 * struct batches - what goes to the kernel and comes from it
 * @results: what became of stopped timers, if not all could be cancelled.
 * @adds: timers to be armed.
 * @events: timers that have expired.
 */
struct batches {
	int results[BATCH];
	struct twheel_add adds[BATCH];
	struct twheel_event events[BATCH];
};

/**
 * struct device - a loop over a wheel of the kernel
 * @loop: the loop. Its descriptor is the wheel.
 * @batches: memory that goes when the loop is freed.
 * @nr_armed: how many timers the kernel has, those that were stopped included.
 * @alarm: the id of a timer without a handle that is in the wheel because of a start, so
 *	that there is something to read; or 0.
 * @woken: there is one because of what a callback left behind.
 * @nr_stopped: how many timers have been stopped since the last flush.
 * @stopped: their ids.
 */
struct device {
	struct twheel_loop loop;
	struct batches *batches;
	uint64_t nr_armed;
	uint64_t alarm;
	bool woken;
	unsigned int nr_stopped;
	uint64_t stopped[BATCH];
};

static struct device *device_of(struct twheel_loop *loop)
{
	return container_of(loop, struct device, loop);
}

static int device_arm(struct twheel_loop *loop, struct twheel_handle *handle)
{
	return link_change(loop, handle);
}

/* Cancel what was stopped. Only someone else who has the wheel can have cancelled it before. */
static int cancel_stopped(struct device *device)
{
	int count = device->nr_stopped;
	int fd = device->loop.fd;

	if (!count)
		return 0;
	if (twheel_loop_check(&device->loop))
		return -1;
	if (twheel_cancel_batch(fd, device->stopped, NULL, count) != count &&
	    twheel_cancel_batch(fd, device->stopped, device->batches->results, count) < 0)
		return -1;
	device->nr_armed -= count;
	device->nr_stopped = 0;
	return 0;
}

static inline void note_stopped(struct device *device, struct twheel_handle *handle)
{
	device->stopped[device->nr_stopped++] = handle->where;
	set_idle(&device->loop, handle);
}

static noinline int disarm_slowly(struct device *device, struct twheel_handle *handle)
{
	if (cancel_stopped(device))
		return -1;
	note_stopped(device, handle);
	return 0;
}

static int device_disarm(struct twheel_loop *loop, struct twheel_handle *handle)
{
	struct device *device = device_of(loop);

	if (unlikely(device->nr_stopped == BATCH))
		return disarm_slowly(device, handle);
	note_stopped(device, handle);
	return 0;
}

/* The first @count handles that are being flushed have been armed. */
static void set_armed(struct device *device, int count)
{
	struct twheel_add *add = device->batches->adds;
	struct twheel_add *after = add + count;
	struct twheel_handle *handle = NULL;

	for (; add < after; add++) {
		handle = (struct twheel_handle *)(uintptr_t)add->data;
		handle->state ^= LINKED | ARMED;
		handle->armed = add->time_ns;
		handle->where = add->id;
	}
	device->nr_armed += count;
	__list_del(&device->loop.flushing, handle_link(handle)->next);
}

/* Arm a batch of what is being flushed, up to the first that cannot be; -1 if that is it. */
static int arm_some(struct device *device)
{
	struct list_head *head = &device->loop.flushing;
	struct twheel_add *adds = device->batches->adds;
	struct twheel_add *after = adds + BATCH;
	struct twheel_add *add = adds;
	struct list_head *link;
	int done;

	for (link = head->next; link != head && add < after; link = link->next) {
		struct twheel_handle *handle = linked_handle(link);

		add->time_ns = handle->deadline;
		add->data = (uintptr_t)handle;
		add++;
	}
	done = twheel_add_batch(device->loop.fd, adds, add - adds);
	if (done <= 0)
		return -1;
	set_armed(device, done);
	return 0;
}

/* Called with the lock held, or by the loop's own thread. */
static int device_wake(struct twheel_loop *loop)
{
	struct twheel_add add = { .flags = TWHEEL_ABSTIME };

	return twheel_add_timer(loop->fd, &add);
}

/* Have the descriptor readable until a flush. */
static int device_alarm(struct twheel_loop *loop)
{
	struct twheel_add add = { .flags = TWHEEL_ABSTIME };
	struct device *device = device_of(loop);

	if (device->alarm)
		return 0;
	if (twheel_add_timer(loop->fd, &add))
		return -1;
	device->alarm = add.id;
	device->nr_armed++;
	return 0;
}

/* A flush has come before the alarm was read: the room is for others. */
static int cancel_alarm(struct device *device)
{
	if (!device->alarm)
		return 0;
	if (device->nr_stopped == BATCH && cancel_stopped(device))
		return -1;
	device->stopped[device->nr_stopped++] = device->alarm;
	device->alarm = 0;
	return 0;
}

/* What a callback left behind by not returning wakes the program. */
static int wake_for_the_rest(struct device *device)
{
	if (device->woken || !twheel_loop_has_left(&device->loop))
		return 0;
	if (device_wake(&device->loop))
		return -1;
	device->woken = true;
	return 0;
}

static int arm_flushing(struct device *device)
{
	struct twheel_loop *loop = &device->loop;

	while (!list_empty(&loop->flushing)) {
		if (!arm_some(device))
			continue;
		if (errno != ENOSPC && errno != ENOMEM)
			return -1;
		/* Its owner may stop others, and make room. */
		if (twheel_loop_report(loop, linked_handle(loop->flushing.next), errno) ||
		    cancel_stopped(device))
			return -1;
	}
	return 0;
}

static int device_flush(struct twheel_loop *loop)
{
	struct device *device = device_of(loop);
	int ret, error;

	if (cancel_alarm(device) || cancel_stopped(device))
		return -1;
	ret = arm_flushing(device);
	error = errno;
	if (twheel_loop_check(loop) || wake_for_the_rest(device))
		return -1;
	errno = error;
	return ret;
}

static int device_collect(struct twheel_loop *loop)
{
	struct device *device = device_of(loop);
	struct twheel_event *events = device->batches->events;
	ssize_t count, i;
	ssize_t uncounted = 0;

	if (cancel_stopped(device))
		return -1;
	count = twheel_read(loop->fd, events, BATCH);
	loop->more = count == BATCH;
	if (count < 0)
		return errno == EAGAIN ? 0 : -1;
	if (!count) {
		/* Whatever that is, it is no wheel. */
		errno = EIO;
		return -1;
	}
	/* The clock has gone on since another batch was read. */
	forget_time(loop);
	for (i = 0; i < count; i++) {
		struct twheel_handle *handle =
			(struct twheel_handle *)(uintptr_t)events[i].data;

		if (handle) {
			list_add_tail(handle_link(handle), &loop->expired);
			handle->state ^= LINKED | ARMED;
		} else if (events[i].id == device->alarm) {
			device->alarm = 0;
		} else {
			device->woken = false;
			uncounted++;
		}
	}
	device->nr_armed -= count - uncounted;
	return 0;
}

static uint64_t device_count(struct twheel_loop *loop)
{
	struct device *device = device_of(loop);

	return device->nr_armed - device->nr_stopped - !!device->alarm + length(&loop->expired);
}

static struct twheel_handle *device_take(struct twheel_loop *loop)
{
	struct list_head *link = loop->expired.next;

	if (link == &loop->expired)
		return NULL;
	list_del(link);
	return linked_handle(link);
}

static void device_free(struct twheel_loop *loop)
{
	free(device_of(loop)->batches);
}

static const struct backend device_backend = {
	.number = TWHEEL_BACKEND_DEVICE,
	.free = device_free,
	.arm = device_arm,
	.disarm = device_disarm,
	.flush = device_flush,
	.collect = device_collect,
	.take = device_take,
	.wake = device_wake,
	.alarm = device_alarm,
	.count = device_count,
};

/* Make a descriptor a wheel; one that is none is ENODEV. */
static int set_up(int fd, const struct twheel_setup *setup)
{
	if (!twheel_set_up(fd, setup))
		return 0;
	/* The parameters are valid: what does not take them is something else. */
	if (errno == ENOTTY || errno == EINVAL)
		errno = ENODEV;
	return -1;
}

static struct twheel_loop *new_device(int fd, const struct twheel_setup *setup)
{
	struct batches *batches = calloc(1, sizeof(*batches));
	struct device *device;
	unsigned int i;

	device = batches && !set_up(fd, setup) ? twheel_loop_alloc(sizeof(*device)) : NULL;
	if (!device) {
		int error = errno;

		free(batches);
		errno = error;
		return NULL;
	}
	for (i = 0; i < BATCH; i++)
		batches->adds[i].flags = TWHEEL_ABSTIME;
	device->batches = batches;
	device->loop.fd = fd;
	device->loop.real = &device_backend;
	return &device->loop;
}

struct twheel_loop *twheel_device_new(const struct twheel_setup *setup)
{
	int fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);
	struct twheel_loop *loop;

	if (fd < 0)
		return NULL;
	loop = new_device(fd, setup);
	if (!loop) {
		int error = errno;

		close(fd);
		errno = error;
	}
	return loop;
}
