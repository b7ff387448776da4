// SPDX-License-Identifier: MIT
/*
 * Random operations on a loop, compared with a simple model
 *
 * Without the kernel the test sets the library's time, and years pass at once.
 */
#include "library.h"

#define TIMERS		300
#define ROUNDS		3000

/* The model of a timer: it is running, and is due at @deadline. */
struct account {
	struct twheel_handle *handle;
	bool running;
	uint64_t deadline;
	uint64_t interval;
};

static struct account accounts[TIMERS];
static struct chance chance;
static uint64_t tick_ns;
static const char *wrong;
static unsigned int nr_called;

static void complain(const char *what)
{
	if (!wrong)
		wrong = what;
}

static uint64_t some_delay(void)
{
	if (backend == TWHEEL_BACKEND_DEVICE)
		return chance_below(&chance, 20 * MSEC);
	return chance_below(&chance, 1ULL << chance_below(&chance, 50));
}

static void note_expiry(struct twheel_loop *loop, struct twheel_handle *handle);

static void renew(struct account *account)
{
	if (account->handle)
		memset(account->handle, 0xff, sizeof(*account->handle));
	free(account->handle);
	account->handle = malloc(sizeof(*account->handle));
	twheel_handle_init(account->handle, note_expiry, account);
}

static void account_start(struct twheel_loop *loop, struct account *account)
{
	uint64_t now = twheel_loop_now(loop);
	uint64_t delay = some_delay();
	bool repeat = chance_hit(&chance, 20);
	int ret;

	account->interval = repeat ? 1 + some_delay() : 0;
	if (repeat)
		ret = twheel_repeat(loop, account->handle, delay, account->interval);
	else if (chance_hit(&chance, 50))
		ret = twheel_start(loop, account->handle, delay);
	else
		ret = twheel_start_at(loop, account->handle, now + delay);
	if (ret)
		complain("a start failed");
	account->running = true;
	account->deadline = now + delay;
}

static void account_stop(struct account *account)
{
	if (twheel_stop(account->handle) != account->running)
		complain("a stop was mistaken about who runs");
	account->running = false;
}

static void account_again(struct twheel_loop *loop, struct account *account)
{
	uint64_t delay = some_delay();

	if (!account->handle->loop)
		return;
	if (twheel_again(account->handle, delay))
		complain("again failed");
	if (!account->running)
		account->interval = 0;
	account->running = true;
	account->deadline = twheel_loop_now(loop) + delay;
}

static void do_something(struct twheel_loop *loop)
{
	struct account *account = &accounts[chance_below(&chance, TIMERS)];
	int64_t remaining;

	switch (chance_below(&chance, 6)) {
	case 0:
	case 1:
		if (!account->running)
			account_start(loop, account);
		break;
	case 2:
		account_stop(account);
		break;
	case 3:
		account_again(loop, account);
		break;
	case 4:
		account_stop(account);
		renew(account);
		break;
	default:
		remaining = twheel_remaining(account->handle);
		if (account->running ? remaining < 0 : remaining >= 0)
			complain("remaining was mistaken about who runs");
		if (remaining > 0 &&
		    twheel_loop_now(loop) + remaining != account->deadline)
			complain("another deadline");
	}
}

static void note_expiry(struct twheel_loop *loop, struct twheel_handle *handle)
{
	struct account *account = handle->data;
	uint64_t now = twheel_loop_now(loop);

	nr_called++;
	if (!account->running || account->handle != handle)
		complain("a callback of a timer that does not run");
	if (now < account->deadline)
		complain("a callback that came early");
	if (account->interval) {
		uint64_t periods = (now - account->deadline) / account->interval + 1;

		if (handle->count != (periods > UINT32_MAX ? UINT32_MAX : periods))
			complain("another number of periods");
		account->deadline += periods * account->interval;
	} else {
		account->running = false;
	}
	if (chance_hit(&chance, 30))
		do_something(loop);
	if (chance_hit(&chance, 10)) {
		account_stop(account);
		renew(account);
	}
}

/* All timers that were due when the dispatch began have been called back. */
static void check_late(uint64_t began)
{
	unsigned int i;

	for (i = 0; i < TIMERS; i++) {
		uint64_t due = (accounts[i].deadline + tick_ns - 1) / tick_ns * tick_ns;

		if (accounts[i].running && due < began)
			complain("a callback that did not come");
	}
}

static void round_trip(struct twheel_loop *loop)
{
	bool flush = chance_hit(&chance, 50);
	uint64_t began;
	unsigned int n;

	for (n = chance_below(&chance, 20); n; n--)
		do_something(loop);
	if (chance_hit(&chance, 50))
		twheel_loop_timeout(loop);
	else if (twheel_loop_flush(loop))
		complain("a flush failed");
	if (backend == TWHEEL_BACKEND_USER)
		mocked_ns += some_delay();
	else if (chance_hit(&chance, 20))
		sleep_for(chance_below(&chance, 3 * MSEC));
	for (n = chance_below(&chance, 3); n; n--)
		do_something(loop);
	if (chance_hit(&chance, 30))
		return;
	if (flush && twheel_loop_flush(loop))
		complain("a flush failed");
	twheel_now(CLOCK_MONOTONIC, &began);
	if (twheel_loop_dispatch(loop) < 0)
		complain("a dispatch failed");
	if (flush)
		check_late(began);
}

static void check_against_account(uint32_t size, uint64_t tick)
{
	unsigned int i;

	tick_ns = tick;
	wrong = NULL;
	nr_called = 0;
	mocked_ns = backend == TWHEEL_BACKEND_USER ? HOUR : 0;
	new_loop_of((struct twheel_loop_config) { .wheel_size = size, .tick_ns = tick });
	/* All calls of a turn see one time. */
	twheel_loop_timeout(loop);
	chance_init(&chance, seed, size);
	for (i = 0; i < TIMERS; i++) {
		accounts[i] = (struct account) { };
		renew(&accounts[i]);
	}
	for (i = 0; i < ROUNDS && !wrong; i++)
		round_trip(loop);
	free_loop();
	for (i = 0; i < TIMERS; i++)
		free(accounts[i].handle);
	if (wrong)
		tap_note("%s, in round %u with seed %llu", wrong, i, (unsigned long long)seed);
	CHECK(!wrong);
	CHECK(nr_called > ROUNDS);
}

TEST(random_operations_on_a_usual_wheel)
{
	check_against_account(256, MSEC);
}

TEST(random_operations_on_a_small_wheel)
{
	check_against_account(3, 10 * USEC);
}

TEST(random_operations_on_a_large_wheel)
{
	check_against_account(10000, 7 * USEC);
}
