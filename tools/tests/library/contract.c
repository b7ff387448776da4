// SPDX-License-Identifier: MIT
/*
 * The promises of libtwheel.h to callers that keep its rules
 */
#include <pthread.h>
#include <setjmp.h>
#include <sys/epoll.h>

#include "library.h"

/* Programs embed these, and inline functions use them: see ABI.md. */
#define AT(member, place)	(offsetof(struct twheel_handle, member) == (place))
_Static_assert(sizeof(void *) != 8 ||
	       (sizeof(struct twheel_handle) == 88 && AT(count, 16) && AT(state, 24) &&
		AT(loop, 32) && AT(deadline, 40) && AT(armed, 72) &&
		sizeof(struct twheel_loop_config) == 80 && sizeof(struct twheel_message) == 16 &&
		sizeof(struct twheel_ring_view) == 16), "programs were compiled with these");

/* ---- Expiry ---------------------------------------------------------------- */

static void note_place(struct twheel_loop *loop, struct twheel_handle *handle)
{
	called++;
	CHECK((intptr_t)handle->data == 10 * called);
}

/* More than a few, and in another order than that in which they were armed. */
TEST(postponed_timers_come_in_the_order_of_their_ticks)
{
	enum { TIMERS = 100 };
	unsigned int i, j;

	for (i = 0; i < TIMERS; i++) {
		j = i * 37 % TIMERS;
		twheel_handle_init(&timers[i], note_place, (void *)(uintptr_t)(10 * (j + 1)));
		CHECK(!twheel_start(loop, &timers[i], j % 3 ? MSEC : (2 * j + 20) * MSEC));
	}
	CHECK(!twheel_loop_flush(loop));
	for (i = 0; i < TIMERS; i++)
		CHECK(!twheel_again(&timers[i], (2 * (uintptr_t)timers[i].data / 10 + 18) * MSEC));
	pass((2 * TIMERS + 50) * MSEC);
	CHECK(twheel_loop_dispatch(loop) == TIMERS);
}

static void set_calendar_by(int64_t change_ns)
{
	struct timespec ts = timespec_of(now_on(CLOCK_REALTIME) + change_ns);

	CHECK(!clock_settime(CLOCK_REALTIME, &ts));
}

MACHINE_TEST(timers_follow_a_clock_that_is_set)
{
	new_loop_of((struct twheel_loop_config) { .clock = TWHEEL_CLOCK_REALTIME });
	CHECK(!twheel_start(loop, &timers[0], HOUR));
	CHECK(!twheel_start(loop, &timers[1], DAY));
	CHECK(run_for(loop, 1, 20) == 0);
	set_calendar_by(2 * HOUR);
	CHECK(run_for(loop, 1, 5000) == 1 && twheel_is_running(&timers[1]));
	set_calendar_by(-2 * (int64_t)HOUR);
	CHECK(!twheel_start(loop, &timers[0], HOUR));
	CHECK(run_for(loop, 1, 20) == 0);
	set_calendar_by(25 * HOUR);
	CHECK(run_for(loop, 2, 5000) == 2);
	set_calendar_by(-25 * (int64_t)HOUR);
	/* The descriptor was readable when the clock is set back; over the device, it expired. */
	CHECK(!twheel_start(loop, &timers[0], HOUR));
	CHECK(!twheel_loop_flush(loop));
	set_calendar_by(2 * HOUR);
	CHECK(becomes_readable());
	set_calendar_by(-2 * (int64_t)HOUR);
	CHECK(twheel_loop_dispatch(loop) == (backend == TWHEEL_BACKEND_DEVICE));
	CHECK(!is_readable());
}

/* Without a change between two turns, and until the program asks for another time. */
USER_TEST(a_turn_has_one_time)
{
	new_loop_that_asks();
	CHECK(!twheel_start(loop, &timer, SEC));
	pass(5 * MSEC);
	CHECK(twheel_remaining(&timer) == SEC);
	CHECK(!twheel_loop_update(loop));
	CHECK(twheel_remaining(&timer) <= (int64_t)(SEC - 5 * MSEC));
	CHECK(!twheel_start_at(loop, &timer, 1));
	CHECK(twheel_remaining(&timer) == 0);
}

TEST(the_kernel_has_few_calls)
{
	const bool device = backend == TWHEEL_BACKEND_DEVICE;
	int i;

	CHECK(!twheel_loop_wait(loop, 0));
	CHECK(!twheel_start(loop, &timer, SEC) && twheel_stop(&timer) == 1);
	CHECK(!twheel_loop_flush(loop) && added() == device);
	/* One timer wakes for all starts, and is removed when they are flushed. */
	CHECK(!close(STDIN_FILENO)); /* Descriptor 0 is like others. */
	new_loop_of((struct twheel_loop_config) { .max_timers = 5 });
	for (i = 0; i < 5; i++) {
		CHECK(!twheel_start(loop, &timers[i], HOUR));
		CHECK(becomes_readable() && !twheel_loop_fd(loop));
	}
	CHECK(added() == device && !twheel_loop_flush(loop));
	CHECK(!is_readable() && added() == 6 * device && twheel_loop_count(loop) == 5);
	/* Postponing is not a change. */
	for (i = 0; i < 5; i++)
		CHECK(!twheel_again(&timers[i], 2 * HOUR) && !twheel_loop_flush(loop));
	CHECK(added() == 6 * device);
}

/* ---- A clock of the program's own ---------------------------------------------- */

static void start_at_once(struct twheel_loop *loop, struct twheel_handle *handle)
{
	++*(int *)handle->data;
	CHECK(!twheel_start_at(loop, handle, 1));
}

static void new_manual_loop(void)
{
	new_loop_of((struct twheel_loop_config) { .clock = TWHEEL_CLOCK_MANUAL });
}

static struct chance chance;
static uint64_t due[NR_TIMERS];
static int starts;

static void start_by_chance(int i)
{
	uint64_t delay = chance_below(&chance, 2 * SEC) + 1;

	due[i] = twheel_loop_now(loop) + delay;
	starts++;
	CHECK(!twheel_start(loop, &timers[i], delay));
}

/* Called in the tick of its deadline, not earlier or later. */
static void check_tick(struct twheel_loop *loop, struct twheel_handle *handle)
{
	int i = handle - timers;

	called++;
	CHECK(twheel_loop_now(loop) == (due[i] + MSEC - 1) / MSEC * MSEC);
	if (starts < 5000)
		start_by_chance(i);
}

USER_TEST(an_advance_calls_each_timer_in_its_tick)
{
	int calls = 0, i;

	chance_init(&chance, seed, 0);
	new_manual_loop();
	CHECK(!twheel_loop_now(loop) && twheel_loop_timeout(loop) == -1);
	for (i = 0; i < 100; i++) {
		timers[i].callback = check_tick;
		start_by_chance(i);
	}
	for (i = 1; i <= 1000; i++) {
		calls += twheel_loop_advance(loop, SEC / 7);
		CHECK(calls == called && twheel_loop_now(loop) == i * (SEC / 7));
	}
	CHECK(starts == calls && !twheel_loop_count(loop));
	CHECK(twheel_loop_timeout(loop) == -1 && !errno);
	/* One that restarts at once does not stop it: it comes in each tick. */
	timer.callback = start_at_once;
	called = 0;
	CHECK(!twheel_start_at(loop, &timer, 1) && twheel_loop_timeout(loop) == 0);
	CHECK(twheel_loop_advance(loop, 0) == 1 && called == 1);
	CHECK(twheel_loop_advance(loop, 10 * MSEC) == 11 && called == 12);
	CHECK(twheel_stop(&timer) == 1);
}

/* Years pass at once, and nothing else moves the clock. */
USER_TEST(a_manual_clock_stops_between_advances)
{
	new_manual_loop();
	CHECK(!twheel_start(loop, &timer, 100 * YEAR));
	sleep_for(MSEC);
	CHECK(!twheel_loop_now(loop) && twheel_loop_timeout(loop) == 100 * YEAR);
	CHECK(!twheel_loop_advance(loop, 100 * YEAR - 1) && twheel_remaining(&timer) == 1);
	CHECK(!twheel_loop_dispatch(loop));
	CHECK(!twheel_loop_post(loop, &message));
	CHECK(twheel_loop_advance(loop, 1) == 2 && called == 1 && messages == 1);
	CHECK_FAILS(twheel_loop_fd(loop), EINVAL);
	CHECK_FAILS(twheel_loop_wait(loop, 0), EINVAL);
	CHECK_FAILS(twheel_loop_run(loop), EINVAL);
	CHECK_FAILS(twheel_loop_advance(loop, TWHEEL_TIME_MAX_NS + 1), EINVAL);
	/* Its end. */
	CHECK(!twheel_start(loop, &timer, TWHEEL_TIME_MAX_NS));
	CHECK(!twheel_loop_advance(loop, TWHEEL_TIME_MAX_NS));
	CHECK(!twheel_loop_advance(loop, HOUR));
	CHECK(twheel_loop_now(loop) == TWHEEL_TIME_MAX_NS && twheel_stop(&timer) == 1);
}

/* ---- Callbacks --------------------------------------------------------------- */

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
		CHECK(becomes_readable());
		for (i = turn ? FIRST : 0; i < (turn ? TIMERS : FIRST); i += 2) {
			CHECK(twheel_stop(&timers[i]) == 1);
			memset(&timers[i], 0xff, sizeof(timers[i]));
		}
		CHECK(becomes_readable());
		CHECK(turn || !twheel_loop_flush(loop));
	}
	CHECK(twheel_loop_dispatch(loop) == TIMERS / 2);
	CHECK(called == TIMERS / 2 && !twheel_loop_count(loop));
	for (i = 1; i < TIMERS; i += 2)
		CHECK(!twheel_stop(&timers[i]));
}

/*
 * They are more than a dispatch handles at a time, and it takes longer than the delay until all of
 * them have been called.
 */
static void start_and_flush(struct twheel_loop *loop, struct twheel_handle *handle)
{
	CHECK(++*(int *)handle->data <= NR_TIMERS);
	CHECK(!twheel_start(loop, handle, MSEC) && !twheel_loop_flush(loop));
	if (called % 1000 == 0)
		pass(MSEC);
}

TEST(a_dispatch_calls_what_was_due_when_it_began)
{
	int i;

	for (i = 0; i < NR_TIMERS; i++) {
		timers[i].callback = start_and_flush;
		CHECK(!twheel_start(loop, &timers[i], MSEC));
	}
	CHECK(!twheel_loop_flush(loop));
	pass(3 * MSEC);
	CHECK(twheel_loop_dispatch(loop) == NR_TIMERS);
}

TEST(edge_triggered_epoll_tells_of_all_that_is_new)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(EPOLL_CLOEXEC), i;

	timer.callback = start_at_once;
	CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, twheel_loop_fd(loop), &event));
	CHECK(!twheel_start(loop, &timer, MSEC));
	CHECK(!twheel_loop_flush(loop));
	for (i = 1; i < 10; i++) {
		CHECK(epoll_wait(epoll, &event, 1, 1000) == 1);
		CHECK(twheel_loop_dispatch(loop) == 1 && called == i);
	}
	/* The first start was outside a dispatch, and had to wake the program. */
	CHECK(backend == TWHEEL_BACKEND_USER || added() == 11);
}

static jmp_buf out;

static void leave(struct twheel_loop *loop, struct twheel_handle *handle)
{
	++*(int *)handle->data;
	longjmp(out, 1);
}

TEST(a_callback_may_leave_by_longjmp)
{
	enum { MANY = 50 };
	static int left;
	int i;

	for (i = 0; i < MANY; i++) {
		timers[i].callback = i % 2 ? leave : count_call;
		CHECK(!twheel_start(loop, &timers[i], MSEC));
	}
	CHECK(!twheel_loop_flush(loop));
	pass(5 * MSEC);
	while (setjmp(out)) {
		left++;
		/* A wait that begins now must report the rest. */
		CHECK(!twheel_loop_flush(loop));
		CHECK(called == MANY || becomes_readable());
	}
	if (called < MANY)
		CHECK(twheel_loop_dispatch(loop) >= 0);
	CHECK(called == MANY && left == MANY / 2);
	CHECK(twheel_loop_dispatch(loop) == 0 && !is_readable());
}

/* A callback sets the clock back while others wait to be called, and dispatches or leaves. */
static bool leaves;

static void set_back(struct twheel_loop *loop, struct twheel_handle *handle)
{
	if (++*(int *)handle->data > 1)
		return;
	mocked_ns -= 5 * SEC;
	if (leaves)
		longjmp(out, 1);
	CHECK(!twheel_loop_dispatch(loop));
}

USER_TEST(a_clock_that_is_set_back_during_a_dispatch_loses_no_timer)
{
	enum { SOME = 10 };
	static int round;
	int i;

	for (round = 0; round < 2; round++) {
		leaves = round;
		mocked_ns = HOUR;
		called = 0;
		new_loop_of((struct twheel_loop_config) { .clock = TWHEEL_CLOCK_REALTIME });
		for (i = 0; i < SOME; i++) {
			timers[i].callback = set_back;
			CHECK(!twheel_start(loop, &timers[i], (i + 1) * MSEC));
		}
		CHECK(!twheel_loop_flush(loop));
		mocked_ns += 20 * MSEC;
		if (!setjmp(out))
			CHECK(twheel_loop_dispatch(loop) == 1);
		CHECK(!twheel_loop_flush(loop));
		CHECK(called == 1 && twheel_loop_count(loop) == SOME - 1);
		CHECK(!twheel_loop_dispatch(loop));
		mocked_ns += 6 * SEC;
		CHECK(twheel_loop_dispatch(loop) == SOME - 1 && !twheel_loop_count(loop));
	}
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
		CHECK(!twheel_loop_post(loop, message) && twheel_loop_dispatch(loop) == 3);
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
	CHECK(becomes_readable() && twheel_loop_dispatch(loop) == 3);
	CHECK(request[0].called == 1 && request[1].called == 2 && request[2].called == 3);
	CHECK(becomes_readable() && twheel_loop_dispatch(loop) == 1);
	CHECK(request[1].called == 4 && !is_readable());
	for (i = 0; i < 3; i++)
		CHECK(!twheel_loop_post(loop, &request[i].message));
	CHECK(twheel_loop_wait(loop, SEC) == 1);
	CHECK(request[1].called == 6 && request[2].called == 7 && request[0].called == 8);
}

enum { POSTERS = 4, POSTS = 2000 };

static int arrived;

static void arrive(struct twheel_loop *loop, struct twheel_message *message)
{
	arrived++;
	free(message);
}

static void *post_many(void *arg)
{
	int i;

	for (i = 0; i < POSTS; i++) {
		struct twheel_message *message = calloc(1, sizeof(*message));

		message->call = arrive;
		CHECK(!twheel_loop_post(arg, message));
	}
	return NULL;
}

TEST(no_message_of_many_threads_is_lost)
{
	pthread_t thread[POSTERS];
	int i;

	for (i = 0; i < POSTERS; i++)
		CHECK(!pthread_create(&thread[i], NULL, post_many, loop));
	/* A message that is lost lets this hang. */
	while (arrived < POSTERS * POSTS)
		CHECK(twheel_loop_wait(loop, -1) >= 0);
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
		CHECK(becomes_readable());
		CHECK(twheel_loop_dispatch(loop) > 0);
	}
	CHECK(messages == mailed + posted && mailed);
	CHECK(!twheel_loop_flush(loop) && !is_readable());
}
