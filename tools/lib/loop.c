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

/* The end of a wait without one. */
#define FOR_EVER	UINT64_MAX

/* How long a wait that cannot arm a timer waits for others to expire. */
#define NO_ROOM_NS	(100 * TWHEEL_MSEC)

/* Ends every list of messages, so that a message that is posted has a next one. */
static struct twheel_message end = { .next = &end };

static int fail(int error)
{
	errno = error;
	return -1;
}

/* The kernel, or the limit of the loop, has no room for more timers. */
static bool is_no_room(int error)
{
	return error == ENOSPC || error == ENOMEM;
}

/*
 * Time.
 */

/* Kept only if a flush or a dispatch will come before the program waits: by hand, or soon. */
uint64_t twheel_loop_read_clock(struct twheel_loop *loop)
{
	uint64_t now;

	if (twheel_now(loop->clock_id, &now))
		now = 0;
	if (!loop->wakes)
		loop->start_now = now;
	if (!loop->wakes || loop->inside || loop->woken)
		loop->now = now;
	return now;
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
	forget_time(loop);
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

#define KNOWN_FLAGS	(TWHEEL_LOOP_BY_HAND | TWHEEL_LOOP_WALKABLE | TWHEEL_LOOP_KERNEL)

/* The parameters of the wheel; false for an invalid config. */
static bool read_config(const struct twheel_loop_config *config, struct twheel_setup *setup)
{
	static const struct twheel_loop_config zero;

	*setup = (struct twheel_setup) {
		.tick_ns = config->tick_ns ?: TWHEEL_TICK_DEFAULT_NS,
		.max_timers = config->max_timers,
		.wheel_size = config->wheel_size ?: TWHEEL_SIZE_DEFAULT,
		.clock_id = config->clock_id ?: CLOCK_MONOTONIC,
	};
	return is_valid(setup) && config->backend <= TWHEEL_BACKEND_USER &&
	       !(config->flags & ~KNOWN_FLAGS) &&
	       !memcmp(config->reserved, zero.reserved, sizeof(zero.reserved));
}

/* The backend that the config or the environment names; -1 if the latter is invalid. */
static int chosen_backend(const struct twheel_loop_config *config)
{
	const char *name = secure_getenv("TWHEEL_BACKEND");

	if (config->backend != TWHEEL_BACKEND_ANY || !name || !*name)
		return config->backend;
	if (!strcmp(name, "device"))
		return TWHEEL_BACKEND_DEVICE;
	return strcmp(name, "user") ? -1 : TWHEEL_BACKEND_USER;
}

/* User space is cheaper for a loop; the device is for those that ask for it. */
static struct twheel_loop *new_loop(int backend, uint32_t flags,
				    const struct twheel_setup *setup)
{
	struct twheel_loop *loop;

	if (backend == TWHEEL_BACKEND_USER ||
	    (backend == TWHEEL_BACKEND_ANY && !(flags & TWHEEL_LOOP_KERNEL)))
		return twheel_user_new(setup);
	loop = twheel_device_new(setup);
	if (loop || backend == TWHEEL_BACKEND_DEVICE || errno == ENOSPC || errno == ENOMEM)
		return loop;
	return twheel_user_new(setup);
}

static bool is_debugging(void)
{
	const char *value = secure_getenv("TWHEEL_DEBUG");

	return value && *value && strcmp(value, "0");
}

/* Fill in what both backends have, after theirs. */
static void init_loop(struct twheel_loop *loop, const struct twheel_loop_config *config)
{
	forget_time(loop);
	loop->wakes = !(config->flags & TWHEEL_LOOP_BY_HAND);
	loop->owner = twheel_process_token();
	INIT_LIST_HEAD(&loop->changes);
	INIT_LIST_HEAD(&loop->flushing);
	INIT_LIST_HEAD(&loop->expired);
	loop->unarmed = config->unarmed;
	loop->data = config->data;
	pthread_mutex_init(&loop->lock, NULL);
	loop->first = &end;
	loop->last = &loop->first;
	loop->backend = loop->real;
	twheel_loop_register(loop);
}

struct twheel_loop *twheel_loop_new(const struct twheel_loop_config *config)
{
	static const struct twheel_loop_config usual;
	uint32_t token = twheel_process_token_new();
	struct twheel_setup setup;
	struct twheel_loop *loop;
	bool debug = is_debugging();
	int backend;

	if (!config)
		config = &usual;
	backend = chosen_backend(config);
	if (!token || backend < 0 || !read_config(config, &setup)) {
		errno = token ? EINVAL : ENOMEM;
		return NULL;
	}
	loop = new_loop(backend, config->flags, &setup);
	if (!loop)
		return NULL;
	loop->clock_id = setup.clock_id;
	init_loop(loop, config);
	if ((debug || (config->flags & TWHEEL_LOOP_WALKABLE)) &&
	    twheel_account_new(loop, debug)) {
		twheel_loop_free(loop);
		errno = ENOMEM;
		return NULL;
	}
	return loop;
}

/* Messages that were posted become their owners' again. In a child, nobody has the lock. */
static void drop_messages(struct twheel_loop *loop)
{
	bool shared = !twheel_loop_check(loop);
	struct twheel_message *message, *next;

	if (shared)
		pthread_mutex_lock(&loop->lock);
	for (message = loop->first; message != &end; message = next) {
		next = message->next;
		message->next = NULL;
	}
	loop->first = &end;
	loop->last = &loop->first;
	if (shared) {
		pthread_mutex_unlock(&loop->lock);
		pthread_mutex_destroy(&loop->lock);
	}
}

void twheel_loop_free(struct twheel_loop *loop)
{
	if (!loop || loop->owner == NO_OWNER)
		return;
	drop_messages(loop);
	close(loop->fd);
	twheel_account_free(loop);
	loop->real->free(loop);
	twheel_loop_retire(loop);
}

int twheel_loop_fd(const struct twheel_loop *loop)
{
	if (!loop)
		return fail(EINVAL);
	return loop->owner == NO_OWNER ? fail(ESTALE) : loop->fd;
}

int twheel_loop_backend(const struct twheel_loop *loop)
{
	return loop ? loop->real->number : fail(EINVAL);
}

void *twheel_loop_data(const struct twheel_loop *loop)
{
	return loop ? loop->data : NULL;
}

int twheel_loop_refuse(const struct twheel_loop *loop)
{
	if (!loop)
		return fail(EINVAL);
	return fail(loop->owner == NO_OWNER ? ESTALE : EOWNERDEAD);
}

/*
 * Handles.
 */

void twheel_handle_init(struct twheel_handle *handle, twheel_callback *callback, void *data)
{
	if (handle)
		*handle = (struct twheel_handle) { .callback = callback, .data = data };
}

struct twheel_handle *twheel_handle_new(twheel_callback *callback, void *data)
{
	struct twheel_handle *handle = malloc(sizeof(*handle));

	twheel_handle_init(handle, callback, data);
	return handle;
}

void twheel_handle_free(struct twheel_handle *handle)
{
	if (handle)
		twheel_stop(handle);
	free(handle);
}

size_t twheel_handle_size(void)
{
	return sizeof(struct twheel_handle);
}

static inline bool is_running(const struct twheel_handle *handle)
{
	return handle->state & RUNNING;
}

int twheel_is_running(const struct twheel_handle *handle)
{
	return handle && is_running(handle);
}

/* 0 if the handle can be started; or -1 with errno set. */
static int check_start(struct twheel_loop *loop, struct twheel_handle *handle)
{
	if (!handle || !handle->callback)
		return fail(EINVAL);
	if (twheel_loop_check(loop))
		return -1;
	if (is_running(handle))
		return fail(handle->loop == loop ? EALREADY : EXDEV);
	return 0;
}

/*
 * A timer is going to start. The first one after a flush has the program dispatch, and so
 * flush; where that cannot be, the next one tries again.
 */
static void note_start(struct twheel_loop *loop)
{
	if (likely(loop->start_now != NOT_READ))
		return;
	if (loop->wakes && !loop->inside && !loop->woken) {
		pthread_mutex_lock(&loop->lock);
		loop->woken = !loop->backend->alarm(loop);
		pthread_mutex_unlock(&loop->lock);
		if (!loop->woken)
			return;
	}
	loop->start_now = loop_now(loop);
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
	note_start(loop);
	handle->state = 0;
	return start(loop, handle, add_times(loop_now(loop), delay_ns));
}

/* Most often nothing is wrong, and the time is known. */
int twheel_start(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t delay_ns)
{
	uint64_t deadline;

	if (unlikely(!loop || !handle || !handle->callback || handle->state))
		return start_slowly(loop, handle, delay_ns);
	deadline = loop->start_now + delay_ns;
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
	note_start(loop);
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
	note_start(loop);
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
	note_start(loop);
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
	struct twheel_loop *loop;

	if (unlikely(!handle))
		return stop_in_vain(handle);
	loop = handle->loop;
	if (handle->state & (ARMED | ACCOUNTED))
		return loop->backend->disarm(loop, handle);
	if (unlikely(!(handle->state & LINKED)))
		return stop_in_vain(handle);
	unlink_handle(loop, handle);
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
	if (twheel_loop_check(loop))
		return -1;
	if (!is_running(handle) && handle->armed != loop->idle)
		return fail(ESTALE);
	deadline = add_times(loop_now(loop), delay_ns);
	if (deadline >= handle->armed) {
		handle->deadline = deadline;
		return 0;
	}
	note_start(loop);
	if (!is_running(handle))
		handle->state = 0;
	else if (twheel_stop(handle))
		return -1;
	return start(loop, handle, deadline);
}

int twheel_set_interval(struct twheel_handle *handle, uint64_t interval_ns)
{
	if (!handle || interval_ns > TWHEEL_TIME_MAX_NS)
		return fail(EINVAL);
	if (!is_running(handle))
		return fail(ENOENT);
	if (twheel_loop_check(handle->loop))
		return -1;
	handle->state &= ~(REPEATS | SCHEDULED);
	if (interval_ns)
		handle->state |= REPEATS;
	handle->repeat.interval = interval_ns;
	return 0;
}

int64_t twheel_remaining(const struct twheel_handle *handle)
{
	uint64_t now;

	if (!handle)
		return fail(EINVAL);
	if (!is_running(handle))
		return fail(ENOENT);
	if (handle->loop->owner == NO_OWNER)
		return fail(ESTALE);
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

/* A timer has expired: rearm it if it repeats. Returns false, and rearms it, if it was put off. */
static inline bool expire(struct twheel_loop *loop, struct twheel_handle *handle)
{
	uint64_t armed = handle->armed;

	set_idle(loop, handle);
	if (handle->deadline > armed && handle->deadline > loop_now(loop)) {
		loop->backend->arm(loop, handle);
		return false;
	}
	if (handle->state & (REPEATS | SCHEDULED)) {
		handle->deadline = next_deadline(loop, handle);
		if (handle->deadline <= TWHEEL_TIME_MAX_NS)
			loop->backend->arm(loop, handle);
	}
	return true;
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

/* Messages that are posted by these wait, or there might be no end of it; returns how many. */
static int run_messages(struct twheel_loop *loop)
{
	struct twheel_message **last = NULL;
	struct twheel_message *message;
	bool is_last = false;
	int called = 0;

	while (!is_last && !twheel_loop_check(loop)) {
		message = take_message(loop, &last);
		if (!message)
			break;
		is_last = &message->next == last;
		called++;
		message->call(loop, message);
	}
	return called;
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
	if (loop->account)
		twheel_account_drop(loop, handle);
	unlink_handle(loop, handle);
	loop->unarmed(loop, handle, error);
	return twheel_loop_check(loop);
}

/* An exception has left a callback: what waits for the next dispatch wakes the program. */
static noinline void leave_early(struct twheel_loop *loop)
{
	loop->inside = false;
	if (!loop->wakes || (!twheel_loop_has_left(loop) && list_empty(&loop->changes) &&
			     list_empty(&loop->flushing)))
		return;
	pthread_mutex_lock(&loop->lock);
	loop->woken = !loop->backend->alarm(loop);
	pthread_mutex_unlock(&loop->lock);
}

static inline void leave(struct twheel_loop **inside)
{
	if (unlikely((*inside)->inside))
		leave_early(*inside);
}

static int flush_changes(struct twheel_loop *loop)
{
	int ret;

	if (!list_empty(&loop->changes))
		list_splice_tail_init(&loop->changes, &loop->flushing);
	loop->woken = false;
	ret = loop->backend->flush(loop);
	forget_time(loop);
	return ret;
}

static int flush_inside(struct twheel_loop *loop)
{
	struct twheel_loop *inside __attribute__((cleanup(leave))) = loop;
	int ret;

	loop->inside = true;
	ret = flush_changes(loop);
	loop->inside = false;
	return ret;
}

int twheel_loop_flush(struct twheel_loop *loop)
{
	return unlikely(twheel_loop_check(loop)) ? -1 : flush_inside(loop);
}

/* How many callbacks a dispatch has called, and functions of messages. */
struct calls {
	int callbacks;
	int messages;
};

/* Call back for all that was found to have expired, unless a callback has forked. */
static int call_expired(struct twheel_loop *loop, struct calls *calls)
{
	struct twheel_handle *handle;

	while (!twheel_loop_check(loop)) {
		handle = loop->backend->take(loop);
		if (!handle)
			return 0;
		if (expire(loop, handle)) {
			calls->callbacks++;
			handle->callback(loop, handle);
		}
	}
	return -1;
}

static int dispatch_inside(struct twheel_loop *loop, struct calls *calls)
{
	forget_time(loop);
	do {
		if (loop->backend->collect(loop))
			return -1;
		calls->messages += run_messages(loop);
		if (call_expired(loop, calls))
			return -1;
	} while (loop->more);
	return flush_changes(loop);
}

static int dispatch(struct twheel_loop *loop, struct calls *calls)
{
	struct twheel_loop *inside __attribute__((cleanup(leave))) = loop;
	int ret;

	loop->inside = true;
	ret = dispatch_inside(loop, calls);
	loop->inside = false;
	return ret;
}

int twheel_loop_dispatch(struct twheel_loop *loop)
{
	struct calls calls = { };

	if (unlikely(twheel_loop_check(loop)))
		return -1;
	return dispatch(loop, &calls) ? -1 : calls.callbacks;
}

/* Take what has expired and was not put off, until @max are taken; or -1 after fork(). */
static ssize_t take_expired(struct twheel_loop *loop, struct twheel_handle **handles, size_t max)
{
	struct twheel_handle *handle;
	size_t taken = 0;

	while (taken < max && !twheel_loop_check(loop)) {
		handle = loop->backend->take(loop);
		if (!handle)
			break;
		if (expire(loop, handle))
			handles[taken++] = handle;
	}
	return taken;
}

ssize_t twheel_loop_take(struct twheel_loop *loop, struct twheel_handle **handles, size_t max)
{
	bool failed = false;
	ssize_t taken;

	if (unlikely(twheel_loop_check(loop)))
		return -1;
	if (!handles || !max)
		return fail(EINVAL);
	forget_time(loop);
	/* What the last call left. */
	taken = take_expired(loop, handles, max);
	do {
		if ((size_t)taken == max)
			break;
		failed = loop->backend->collect(loop);
		if (failed)
			break;
		run_messages(loop);
		taken += take_expired(loop, handles + taken, max - taken);
	} while (loop->more);
	failed |= flush_inside(loop);
	return failed && !taken ? -1 : taken;
}

/* Until there is something to dispatch: 1; 0 at the end of the time; -1 with errno set. */
static int wait_until(const struct twheel_loop *loop, uint64_t end)
{
	struct pollfd pollfd = { .fd = loop->fd, .events = POLLIN };
	struct timespec left;
	uint64_t now, ns;

	if (end == FOR_EVER)
		return poll(&pollfd, 1, -1);
	if (twheel_now(CLOCK_MONOTONIC, &now))
		return -1;
	ns = end > now ? end - now : 0;
	left = (struct timespec){ .tv_sec = ns / TWHEEL_SEC, .tv_nsec = ns % TWHEEL_SEC };
	return ppoll(&pollfd, 1, &left, NULL);
}

/* Dispatch, if that calls anything: how many; 0 if nothing; -1 with errno set. */
static int dispatch_any(struct twheel_loop *loop)
{
	struct calls calls = { };
	int ret = dispatch(loop, &calls);
	int called = calls.callbacks + calls.messages;

	/* Without room, timers that expire make some: to have called one is worth a return. */
	if (ret && is_no_room(errno) && !called)
		return 0;
	return ret ?: called;
}

/* Flush and wait once: how many were called; 0 if none; -1 with errno set. */
static int wait_once(struct twheel_loop *loop, uint64_t end)
{
	int error = twheel_loop_flush(loop) ? errno : 0;
	uint64_t now;
	int ready;

	if (error && !is_no_room(error))
		return -1;
	if (error && !twheel_now(CLOCK_MONOTONIC, &now))
		end = min(end, now + NO_ROOM_NS);
	ready = wait_until(loop, end);
	if (ready > 0)
		return dispatch_any(loop);
	return ready || !error ? ready : fail(error);
}

int twheel_loop_wait(struct twheel_loop *loop, int timeout_ms)
{
	uint64_t end = FOR_EVER;
	uint64_t now = 0;
	int ret;

	if (timeout_ms >= 0) {
		if (twheel_now(CLOCK_MONOTONIC, &now))
			return -1;
		end = now + timeout_ms * TWHEEL_MSEC;
	}
	do {
		ret = wait_once(loop, end);
		if (end != FOR_EVER && twheel_now(CLOCK_MONOTONIC, &now))
			return -1;
	} while (!ret && now < end);
	return ret;
}

/* Timers changed since the last flush are counted one by one: there are none most of the time. */
int64_t twheel_loop_count(struct twheel_loop *loop)
{
	int64_t count;

	if (twheel_loop_check(loop))
		return -1;
	count = loop->real->count(loop) + length(&loop->changes) + length(&loop->flushing) +
		loop->refs;
	return count > 0 ? count : 0;
}

static int add_refs(struct twheel_loop *loop, int refs)
{
	if (twheel_loop_check(loop))
		return -1;
	loop->refs += refs;
	return 0;
}

int twheel_loop_ref(struct twheel_loop *loop)
{
	return add_refs(loop, 1);
}

int twheel_loop_unref(struct twheel_loop *loop)
{
	return add_refs(loop, -1);
}

int twheel_loop_stop(struct twheel_loop *loop)
{
	if (twheel_loop_check(loop))
		return -1;
	loop->stopped = true;
	return 0;
}

int twheel_loop_run(struct twheel_loop *loop)
{
	int64_t count;
	int ret = 0;

	do {
		count = twheel_loop_count(loop);
		if (count < 0)
			return -1;
		if (!count || loop->stopped)
			break;
		ret = twheel_loop_wait(loop, -1);
	} while (ret >= 0);
	loop->stopped = false;
	return ret < 0 ? -1 : 0;
}

int twheel_loop_walk(struct twheel_loop *loop, twheel_visit *visit, void *arg)
{
	if (twheel_loop_check(loop))
		return -1;
	if (!visit)
		return fail(EINVAL);
	return loop->account ? twheel_account_walk(loop, visit, arg) : fail(EOPNOTSUPP);
}
