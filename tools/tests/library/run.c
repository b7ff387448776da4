// SPDX-License-Identifier: MIT
/*
 * Loops that end, and that check themselves
 */
#include <pthread.h>
#include <sys/time.h>

#include "library.h"

/* ---- Running and counting ---------------------------------------------------------- */

TEST(counting_does_not_look_at_each_timer)
{
	uint64_t began = now_on(CLOCK_PROCESS_CPUTIME_ID);

	for (int i = 0; i < NR_TIMERS; i++) {
		CHECK(!twheel_start(loop, &timers[i], HOUR));
		CHECK(twheel_loop_count(loop) == i + 1);
	}
	CHECK(now_on(CLOCK_PROCESS_CPUTIME_ID) < began + SEC / 10);
}

/* An expired timer cannot be cancelled; with it, the event that wakes the loop is found. */
DEVICE_TEST(the_count_is_exact_after_a_full_batch_of_stops)
{
	enum { BATCH = 512 };
	int i;

	for (i = 0; i < BATCH; i++)
		CHECK(!twheel_start_at(loop, &timers[i], i ? TWHEEL_TIME_MAX_NS : 1));
	CHECK(!twheel_loop_flush(loop));
	CHECK(!twheel_start(loop, &timer, HOUR) && becomes_readable());
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
}

/* Whatever ends its waits before that. */
TEST(a_run_ends_with_the_last_timer)
{
	const struct itimerval often = { { .tv_usec = 10000 }, { .tv_usec = 10000 } };
	struct sigaction action = { .sa_handler = ignore_it };
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

static void run_inside(struct twheel_loop *loop, struct twheel_handle *timer)
{
	CHECK(twheel_loop_count(loop) && !twheel_loop_run(loop));
	CHECK(!twheel_again(&timers[1], 10 * MSEC));
	timer->callback = count_call;
}

TEST(a_stop_ends_the_innermost_run)
{
	timer.callback = run_inside;
	timers[0].callback = stop_the_third_time;
	CHECK(!twheel_start(loop, &timer, 0) && !twheel_repeat(loop, &timers[0], MSEC, MSEC));
	CHECK(!twheel_unref(&timers[0]) && !twheel_start(loop, &timers[1], HOUR));
	CHECK(!twheel_loop_run(loop) && called > 3 && !twheel_is_running(&timers[1]));
	CHECK(timer.callback == count_call && twheel_is_running(&timers[0]));
	/* A stop before the run ends it at once. */
	CHECK(!twheel_start(loop, &timer, HOUR) && !twheel_loop_stop(loop));
	CHECK(!twheel_loop_run(loop));
}

TEST(timers_that_do_not_count_end_the_run)
{
	int beats = 0;

	timer.data = &beats;
	CHECK(!twheel_unref(&timer) && !twheel_unref(&timer));
	CHECK(!twheel_repeat(loop, &timer, MSEC, MSEC));
	/* One that expires does not end the run before others. */
	CHECK(!twheel_start(loop, &timers[1], 2 * MSEC) && !twheel_unref(&timers[1]));
	CHECK(!twheel_start(loop, &timers[0], 10 * MSEC) && twheel_loop_count(loop) == 1);
	CHECK(!twheel_loop_run(loop));
	CHECK(called == 2 && beats >= 1);
	CHECK(twheel_loop_count(loop) == 0 && twheel_is_running(&timer));
	CHECK(!twheel_ref(&timer) && !twheel_ref(&timer) && twheel_loop_count(loop) == 1);
	CHECK(!twheel_unref(&timer) && twheel_loop_count(loop) == 0);
	CHECK(twheel_stop(&timer) == 1 && twheel_loop_count(loop) == 0);
	/* It stays as it is in another start. */
	CHECK(!twheel_start(loop, &timer, HOUR) && twheel_loop_count(loop) == 0);
	CHECK(!twheel_again(&timer, 2 * HOUR) && !twheel_again(&timer, SEC));
	CHECK(!twheel_loop_flush(loop) && twheel_loop_count(loop) == 0);
	CHECK(!twheel_start(loop, &timers[0], 10 * MSEC) && twheel_loop_count(loop) == 1);
	CHECK(twheel_stop(&timer) == 1 && twheel_loop_count(loop) == 1);
}

/* From 1970 to today, as when a machine without a clock of its own gets the time. */
USER_TEST(the_count_of_periods_has_64_bits)
{
	const uint64_t today = 1795000000 * SEC;

	mocked_ns = 100 * SEC;
	new_loop_of((struct twheel_loop_config) { .clock = TWHEEL_CLOCK_REALTIME });
	CHECK(!twheel_repeat(loop, &timer, 10 * MSEC, 10 * MSEC) && !twheel_loop_flush(loop));
	mocked_ns = today;
	CHECK(twheel_loop_dispatch(loop) == 1);
	CHECK(timer.count == (today - 100 * SEC) / (10 * MSEC));
}

/* ---- Walking ----------------------------------------------------------------------- */

enum { WALKED = 3000 };

static struct twheel_handle *on_heap[WALKED];
static int visits[WALKED];

static void note_visit(struct twheel_loop *loop, struct twheel_handle *handle)
{
	visits[(intptr_t)handle->data]++;
}

static void stop_at(int i)
{
	if (on_heap[i] && twheel_stop(on_heap[i]) >= 0)
		free(on_heap[i]);
	on_heap[i] = NULL;
}

/* Stop and free it and others, visited or not, start some, and fail to go on with the loop. */
static void visit_and_change(struct twheel_loop *loop, struct twheel_handle *handle)
{
	int i = (intptr_t)handle->data;

	CHECK(handle == on_heap[i] && twheel_is_running(handle));
	note_visit(loop, handle);
	if (i % 7 == 0)
		CHECK(!twheel_start(loop, handle, i * MSEC) && !twheel_again(handle, i / 2));
	if (i % 5 == 0)
		stop_at(i);
	if (i % 3 == 0) {
		stop_at((i + 1) % WALKED);
		stop_at((i + WALKED - 100) % WALKED);
	}
	CHECK_FAILS(twheel_loop_flush(loop), EBUSY);
	CHECK_FAILS(twheel_loop_dispatch(loop), EBUSY);
	CHECK_FAILS(twheel_loop_walk(loop, note_visit), EBUSY);
}

/* Pending at all distances, expired, not flushed, and in the middle of a dispatch. */
static void start_for_walk(void)
{
	int i;

	for (i = 0; i < WALKED; i++) {
		on_heap[i] = malloc(sizeof(*on_heap[i]));
		twheel_handle_init(on_heap[i], note_visit, (void *)(intptr_t)i);
		visits[i] = 0;
		CHECK(!twheel_start(loop, on_heap[i], i % 11 > 1 ? HOUR + i % 1000 * SEC :
				    i % 11 ? 0 : TWHEEL_TIME_MAX_NS));
		if (i == WALKED - 200)
			CHECK(!twheel_loop_flush(loop));
	}
	/* The device moves some to the ring. */
	sleep_for(2 * MSEC);
	if (backend == TWHEEL_BACKEND_DEVICE)
		CHECK(becomes_readable());
}

TEST(a_walk_visits_each_running_timer_once)
{
	int i, left = 0;

	CHECK_FAILS(twheel_loop_walk(loop, NULL), EINVAL);
	CHECK(!twheel_loop_walk(loop, note_visit));
	start_for_walk();
	CHECK(!twheel_loop_walk(loop, note_visit));
	for (i = 0; i < WALKED; i++)
		CHECK(visits[i] == 1 && twheel_is_running(on_heap[i]));
	CHECK(!twheel_loop_walk(loop, visit_and_change));
	for (i = 0; i < WALKED; i++) {
		CHECK(on_heap[i] ? visits[i] == 2 : visits[i] <= 2);
		left += !!on_heap[i];
	}
	CHECK(left && twheel_loop_count(loop) == left);
	/* The rest goes on. */
	CHECK(twheel_loop_dispatch(loop) > 0);
	for (i = 0; i < WALKED; i++)
		stop_at(i);
	CHECK(!twheel_loop_count(loop) && !twheel_loop_walk(loop, visit_and_change));
}

static void walk_inside(struct twheel_loop *loop, struct twheel_handle *handle)
{
	messages += !twheel_loop_walk(loop, note_visit);
}

TEST(a_callback_may_walk)
{
	int i;

	start_for_walk();
	for (i = 0; i < 10; i++) {
		on_heap[i]->callback = walk_inside;
		CHECK(!twheel_start_at(loop, on_heap[i], 1));
		visits[i] = 0;
	}
	CHECK(!twheel_loop_flush(loop) && becomes_readable());
	CHECK(twheel_loop_dispatch(loop) >= 10 && messages == 10);
	/* Each was visited while it waited for its callback. */
	for (i = 0; i < 10; i++)
		CHECK(visits[i] == i);
	for (i = 0; i < WALKED; i++)
		stop_at(i);
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

static void *elsewhere[2] = { elsewhere, elsewhere };

/* Damage to a timer between others, which is then stopped, or expires. */
static const struct damage {
	enum { CHANGED, ZEROED, OVERWRITTEN, INITIALISED, RESTARTED } way;
	void *memory, *value;
	bool stops;
} damages[] = {
	{ CHANGED, &timers[2].callback, NULL, true },
	{ CHANGED, &timers[2].callback, NULL, false },
	{ CHANGED, &timers[2].loop, NULL, false },
	{ CHANGED, &timers[2].state, NULL, false },
	{ CHANGED, &timers[2].link[0], NULL, true },
	{ CHANGED, &timers[2].link[0], elsewhere, true },
	{ CHANGED, &timers[2].link[1], NULL, true },
	{ CHANGED, &timers[2].link[1], elsewhere, true },
	{ .way = ZEROED },
	{ .way = OVERWRITTEN },
	{ .way = INITIALISED },
	{ .way = RESTARTED },
	{ CHANGED, elsewhere, elsewhere, false }, /* Changes nothing. */
};

static const struct damage *damage;

static void damage_a_timer(void)
{
	int i;

	for (i = 0; i < 5; i++)
		CHECK(!twheel_start(loop, &timers[i], 5 * MSEC));
	CHECK(!twheel_loop_flush(loop));
	if (damage->way == CHANGED)
		memcpy(damage->memory, &damage->value, sizeof(damage->value));
	else if (damage->way < INITIALISED)
		memset(&timers[2], damage->way == ZEROED ? 0 : 0xff, sizeof(timers[2]));
	else
		twheel_handle_init(&timers[2], count_call, &called);
	if (damage->way == RESTARTED)
		CHECK(!twheel_start(loop, &timers[2], 6 * MSEC));
	if (damage->stops)
		twheel_stop(&timers[2]);
	pass(20 * MSEC);
	twheel_loop_dispatch(loop);
}

TEST(debugging_finds_memory_that_changed)
{
	for (damage = damages; damage < damages + ARRAY_SIZE(damages); damage++)
		CHECK(aborts(damage_a_timer) == (damage->memory != elsewhere));
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
	new_loop_that_asks();
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

TEST(debugging_finds_a_second_thread)
{
	CHECK(aborts(use_in_two_threads));
	if (backend == TWHEEL_BACKEND_USER)
		CHECK(aborts(ask_here_dispatch_there));
	CHECK(!aborts(use_as_it_should_be));
}

static void stop_it(int signal)
{
	twheel_loop_stop(loop);
}

/* Wherever the signal arrives, also just before the loop waits. */
TEST(a_signal_handler_stops_the_run)
{
	struct sigaction action = { .sa_handler = stop_it };
	struct itimerval soon = { };
	int i;

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

static void stop_loop(struct twheel_loop *loop, struct twheel_handle *handle, int error)
{
	CHECK(error == ENOSPC && !twheel_loop_stop(loop));
}

/* It comes between the check for one and the wait: from a callback of the flush. */
TEST(a_stop_during_a_flush_ends_the_run)
{
	new_loop_of((struct twheel_loop_config) { .max_timers = 1, .unarmed = stop_loop });
	CHECK(!twheel_start(loop, &timers[0], SEC) && !twheel_start(loop, &timers[1], SEC));
	CHECK(!twheel_loop_run(loop) && !called);
}
