// SPDX-License-Identifier: MIT
/*
 * One wheel as the command uses it; see session.h
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "duration.h"
#include "helpers.h"
#include "libtwheel.h"
#include "messages.h"
#include "output.h"
#include "session.h"

/* Events taken with one read(): the rest waits, and input gets its turn. */
#define EVENTS_AT_ONCE	256

/* Where the module shows its limits, and root changes them. */
#define LIMITS	"/sys/module/twheel/parameters"

static int fail_open(const char *device)
{
	switch (errno) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		complain("no device %s: is the module loaded? sudo modprobe twheel",
			 device);
		break;
	case EACCES:
	case EPERM:
		complain("no permission to open %s: allow it with sudo chmod 0666 %s, or use sudo",
			 device, device);
		break;
	case EMFILE:
		complain("cannot open %s: too many open files: raise ulimit -n",
			 device);
		break;
	case ENOSPC:
		complain("cannot open %s: the user's wheels hold too much memory: raise "
			 LIMITS "/max_user_bytes", device);
		break;
	default:
		complain("cannot open %s: %s", device, strerror(errno));
	}
	return STATUS_ERROR;
}

static int fail_info(const char *device)
{
	if (errno == ENOTTY || errno == EINVAL)
		complain("%s is not a twheel device: give the right one with --device",
			 device);
	else
		complain("cannot query %s: %s", device, strerror(errno));
	return STATUS_ERROR;
}

static int fail_setup(const struct twheel_setup *setup)
{
	char tick[DURATION_TEXT];

	if (errno == ENOSPC)
		complain("--max-timers %ju is above the module's limit: see " LIMITS "/max_timers",
			 (uintmax_t)setup->max_timers);
	else if (errno == EINVAL)
		complain("the module refuses --tick %s --wheel-size %u --clock %s",
			 duration_format((int64_t)setup->tick_ns, tick),
			 setup->wheel_size, clock_name(setup->clock_id));
	else
		complain("cannot set up the wheel: %s", strerror(errno));
	return STATUS_ERROR;
}

/* Parameters without an option keep the module's values. */
static int set_up(struct session *session,
		  const struct session_options *options,
		  const struct twheel_info *info)
{
	struct twheel_setup setup = {
		.tick_ns = info->tick_ns,
		.max_timers = options->max_timers,
		.wheel_size = info->wheel_size,
		.clock_id = info->clock_id,
	};

	if (options->tick_ns != NOT_GIVEN)
		setup.tick_ns = options->tick_ns;
	if (options->wheel_size != NOT_GIVEN)
		setup.wheel_size = options->wheel_size;
	if (options->has_clock)
		setup.clock_id = options->clock_id;
	if (twheel_set_up(session->fd, &setup))
		return fail_setup(&setup);
	session->tick_ns = setup.tick_ns;
	session->clock_id = setup.clock_id;
	return STATUS_OK;
}

/**
 * session_open() - open a wheel and set it up
 * @session: filled in.
 * @options: its parameters.
 *
 * Return: an exit status. session_close() is needed only after STATUS_OK.
 */
int session_open(struct session *session,
		 const struct session_options *options)
{
	struct twheel_info info;
	int status = STATUS_OK;

	*session = (struct session){ 0 };
	session->fd = twheel_open(options->device, O_NONBLOCK | O_CLOEXEC);
	if (session->fd < 0)
		return fail_open(options->device);
	if (twheel_get_info(session->fd, &info)) {
		status = fail_info(options->device);
		goto out_close;
	}
	session->tick_ns = info.tick_ns;
	session->clock_id = info.clock_id;
	if (options->tick_ns != NOT_GIVEN || options->max_timers != NOT_GIVEN ||
	    options->wheel_size != NOT_GIVEN || options->has_clock)
		status = set_up(session, options, &info);
	if (status == STATUS_OK)
		return STATUS_OK;
out_close:
	close(session->fd);
	return status;
}

/**
 * session_close() - drop the wheel, and free what was stored of its timers
 * @session: the session.
 */
void session_close(struct session *session)
{
	close(session->fd);
	timer_table_destroy(&session->timers);
}

/**
 * session_now() - the time on the wheel's clock
 * @session: the session.
 * @now_ns: set to the time.
 *
 * Return: an exit status.
 */
int session_now(const struct session *session, uint64_t *now_ns)
{
	if (!twheel_now(session->clock_id, now_ns))
		return STATUS_OK;
	complain("cannot read the wheel's clock: %s", strerror(errno));
	return STATUS_ERROR;
}

/**
 * session_add() - arm a timer
 * @session: the session.
 * @what: the timer.
 *
 * Return: the timer, or NULL with errno set.
 */
struct timer *session_add(struct session *session,
			  const struct session_timer *what)
{
	struct twheel_add add = {
		.time_ns = twheel_deadline(what->from_ns, what->delay_ns),
		.interval_ns = what->periodic ? what->delay_ns : 0,
		.flags = TWHEEL_ABSTIME,
	};
	struct timer *timer;
	int err;

	/* To the kernel, an interval of 0 means a timer that expires once. */
	if (what->periodic && !what->delay_ns) {
		errno = EINVAL;
		return NULL;
	}
	timer = timer_table_insert(&session->timers, what->label);
	if (!timer)
		return NULL;
	add.data = timer->number;
	if (twheel_add_timer(session->fd, &add)) {
		err = errno;
		timer_table_remove(&session->timers, timer);
		errno = err;
		return NULL;
	}
	timer->id = add.id;
	timer->periodic = what->periodic;
	timer->left = what->times;
	return timer;
}

/**
 * session_cancel() - cancel a timer and forget it
 * @session: the session.
 * @timer: the timer; gone when the call succeeds.
 *
 * Return: 0, or -1 with errno set.
 */
int session_cancel(struct session *session, struct timer *timer)
{
	if (twheel_cancel_timer(session->fd, timer->id))
		return -1;
	timer_table_remove(&session->timers, timer);
	return 0;
}

/**
 * session_modify() - give a timer a new delay, from now
 * @session: the session.
 * @timer: the timer.
 * @delay_ns: the delay.
 *
 * Return: 0, or -1 with errno set.
 */
int session_modify(struct session *session, struct timer *timer,
		   uint64_t delay_ns)
{
	return twheel_modify_timer(session->fd, timer->id, delay_ns, 0);
}

/* Explain ENOSPC: the limit of the wheel is reached, or the user's limit of bytes. */
static void explain_no_room(const struct session *session, char reason[REASON_TEXT])
{
	struct twheel_info info;

	if (!twheel_get_info(session->fd, &info) &&
	    info.pending + info.expired >= info.max_timers)
		snprintf(reason, REASON_TEXT,
			 "too many timers for the wheel: cancel some, or raise --max-timers or "
			 LIMITS "/max_timers");
	else
		snprintf(reason, REASON_TEXT,
			 "the user's wheels hold too much memory: cancel timers, or raise "
			 LIMITS "/max_user_bytes");
}

/**
 * session_explain() - explain why a timer was refused, and what to do
 * @session: the session.
 * @err: the errno.
 * @reason: where to write the sentence.
 *
 * Return: @reason.
 */
char *session_explain(const struct session *session, int err,
		      char reason[REASON_TEXT])
{
	char tick[DURATION_TEXT];

	switch (err) {
	case EINVAL:
		snprintf(reason, REASON_TEXT,
			 "a period must be at least one tick, %s here: choose a longer one or a smaller --tick",
			 duration_format((int64_t)session->tick_ns, tick));
		break;
	case ENOSPC:
		explain_no_room(session, reason);
		break;
	case ENOMEM:
		snprintf(reason, REASON_TEXT,
			 "no memory for another timer: cancel some");
		break;
	default:
		snprintf(reason, REASON_TEXT, "%s", strerror(err));
	}
	return reason;
}

/**
 * session_print_info() - print the parameters and counters of the wheel
 * @session: the session.
 *
 * Return: 0, or -1 with errno set.
 */
int session_print_info(const struct session *session)
{
	struct twheel_info info;

	if (twheel_get_info(session->fd, &info))
		return -1;
	output_begin("info");
	output_info(&info);
	output_end();
	return 0;
}

/* Print one expiry; @now_ns is when it was read. */
static int deliver(struct session *session, const struct twheel_event *event,
		   uint64_t now_ns)
{
	struct timer *timer = timer_table_find(&session->timers, event->data);

	if (!timer || timer->id != event->id) {
		complain("the module delivered a timer that is not pending: number %ju, id %ju",
			 (uintmax_t)event->data, (uintmax_t)event->id);
		return STATUS_ERROR;
	}
	output_begin("expired");
	output_id(timer->number);
	output_label(timer->label);
	output_number("count", event->count);
	output_deadline(event->deadline_ns);
	output_duration("late", (int64_t)(now_ns - event->deadline_ns));
	output_end();

	if (!timer->periodic) {
		timer_table_remove(&session->timers, timer);
	} else if (timer->left && --timer->left == 0 &&
		   session_cancel(session, timer)) {
		complain("cannot cancel timer %ju: %s",
			 (uintmax_t)timer->number, strerror(errno));
		return STATUS_ERROR;
	}
	return STATUS_OK;
}

/* Print what expired, a bounded part of it at once. */
static int read_wheel(struct session *session)
{
	struct twheel_event events[EVENTS_AT_ONCE];
	int status = STATUS_OK;
	uint64_t now_ns;
	ssize_t i, n;

	n = twheel_read(session->fd, events, EVENTS_AT_ONCE);
	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return STATUS_OK;
		complain("cannot read the wheel: %s", strerror(errno));
		return STATUS_ERROR;
	}
	if (session_now(session, &now_ns))
		return STATUS_ERROR;
	for (i = 0; i < n && status == STATUS_OK; i++)
		status = deliver(session, &events[i], now_ns);
	return status;
}

/**
 * session_wait() - wait for expiries, which are printed, and for input
 * @session: the session.
 * @input: a file descriptor that ends the wait when it is readable, or -1.
 * @ready: set to whether it is; may be NULL when @input is -1.
 *
 * Hands over all output first. A reader of the output that goes away ends the
 * wait too: the next expiry, which would notice, may be far.
 *
 * Return: an exit status; STATUS_OK with nothing ready is possible.
 */
int session_wait(struct session *session, int input, bool *ready)
{
	struct pollfd fds[] = {
		{ .fd = session->fd, .events = POLLIN },
		{ .fd = input, .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};

	if (ready)
		*ready = false;
	if (output_flush())
		return output_fail(errno);
	if (poll(fds, ARRAY_SIZE(fds), -1) < 0) {
		if (errno == EINTR || errno == EAGAIN)
			return STATUS_OK;
		complain("cannot wait: %s", strerror(errno));
		return STATUS_ERROR;
	}
	if (fds[2].revents & (POLLERR | POLLHUP))
		return output_fail(EPIPE);
	if (ready)
		*ready = fds[1].revents;
	return fds[0].revents ? read_wheel(session) : STATUS_OK;
}
