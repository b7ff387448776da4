// SPDX-License-Identifier: MIT
/*
 * Loops and handles, whatever they run over; libtwheel.h describes them
 *
 * A handle has two times. @deadline is when its owner wants to be called, @armed when the
 * backend has it expire. Putting it off only writes the former; when the backend says that
 * the timer has expired, and the deadline has not come, it is armed once more.
 *
 * All that is to happen to a handle is done before its callback is called, and nothing
 * after: the callback may free it, or never return.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"

/* Ends every list of messages, so that a message that is posted has a next one. */
static struct twheel_message end = { .next = &end };

static int fail(int error)
{
	errno = error;
	return -1;
}

/*
 * Time.
 */

uint64_t twheel_loop_read_clock(struct twheel_loop *loop)
{
	if (twheel_now(loop->clock_id, &loop->now))
		loop->now = 0;
	return loop->now;
}

uint64_t twheel_loop_now(struct twheel_loop *loop)
{
	if (!loop) {
		errno = EINVAL;
		return 0;
	}
	return loop_now(loop);
}

int twheel_loop_update(struct twheel_loop *loop)
{
	if (!loop)
		return fail(EINVAL);
	loop->now = NOT_READ;
	return 0;
}

/*
 * Making and dropping loops.
 */

static bool is_valid(const struct twheel_setup *setup)
{
	return setup->tick_ns >= TWHEEL_TICK_MIN_NS && setup->tick_ns <= TWHEEL_TICK_MAX_NS &&
	       setup->wheel_size >= TWHEEL_SIZE_MIN && setup->wheel_size <= TWHEEL_SIZE_MAX &&
	       (setup->clock_id == CLOCK_MONOTONIC || setup->clock_id == CLOCK_BOOTTIME);
}

/* What is to be set up; false for a config that makes no sense. */
static bool read_config(const struct twheel_loop_config *config, struct twheel_setup *setup)
{
	static const struct twheel_loop_config zero;

	*setup = (struct twheel_setup) {
		.tick_ns = config->tick_ns ?: TWHEEL_TICK_DEFAULT_NS,
		.max_timers = config->max_timers,
		.wheel_size = config->wheel_size ?: TWHEEL_SIZE_DEFAULT,
		.clock_id = config->clock_id ?: CLOCK_MONOTONIC,
	};
	return is_valid(setup) && config->backend <= TWHEEL_BACKEND_USER && !config->flags &&
	       !memcmp(config->reserved, zero.reserved, sizeof(zero.reserved));
}

/* The backend to be had, if it is any; -1 if the environment makes no sense. */
static int chosen_backend(const struct twheel_loop_config *config)
{
	const char *name = secure_getenv("TWHEEL_BACKEND");

	if (config->backend != TWHEEL_BACKEND_ANY || !name || !*name)
		return config->backend;
	if (!strcmp(name, "device"))
		return TWHEEL_BACKEND_DEVICE;
	return strcmp(name, "user") ? -1 : TWHEEL_BACKEND_USER;
}

static struct twheel_loop *new_loop(int backend, const struct twheel_setup *setup)
{
	int fd;

	if (backend == TWHEEL_BACKEND_USER)
		return twheel_user_new(setup);
	fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		return twheel_device_new(fd, setup);
	return backend == TWHEEL_BACKEND_ANY ? twheel_user_new(setup) : NULL;
}

struct twheel_loop *twheel_loop_new(const struct twheel_loop_config *config)
{
	static const struct twheel_loop_config usual;
	uint32_t token = twheel_process_token_new();
	struct twheel_setup setup;
	struct twheel_loop *loop;
	int backend;

	if (!config)
		config = &usual;
	backend = chosen_backend(config);
	if (!token || backend < 0 || !read_config(config, &setup)) {
		errno = token ? EINVAL : ENOMEM;
		return NULL;
	}
	loop = new_loop(backend, &setup);
	if (!loop)
		return NULL;
	loop->now = NOT_READ;
	loop->clock_id = setup.clock_id;
	loop->owner = token;
	INIT_LIST_HEAD(&loop->changes);
	INIT_LIST_HEAD(&loop->flushing);
	INIT_LIST_HEAD(&loop->expired);
	loop->unarmed = config->unarmed;
	loop->data = config->data;
	pthread_mutex_init(&loop->lock, NULL);
	loop->first = &end;
	loop->last = &loop->first;
	return loop;
}

void twheel_loop_free(struct twheel_loop *loop)
{
	if (!loop)
		return;
	close(loop->fd);
	loop->backend->free(loop);
}

int twheel_loop_fd(const struct twheel_loop *loop)
{
	return loop ? loop->fd : fail(EINVAL);
}

int twheel_loop_backend(const struct twheel_loop *loop)
{
	return loop ? loop->backend->number : fail(EINVAL);
}

void *twheel_loop_data(const struct twheel_loop *loop)
{
	return loop ? loop->data : NULL;
}

int twheel_loop_check(const struct twheel_loop *loop)
{
	if (!loop)
		return fail(EINVAL);
	return likely(loop->owner == twheel_process_token()) ? 0 : fail(EOWNERDEAD);
}

/*
 * Handles.
 */

void twheel_handle_init(struct twheel_handle *handle, twheel_callback *callback, void *data)
{
	if (handle)
		*handle = (struct twheel_handle) { .callback = callback, .data = data };
}

static inline bool is_running(const struct twheel_handle *handle)
{
	return handle->state & RUNNING;
}

/* 0 if the handle can be started; or -1 with errno set. */
static int check_start(struct twheel_loop *loop, struct twheel_handle *handle)
{
	if (!loop || !handle || !handle->callback)
		return fail(EINVAL);
	if (is_running(handle))
		return fail(handle->loop == loop ? EALREADY : EXDEV);
	return 0;
}

static inline int start(struct twheel_loop *loop, struct twheel_handle *handle,
			uint64_t deadline)
{
	handle->loop = loop;
	handle->deadline = deadline;
	return loop->backend->arm(loop, handle);
}

/* The sum of two times, neither of which is above TWHEEL_TIME_MAX_NS. */
static uint64_t add_times(uint64_t a, uint64_t b)
{
	return min(a + b, TWHEEL_TIME_MAX_NS);
}

static noinline int start_slowly(struct twheel_loop *loop, struct twheel_handle *handle,
				 uint64_t delay_ns)
{
	if (check_start(loop, handle))
		return -1;
	if (delay_ns > TWHEEL_TIME_MAX_NS)
		return fail(EINVAL);
	handle->state = 0;
	return start(loop, handle, add_times(loop_now(loop), delay_ns));
}

/* Most often there is nothing to say against it, and the time is known. */
int twheel_start(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t delay_ns)
{
	uint64_t deadline;

	if (unlikely(!loop || !handle || !handle->callback || handle->state))
		return start_slowly(loop, handle, delay_ns);
	deadline = loop->now + delay_ns;
	if (unlikely((deadline | delay_ns) > TWHEEL_TIME_MAX_NS))
		return start_slowly(loop, handle, delay_ns);
	return start(loop, handle, deadline);
}

int twheel_start_at(struct twheel_loop *loop, struct twheel_handle *handle,
		    uint64_t deadline_ns)
{
	if (check_start(loop, handle))
		return -1;
	if (deadline_ns > TWHEEL_TIME_MAX_NS)
		return fail(EINVAL);
	handle->state = 0;
	return start(loop, handle, deadline_ns);
}

int twheel_repeat(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t delay_ns,
		  uint64_t interval_ns)
{
	if (check_start(loop, handle))
		return -1;
	if (delay_ns > TWHEEL_TIME_MAX_NS || !interval_ns || interval_ns > TWHEEL_TIME_MAX_NS)
		return fail(EINVAL);
	handle->state = REPEATS;
	handle->repeat.interval = interval_ns;
	return start(loop, handle, add_times(loop_now(loop), delay_ns));
}

int twheel_schedule(struct twheel_loop *loop, struct twheel_handle *handle,
		    twheel_next_deadline *next)
{
	uint64_t deadline;

	if (check_start(loop, handle))
		return -1;
	if (!next)
		return fail(EINVAL);
	deadline = next(handle, loop_now(loop));
	if (deadline > TWHEEL_TIME_MAX_NS)
		return 0;
	handle->state = SCHEDULED;
	handle->repeat.next = next;
	return start(loop, handle, deadline);
}

static noinline int stop_in_vain(struct twheel_handle *handle)
{
	return fail(handle ? ENOENT : EINVAL);
}

int twheel_stop(struct twheel_handle *handle)
{
	if (unlikely(!handle))
		return stop_in_vain(handle);
	if (handle->state & ARMED)
		return handle->loop->backend->disarm(handle->loop, handle);
	if (unlikely(!(handle->state & LINKED)))
		return stop_in_vain(handle);
	list_del(handle_link(handle));
	set_idle(handle);
	return 0;
}

/* What of this is quick, programs do by themselves: see the header. */
#undef twheel_again
int twheel_again(struct twheel_handle *handle, uint64_t delay_ns)
{
	struct twheel_loop *loop;
	uint64_t deadline;

	if (!handle || !handle->loop || delay_ns > TWHEEL_TIME_MAX_NS)
		return fail(EINVAL);
	loop = handle->loop;
	deadline = add_times(loop_now(loop), delay_ns);
	if (deadline >= handle->armed) {
		handle->deadline = deadline;
		return 0;
	}
	if (!is_running(handle))
		handle->state = 0;
	else if (twheel_stop(handle))
		return -1;
	return start(loop, handle, deadline);
}

int64_t twheel_remaining(const struct twheel_handle *handle)
{
	uint64_t now;

	if (!handle)
		return fail(EINVAL);
	if (!is_running(handle))
		return fail(ENOENT);
	now = loop_now(handle->loop);
	return handle->deadline > now ? handle->deadline - now : 0;
}

/*
 * Expiry.
 */

/* The next deadline of a timer that repeats and has expired; above the maximum, none. */
static uint64_t next_deadline(struct twheel_loop *loop, struct twheel_handle *handle)
{
	uint64_t now = loop_now(loop);
	uint64_t periods = 1;

	handle->count = 1;
	if (handle->state & SCHEDULED)
		return handle->repeat.next(handle, now);
	if (now > handle->deadline)
		periods += (now - handle->deadline) / handle->repeat.interval;
	handle->count = periods < UINT32_MAX ? periods : UINT32_MAX;
	/* The product is no later than now, but for one interval. */
	return add_times(handle->deadline + (periods - 1) * handle->repeat.interval,
			 handle->repeat.interval);
}

/* Call back for a timer that has expired, unless it was put off: how many were called. */
static int expire(struct twheel_loop *loop, struct twheel_handle *handle)
{
	uint64_t armed = handle->armed;

	set_idle(handle);
	if (handle->deadline > armed && handle->deadline > loop_now(loop)) {
		loop->backend->arm(loop, handle);
		return 0;
	}
	if (handle->state & (REPEATS | SCHEDULED)) {
		handle->deadline = next_deadline(loop, handle);
		if (handle->deadline <= TWHEEL_TIME_MAX_NS)
			loop->backend->arm(loop, handle);
	}
	handle->callback(loop, handle);
	return 1;
}

/*
 * Messages.
 */

/* Take the first message, or return NULL without one; @last is that of the last one to take. */
static struct twheel_message *take_message(struct twheel_loop *loop,
					   struct twheel_message ***last)
{
	struct twheel_message *message;

	pthread_mutex_lock(&loop->lock);
	if (!*last)
		*last = loop->last;
	message = loop->first;
	if (message == &end) {
		message = NULL;
	} else {
		__atomic_store_n(&loop->first, message->next, __ATOMIC_RELAXED);
		if (loop->first == &end)
			loop->last = &loop->first;
		message->next = NULL;
	}
	pthread_mutex_unlock(&loop->lock);
	return message;
}

/* What is posted meanwhile has to wait, or there might be no end of it. */
static void run_messages(struct twheel_loop *loop)
{
	struct twheel_message **last = NULL;
	struct twheel_message *message;
	bool is_last = false;

	while (!is_last && !twheel_loop_check(loop)) {
		message = take_message(loop, &last);
		if (!message)
			return;
		is_last = &message->next == last;
		message->call(loop, message);
	}
}

static int append_message(struct twheel_loop *loop, struct twheel_message *message)
{
	if (message->next)
		return fail(EALREADY);
	if (loop->first == &end && loop->backend->wake(loop))
		return -1;
	message->next = &end;
	__atomic_store_n(loop->last, message, __ATOMIC_RELAXED);
	loop->last = &message->next;
	return 0;
}

int twheel_loop_post(struct twheel_loop *loop, struct twheel_message *message)
{
	int ret, error;

	if (twheel_loop_check(loop))
		return -1;
	if (!message || !message->call)
		return fail(EINVAL);
	pthread_mutex_lock(&loop->lock);
	ret = append_message(loop, message);
	error = errno;
	pthread_mutex_unlock(&loop->lock);
	errno = error;
	return ret;
}

/*
 * What the program calls before and after it waits.
 */

bool twheel_loop_has_left(struct twheel_loop *loop)
{
	return !list_empty(&loop->expired) ||
	       __atomic_load_n(&loop->first, __ATOMIC_RELAXED) != &end;
}

int twheel_loop_report(struct twheel_loop *loop, struct twheel_handle *handle, int error)
{
	if (!loop->unarmed)
		return fail(error);
	list_del(handle_link(handle));
	set_idle(handle);
	loop->unarmed(loop, handle, error);
	return twheel_loop_check(loop);
}

int twheel_loop_flush(struct twheel_loop *loop)
{
	int ret;

	if (unlikely(twheel_loop_check(loop)))
		return -1;
	list_splice_tail_init(&loop->changes, &loop->flushing);
	ret = loop->backend->flush(loop);
	loop->now = NOT_READ;
	return ret;
}

/* Call back for all that was found to have expired, unless a callback has forked. */
static int call_expired(struct twheel_loop *loop)
{
	struct twheel_handle *handle;
	int called = 0;

	while (!twheel_loop_check(loop)) {
		handle = loop->backend->take(loop);
		if (!handle)
			return called;
		called += expire(loop, handle);
	}
	return -1;
}

int twheel_loop_dispatch(struct twheel_loop *loop)
{
	int called = 0;
	int some;

	if (unlikely(twheel_loop_check(loop)))
		return -1;
	loop->now = NOT_READ;
	do {
		if (loop->backend->collect(loop))
			return -1;
		run_messages(loop);
		some = call_expired(loop);
		if (some < 0)
			return -1;
		called += some;
	} while (loop->more);
	return twheel_loop_flush(loop) ? -1 : called;
}

int twheel_loop_wait(struct twheel_loop *loop, int timeout_ms)
{
	struct pollfd pollfd = { .events = POLLIN };
	int called, ready;

	/* What expires makes room for what could not be armed. */
	if (twheel_loop_flush(loop)) {
		called = twheel_loop_dispatch(loop);
		if (called)
			return called;
	}
	pollfd.fd = loop->fd;
	ready = poll(&pollfd, 1, timeout_ms);
	return ready > 0 ? twheel_loop_dispatch(loop) : ready;
}
