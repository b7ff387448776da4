// SPDX-License-Identifier: MIT
/*
 * The promises of libtwheel.h to callers that keep its rules
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>

#include "library.h"

/* ---- Expiry ---------------------------------------------------------------- */

/* A timer that records when it was called. */
struct noted {
	struct twheel_handle handle;
	uint64_t called_ns;
	unsigned int place;
};

static unsigned int places;

static void note_call(struct twheel_loop *loop, struct twheel_handle *handle)
{
	struct noted *noted = handle->data;

	(void)loop;
	noted->called_ns = now_ns();
	noted->place = ++places;
}

static void noted_init(struct noted *noted)
{
	memset(noted, 0, sizeof(*noted));
	twheel_handle_init(&noted->handle, note_call, noted);
	places = 0;
}

/* Wait for @timer in one of two ways, and check that it expires on time. */
static void comes_in_time(struct twheel_loop *loop, struct noted *timer, uint64_t deadline,
			  bool polls)
{
	while (polls && !timer->called_ns) {
		struct pollfd pollfd = { .fd = twheel_loop_fd(loop), .events = POLLIN };

		CHECK(!twheel_loop_flush(loop));
		CHECK(poll(&pollfd, 1, 5000) == 1);
		CHECK(twheel_loop_dispatch(loop) >= 0);
	}
	if (!polls)
		CHECK(run_for(loop, 1, 5000) == 1);
	CHECK(timer->called_ns >= deadline);
	CHECK(timer->called_ns <= deadline + MSEC + lateness_max);
}

TEST(no_callback_is_late)
{
	static const uint64_t delays[] = { 0, 1, 999999, 7300000, 20 * MSEC, 301 * MSEC };
	unsigned int i;

	new_loop_of((struct twheel_loop_config) { .tick_ns = MSEC });
	for (i = 0; i < 2 * ARRAY_SIZE(delays); i++) {
		uint64_t deadline = now_ns() + delays[i / 2];
		struct noted timer;

		noted_init(&timer);
		CHECK(!twheel_start_at(loop, &timer.handle, deadline));
		comes_in_time(loop, &timer, deadline, i % 2);
		/* A timer that is brought forward while the kernel waits for a later one. */
		noted_init(&timer);
		CHECK(!twheel_start(loop, &timer.handle, HOUR));
		CHECK(!twheel_loop_flush(loop));
		deadline = now_ns() + delays[i / 2];
		CHECK(!twheel_again(&timer.handle, delays[i / 2]));
		comes_in_time(loop, &timer, deadline, i % 2);
	}
}

TEST(timers_come_in_the_order_of_their_ticks)
{
	static const uint64_t ms[] = { 40, 10, 30, 50, 20 };
	struct noted timer[ARRAY_SIZE(ms)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ms); i++) {
		noted_init(&timer[i]);
		CHECK(!twheel_start(loop, &timer[i].handle, ms[i] * MSEC));
	}
	CHECK(run_for(loop, ARRAY_SIZE(ms), 1000) == ARRAY_SIZE(ms));
	for (i = 0; i < ARRAY_SIZE(ms); i++)
		CHECK(timer[i].place == ms[i] / 10);
}

static void new_calendar_loop(void)
{
	new_loop_of((struct twheel_loop_config) { .clock = TWHEEL_CLOCK_REALTIME });
}

TEST(deadlines_can_be_calendar_time)
{
	uint64_t now = now_on(CLOCK_REALTIME);

	new_calendar_loop();
	CHECK(twheel_loop_now(loop) >= now);
	CHECK(!twheel_start_at(loop, &timers[0], now + DAY));
	CHECK(!twheel_start_at(loop, &timers[1], now + 20 * MSEC));
	CHECK(run_for(loop, 1, 1000) == 1);
	CHECK(now_on(CLOCK_REALTIME) >= now + 20 * MSEC);
	CHECK(twheel_is_running(&timers[0]));
}

static void set_calendar_by(int64_t change_ns)
{
	struct timespec ts = timespec_of(now_on(CLOCK_REALTIME) + change_ns);

	CHECK(!clock_settime(CLOCK_REALTIME, &ts));
}

/* In the tests' virtual machine, which has the device. */
TEST(timers_follow_a_clock_that_is_set)
{
	new_calendar_loop();
	if (access("/dev/twheel", F_OK))
		return;
	CHECK(!twheel_start(loop, &timers[0], HOUR));
	CHECK(!twheel_start(loop, &timers[1], DAY));
	CHECK(run_for(loop, 1, 20) == 0);
	set_calendar_by(2 * HOUR);
	CHECK(run_for(loop, 1, 1000) == 1 && twheel_is_running(&timers[1]));
	set_calendar_by(-2 * (int64_t)HOUR);
	CHECK(!twheel_start(loop, &timers[0], HOUR));
	CHECK(run_for(loop, 1, 20) == 0);
	set_calendar_by(25 * HOUR);
	CHECK(run_for(loop, 2, 1000) == 2);
	set_calendar_by(-25 * (int64_t)HOUR);
	/* The descriptor was readable when the clock is set back; over the device, it expired. */
	CHECK(!twheel_start(loop, &timers[0], HOUR));
	CHECK(!twheel_loop_flush(loop));
	set_calendar_by(2 * HOUR);
	CHECK(becomes_readable(loop));
	set_calendar_by(-2 * (int64_t)HOUR);
	CHECK(twheel_loop_dispatch(loop) == (backend == TWHEEL_BACKEND_DEVICE));
	CHECK(!is_readable(loop));
}

/* Postponing a timer is not a change, but all that a turn does has one time. */
TEST(a_turn_without_changes_has_a_time_of_its_own)
{
	uint64_t before;

	new_loop_that_asks();
	CHECK(!twheel_start(loop, &timer, HOUR));
	twheel_loop_timeout(loop);
	CHECK(!twheel_again(&timer, HOUR));
	before = timer.deadline;
	sleep_for(2 * MSEC);
	CHECK(!twheel_again(&timer, HOUR));
	CHECK(timer.deadline == before);
	twheel_loop_timeout(loop);
	CHECK(!twheel_again(&timer, HOUR));
	CHECK(timer.deadline >= before + 2 * MSEC);
	before = timer.deadline;
	sleep_for(2 * MSEC);
	CHECK(!twheel_loop_dispatch(loop));
	CHECK(!twheel_again(&timer, HOUR));
	CHECK(timer.deadline >= before + 2 * MSEC);
}

USER_TEST(timers_follow_a_clock_that_is_set_back)
{
	mocked_ns = 10 * HOUR;
	new_calendar_loop();
	CHECK(!twheel_start(loop, &timers[0], HOUR));
	CHECK(!twheel_loop_flush(loop));
	mocked_ns = 9 * HOUR;
	CHECK(twheel_loop_dispatch(loop) == 0);
	CHECK(!twheel_start(loop, &timers[1], MINUTE));
	CHECK(!twheel_loop_flush(loop));
	CHECK(twheel_loop_dispatch(loop) == 0);
	mocked_ns += MINUTE + MSEC;
	CHECK(twheel_loop_dispatch(loop) == 1 && !twheel_is_running(&timers[1]));
	mocked_ns = 11 * HOUR + MSEC;
	CHECK(twheel_loop_dispatch(loop) == 1);
}

TEST(the_timeout_is_the_time_until_the_next_timer)
{
	struct twheel_message message = { .call = count_message };
	int64_t left;

	CHECK(twheel_loop_timeout(loop) == -1);
	CHECK(!twheel_start(loop, &timer, 50 * MSEC));
	left = twheel_loop_timeout(loop);
	if (backend == TWHEEL_BACKEND_DEVICE) {
		CHECK(left == -1 && becomes_readable(loop));
	} else {
		CHECK(left > 0 && left <= (int64_t)(51 * MSEC));
		sleep_for(left);
		CHECK(twheel_loop_timeout(loop) == 0);
	}
	CHECK(twheel_loop_dispatch(loop) == 1 && called == 1);
	CHECK(twheel_loop_timeout(loop) == -1);
	/* One that is due is called by the next dispatch. */
	CHECK(!twheel_start(loop, &timer, 0));
	left = twheel_loop_timeout(loop);
	CHECK(backend == TWHEEL_BACKEND_DEVICE || (left >= 0 && left <= (int64_t)(2 * MSEC)));
	CHECK(run_for(loop, 1, 1000) == 1);
	CHECK(!twheel_loop_post(loop, &message));
	CHECK(twheel_loop_timeout(loop) == 0);
	CHECK(!twheel_loop_dispatch(loop));
	CHECK(twheel_loop_timeout(loop) == -1);
}

/* The clock can be set during a wait. */
USER_TEST(a_timeout_on_a_clock_that_is_set)
{
	mocked_ns = 10 * HOUR;
	new_calendar_loop();
	CHECK(!twheel_start(loop, &timer, SEC / 2));
	CHECK(twheel_loop_timeout(loop) == SEC / 2);
	mocked_ns = 9 * HOUR;
	CHECK(twheel_loop_timeout(loop) == SEC);
	CHECK(!twheel_loop_dispatch(loop));
	mocked_ns = 11 * HOUR;
	CHECK(twheel_loop_timeout(loop) == 0);
	CHECK(twheel_loop_dispatch(loop) == 1 && called == 1);
}

/* The descriptor is made when there is something to wait for already. */
TEST(the_descriptor_may_be_asked_for_at_any_time)
{
	struct twheel_message message = { .call = count_message };
	int when;

	for (when = 0; when < 4; when++) {
		new_loop();
		CHECK(!twheel_start(loop, &timer, 5 * MSEC));
		if (when == 1)
			CHECK(!twheel_loop_flush(loop));
		if (when == 2)
			CHECK(!twheel_loop_wait(loop, 0));
		if (when == 3)
			CHECK(!twheel_loop_post(loop, &message));
		CHECK(wait_for_the_descriptor(loop, 1) == 1);
		CHECK(!twheel_stop(&timer));
		CHECK(!is_readable(loop));
	}
}

TEST(a_wait_ends)
{
	uint64_t began = now_ns();

	CHECK(twheel_loop_wait(loop, 15 * MSEC) == 0);
	CHECK(now_ns() >= began + 15 * MSEC);
	CHECK(twheel_loop_wait(loop, 0) == 0);
	CHECK(twheel_loop_wait(loop, 100 * USEC) == 0);
	CHECK(now_ns() < began + 5 * SEC);
}

/* ---- Putting off, repeating -------------------------------------------------- */

DEVICE_TEST(a_start_that_is_stopped_never_reaches_the_kernel)
{
	new_loop_that_asks();
	CHECK(!twheel_start(loop, &timer, SEC));
	CHECK(twheel_stop(&timer) == 1);
	CHECK(twheel_loop_timeout(loop) == -1);
	CHECK(added(loop) == 0);
}

TEST(again_puts_off_without_the_kernel)
{
	struct noted timer;
	uint64_t before, last = 0;
	int i;

	noted_init(&timer);
	CHECK(!twheel_start(loop, &timer.handle, 20 * MSEC));
	CHECK(!twheel_loop_flush(loop));
	before = added(loop);
	for (i = 0; i < 5; i++) {
		last = now_ns();
		CHECK(!twheel_again(&timer.handle, 20 * MSEC));
		CHECK(!twheel_loop_flush(loop));
		CHECK(added(loop) == before);
		sleep_for(MSEC);
	}
	CHECK(run_for(loop, 1, 1000) == 1);
	CHECK(timer.called_ns >= last + 20 * MSEC);
	CHECK(run_for(loop, 1, 30) == 0);
}

TEST(again_without_a_delay_has_that_of_the_start)
{
	int i;

	for (i = 0; i < 2; i++) {
		CHECK(!twheel_start(loop, &timer, HOUR));
		CHECK(!twheel_again(&timer, SEC));
		CHECK(!i || twheel_stop(&timer) == 1);
		CHECK(!twheel_again(&timer, TWHEEL_SAME_DELAY));
		CHECK(twheel_remaining(&timer) > (int64_t)(HOUR / 2));
		CHECK(!twheel_repeat(loop, &timer, HOUR, SEC));
		/* It keeps the last period. */
		CHECK(!i || !twheel_set_interval(&timer, 0));
		CHECK(!twheel_again(&timer, TWHEEL_SAME_DELAY));
		CHECK(twheel_remaining(&timer) > 0 && twheel_remaining(&timer) <= (int64_t)SEC);
		CHECK(!twheel_start_at(loop, &timer, twheel_loop_now(loop) + HOUR));
		CHECK_FAILS(twheel_again(&timer, TWHEEL_SAME_DELAY), EINVAL);
		CHECK(twheel_stop(&timer) == 1);
	}
}

TEST(repeating_keeps_phase_and_counts_what_was_missed)
{
	uint64_t first, now;
	int64_t left;

	new_loop_that_asks();
	first = twheel_loop_now(loop) + 10 * MSEC;
	CHECK(!twheel_repeat(loop, &timer, 10 * MSEC, 10 * MSEC));
	CHECK(run_for(loop, 1, 1000) == 1);
	CHECK(timer.count >= 1);
	sleep_for(55 * MSEC);
	CHECK(run_for(loop, 1, 1000) == 1);
	CHECK(timer.count >= 5);
	now = twheel_loop_now(loop);
	left = twheel_remaining(&timer);
	/* On a busy machine, the next one may be due already. */
	CHECK(left >= 0 && (!left || (now + left - first) % (10 * MSEC) == 0));
	CHECK(twheel_stop(&timer) == 1);
	CHECK(run_for(loop, 1, 30) == 0);
	CHECK(called == 2);
}

TEST(what_remains_is_counted_on_the_time_of_the_loop)
{
	int64_t before;

	new_loop_that_asks();
	CHECK(!twheel_start(loop, &timer, SEC));
	before = twheel_remaining(&timer);
	CHECK(before == SEC);
	sleep_for(5 * MSEC);
	CHECK(twheel_remaining(&timer) == before);
	CHECK(!twheel_loop_update(loop));
	CHECK(twheel_remaining(&timer) <= before - (int64_t)(5 * MSEC));
	CHECK(!twheel_again(&timer, 2 * SEC));
	CHECK(twheel_remaining(&timer) == 2 * SEC);
	CHECK(twheel_stop(&timer) == 1);
	CHECK(!twheel_start_at(loop, &timer, 1));
	CHECK(twheel_remaining(&timer) == 0);
}

/* ---- Callbacks --------------------------------------------------------------- */

static void start_at_once(struct twheel_loop *loop, struct twheel_handle *handle)
{
	++*(int *)handle->data;
	if (twheel_start_at(loop, handle, 1))
		bail_out("start");
}

static struct twheel_handle stopped, late;

static void stop_one_and_start_another(struct twheel_loop *loop, struct twheel_handle *handle)
{
	++*(int *)handle->data;
	CHECK(twheel_stop(&stopped) == 1);
	CHECK(!twheel_start_at(loop, &late, 1));
}

/* Not even instead of one that would have expired with this one. */
TEST(a_stop_brings_no_start_forward)
{
	struct twheel_handle first = { .callback = stop_one_and_start_another };

	first.data = &called;
	twheel_handle_init(&stopped, count_call, &called);
	twheel_handle_init(&late, count_call, &called);
	CHECK(!twheel_start_at(loop, &first, 1));
	CHECK(!twheel_start_at(loop, &stopped, 2));
	CHECK(!twheel_loop_flush(loop));
	CHECK(twheel_loop_dispatch(loop) == 1);
	CHECK(becomes_readable(loop));
	CHECK(twheel_loop_dispatch(loop) == 1);
	CHECK(called == 2);
}

/*
 * The descriptor is readable, so events may be in flight already. The memory of every other
 * timer is freed after its stop; there are more of them than can be in flight at a time.
 */
TEST(what_is_stopped_on_its_way_is_not_called)
{
	enum { TIMERS = 3000, FIRST = 400 };
	int turn, i;

	for (i = 0; i < TIMERS; i++)
		CHECK(!twheel_start_at(loop, &timers[i], i + 1));
	CHECK(!twheel_loop_flush(loop));
	/* The first of them at once, and the rest after a flush between two checks. */
	for (turn = 0; turn < 2; turn++) {
		CHECK(becomes_readable(loop));
		for (i = turn ? FIRST : 0; i < (turn ? TIMERS : FIRST); i += 2) {
			CHECK(twheel_stop(&timers[i]) == 1);
			memset(&timers[i], 0xff, sizeof(timers[i]));
		}
		CHECK(becomes_readable(loop));
		CHECK(turn || !twheel_loop_flush(loop));
	}
	CHECK(twheel_loop_dispatch(loop) == TIMERS / 2);
	CHECK(called == TIMERS / 2 && !twheel_loop_count(loop));
	for (i = 1; i < TIMERS; i += 2)
		CHECK(!twheel_stop(&timers[i]));
}

static void start_late(struct twheel_loop *loop, struct twheel_handle *handle)
{
	++*(int *)handle->data;
	CHECK(!twheel_start_at(loop, &late, 1));
}

/* More timers than a dispatch handles at a time. */
TEST(what_a_callback_starts_waits_for_all_that_has_expired)
{
	enum { TIMERS = 20000 };
	uint64_t now = now_ns();
	int i;

	new_loop_of((struct twheel_loop_config) {
		.tick_ns = TWHEEL_TICK_MIN_NS,
	});
	twheel_handle_init(&late, count_call, &called);
	for (i = 0; i < TIMERS; i++) {
		twheel_handle_init(&timers[i], i ? count_call : start_late, &called);
		CHECK(!twheel_start_at(loop, &timers[i], now + i * TWHEEL_TICK_MIN_NS));
	}
	CHECK(!twheel_loop_flush(loop));
	sleep_for(TIMERS * TWHEEL_TICK_MIN_NS + MSEC);
	CHECK(twheel_loop_dispatch(loop) == TIMERS);
	CHECK(twheel_loop_dispatch(loop) == 1);
	CHECK(called == TIMERS + 1);
}

TEST(edge_triggered_epoll_tells_of_all_that_is_new)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int i;

	timer.callback = start_at_once;
	CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, twheel_loop_fd(loop), &event));
	CHECK(!twheel_start(loop, &timer, MSEC));
	CHECK(!twheel_loop_flush(loop));
	for (i = 1; i < 10; i++) {
		CHECK(epoll_wait(epoll, &event, 1, 1000) == 1);
		CHECK(twheel_loop_dispatch(loop) == 1);
		CHECK(called == i);
	}
	/* The first start was outside a dispatch, and had to wake the program. */
	CHECK(backend == TWHEEL_BACKEND_USER || added(loop) == 11);
	close(epoll);
}

static jmp_buf out;

static void leave(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)loop;
	++*(int *)handle->data;
	longjmp(out, 1);
}

TEST(a_callback_may_leave_by_longjmp)
{
	enum { MANY = 50 };
	static int left;
	int i;

	for (i = 0; i < MANY; i++) {
		twheel_handle_init(&timers[i], i % 2 ? leave : count_call, &called);
		CHECK(!twheel_start(loop, &timers[i], MSEC));
	}
	CHECK(!twheel_loop_flush(loop));
	sleep_for(5 * MSEC);
	while (setjmp(out)) {
		left++;
		/* A wait that begins now must report the rest. */
		CHECK(!twheel_loop_flush(loop));
		CHECK(called == MANY || becomes_readable(loop));
	}
	if (called < MANY)
		CHECK(twheel_loop_dispatch(loop) >= 0);
	CHECK(called == MANY && left == MANY / 2);
	CHECK(twheel_loop_dispatch(loop) == 0);
	CHECK(!is_readable(loop));
}

static void dispatch_inside(struct twheel_loop *loop, struct twheel_handle *handle)
{
	++*(int *)handle->data;
	if (twheel_loop_dispatch(loop) < 0)
		bail_out("dispatch");
}

TEST(a_callback_may_dispatch)
{
	enum { MANY = 20 };
	int i;

	for (i = 0; i < MANY; i++) {
		twheel_handle_init(&timers[i], dispatch_inside, &called);
		CHECK(!twheel_start(loop, &timers[i], MSEC));
	}
	CHECK(!twheel_loop_flush(loop));
	sleep_for(5 * MSEC);
	CHECK(twheel_loop_dispatch(loop) >= 1);
	CHECK(called == MANY);
}

/* ---- Other threads ------------------------------------------------------------- */

struct request {
	struct twheel_message message;
	int called;
};

static int order;

static void note_order(struct twheel_loop *loop, struct twheel_message *message)
{
	struct request *request = (struct request *)message;

	request->called = ++order;
	if (order == 2)
		CHECK(!twheel_loop_post(loop, message));
	/* The rest, and that one too. */
	if (order == 5)
		CHECK(!twheel_loop_post(loop, message) && !twheel_loop_dispatch(loop));
}

TEST(messages_come_in_order_and_may_be_posted_again)
{
	struct request request[3] = { };
	int i;

	for (i = 0; i < 3; i++) {
		request[i].message.call = note_order;
		CHECK(!twheel_loop_post(loop, &request[i].message));
		CHECK_FAILS(twheel_loop_post(loop, &request[i].message), EALREADY);
	}
	CHECK(becomes_readable(loop));
	CHECK(twheel_loop_dispatch(loop) == 0);
	CHECK(request[0].called == 1 && request[1].called == 2 && request[2].called == 3);
	CHECK(becomes_readable(loop));
	CHECK(twheel_loop_dispatch(loop) == 0);
	CHECK(request[1].called == 4);
	CHECK(!is_readable(loop));
	for (i = 0; i < 3; i++)
		CHECK(!twheel_loop_post(loop, &request[i].message));
	CHECK(twheel_loop_wait(loop, SEC) == 1);
	CHECK(request[1].called == 6 && request[2].called == 7 && request[0].called == 8);
}

enum { POSTERS = 4, POSTS = 2000 };

static int arrived;

static void arrive(struct twheel_loop *loop, struct twheel_message *message)
{
	(void)loop;
	arrived++;
	free(message);
}

static void *post_many(void *arg)
{
	int i;

	for (i = 0; i < POSTS; i++) {
		struct twheel_message *message = calloc(1, sizeof(*message));

		message->call = arrive;
		if (twheel_loop_post(arg, message))
			bail_out("post");
	}
	return NULL;
}

TEST(no_message_of_many_threads_is_lost)
{
	pthread_t thread[POSTERS];
	int i;

	for (i = 0; i < POSTERS; i++)
		CHECK(!pthread_create(&thread[i], NULL, post_many, loop));
	while (arrived < POSTERS * POSTS) {
		uint64_t began = now_ns();

		/* A spurious wake-up is allowed, a lost message is not. */
		CHECK(twheel_loop_wait(loop, 5000 * MSEC) >= 0);
		CHECK(now_ns() < began + 5 * SEC);
	}
	for (i = 0; i < POSTERS; i++)
		CHECK(!pthread_join(thread[i], NULL));
}

/* Between two dispatches the loop mostly posts, so that most signals interrupt that. */
enum { MESSAGES = 4, OWN = 200 };

static struct request mail[MESSAGES];
static unsigned int signals;
static unsigned int mailed;

static void post_in_handler(int signal)
{
	int error = errno;

	(void)signal;
	if (!twheel_loop_post(loop, &mail[signals % MESSAGES].message))
		mailed++;
	__atomic_store_n(&signals, signals + 1, __ATOMIC_RELAXED);
	errno = error;
}

/* It interrupts the loop wherever that is: in a post, in a start, in a flush. */
TEST(a_signal_handler_may_post)
{
	/* Over the device of a debug kernel, a post takes longer than 10 us. */
	const long period = backend == TWHEEL_BACKEND_USER ? 10000 : 500000;
	const struct itimerspec often = { { .tv_nsec = period }, { .tv_nsec = period } };
	const unsigned int count = backend == TWHEEL_BACKEND_USER ? 100000 : 5000;
	struct sigaction action = { .sa_handler = post_in_handler, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct request own[OWN] = { };
	unsigned int posted = 0, i;
	timer_t often_id;
	uint64_t end;

	for (i = 0; i < MESSAGES; i++)
		mail[i].message.call = count_message;
	for (i = 0; i < OWN; i++)
		own[i].message.call = count_message;
	new_loop();
	CHECK(twheel_loop_fd(loop) >= 0);
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	CHECK(!timer_create(CLOCK_MONOTONIC, &event, &often_id));
	CHECK(!timer_settime(often_id, 0, &often, NULL));
	/* On a busy machine, fewer. */
	end = now_ns() + 4 * SEC;
	while (__atomic_load_n(&signals, __ATOMIC_RELAXED) < count && now_ns() < end) {
		for (i = 0; i < OWN; i++)
			posted += !twheel_loop_post(loop, &own[i].message);
		CHECK(!twheel_start(loop, &timer, HOUR));
		CHECK(twheel_stop(&timer) == 1);
		CHECK(twheel_loop_dispatch(loop) >= 0);
	}
	CHECK(!timer_delete(often_id));
	/* All of them had a wake-up. */
	while (messages < mailed + posted) {
		CHECK(becomes_readable(loop));
		CHECK(!twheel_loop_dispatch(loop));
	}
	CHECK(messages == mailed + posted && mailed);
	CHECK(!twheel_loop_flush(loop) && !is_readable(loop));
}
