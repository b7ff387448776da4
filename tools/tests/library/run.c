// SPDX-License-Identifier: MIT
/*
 * Loops that end, and that check themselves
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "library.h"

/* ---- Running and counting ---------------------------------------------------------- */

TEST(a_timer_is_running_until_it_expires)
{
	int flushed;

	CHECK(!twheel_is_running(NULL));
	CHECK(!twheel_is_running(&timer) && !twheel_stop(&timer));
	for (flushed = 0; flushed < 2; flushed++) {
		CHECK(!twheel_start(loop, &timer, MSEC));
		if (flushed)
			CHECK(!twheel_loop_flush(loop));
		CHECK(twheel_is_running(&timer) == 1);
		CHECK(twheel_stop(&timer) == 1);
		errno = 0;
		CHECK(!twheel_is_running(&timer) && !twheel_stop(&timer) && !errno);
		CHECK_FAILS(twheel_remaining(&timer), ENOENT);
	}
	CHECK(!twheel_start(loop, &timer, MSEC));
	CHECK(run_for(loop, 1, 1000) == 1);
	CHECK(!twheel_is_running(&timer));
	CHECK(!twheel_repeat(loop, &timer, MSEC, MSEC));
	CHECK(run_for(loop, 1, 1000) == 1);
	CHECK(twheel_is_running(&timer) == 1);
}

static void stop_the_last(struct twheel_loop *loop, struct twheel_handle *timer)
{
	struct twheel_handle *last = timer->data;

	CHECK(twheel_loop_count(loop) == 2);
	CHECK(twheel_stop(last) == 1);
	CHECK(twheel_loop_count(loop) == 1);
}

TEST(the_count_is_exact_at_any_time)
{
	enum { TIMERS = 20000 };
	uint64_t began = now_on(CLOCK_PROCESS_CPUTIME_ID);
	int i;

	new_loop_of((struct twheel_loop_config) { .max_timers = TIMERS });
	for (i = 0; i < TIMERS; i++) {
		CHECK(!twheel_start(loop, &timers[i], i < TIMERS - 3 ? HOUR : MSEC));
		if (i == TIMERS / 2)
			CHECK(!twheel_loop_flush(loop));
		CHECK(twheel_loop_count(loop) == i + 1);
	}
	/* Without looking at each timer every time. */
	CHECK(now_on(CLOCK_PROCESS_CPUTIME_ID) < began + SEC / 2);
	for (i = 0; i < TIMERS - 3; i++) {
		CHECK(twheel_stop(&timers[i]) == 1);
		CHECK(twheel_loop_count(loop) == TIMERS - i - 1);
	}
	/* When the first of three is called, two are left. */
	timers[TIMERS - 3].callback = stop_the_last;
	timers[TIMERS - 3].data = &timers[TIMERS - 1];
	CHECK(run_for(loop, 2, 1000) == 2);
	CHECK(twheel_loop_count(loop) == 0);
}

/* An expired timer cannot be cancelled; with it, the event that wakes the loop is found. */
DEVICE_TEST(the_count_is_exact_after_a_full_batch_of_stops)
{
	enum { BATCH = 512 };
	int i;

	for (i = 0; i < BATCH; i++)
		CHECK(!twheel_start_at(loop, &timers[i], i ? TWHEEL_TIME_MAX_NS : 1));
	CHECK(!twheel_loop_flush(loop));
	CHECK(!twheel_start(loop, &timer, HOUR) && becomes_readable(loop));
	for (i = 0; i < BATCH; i++)
		CHECK(twheel_stop(&timers[i]) == 1);
	CHECK(!twheel_loop_flush(loop) && twheel_loop_count(loop) == 1);
}

DEVICE_TEST(a_signal_does_not_end_a_dispatch)
{
	polls_interrupted = 2;
	CHECK(!twheel_loop_dispatch(loop) && !polls_interrupted);
}

static void ignore_it(int signal)
{
	(void)signal;
}

/* Whatever ends its waits before that. */
TEST(a_run_ends_with_the_last_timer)
{
	const struct itimerval often = { { .tv_usec = 10000 }, { .tv_usec = 10000 } };
	struct sigaction action = { .sa_handler = ignore_it };
	struct twheel_message message = { .call = count_message };
	struct twheel_handle other = timer;

	CHECK(!twheel_loop_run(loop));
	CHECK(!twheel_start(loop, &timer, 0) && !twheel_start(loop, &other, 5 * MSEC));
	CHECK(!twheel_again(&timer, 50 * MSEC));
	CHECK(!twheel_loop_post(loop, &message));
	CHECK(!sigaction(SIGALRM, &action, NULL));
	CHECK(!setitimer(ITIMER_REAL, &often, NULL));
	CHECK(!twheel_loop_run(loop) && called == 2);
	CHECK_FAILS(twheel_loop_wait(loop, 10 * SEC), EINTR);
}

static void stop_the_third_time(struct twheel_loop *loop, struct twheel_handle *timer)
{
	if (++*(int *)timer->data == 3)
		CHECK(!twheel_loop_stop(loop));
}

TEST(a_callback_stops_the_run)
{
	timer.callback = stop_the_third_time;
	CHECK(!twheel_repeat(loop, &timer, MSEC, MSEC));
	CHECK(!twheel_loop_run(loop));
	CHECK(called == 3 && twheel_is_running(&timer));
	/* A stop before the run ends it at once. */
	CHECK(!twheel_loop_stop(loop));
	CHECK(!twheel_loop_run(loop));
	CHECK(called == 3);
}

static void run_inside(struct twheel_loop *loop, struct twheel_handle *timer)
{
	struct twheel_handle inner = { .callback = stop_the_third_time };
	int called = 2;

	++*(int *)timer->data;
	inner.data = &called;
	CHECK(!twheel_start(loop, &inner, MSEC));
	CHECK(!twheel_loop_run(loop));
	CHECK(called == 3);
}

TEST(a_stop_ends_the_innermost_run)
{
	int i;

	for (i = 0; i < 2; i++) {
		twheel_handle_init(&timers[i], i ? count_call : run_inside, &called);
		CHECK(!twheel_start(loop, &timers[i], MSEC + 20 * i * MSEC));
	}
	CHECK(!twheel_loop_run(loop));
	CHECK(called == 2);
}

TEST(timers_that_do_not_count_end_the_run)
{
	struct twheel_handle often = { .callback = count_call }, once = often;
	int beats = 0;

	often.data = &beats;
	once.data = &called;
	CHECK(!twheel_repeat(loop, &often, MSEC, MSEC));
	CHECK(!twheel_loop_unref(loop));
	CHECK(!twheel_start(loop, &once, 10 * MSEC));
	CHECK(!twheel_loop_run(loop));
	CHECK(called == 1 && beats >= 1);
	CHECK(twheel_loop_count(loop) == 0 && twheel_is_running(&often));
	CHECK(!twheel_loop_ref(loop));
	CHECK(twheel_loop_count(loop) == 1);
	CHECK(twheel_stop(&often) == 1);
	CHECK(twheel_loop_count(loop) == 0);
	CHECK(!twheel_loop_unref(loop));
	CHECK(twheel_loop_count(loop) == 0);
}

/* ---- Periods ----------------------------------------------------------------------- */

TEST(the_period_of_a_running_timer_changes)
{
	uint64_t first;
	int64_t left;

	new_loop_that_asks();
	CHECK_FAILS(twheel_set_interval(NULL, 1), EINVAL);
	CHECK_FAILS(twheel_set_interval(&timer, 1), ENOENT);
	first = twheel_loop_now(loop) + 10 * MSEC;
	CHECK(!twheel_repeat(loop, &timer, 10 * MSEC, HOUR));
	CHECK_FAILS(twheel_set_interval(&timer, UINT64_MAX), EINVAL);
	CHECK(!twheel_set_interval(&timer, TWHEEL_TIME_MAX_NS));
	CHECK(!twheel_set_interval(&timer, 3 * MSEC));
	CHECK(run_for(loop, 3, 1000) == 3);
	left = twheel_remaining(&timer);
	/* On a busy machine, the next one may be due already. */
	CHECK(left >= 0 && (!left || (twheel_loop_now(loop) + left - first) % (3 * MSEC) == 0));
	/* It expires once more, and then stops. */
	CHECK(!twheel_set_interval(&timer, 0));
	CHECK(run_for(loop, 2, 50) == 1);
	CHECK(!twheel_is_running(&timer));
	/* A one-shot timer repeats. */
	CHECK(!twheel_start(loop, &timer, MSEC));
	CHECK(!twheel_set_interval(&timer, MSEC));
	CHECK(run_for(loop, 2, 1000) == 2);
}

/* ---- TWHEEL_DEBUG ---------------------------------------------------------------------- */

/* Check that the function aborts in a child, with a message, while a timer is running. */
static bool aborts(void (*function)(void))
{
	char text[256] = "";
	int pipes[2], status;
	pid_t child;

	CHECK(!pipe(pipes));
	child = fork();
	if (!child) {
		dup2(pipes[1], STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		setenv("TWHEEL_DEBUG", "1", 1);
		new_loop();
		CHECK(!twheel_start(loop, &timer, 5 * MSEC));
		CHECK(!twheel_loop_flush(loop));
		function();
		_exit(0);
	}
	close(pipes[1]);
	CHECK(read(pipes[0], text, sizeof(text) - 1) >= 0);
	close(pipes[0]);
	CHECK(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(text, "twheel: loop");
}

static void stop_without_a_callback(void)
{
	timer.callback = NULL;
	twheel_stop(&timer);
}

static void expire_without_a_callback(void)
{
	timer.callback = NULL;
	sleep_for(20 * MSEC);
	twheel_loop_dispatch(loop);
}

static void expire_in_another_loop(void)
{
	timer.loop = NULL;
	sleep_for(20 * MSEC);
	twheel_loop_dispatch(loop);
}

static void expire_without_a_state(void)
{
	timer.state = 0;
	sleep_for(20 * MSEC);
	twheel_loop_dispatch(loop);
}

/* Which of the links to overwrite, and with what. */
static int broken_link;
static void *broken_to;

static void overwrite_while_linked(void)
{
	timer.link[broken_link] = broken_to;
	twheel_stop(&timer);
}

static void *dispatch_there(void *loop)
{
	twheel_loop_dispatch(loop);
	return NULL;
}

static void use_in_two_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, dispatch_there, loop);
	pthread_join(thread, NULL);
}

/* After a timeout, a dispatch does not flush. */
static void ask_here_dispatch_there(void)
{
	twheel_loop_timeout(loop);
	use_in_two_threads();
}

/* Made and filled here, run there, stopped and freed here; with a lock, as in Python. */
static void use_as_it_should_be(void)
{
	new_loop();
	CHECK(!twheel_start(loop, &timers[0], HOUR));
	use_in_two_threads();
	CHECK(twheel_stop(&timers[0]) == 1);
	free_loop();
}

TEST(debugging_finds_memory_that_changed_and_a_second_thread)
{
	void *elsewhere[2] = { elsewhere, elsewhere };

	CHECK(aborts(stop_without_a_callback));
	CHECK(aborts(expire_without_a_callback));
	CHECK(aborts(use_in_two_threads));
	CHECK(aborts(ask_here_dispatch_there));
	CHECK(!aborts(use_as_it_should_be));
	/* The device has the links, and the handle's address. */
	for (broken_link = 0; backend == TWHEEL_BACKEND_USER && broken_link < 2; broken_link++) {
		broken_to = NULL;
		CHECK(aborts(overwrite_while_linked));
		broken_to = elsewhere;
		CHECK(aborts(overwrite_while_linked));
	}
	CHECK(aborts(expire_in_another_loop));
	CHECK(aborts(expire_without_a_state));
}

static void stop_it(int signal)
{
	(void)signal;
	twheel_loop_stop(loop);
}

/* Wherever the signal arrives, also just before the loop waits. */
TEST(a_signal_handler_stops_the_run)
{
	struct sigaction action = { .sa_handler = stop_it };
	struct itimerval soon = { };
	int i;

	new_loop();
	CHECK(!twheel_start(loop, &timer, 10 * SEC));
	/* Without the device, the loop reads the clock just before it waits. */
	on_clock = backend == TWHEEL_BACKEND_USER ? stop_it : NULL;
	CHECK(!on_clock || !twheel_loop_run(loop));
	on_clock = NULL;
	CHECK(!sigaction(SIGALRM, &action, NULL));
	for (i = 0; i < 100; i++) {
		soon.it_value.tv_usec = 1 + i % 50;
		CHECK(!setitimer(ITIMER_REAL, &soon, NULL));
		CHECK(!twheel_loop_run(loop));
	}
	CHECK(!called);
}

