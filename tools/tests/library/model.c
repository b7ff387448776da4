// SPDX-License-Identifier: MIT
/*
 * Random operations on a loop, compared with a simple model
 *
 * Without the kernel, most tests set the library's time, and years pass at once.
 */
#include "library.h"

#define TIMERS		300
#define ROUNDS		300
#define LOOPS		10

/* How the program waits: never, or for the next deadline, the descriptor, or the library. */
enum how { BY_TIMEOUT, BY_DESCRIPTOR, BY_WAIT };

/* A loop and its program; the time is set if it does not wait. */
struct kind {
	struct twheel_loop_config config;
	enum how how;
	bool real_time;
};

/*
 * The model of a timer: it is running, and is due at @deadline. @same is what
 * TWHEEL_SAME_DELAY stands for. If it was put off since the dispatch began, it may come too early
 * in the order. A dispatch does not call what it, or a callback in it, has started.
 */
struct account {
	struct twheel_handle *handle;
	bool running;
	bool put_off;
	unsigned int put_off_in;
	uint64_t deadline;
	uint64_t interval;
	uint64_t same;
	unsigned int started_in;
};

static struct account accounts[TIMERS];
static struct kind kind;
static struct chance chance;
static const char *wrong;
static unsigned int nr_called, nr_running, nr_refused, dispatches, outermost;
static uint64_t last_tick;
static bool asked, ending, is_inside;

static void complain_if(bool bad, const char *what)
{
	if (bad && !wrong)
		wrong = what;
}

static bool is_timed(void)
{
	return kind.how == BY_TIMEOUT;
}

static uint64_t some_delay(void)
{
	if (kind.real_time)
		return chance_below(&chance, 20 * MSEC);
	return chance_below(&chance, 1ULL << chance_below(&chance, 50));
}

static uint64_t tick_of(const struct account *account)
{
	return (account->deadline + kind.config.tick_ns - 1) / kind.config.tick_ns;
}

/* When the next timer has to be called. */
static uint64_t next_due(void)
{
	uint64_t next = UINT64_MAX, due;
	unsigned int i;

	for (i = 0; i < TIMERS; i++) {
		due = tick_of(&accounts[i]) * kind.config.tick_ns;
		if (accounts[i].running && due < next)
			next = due;
	}
	return next;
}

static bool is_full(void)
{
	return kind.config.max_timers && nr_running > kind.config.max_timers;
}

/* At the limit, changes wait for the next flush if there is no callback for that. */
static void check_call(int ret)
{
	complain_if(ret < 0 && !(is_full() && errno == ENOSPC && !kind.config.unarmed),
		    "a flush or a dispatch failed");
}

static void note_expiry(struct twheel_loop *loop, struct twheel_handle *handle);

static void set_running(struct account *account, bool running)
{
	nr_running += running - account->running;
	account->running = running;
}

static void account_stop(struct account *account)
{
	complain_if(twheel_stop(account->handle) != account->running,
		    "a stop was mistaken about what runs");
	set_running(account, false);
}

/* The memory of the last handle is not used any more. */
static void account_renew(struct account *account)
{
	account_stop(account);
	if (account->handle)
		memset(account->handle, 0xff, sizeof(*account->handle));
	free(account->handle);
	account->handle = malloc(sizeof(*account->handle));
	twheel_handle_init(account->handle, note_expiry, account);
	account->same = TWHEEL_SAME_DELAY;
}

/* A start is @delay after a time from @before to now: some programs' turns have no time. */
static void note_start(struct account *account, int ret, uint64_t before, uint64_t delay)
{
	uint64_t deadline = account->handle->deadline;

	complain_if(ret, "a start failed");
	complain_if(deadline < before + delay || deadline > twheel_loop_now(loop) + delay,
		    "a start with another deadline");
	account->put_off = account->running;
	account->put_off_in = dispatches;
	if (!account->running)
		account->started_in = dispatches;
	set_running(account, true);
	account->deadline = deadline;
}

static void account_start(struct account *account)
{
	uint64_t now = twheel_loop_now(loop), delay = some_delay();
	unsigned int percent = chance_below(&chance, 100);
	int ret;

	account->interval = 0;
	if (percent < 20) {
		account->interval = 1 + some_delay();
		account->same = account->interval;
		ret = twheel_repeat(loop, account->handle, delay, account->interval);
	} else if (percent < 60) {
		account->same = delay;
		ret = twheel_start(loop, account->handle, delay);
	} else {
		account->same = TWHEEL_SAME_DELAY;
		ret = twheel_start_at(loop, account->handle, now + delay);
	}
	note_start(account, ret, now, delay);
}

static void account_again(struct account *account)
{
	bool is_same = chance_hit(&chance, 30);
	uint64_t delay = is_same ? account->same : some_delay();
	uint64_t now = twheel_loop_now(loop);
	int ret = twheel_again(account->handle, is_same ? TWHEEL_SAME_DELAY : delay);

	if (!account->handle->loop || delay == TWHEEL_SAME_DELAY) {
		complain_if(!fails(ret, EINVAL), "again without a start");
		return;
	}
	if (!account->running)
		account->interval = 0;
	note_start(account, ret, now, delay);
}

static void account_set_interval(struct account *account)
{
	uint64_t interval = chance_hit(&chance, 30) ? 0 : 1 + some_delay();
	int ret = twheel_set_interval(account->handle, interval);

	complain_if(account->running ? ret : !fails(ret, ENOENT), "a period that was not set");
	if (!account->running)
		return;
	account->interval = interval;
	if (interval)
		account->same = interval;
}

static void check_account(struct account *account)
{
	int64_t now = twheel_loop_now(loop), deadline = account->deadline;
	int64_t remaining = twheel_remaining(account->handle);

	complain_if(twheel_loop_count(loop) != nr_running, "another count");
	complain_if(twheel_is_running(account->handle) != account->running,
		    "is_running was mistaken");
	if (!account->running)
		complain_if(!fails(remaining, ENOENT), "remaining of what does not run");
	else
		complain_if(remaining < 0 || (remaining && now + remaining > deadline) ||
			    (int64_t)twheel_loop_now(loop) + remaining < deadline,
			    "remaining until another deadline");
}

static void do_something(void)
{
	static void (*const actions[])(struct account *) = {
		account_start, account_start, account_stop, account_again, account_renew,
		account_set_interval, check_account,
	};
	struct account *account = &accounts[chance_below(&chance, TIMERS)];

	actions[chance_below(&chance, ARRAY_SIZE(actions))](account);
	check_account(account);
}

static void do_some(unsigned int limit)
{
	unsigned int n;

	for (n = chance_below(&chance, limit); n; n--)
		do_something();
}

/* Dispatch; or wait, which ends with a callback or after its time. */
static void dispatch(void)
{
	uint64_t began = now_ns(), timeout = chance_below(&chance, 2) * MSEC;
	int ret;

	dispatches++;
	if (!is_inside)
		outermost = dispatches;
	last_tick = 0;
	if (kind.how != BY_WAIT) {
		check_call(twheel_loop_dispatch(loop));
		return;
	}
	ret = twheel_loop_wait(loop, timeout);
	check_call(ret);
	complain_if(!ret && now_ns() < began + timeout, "a short wait");
}

static void note_expiry(struct twheel_loop *loop, struct twheel_handle *handle)
{
	struct account *account = handle->data;
	uint64_t now = twheel_loop_now(loop), periods;

	nr_called++;
	complain_if(!account->running || account->handle != handle,
		    "a callback of a timer that does not run");
	complain_if(now < account->deadline, "a callback that came early");
	complain_if(account->started_in == dispatches, "a callback in the dispatch of its start");
	/* Deadlines that have passed when the backend gets them have one tick. */
	if (backend == TWHEEL_BACKEND_USER && !kind.config.max_timers &&
	    !(account->put_off && account->put_off_in >= outermost)) {
		complain_if(tick_of(account) < last_tick, "callbacks in another order");
		last_tick = tick_of(account);
	}
	if (account->interval) {
		periods = (now - account->deadline) / account->interval + 1;
		complain_if(handle->count != periods, "another number of periods");
		account->deadline += periods * account->interval;
		account->put_off = false;
	} else {
		set_running(account, false);
	}
	check_account(account);
	if (ending)
		return;
	if (chance_hit(&chance, 30))
		do_something();
	if (chance_hit(&chance, 10))
		account_renew(account);
	/* Only then, the rest of the outer dispatch has the same time. */
	if (is_timed() && !kind.config.max_timers && chance_hit(&chance, 3)) {
		bool was_inside = is_inside;

		is_inside = true;
		dispatch();
		is_inside = was_inside;
	}
}

/* A timer may be started again, or make room for another. */
static void note_refusal(struct twheel_loop *loop, struct twheel_handle *handle, int error)
{
	struct account *account = handle->data;

	complain_if(error != ENOSPC || !account->running || !is_full(), "a refusal");
	set_running(account, false);
	nr_refused++;
	check_account(account);
	if (chance_hit(&chance, 10))
		do_something();
}

/* After a flush, a turn has a time of its own; but the descriptor does not show when it begins. */
static void check_turn(void)
{
	uint64_t now = twheel_loop_now(loop);

	complain_if(mocked_ns && now != mocked_ns, "a turn with an old time");
	now = now_ns();
	complain_if(asked && twheel_loop_now(loop) < now, "a time that was kept");
}

static void flush(void)
{
	unsigned int i, armed = 0;

	nr_refused = 0;
	check_call(twheel_loop_flush(loop));
	check_turn();
	if (!kind.config.unarmed)
		return;
	/* Those that a refusal started wait. */
	for (i = 0; i < TIMERS; i++)
		armed += accounts[i].running && accounts[i].deadline > twheel_loop_now(loop) &&
			 !accounts[i].put_off;
	complain_if(armed > kind.config.max_timers + nr_refused, "more timers than the limit");
}

/* The timeout ends before the next timer is late; on a clock that can be set, in a second. */
static void ask(void)
{
	uint64_t due = next_due(), now = mocked_ns;
	int64_t left = twheel_loop_timeout(loop);

	check_turn();
	if (kind.config.max_timers)
		return;
	complain_if(errno, "an error of a timeout");
	if (backend == TWHEEL_BACKEND_DEVICE || !nr_running)
		complain_if(left != -1, "a timeout without need");
	else
		complain_if(left < 0 || (left && now + left > due) ||
			    (kind.config.clock && left > (int64_t)SEC), "a long timeout");
}

static void pass_time(void)
{
	if (kind.real_time) {
		if (chance_hit(&chance, 20))
			sleep_for(chance_below(&chance, 3 * MSEC));
	} else if (kind.config.clock == TWHEEL_CLOCK_REALTIME && chance_hit(&chance, 20)) {
		mocked_ns -= chance_below(&chance, mocked_ns / 2);
	} else {
		mocked_ns += some_delay();
	}
}

/* Timers that were started, with or without a flush, wake the program in time. */
static void check_wakes(void)
{
	uint64_t next = next_due(), began = now_ns();

	if (!nr_running)
		return;
	asked = true;
	complain_if(!becomes_readable(), "nothing woke the program");
	if (began > next)
		next = began;
	complain_if(!is_full() && now_ns() > next + lateness_max, "a late wake-up");
}

/* All timers that were due when the dispatch began have been called back. */
static void round_trip(void)
{
	bool flushed = chance_hit(&chance, 50);
	uint64_t began;
	bool full;

	do_some(20);
	if (is_timed() && chance_hit(&chance, 50))
		ask();
	else if (kind.how == BY_TIMEOUT || chance_hit(&chance, 50))
		flush();
	pass_time();
	do_some(3);
	if (chance_hit(&chance, 30))
		return;
	if (flushed)
		flush();
	if (kind.how == BY_DESCRIPTOR)
		check_wakes();
	began = twheel_loop_now(loop);
	full = is_full();
	dispatch();
	if (!flushed || full)
		return;
	/* The kernel's hrtimer may fire a moment later. */
	if (backend == TWHEEL_BACKEND_DEVICE && next_due() < began && becomes_readable())
		dispatch();
	complain_if(next_due() < began, "a callback that did not come");
}

/* All that runs expires, also what waited at a limit. */
static void finish(void)
{
	unsigned int i, turns = 100;

	for (i = 0; i < TIMERS; i++)
		if (accounts[i].running && accounts[i].interval)
			account_stop(&accounts[i]);
	ending = true;
	while (nr_running && --turns) {
		if (kind.how == BY_DESCRIPTOR)
			check_wakes();
		else if (kind.real_time)
			sleep_for(20 * MSEC);
		else
			mocked_ns += 30 * DAY;
		dispatch();
		if (kind.how == BY_TIMEOUT)
			flush();
	}
	complain_if(nr_running || twheel_loop_count(loop), "timers that were lost");
	if (kind.how == BY_DESCRIPTOR)
		complain_if(is_readable(), "a spurious wake-up");
	else if (is_timed())
		ask();
}

static void run_loop(unsigned int stream)
{
	int fd = next_descriptor();
	unsigned int i;

	/* All calls of a turn see one time. */
	if (is_timed())
		kind.config.flags = TWHEEL_LOOP_TIMEOUT;
	new_loop_of(kind.config);
	if (is_timed() && backend == TWHEEL_BACKEND_DEVICE)
		CHECK(twheel_loop_fd(loop) >= 0);
	chance_init(&chance, seed, stream);
	nr_running = 0;
	for (i = 0; i < TIMERS; i++) {
		accounts[i] = (struct account) { };
		account_renew(&accounts[i]);
	}
	asked = false;
	ending = false;
	for (i = 0; i < ROUNDS && !wrong; i++)
		round_trip();
	finish();
	complain_if(backend == TWHEEL_BACKEND_USER && kind.how == BY_TIMEOUT &&
		    next_descriptor() != fd, "a descriptor that nothing needs");
	free_loop();
	if (wrong)
		tap_note("%s, in round %u with seed %llu", wrong, i, (unsigned long long)seed);
	CHECK(!wrong);
	for (i = 0; i < TIMERS; i++)
		free(accounts[i].handle);
}

static void compare(struct kind with)
{
	int i;

	kind = with;
	kind.real_time |= backend == TWHEEL_BACKEND_DEVICE;
	mocked_ns = kind.real_time ? 0 : HOUR;
	for (i = 0; i < LOOPS; i++)
		run_loop(i);
	CHECK(nr_called > LOOPS * ROUNDS / 2);
	nr_called = 0;
}

TEST(random_operations_on_a_usual_wheel)
{
	compare((struct kind) { .config = { .wheel_size = 256, .tick_ns = MSEC } });
}

TEST(random_operations_on_a_small_wheel)
{
	compare((struct kind) { .config = { .wheel_size = 3, .tick_ns = 10 * USEC } });
}

TEST(random_operations_on_a_large_wheel)
{
	compare((struct kind) { .config = { .wheel_size = 10000, .tick_ns = 7 * USEC } });
}

USER_TEST(random_operations_on_a_clock_that_is_set)
{
	const struct twheel_loop_config config = {
		.tick_ns = MSEC,
		.clock = TWHEEL_CLOCK_REALTIME,
	};

	compare((struct kind) { config, BY_TIMEOUT, false });
}

TEST(random_operations_at_a_limit)
{
	struct twheel_loop_config config = { .tick_ns = MSEC, .max_timers = 50 };

	compare((struct kind) { config, BY_TIMEOUT, false });
	config.unarmed = note_refusal;
	compare((struct kind) { config, BY_TIMEOUT, false });
}

TEST(random_operations_and_waits)
{
	compare((struct kind) { { .tick_ns = MSEC }, BY_WAIT, true });
	compare((struct kind) { { .tick_ns = MSEC, .max_timers = 50 }, BY_WAIT, true });
}

TEST(random_operations_and_waits_for_the_descriptor)
{
	compare((struct kind) { { .tick_ns = MSEC }, BY_DESCRIPTOR, true });
	compare((struct kind) { { .tick_ns = MSEC, .max_timers = 50 }, BY_DESCRIPTOR, true });
}
