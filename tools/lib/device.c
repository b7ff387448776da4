// SPDX-License-Identifier: MIT
/*
 * A loop over /dev/twheel
 *
 * Polling the wheel moves expired timers to its ring of events, so that a turn of the loop
 * takes them without a system call. An event carries the address of its handle, which may
 * be freed as soon as it is stopped. So stopped timers are cancelled before the ring is emptied.
 * Timers that cannot be cancelled any more are in the ring, and skipped there by their ids.
 * Handles of events that have been taken are in a list, from which a stop removes them.
 *
 * In a loop that another process may adopt, an event carries the data of its handle. It stays in
 * the ring until all callbacks of its turn have returned, and so goes to the next process if this
 * one is killed before. Timers are armed before stopped ones are cancelled: none is ever missing.
 * Later versions keep to this, as the next process may have one.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "loop.h"

/* The ring fills 16 KiB. */
#define RING_SLOTS	508

/* A loop over a wheel of the kernel, which is its descriptor */
struct device {
	struct twheel_loop loop;
	struct twheel_ring_view ring;	/* timers that have expired */
	struct list_head armed;		/* the handles that the kernel has */
	int64_t offset;			/* how far the device's clock is ahead: a time namespace */
	uint64_t alarm;			/* id of a timer that only wakes the program, or 0 */
	size_t taken;			/* number of events that have been taken, in the ring */
	uint64_t until;			/* with @resolve, deadlines that a dispatch may take */
	unsigned int nr_stopped;	/* number of timers to be cancelled by the next flush */
	uint64_t stopped[BATCH];	/* their ids */
	int results[BATCH];		/* 0 for those that could be cancelled */
	struct twheel_add adds[BATCH];	/* timers to be armed */
};

static struct device *device_of(struct twheel_loop *loop)
{
	return container_of(loop, struct device, loop);
}

/* Add to a time of one clock what the other is ahead. */
static inline uint64_t shift_time(uint64_t time, int64_t offset)
{
	if (likely(!offset) || time + offset <= TWHEEL_TIME_MAX_NS)
		return time + offset;
	return offset < 0 ? 0 : TWHEEL_TIME_MAX_NS;
}

/* Return the handle of an event; or NULL if it only woke the program, or has no handle. */
static struct twheel_handle *handle_of(struct twheel_loop *loop, const struct twheel_event *event)
{
	struct twheel_handle *handle;

	if (likely(!loop->config.resolve))
		return (struct twheel_handle *)(uintptr_t)event->data;
	handle = event->deadline_ns ? loop->config.resolve(loop, event->data) : NULL;
	return handle && handle->loop == loop && (handle->state & ARMED) &&
	       handle->where == event->id ? handle : NULL;
}

static void collect_event(struct device *device, const struct twheel_event *event)
{
	struct twheel_handle *handle = handle_of(&device->loop, event);

	if (handle) {
		/* With TWHEEL_DEBUG. */
		if (unlikely(device->loop.thread))
			twheel_loop_check_event(&device->loop, handle, event->id);
		list_move_tail(handle_link(handle), &device->loop.expired);
		handle->state ^= LINKED | ARMED;
	} else if (event->id == device->alarm) {
		device->alarm = 0;
	}
}

/* Return an event of the ring by its place behind the head, or NULL. */
static struct twheel_event *event_at(const struct device *device, size_t place)
{
	struct twheel_ring *ring = device->ring.ring;
	uint32_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	uint32_t slots = device->ring.slots;

	if (place >= (tail + slots - ring->head) % slots)
		return NULL;
	return (struct twheel_event *)(ring + 1) + (ring->head + place) % slots;
}

/* Take the handle out of the event of a timer: it may be freed. */
static void forget(struct device *device, uint64_t id)
{
	struct twheel_event *event;
	size_t i;

	for (i = 0; (event = event_at(device, i)); i++)
		if (event->id == id)
			event->data = 0;
}

static noinline int cancel_stopped(struct device *device)
{
	int count = device->nr_stopped, done, i;

	if (!count)
		return 0;
	if (twheel_loop_check(&device->loop))
		return -1;
	done = twheel_cancel_batch(device->loop.fd, device->stopped, device->results, count);
	if (done < 0)
		return fail_call();
	device->nr_stopped = 0;
	/* The others are in the ring. With @resolve, handle_of() drops them by their ids. */
	for (i = 0; done < count && !device->loop.config.resolve && i < count; i++)
		if (device->results[i])
			forget(device, device->stopped[i]);
	return 0;
}

static noinline int disarm_slowpath(struct twheel_loop *loop, struct twheel_handle *handle)
{
	return cancel_stopped(device_of(loop)) ? -1 : loop->real->disarm(loop, handle);
}

/* Its call is the last, so that nothing is saved across that. */
static int device_disarm(struct twheel_loop *loop, struct twheel_handle *handle)
{
	struct device *device = device_of(loop);

	if (unlikely(device->nr_stopped >= BATCH))
		return disarm_slowpath(loop, handle);
	device->stopped[device->nr_stopped++] = handle->where;
	unlink_handle(loop, handle);
	return 1;
}

/*
 * Let an event carry the data of its handle. Its deadline is later than those that this dispatch
 * may take, and not 0, which is for events that only wake the program.
 */
static noinline void make_resolvable(struct device *device, struct twheel_handle *handle,
				     struct twheel_add *add)
{
	uint64_t now = shift_time(twheel_loop_now(&device->loop), device->offset);

	add->time_ns = max(add->time_ns, min(device->until, now) + 1);
	add->data = (uintptr_t)handle->data;
}

/* The first @count handles that are being flushed have been armed. */
static void set_armed(struct device *device, int count)
{
	/* With @resolve, the kernel needs each new deadline: none is later than this. */
	uint64_t armed = device->loop.config.resolve ? NEVER : 0;
	struct list_head *link = device->loop.flushing.next;
	struct twheel_add *add = device->adds;
	struct twheel_add *after = add + count;

	for (; add < after; add++) {
		struct twheel_handle *handle = linked_handle(link);

		link = link->next;
		handle->state ^= LINKED | ARMED;
		handle->armed = armed | handle->deadline;
		handle->where = add->id;
	}
	list_bulk_move_tail(&device->armed, device->loop.flushing.next, link->prev);
}

/* Arm a batch of flushed handles, up to the first that fails; -1 if that is the first of all. */
static int arm_some(struct device *device)
{
	struct list_head *head = &device->loop.flushing, *link;
	struct twheel_add *add = device->adds, *end = add + BATCH;
	int done;

	for (link = head->next; link != head && add < end; link = link->next, add++) {
		struct twheel_handle *handle = linked_handle(link);

		add->time_ns = shift_time(handle->deadline, device->offset);
		add->data = (uintptr_t)handle;
		if (unlikely(device->loop.config.resolve))
			make_resolvable(device, handle, add);
	}
	done = twheel_add_batch(device->loop.fd, device->adds, add - device->adds);
	if (done <= 0)
		return fail_call();
	set_armed(device, done);
	return 0;
}

static int device_wake(struct twheel_loop *loop)
{
	struct twheel_add add = { .flags = TWHEEL_ABSTIME };

	return twheel_add_timer(loop->fd, &add) ? fail_call() : 0;
}

/* Make the descriptor readable until a flush. */
static int device_alarm(struct twheel_loop *loop)
{
	struct twheel_add add = { .flags = TWHEEL_ABSTIME };
	struct device *device = device_of(loop);

	if (device->alarm)
		return 0;
	if (twheel_add_timer(loop->fd, &add))
		return fail_call();
	device->alarm = add.id;
	return 0;
}

/* Cancel an alarm that a flush has come before: its place in the wheel is for others. */
static void stop_alarm(struct device *device)
{
	const struct twheel_event *event;
	size_t count;

	if (device->alarm)
		twheel_cancel_timer(device->loop.fd, device->alarm);
	device->alarm = 0;
	/* Or drop its event, and those of stopped timers. */
	while (!device->loop.config.resolve &&
	       (event = twheel_ring_peek(&device->ring, &count)) && !event->data)
		twheel_ring_consume(&device->ring, 1);
}

static int arm_flushing(struct device *device)
{
	struct twheel_loop *loop = &device->loop;

	while (!list_empty(&loop->flushing)) {
		if (!arm_some(device))
			continue;
		if (!is_no_room(errno))
			return -1;
		/* The callback may have stopped others: cancelling those makes room. */
		if (twheel_loop_report(loop, linked_handle(loop->flushing.next)) ||
		    cancel_stopped(device))
			return -1;
	}
	return 0;
}

/* Release the taken events: their callbacks have returned, so no other process needs them. */
static void drop_taken(struct device *device)
{
	twheel_ring_consume(&device->ring, device->taken);
	device->taken = 0;
}

static int device_flush(struct twheel_loop *loop)
{
	struct device *device = device_of(loop);
	int error;

	if (!loop->config.resolve && cancel_stopped(device))
		return -1;
	/* Timers left by a callback that did not return, or due later, wake the program. */
	if (!twheel_loop_has_left(loop) &&
	    (!loop->config.resolve || !event_at(device, device->taken)))
		stop_alarm(device);
	else if (device_alarm(loop))
		return -1;
	error = arm_flushing(device) ? errno : 0;
	if (twheel_loop_check(loop) || (loop->config.resolve && cancel_stopped(device)))
		return -1;
	if (device->taken && list_empty(&loop->expired))
		drop_taken(device);
	return error ? fail(error) : 0;
}

/* Make the kernel fill an empty ring, after it was full or not polled. */
static int fill_ring(struct device *device)
{
	struct pollfd pollfd = { .fd = device->loop.fd, .events = POLLIN };
	size_t count;
	int ready;

	if (twheel_ring_peek(&device->ring, &count))
		return 0;
	/* Without an event, poll() can end for a signal instead. */
	do
		ready = poll(&pollfd, 1, 0);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return ready;
	if (pollfd.revents == POLLIN && twheel_ring_peek(&device->ring, &count))
		return 0;
	/* Readable, and without an event: it is not a wheel. */
	return fail(pollfd.revents & POLLNVAL ? EBADF : EIO);
}

/* Events stay in the ring until they are called, so a dispatch may need several rounds. */
static int collect_resolved(struct device *device, bool again)
{
	struct twheel_loop *loop = &device->loop;
	struct twheel_event *events;
	size_t count, i;

	if (!again)
		device->until = shift_time(read_clock(loop->clock_id), device->offset);
	/* A callback did not return: the rest is called first. */
	if (!list_empty(&loop->expired))
		return true;
	drop_taken(device);
	if (fill_ring(device))
		return -1;
	events = twheel_ring_peek(&device->ring, &count);
	for (i = 0; i < count && events[i].deadline_ns <= device->until; i++)
		collect_event(device, &events[i]);
	device->taken = i;
	/* In a child that @resolve has forked, nothing is called. */
	return twheel_loop_check(loop) ?: i > 0;
}

static int collect_events(struct device *device)
{
	const struct twheel_event *events;
	size_t count, i;

	do {
		if (fill_ring(device))
			return -1;
		while ((events = twheel_ring_peek(&device->ring, &count))) {
			for (i = 0; i < count; i++)
				collect_event(device, &events[i]);
			twheel_ring_consume(&device->ring, count);
		}
	} while (twheel_ring_more(&device->ring));
	return 0;
}

static int device_collect(struct twheel_loop *loop, bool again)
{
	struct device *device = device_of(loop);
	struct list_head *last;
	int ret;

	if (cancel_stopped(device))
		return -1;
	last = loop->expired.prev;
	ret = loop->config.resolve ? collect_resolved(device, again) : collect_events(device);
	/* Not before: no event is later than that. If it can wait, until it is needed. */
	end_turn(loop);
	if (needs_alarm(loop))
		set_time(loop);
	twheel_loop_order(loop, last, 0);
	return ret;
}

static void device_each_list(struct twheel_loop *loop, uint64_t until, list_function *act)
{
	act(loop, &device_of(loop)->armed);
}

static void device_free(struct twheel_loop *loop)
{
	struct device *device = device_of(loop);
	struct twheel_info info;

	/* If the program has closed it, the number may be another file's. */
	if (!twheel_get_info(loop->fd, &info))
		close(loop->fd);
	/* A child has not inherited the mapping. */
	if (!twheel_loop_check(loop))
		twheel_ring_unmap(&device->ring);
}

static const struct backend device_backend = {
	.number = TWHEEL_BACKEND_DEVICE,
	.free = device_free,
	.arm = link_change,
	.disarm = device_disarm,
	.flush = device_flush,
	.collect = device_collect,
	.wake = device_wake,
	.alarm = device_alarm,
	.each_list = device_each_list,
};

/*
 * Find a wheel's clock. If the program is in another time namespace, the device's clock is ahead of
 * its own: that is found to a moment, which makes timers rather late than early.
 */
static int find_clock(struct device *device, int fd)
{
	struct twheel_info info;
	uint64_t before;

	if (twheel_get_info(fd, &info) || twheel_now(info.clock_id, &before) ||
	    twheel_get_info(fd, &info))
		return -1;
	device->loop.clock_id = info.clock_id;
	/* Others have no namespaces, and can be set. */
	if ((info.clock_id == CLOCK_MONOTONIC || info.clock_id == CLOCK_BOOTTIME) &&
	    (info.now_ns < before || info.now_ns > read_clock(info.clock_id)))
		device->offset = info.now_ns - before;
	return 0;
}

/* Open and set up a wheel, or find its clock; then map its ring. ENODEV without rings. */
static int set_up(struct device *device, const struct twheel_setup *setup, int fd)
{
	if (setup)
		fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);
	if (setup && fd < 0)
		return -1;
	if ((!setup || !twheel_set_up(fd, setup)) && !find_clock(device, fd) &&
	    !twheel_ring_map(fd, RING_SLOTS, &device->ring)) {
		device->loop.fd = fd;
		return 0;
	}
	/* The parameters are valid: a file that refuses them is not a wheel. */
	if (errno == ENOTTY || errno == EINVAL)
		errno = ENODEV;
	if (setup)
		close(fd);
	return -1;
}

struct twheel_loop *twheel_device_new(const struct twheel_setup *setup, int fd)
{
	struct device *device = calloc(1, sizeof(*device));
	unsigned int i;

	if (!device || set_up(device, setup, fd)) {
		free(device);
		return NULL;
	}
	for (i = 0; i < BATCH; i++)
		device->adds[i].flags = TWHEEL_ABSTIME;
	INIT_LIST_HEAD(&device->armed);
	device->loop.real = &device_backend;
	return &device->loop;
}

/* ---- Adopting ---- */

/* How many timers are listed in one call of the kernel: some pages of them. */
#define LIST_BATCH		1008

static int note_stopped(struct device *device, uint64_t id)
{
	if (device->nr_stopped >= BATCH && cancel_stopped(device))
		return -1;
	device->stopped[device->nr_stopped++] = id;
	return 0;
}

/* Replace a timer that repeats in the kernel by one that the loop rearms. */
static int take_over_period(struct device *device, struct twheel_handle *handle,
			    const struct twheel_listed *listed)
{
	struct twheel_add add = {
		.time_ns = listed->deadline_ns ?: 1,
		.data = listed->data,
		.flags = TWHEEL_ABSTIME,
	};

	if (twheel_add_timer(device->loop.fd, &add) || note_stopped(device, listed->id))
		return -1;
	handle->state |= REPEATS;
	handle->interval = listed->interval_ns;
	handle->where = add.id;
	return 0;
}

/* Adopt a timer with its handle, or cancel it. Of two for one handle, the later one stays. */
static __always_inline int adopt(struct device *device, const struct twheel_listed *listed)
{
	uint64_t deadline = shift_time(listed->deadline_ns, -device->offset), other;
	struct twheel_loop *loop = &device->loop;
	struct twheel_handle *handle = loop->config.resolve(loop, listed->data);

	/* A deadline of 0 is for a timer that only wakes the program, unless it repeats. */
	if (!handle || !handle->callback || !(listed->deadline_ns || listed->interval_ns))
		return note_stopped(device, listed->id);
	if (likely(!(handle->state & RUNNING))) {
		handle->state = (handle->state & UNREF) | ARMED;
		note_running(loop, handle);
		list_add_tail(handle_link(handle), &device->armed);
		handle->loop = loop;
		handle->deadline = deadline;
		handle->interval = TWHEEL_SAME_DELAY;
		handle->armed = NEVER;
		handle->where = listed->id;
		return listed->interval_ns ? take_over_period(device, handle, listed) : 0;
	}
	/* It has just been added, to replace a periodic one. */
	if (handle->where == listed->id)
		return 0;
	if (handle->loop != loop || !(handle->state & ARMED) || handle->deadline >= deadline)
		return note_stopped(device, listed->id);
	other = handle->where;
	handle->deadline = deadline;
	handle->where = listed->id;
	return note_stopped(device, other);
}

/* First the events that the previous process had received, and may not have handled. */
int twheel_device_adopt(struct twheel_loop *loop)
{
	struct device *device = device_of(loop);
	struct twheel_listed listed[LIST_BATCH];
	struct twheel_event *event;
	uint64_t cursor = 0;
	ssize_t n, i;

	for (i = 0; (event = event_at(device, i)); i++) {
		listed[0] = (struct twheel_listed) {
			.id = event->id, .deadline_ns = event->deadline_ns, .data = event->data,
		};
		if (adopt(device, &listed[0]))
			return -1;
	}
	while ((n = twheel_list_timers(loop->fd, &cursor, listed, LIST_BATCH)) > 0)
		for (i = 0; i < n; i++)
			if (adopt(device, &listed[i]))
				return -1;
	return n < 0 ? -1 : cancel_stopped(device);
}
