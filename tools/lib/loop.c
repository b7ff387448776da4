// SPDX-License-Identifier: MIT
/*
 * Loops and handles, for any backend; libtwheel.h describes them
 *
 * A handle has two times: @deadline, when its callback is due, and @armed, when the backend
 * lets it expire. Postponing it only changes the former; when the timer expires in the backend
 * before its deadline, it is rearmed.
 *
 * A handle is not touched after its callback has been called, which may free it, or never return.
 */
#include <poll.h>
#include <stdlib.h>

#include "loop.h"

/* Ends every list of messages, so that @next of a posted message is never NULL. */
static struct twheel_message end = { .next = &end };

static bool has_messages(const struct twheel_loop *loop)
{
	return loop->arrived != &end || __atomic_load_n(&loop->posted, __ATOMIC_SEQ_CST) != &end;
}

/* ---- Time ---- */

/*
 * Return the time of a loop. Between two turns, read the clock. A program that only waits for the
 * descriptor does not show when a turn begins, so this does not keep the time then; nor in another
 * process, where twheel_again() would succeed.
 */
static inline uint64_t loop_now(struct twheel_loop *loop)
{
	if (unlikely(!loop->delay_limit)) {
		if (needs_alarm(loop) || loop->process != *twheel_process_page)
			return loop_clock(loop);
		set_time(loop);
	}
	return loop->now;
}

uint64_t twheel_loop_now(struct twheel_loop *loop)
{
	return loop ? loop_now(loop) : (fail(EINVAL), 0);
}

int twheel_loop_update(struct twheel_loop *loop)
{
	if (!loop)
		return fail(EINVAL);
	if (loop->delay_limit)
		set_time(loop);
	return 0;
}

/* ---- A loop itself ---- */

struct twheel_loop *twheel_loop_init(struct twheel_loop *loop,
				     const struct twheel_loop_config *config)
{
	if (!loop)
		return NULL;
	INIT_LIST_HEAD(&loop->changes);
	INIT_LIST_HEAD(&loop->flushing);
	INIT_LIST_HEAD(&loop->expired);
	loop->config = *config;
	loop->posted = &end;
	loop->arrived = &end;
	/* A timerfd follows a clock that is set, or goes on while the machine sleeps. */
	loop->is_watched = !is_timed(config) && (loop->real->number == TWHEEL_BACKEND_DEVICE ||
						 loop->clock_id != CLOCK_MONOTONIC);
	loop->backend = *loop->real;
	/* With a limit, a flush reports refused timers. */
	if (config->max_timers)
		loop->backend.arm = link_change;
	twheel_loop_register(loop);
	twheel_loop_add_checks(loop);
	return loop;
}

/* Move posted messages behind those that have arrived, in the order of posting. */
static void take_messages(struct twheel_loop *loop)
{
	struct twheel_message *message, *next, **last = &loop->arrived;

	message = __atomic_exchange_n(&loop->posted, &end, __ATOMIC_ACQUIRE);
	while (*last != &end)
		last = &(*last)->next;
	for (; message != &end; message = next) {
		next = message->next;
		message->next = *last;
		*last = message;
	}
}

/* Return the first message that has arrived, which its owner may post again; or NULL. */
static struct twheel_message *pop_message(struct twheel_loop *loop)
{
	struct twheel_message *message = loop->arrived;

	if (message == &end)
		return NULL;
	loop->arrived = message->next;
	__atomic_store_n(&message->next, NULL, __ATOMIC_RELEASE);
	return message;
}

void twheel_loop_free(struct twheel_loop *loop)
{
	if (!loop)
		return;
	/* Return posted messages to their owners. */
	take_messages(loop);
	while (pop_message(loop))
		;
	twheel_loop_unregister(loop);
	loop->real->free(loop);
	free(loop);
}

int twheel_loop_fd(struct twheel_loop *loop)
{
	if (twheel_loop_check(loop))
		return -1;
	if (loop->clock_id == CLOCK_MANUAL)
		return fail(EINVAL);
	if (!loop->has_fd && loop->real->number == TWHEEL_BACKEND_USER) {
		loop->is_watched = !is_timed(&loop->config);
		if (twheel_user_open(loop))
			return -1;
	}
	__atomic_store_n(&loop->has_fd, true, __ATOMIC_SEQ_CST);
	return loop->fd;
}

int twheel_loop_backend(const struct twheel_loop *loop)
{
	return loop ? loop->real->number : fail(EINVAL);
}

void *twheel_loop_data(const struct twheel_loop *loop)
{
	return loop ? loop->config.data : NULL;
}

/* ---- Handles ---- */

static inline void arm(struct twheel_loop *loop, struct twheel_handle *handle)
{
	note_running(loop, handle);
	loop->backend.arm(loop, handle);
}

/*
 * Start a timer, or give a running one another deadline: after a delay from the time of the loop,
 * or from 0 with @from_zero. @follows: REPEATS, which needs an @interval, or 0.
 */
static noinline int start_slowpath(struct twheel_loop *loop, struct twheel_handle *handle,
				   bool from_zero, uint64_t delay, uint64_t interval,
				   uint32_t follows)
{
	uint64_t deadline;

	if (!handle || !handle->callback)
		return fail(EINVAL);
	if (twheel_loop_check(loop))
		return -1;
	if (twheel_is_running(handle) && handle->loop != loop)
		return fail(EXDEV);
	if (delay > TWHEEL_TIME_MAX_NS || (follows && interval - 1 >= TWHEEL_TIME_MAX_NS))
		return fail(EINVAL);
	/* Neither is above half of the range. */
	deadline = min((from_zero ? 0 : loop_now(loop)) + delay, TWHEEL_TIME_MAX_NS);
	if (!twheel_is_running(handle) || deadline < handle->armed) {
		/* Make the program dispatch, and so flush. Without room, armed timers wake it. */
		if (!loop->delay_limit) {
			if (!needs_alarm(loop) || !loop->backend.alarm(loop))
				set_time(loop);
			else if (!is_no_room(errno))
				return -1;
		}
		if (twheel_stop(handle) < 0)
			return -1;
		handle->loop = loop;
		handle->deadline = deadline;
		arm(loop, handle);
	}
	handle->deadline = deadline;
	handle->interval = interval;
	handle->state = (handle->state & ~REPEATS) | follows;
	return 0;
}

/* Fast path: the arguments are valid, and the time is known. */
int twheel_start(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t delay_ns)
{
	if (unlikely(!loop || !handle || !handle->callback || handle->state ||
		     delay_ns >= loop->delay_limit))
		return start_slowpath(loop, handle, false, delay_ns, delay_ns, 0);
	handle->interval = delay_ns;
	handle->loop = loop;
	handle->deadline = loop->now + delay_ns;
	loop->nr_running++;
	return loop->backend.arm(loop, handle);
}

int twheel_start_at(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t deadline_ns)
{
	return start_slowpath(loop, handle, true, deadline_ns, TWHEEL_SAME_DELAY, 0);
}

int twheel_repeat(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t delay_ns,
		  uint64_t interval_ns)
{
	return start_slowpath(loop, handle, false, delay_ns, interval_ns, REPEATS);
}

int twheel_stop(struct twheel_handle *handle)
{
	struct twheel_loop *loop;

	if (unlikely(!handle))
		return 0;
	loop = handle->loop;
	if (handle->state & ARMED)
		return loop->backend.disarm(loop, handle);
	if (unlikely(!(handle->state & LINKED)))
		return 0;
	unlink_handle(loop, handle);
	return 1;
}

/* The fast path is inline: see the header. */
#undef twheel_again
int twheel_again(struct twheel_handle *handle, uint64_t delay_ns)
{
	uint64_t deadline;

	if (!handle)
		return fail(EINVAL);
	if (delay_ns == TWHEEL_SAME_DELAY)
		delay_ns = handle->interval;
	/* As in the header, now that the time is known. */
	if (!twheel_loop_check(handle->loop) && delay_ns <= TWHEEL_TIME_MAX_NS) {
		deadline = min(loop_now(handle->loop) + delay_ns, TWHEEL_TIME_MAX_NS);
		if (deadline >= handle->armed) {
			handle->deadline = deadline;
			return 0;
		}
	}
	return start_slowpath(handle->loop, handle, false, delay_ns, handle->interval,
			      twheel_is_running(handle) ? handle->state & REPEATS : 0);
}

int twheel_set_interval(struct twheel_handle *handle, uint64_t interval_ns)
{
	if (!handle || interval_ns > TWHEEL_TIME_MAX_NS)
		return fail(EINVAL);
	if (!twheel_is_running(handle))
		return fail(ENOENT);
	if (twheel_loop_check(handle->loop))
		return -1;
	handle->state &= ~REPEATS;
	if (interval_ns) {
		handle->state |= REPEATS;
		handle->interval = interval_ns;
	}
	return 0;
}

static int set_unref(struct twheel_handle *handle, uint32_t unref)
{
	if (!handle)
		return fail(EINVAL);
	if (twheel_is_running(handle) && twheel_loop_check(handle->loop))
		return -1;
	if (twheel_is_running(handle))
		handle->loop->nr_running += !!(handle->state & UNREF) - !!unref;
	handle->state = (handle->state & ~UNREF) | unref;
	return 0;
}

int twheel_unref(struct twheel_handle *handle)
{
	return set_unref(handle, UNREF);
}

int twheel_ref(struct twheel_handle *handle)
{
	return set_unref(handle, 0);
}

int64_t twheel_remaining(const struct twheel_handle *handle)
{
	uint64_t now;

	if (!handle)
		return fail(EINVAL);
	if (!twheel_is_running(handle))
		return fail(ENOENT);
	now = loop_now(handle->loop);
	return handle->deadline > now ? handle->deadline - now : 0;
}

/* ---- Expiry ---- */

/* Take the next timer to call, or NULL. Timers that repeat, or were postponed, are rearmed. */
static inline struct twheel_handle *take(struct twheel_loop *loop)
{
	while (!list_empty(&loop->expired)) {
		struct twheel_handle *handle = linked_handle(loop->expired.next);
		uint64_t armed = handle->armed, now;

		/* With TWHEEL_DEBUG. */
		if (unlikely(loop->thread))
			twheel_loop_check_handle(loop, handle);
		unlink_handle(loop, handle);
		if (unlikely(handle->deadline > armed) && handle->deadline > loop_now(loop)) {
			arm(loop, handle);
			continue;
		}
		if (handle->state & REPEATS) {
			now = max(loop_now(loop), handle->deadline);
			handle->count = (now - handle->deadline) / handle->interval + 1;
			/* At most one interval after @now: it cannot overflow. */
			handle->deadline = min(handle->deadline + handle->count * handle->interval,
					       TWHEEL_TIME_MAX_NS);
			arm(loop, handle);
		}
		return handle;
	}
	return NULL;
}

/* Merge handles in the order of their deadlines into a list behind @place, after equal ones. */
static void merge(struct list_head *sorted, struct list_head *list, struct list_head *place)
{
	while (!list_empty(sorted)) {
		uint64_t deadline = linked_handle(sorted->next)->armed;

		while (place->next != list && linked_handle(place->next)->armed <= deadline)
			place = place->next;
		list_move_tail(sorted->next, place->next);
	}
}

void twheel_loop_order(struct twheel_loop *loop, struct list_head *after, uint32_t flips)
{
	struct list_head *const list = &loop->expired, bins[64], carry, *link, *next;
	unsigned int nr = 0, i;

	for (link = after->next; link != list; link = next) {
		struct twheel_handle *handle = linked_handle(link);

		next = link->next;
		handle->state ^= flips;
		if (likely(handle->deadline <= handle->armed) || handle->deadline > loop_now(loop))
			continue;
		/* Bin i holds 2^i handles in order, or none. */
		handle->armed = handle->deadline;
		INIT_LIST_HEAD(&carry);
		list_move_tail(link, &carry);
		for (i = 0; i < nr && !list_empty(&bins[i]); i++) {
			merge(&carry, &bins[i], &bins[i]);
			list_splice_tail_init(&bins[i], &carry);
		}
		if (i == nr)
			INIT_LIST_HEAD(&bins[nr++]);
		list_splice_tail_init(&carry, &bins[i]);
	}
	while (nr--)
		merge(&bins[nr], list, after);
}

/* ---- Messages ---- */

/*
 * The message is in the list before the loop is woken, so the loop finds it then. A message that
 * finds another one in the list relies on the wake-up of that.
 */
int twheel_loop_post(struct twheel_loop *loop, struct twheel_message *message)
{
	struct twheel_message *first = NULL;

	if (twheel_loop_check(loop))
		return -1;
	if (!message || !message->call ||
	    (is_timed(&loop->config) && loop->clock_id != CLOCK_MANUAL &&
	     !__atomic_load_n(&loop->has_fd, __ATOMIC_SEQ_CST)))
		return fail(EINVAL);
	if (!__atomic_compare_exchange_n(&message->next, &first, &end, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return fail(EALREADY);
	first = __atomic_load_n(&loop->posted, __ATOMIC_RELAXED);
	do {
		message->next = first;
	} while (!__atomic_compare_exchange_n(&loop->posted, &first, message, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	if (first != &end || !loop->backend.wake(loop))
		return 0;
	/* Withdraw it, unless the loop has taken it or others rely on its wake-up. */
	first = message;
	if (!__atomic_compare_exchange_n(&loop->posted, &first, &end, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		return 0;
	message->next = NULL;
	return -1;
}

/* ---- Flushing, dispatching and waiting ---- */

bool twheel_loop_has_left(struct twheel_loop *loop)
{
	return !list_empty(&loop->expired) || has_messages(loop);
}

int twheel_loop_report(struct twheel_loop *loop, struct twheel_handle *handle)
{
	int error = errno;

	if (!loop->config.unarmed || loop->is_quiet)
		return -1;
	/* A flush takes what the callback starts, before the program waits. */
	if (!loop->delay_limit)
		set_time(loop);
	unlink_handle(loop, handle);
	loop->config.unarmed(loop, handle, error);
	return twheel_loop_check(loop);
}

/* After an exception has left a callback, wake the program for the rest of the timers. */
static inline void leave(struct twheel_loop **inside)
{
	if (likely(!*inside))
		return;
	end_turn(*inside);
	if (needs_alarm(*inside))
		(*inside)->backend.alarm(*inside);
}

/* Let the changes take effect, and end the turn. */
static inline int flush_inside(struct twheel_loop *loop)
{
	int ret;

	list_splice_tail_init(&loop->changes, &loop->flushing);
	ret = loop->backend.flush(loop);
	/* Arm what @unarmed has started, if there is room. What is refused again waits. */
	if (unlikely(!list_empty(&loop->changes)) && !ret) {
		list_splice_tail_init(&loop->changes, &loop->flushing);
		loop->is_quiet = true;
		if (loop->backend.flush(loop) && !is_no_room(errno))
			ret = -1;
		loop->is_quiet = false;
	}
	end_turn(loop);
	return ret;
}

/* Run messages, and call back for expired timers. Fails in a child that one of them has forked. */
static int dispatch_inside(struct twheel_loop *loop, int *called)
{
	struct twheel_message *message;
	struct twheel_handle *handle;
	int more = false;

	do {
		more = loop->backend.collect(loop, more);
		if (more < 0)
			return -1;
		/* Without those that they post, so that this ends. */
		if (unlikely(has_messages(loop)))
			take_messages(loop);
		while (unlikely((message = pop_message(loop)))) {
			++*called;
			message->call(loop, message);
			if (twheel_loop_check(loop))
				return -1;
		}
		while ((handle = take(loop))) {
			++*called;
			handle->callback(loop, handle);
			if (unlikely(twheel_loop_check(loop)))
				return -1;
		}
	} while (more);
	/* The turn goes on until twheel_loop_timeout() ends it. */
	return loop->config.flags & TWHEEL_LOOP_TIMEOUT ? 0 : flush_inside(loop);
}

/* Dispatch, and count the callbacks and functions of messages; or without @called, flush. */
static __always_inline int enter(struct twheel_loop *loop, int *called)
{
	struct twheel_loop *inside __attribute__((cleanup(leave))) = loop;
	int ret;

	if (unlikely(loop->visit))
		return inside = NULL, fail(EBUSY);
	ret = called ? dispatch_inside(loop, called) : flush_inside(loop);
	if (unlikely(ret))
		end_turn(loop);
	inside = NULL;
	return ret;
}

int twheel_loop_flush(struct twheel_loop *loop)
{
	return unlikely(twheel_loop_check(loop)) ? -1 : enter(loop, NULL);
}

/* After a flush, return how long the program may wait, or NEVER. */
static inline uint64_t time_left(struct twheel_loop *loop)
{
	uint64_t next, now, left;

	if (twheel_loop_has_left(loop))
		return 0;
	next = loop->backend.next ? loop->backend.next(loop) : NEVER;
	if (next == NEVER)
		return NEVER;
	now = loop_clock(loop);
	left = next > now ? next - now : 0;
	/* These can be set, or run while the machine sleeps. */
	return loop->clock_id == CLOCK_REALTIME || loop->clock_id == CLOCK_BOOTTIME ?
	       min(left, TWHEEL_SEC) : left;
}

int64_t twheel_loop_timeout(struct twheel_loop *loop)
{
	uint64_t left;
	int error;

	if (unlikely(twheel_loop_check(loop)))
		return -1;
	/* Only the descriptor shows timers of the device. */
	if (!is_timed(&loop->config) ||
	    (loop->real->number == TWHEEL_BACKEND_DEVICE && !loop->has_fd))
		return fail(EINVAL);
	error = enter(loop, NULL) ? errno : 0;
	left = time_left(loop);
	if (unlikely(error || !list_empty(&loop->flushing)))
		left = min(left, RETRY_NS);
	errno = error;
	return left == NEVER ? -1 : (int64_t)left;
}

int twheel_loop_dispatch(struct twheel_loop *loop)
{
	int called = 0;

	if (unlikely(twheel_loop_check(loop)))
		return -1;
	return enter(loop, &called) ? -1 : called;
}

int twheel_loop_advance(struct twheel_loop *loop, uint64_t ns)
{
	uint64_t next = 0, end;
	int called = 0;

	if (twheel_loop_check(loop))
		return -1;
	if (loop->clock_id != CLOCK_MANUAL || ns > TWHEEL_TIME_MAX_NS)
		return fail(EINVAL);
	end = min(loop->now + ns, TWHEEL_TIME_MAX_NS);
	do {
		if (enter(loop, NULL))
			return -1;
		next = min(max(next, loop->backend.next(loop)), end);
		/* A callback may have advanced, too. */
		loop->now = max(loop->now, next);
		if (enter(loop, &called))
			return -1;
		/* In a tick, what has been started to expire at once is not called again. */
		next = loop->now + (loop->config.tick_ns ?: TWHEEL_TICK_DEFAULT_NS);
	} while (loop->now < end);
	return called;
}

/* ---- Walking ---- */

/* Call @visit for the handles of a list, which stay in it, unless they are stopped. */
static void visit_list(struct twheel_loop *loop, struct list_head *list)
{
	LIST_HEAD(left);

	list_splice_tail_init(list, &left);
	while (!list_empty(&left)) {
		struct list_head *link = left.next;

		list_move_tail(link, list);
		/* Not in a child that it has forked. */
		if (!twheel_loop_check(loop))
			loop->visit(loop, linked_handle(link));
	}
}

/* Timers that @visit starts wait for the next flush, in a list that has been visited. */
int twheel_loop_walk(struct twheel_loop *loop, twheel_callback *visit)
{
	struct backend backend;

	if (twheel_loop_check(loop))
		return -1;
	if (!visit || loop->visit)
		return fail(visit ? EBUSY : EINVAL);
	backend = loop->backend;
	loop->backend.arm = link_change;
	loop->visit = visit;
	visit_list(loop, &loop->changes);
	visit_list(loop, &loop->flushing);
	visit_list(loop, &loop->expired);
	loop->real->each_list(loop, TWHEEL_TIME_MAX_NS, visit_list);
	loop->visit = NULL;
	if (twheel_loop_check(loop))
		return -1;
	loop->backend = backend;
	return 0;
}

/* Wait. Returns 1 if there is something to dispatch; 0 after a timeout; -1 with errno set. */
static int wait_until(struct twheel_loop *loop, uint64_t end)
{
	struct pollfd pollfd = { .fd = loop->fd, .events = POLLIN };
	struct timespec timeout;
	uint64_t due = needs_alarm(loop) ? NEVER : time_left(loop);
	uint64_t left = due, now;

	if (end != NEVER) {
		now = read_clock(CLOCK_MONOTONIC);
		left = min(left, end > now ? end - now : 0);
	}
	timeout = (struct timespec){ .tv_sec = left / TWHEEL_SEC, .tv_nsec = left % TWHEEL_SEC };
	if (ppoll(&pollfd, 1, left == NEVER ? NULL : &timeout, NULL) < 0)
		return -1;
	return pollfd.revents & POLLNVAL ? fail(EBADF) : pollfd.revents || left == due;
}

/* Fails if the program waits in another way than for the loop. */
static int check_waits(struct twheel_loop *loop)
{
	if (twheel_loop_check(loop))
		return -1;
	return is_timed(&loop->config) ? fail(EINVAL) : 0;
}

/* Flush, wait once and dispatch, and return the same; with @stops, do not wait after a stop. */
static int wait_once(struct twheel_loop *loop, uint64_t end, bool stops)
{
	int error, ready, called = 0;

	/* First of all: without a descriptor, a message or a stop wakes nobody. */
	if (twheel_loop_check(loop) || (loop->fd < 0 && twheel_user_open(loop)))
		return -1;
	error = enter(loop, NULL) ? errno : 0;
	if (error && !is_no_room(error))
		return -1;
	if (error || !list_empty(&loop->flushing))
		end = min(end, read_clock(CLOCK_MONOTONIC) + RETRY_NS);
	/* The flush could have overwritten the wake-up of a stop; that of a later one stays. */
	if (stops && __atomic_load_n(&loop->stopped, __ATOMIC_SEQ_CST))
		end = 0;
	ready = wait_until(loop, end);
	if (ready <= 0)
		return ready || !error ? ready : fail(error);
	/* Timers that expire make room: until one has been called, go on waiting. */
	if (enter(loop, &called) && (called || !is_no_room(errno)))
		return -1;
	return called;
}

int twheel_loop_wait(struct twheel_loop *loop, int64_t timeout_ns)
{
	uint64_t end = NEVER;
	int ret;

	if (check_waits(loop))
		return -1;
	/* Neither is above half of the range. */
	if (timeout_ns >= 0)
		end = read_clock(CLOCK_MONOTONIC) + timeout_ns;
	do
		ret = wait_once(loop, end, false);
	while (!ret && read_clock(CLOCK_MONOTONIC) < end);
	return ret;
}

int64_t twheel_loop_count(struct twheel_loop *loop)
{
	return twheel_loop_check(loop) ? -1 : (int64_t)loop->nr_running;
}

int twheel_loop_stop(struct twheel_loop *loop)
{
	int error = errno;

	if (check_waits(loop))
		return -1;
	__atomic_store_n(&loop->stopped, true, __ATOMIC_SEQ_CST);
	/* In a signal handler: the loop may be about to wait. */
	if (loop->backend.wake(loop))
		errno = error;
	return 0;
}

int twheel_loop_run(struct twheel_loop *loop)
{
	int ret = 0;

	if (check_waits(loop))
		return -1;
	while (!ret && loop->nr_running && !__atomic_load_n(&loop->stopped, __ATOMIC_SEQ_CST))
		if (wait_once(loop, NEVER, true) < 0 && errno != EINTR)
			ret = -1;
	loop->stopped = false;
	return ret;
}
