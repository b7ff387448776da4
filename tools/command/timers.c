// SPDX-License-Identifier: MIT
/*
 * A wheel whose timers have labels, and whose expiries are printed
 *
 * The kernel keeps 64 bits of data for a timer: here its number, 1, 2, 3 and so on, none twice.
 * A tree leads from there to the label and the kernel's id.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers.h"
#include "libtwheel-device.h"
#include "twheel.h"

/* Events taken with one read(): the rest waits, and input gets its turn. */
#define EVENTS_AT_ONCE	256

struct wheel_handle wheel;

static void *tree;

/* Query a wheel. Return its parameters and counters. */
struct twheel_info query_wheel(int fd)
{
	struct twheel_info info;

	if (twheel_get_info(fd, &info))
		err(STATUS_ERROR, "cannot query the wheel");
	return info;
}

static void fail_open(const char *device)
{
	int e = errno;

	errx(STATUS_ERROR, "cannot open %s: %s%s", device, strerror(e),
	     e == ENOENT || e == ENXIO || e == ENODEV ?
	     ": is the module loaded? sudo modprobe twheel" :
	     e == EACCES || e == EPERM ? ": allow it with sudo chmod 0666, or use sudo" :
	     e == EMFILE ? ": raise ulimit -n" :
	     e == ENOSPC ? ": the user's wheels hold too much memory: raise "
	     LIMITS "/max_user_bytes" : "");
}

/* The device has the clocks of the machine: in a time namespace, the program has others. */
static void find_offset(void)
{
	bool has_namespaces = wheel.clock_id == CLOCK_MONOTONIC || wheel.clock_id == CLOCK_BOOTTIME;
	uint64_t before_ns = now_on(wheel.clock_id), wheel_ns = query_wheel(wheel.fd).now_ns;

	/* A moment too much makes timers late, not early. */
	if (has_namespaces && (wheel_ns < before_ns || wheel_ns > now_on(wheel.clock_id)))
		wheel.offset_ns = (int64_t)(wheel_ns - before_ns);
}

/* Open a wheel, and set it up if there are options for that. */
void wheel_open(void)
{
	struct twheel_setup setup = { .max_timers = options.max_timers };
	char tick[DURATION_TEXT];
	struct twheel_info info;

	wheel.fd = twheel_open(options.device, O_NONBLOCK | O_CLOEXEC);
	if (wheel.fd < 0)
		fail_open(options.device);
	if (twheel_get_info(wheel.fd, &info))
		errx(STATUS_ERROR, "%s is not a twheel device: give one with --device",
		     options.device);
	setup.tick_ns = options.tick_ns ? options.tick_ns : info.tick_ns;
	setup.wheel_size = options.wheel_size ? (uint32_t)options.wheel_size : info.wheel_size;
	setup.clock_id = info.clock_id;
	if (options.clock)
		clock_named(options.clock, &setup.clock_id);
	wheel.tick_ns = setup.tick_ns;
	wheel.clock_id = setup.clock_id;
	if ((!options.tick_ns && !options.wheel_size && !options.max_timers && !options.clock) ||
	    !twheel_set_up(wheel.fd, &setup)) {
		find_offset();
		return;
	}
	if (errno == ENOSPC)
		errx(STATUS_ERROR, "--max-timers %ju is above the module's limit: see "
		     LIMITS "/max_timers", (uintmax_t)setup.max_timers);
	err(STATUS_ERROR, "the module refuses --tick %s --wheel-size %u --clock %s",
	    duration_format((int64_t)setup.tick_ns, tick), setup.wheel_size,
	    clock_name(setup.clock_id));
}

/* Print the parameters and counters of the wheel. */
void print_info(void)
{
	struct twheel_info info = query_wheel(wheel.fd);

	info.now_ns -= (uint64_t)wheel.offset_ns;
	record_begin("info");
	put_info(&info);
	record_end();
}

/* Read a clock. Return its time in nanoseconds. */
uint64_t now_on(uint32_t clock_id)
{
	uint64_t now_ns;

	if (twheel_now(clock_id, &now_ns))
		err(STATUS_ERROR, "cannot read the clock %s", clock_name(clock_id));
	return now_ns;
}

/* Read the wheel's clock. */
uint64_t wheel_now(void)
{
	return now_on(wheel.clock_id) + (uint64_t)wheel.offset_ns;
}

/* Put a deadline of the wheel into a record for programs, on the program's clock. */
void put_deadline(uint64_t deadline_ns)
{
	if (style == STYLE_JSON)
		put_number("deadline_ns", deadline_ns < TWHEEL_TIME_MAX_NS ?
			   deadline_ns - (uint64_t)wheel.offset_ns : deadline_ns);
}

/* Explain why a call was refused, and what to do. Return the explanation, until the next call. */
const char *explain(int fd, int error, uint64_t tick_ns)
{
	static char text[192];
	char tick[DURATION_TEXT];
	struct twheel_info info;

	switch (error) {
	case EINVAL:
		snprintf(text, sizeof(text),
			 "a period must be at least one tick, %s: lengthen it or shorten the tick",
			 duration_format((int64_t)tick_ns, tick));
		return text;
	case ENOSPC:
		if (twheel_get_info(fd, &info) || info.pending + info.expired < info.max_timers)
			return "the user's wheels hold too much memory: cancel timers, or raise "
			       LIMITS "/max_user_bytes";
		return "too many timers for the wheel: cancel some, or raise --max-timers or "
		       LIMITS "/max_timers";
	case ENOMEM:
		return "no memory for another timer: cancel some";
	case ENOTTY:
		return "the module is too old";
	default:
		return strerror(error);
	}
}

static int compare(const void *a, const void *b)
{
	const struct timer *left = a, *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

/* Find a timer. Return the timer, or NULL if there is none. */
struct timer *timer_find(uint64_t number)
{
	const struct timer key = { .number = number };
	struct timer **node = tfind(&key, &tree, compare);

	return node ? *node : NULL;
}

static void forget(struct timer *timer)
{
	tdelete(timer, &tree, compare);
	free(timer);
	wheel.timers--;
}

/* Arm a timer. Return the timer, or NULL with errno set. */
struct timer *timer_add(const char *label, uint64_t from_ns, uint64_t delay_ns, bool periodic)
{
	static uint64_t last;
	struct twheel_add add = {
		.time_ns = delay_ns < TWHEEL_TIME_MAX_NS - from_ns ? from_ns + delay_ns :
			   TWHEEL_TIME_MAX_NS,
		.interval_ns = periodic ? delay_ns : 0,
		.flags = TWHEEL_ABSTIME,
	};
	struct timer *timer;

	/* For the kernel, a timer with an interval of 0 expires once. */
	if (periodic && !delay_ns) {
		errno = EINVAL;
		return NULL;
	}
	timer = calloc(1, sizeof(*timer) + strlen(label) + 1);
	if (!timer)
		return NULL;
	memcpy(timer->label, label, strlen(label) + 1);
	timer->number = ++last;
	timer->periodic = periodic;
	timer->left = options.count;
	if (!tsearch(timer, &tree, compare)) {
		free(timer);
		return NULL;
	}
	wheel.timers++;
	add.data = timer->number;
	if (twheel_add_timer(wheel.fd, &add)) {
		forget(timer);
		return NULL;
	}
	timer->id = add.id;
	return timer;
}

/* Cancel a timer and forget it. Return 0, or -1 with errno set. */
int timer_cancel(struct timer *timer)
{
	if (twheel_cancel_timer(wheel.fd, timer->id))
		return -1;
	forget(timer);
	return 0;
}

/* Print one expiry; @now_ns is when it was read. */
static void deliver(const struct twheel_event *event, uint64_t now_ns)
{
	struct timer *timer = timer_find(event->data);

	if (!timer || timer->id != event->id)
		errx(STATUS_ERROR, "the module delivered timer %ju, which is not pending",
		     (uintmax_t)event->data);
	record_begin("expired");
	put_id(timer->number);
	put_string("label", timer->label);
	put_number("count", event->count);
	put_deadline(event->deadline_ns);
	put_duration("late", (int64_t)(now_ns - event->deadline_ns));
	record_end();

	if (!timer->periodic)
		forget(timer);
	else if (timer->left && --timer->left == 0 && timer_cancel(timer))
		err(STATUS_ERROR, "cannot cancel timer %ju", (uintmax_t)event->data);
}

/* Print what expired, a bounded part of it at once. */
static void read_wheel(void)
{
	struct twheel_event events[EVENTS_AT_ONCE];
	ssize_t n = twheel_read(wheel.fd, events, EVENTS_AT_ONCE), i;
	uint64_t now_ns = wheel_now();

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		err(STATUS_ERROR, "cannot read the wheel");
	for (i = 0; i < n; i++)
		deliver(&events[i], now_ns);
}

/*
 * Wait for expiries, which are printed, and for input. Return true if there is input. Writes out
 * all output first. A reader of the output that goes away ends the program, too: the next expiry,
 * which would notice, may be far.
 */
bool wait_for_timers(int input)
{
	struct pollfd fds[] = {
		{ .fd = wheel.fd, .events = POLLIN },
		{ .fd = input, .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};

	flush_output();
	if (poll(fds, ARRAY_SIZE(fds), -1) < 0) {
		if (errno != EINTR && errno != EAGAIN)
			err(STATUS_ERROR, "cannot wait");
		return false;
	}
	if (fds[2].revents & (POLLERR | POLLHUP))
		output_gone(EPIPE);
	if (fds[0].revents)
		read_wheel();
	return fds[1].revents;
}
