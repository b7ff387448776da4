// SPDX-License-Identifier: MIT
/*
 * The driver in user space: its unchanged source, on threads, with sanitizers
 *
 * An act has its own wheels, waiters for them, and rounds in which other threads add,
 * modify and cancel; see ledger.h. Three more threads send signals, open and close files,
 * and write garbage into a ring.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "twheel_file.h"
#include "clock.h"
#include "kernel.h"
#include "options.h"
#include "tap.h"
#include "workers.h"

#define ROUNDS		25
/* Threads that neither wait nor add. */
#define NR_OTHERS	5
/* Room for three levels of 65,536 buckets. */
#define USER_BYTES	(8UL << 20)
/* One for each wheel, one that opens and closes, and one whose ring has garbage. */
#define NR_USERS	(NR_WHEELS + 2)

static uint64_t seconds = 10, seed = 1, patience = 10;

static struct mem_cgroup memcg;
static struct mm_struct mm = { .memcg = &memcg };
static u64 rounds;
/* Their accounts, which remain when all wheels have been closed. */
static struct twheel_user *users[NR_USERS];

static struct thread {
	pthread_t thread;
	struct task_struct task;
	bool done;
} waiters[NR_ROLES], adders[MAX_ADDERS], others[NR_OTHERS];

static pthread_barrier_t round_begins, round_ends;
static bool act_ends;
/* Only due timers wake waiters. */
static bool calm;

/* Sanitizers stop at the first error. */
const char *__tsan_default_options(void);
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__tsan_default_options(void)
{
	return "halt_on_error=1:handle_abort=1:second_deadlock_stack=1";
}

const char *__asan_default_options(void)
{
	return "handle_abort=1";
}

const char *__ubsan_default_options(void)
{
	return "print_stacktrace=1";
}

/*
 * Threads.
 */

static void *run_waiter(void *data)
{
	struct thread *self = data;
	const struct role *role = &roles[self - waiters];

	current = &self->task;
	role->wait(role->wheel);
	WRITE_ONCE(self->done, true);
	return NULL;
}

static void *run_adder(void *data)
{
	struct thread *self = data;

	current = &self->task;
	for (;;) {
		pthread_barrier_wait(&round_begins);
		if (READ_ONCE(act_ends))
			return NULL;
		add_for_a_round(self - adders);
		pthread_barrier_wait(&round_ends);
	}
}

/*
 * Sends signals, half of them fatal, and sets the wall clocks, but never in a way that would
 * hide a lost wake-up.
 */
static void disturb(void)
{
	u32 n = any_below(NR_ROLES + nr_adders);

	if (!READ_ONCE(calm)) {
		task_signal(n < NR_ROLES ? &waiters[n].task : &adders[n - NR_ROLES].task,
			    any_below(2));
		wall_clock_set(any_below(CLOCK_SET_MAX));
		happens(CLOCK_SET);
	}
	usleep(any_below(2000));
}

/* Polls, and leaves the events that it moves to the rings to others, which the poll has to wake. */
static void poll_only(void)
{
	u32 nr = FIRST_RING + any_below(NR_WHEELS - FIRST_RING);

	if (!READ_ONCE(calm))
		sys_poll(wheels[nr].filp, false);
	usleep(any_below(300));
}

/* Pause at times: a thread that only writes would slow down all others. */
static void vandalise(void)
{
	vandal_write();
	if (one_in(4))
		usleep(any_below(300));
}

/* The steps that the other threads repeat, one each. */
static void (*const steps[NR_OTHERS])(void) = {
	disturb, poll_only, open_and_close, vandalise, vandal_use,
};

static void *run_other(void *data)
{
	struct thread *self = data;

	current = &self->task;
	while (!READ_ONCE(leaving))
		steps[self - others]();
	return NULL;
}

static void launch(struct thread *thread, void *(*run)(void *))
{
	task_init(&thread->task, &mm, chance_next(&current->chance));
	thread->done = false;
	if (pthread_create(&thread->thread, NULL, run, thread))
		err(1, "cannot start a thread");
}

/*
 * An act.
 */

static void open_wheel(u32 nr)
{
	static const u64 ticks[] = { 1000, 7001, 50000, 333000, 1000000, 2000000 };
	static const u32 sizes[] = { 2, 3, 10, 64, 256, 1000, 65536 };
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME,
					    CLOCK_TAI };
	clockid_t clock = clocks[any_below(ARRAY_SIZE(clocks))];
	bool wall = clock == CLOCK_REALTIME || clock == CLOCK_TAI;
	struct wheel *wheel = &wheels[nr];

	*wheel = (struct wheel) {
		.setup = {
			.tick_ns = ticks[any_below(ARRAY_SIZE(ticks))],
			/* The largest may leave no memory for a ring, or for all levels. */
			.wheel_size = sizes[any_below(ARRAY_SIZE(sizes) -
						      (wall || nr >= FIRST_RING))],
			.max_timers = any_below(4) ? 0 : 1 + any_below(300),
			.clock_id = clock,
		},
		.slow_clock = CLOCK_MONOTONIC,
		.fast_clock = wall ? CLOCK_AHEAD : CLOCK_BOOTTIME,
	};
	pthread_mutex_init(&wheel->taking, NULL);
	wheel->limited = wheel->setup.max_timers || wheel->setup.wheel_size > 1000;
	if (sys_open(nr, &wheel->filp))
		broken("a wheel cannot be opened");
}

static void start_all(void)
{
	unsigned int i;

	WRITE_ONCE(leaving, false);
	WRITE_ONCE(act_ends, false);
	for (i = 0; i < NR_WHEELS; i++)
		open_wheel(i);
	vandal_open();
	for (i = 0; i < NR_ROLES; i++)
		wheels[roles[i].wheel].awake++;
	for (i = 0; i < NR_ROLES; i++)
		launch(&waiters[i], run_waiter);
	for (i = 0; i < nr_adders; i++)
		launch(&adders[i], run_adder);
	for (i = 0; i < NR_OTHERS; i++)
		launch(&others[i], run_other);
}

static bool play_round(void)
{
	bool ended;

	/* A thread that hangs in a call never comes back. */
	alarm(patience + 60);
	ledger_begin_round();
	WRITE_ONCE(calm, false);
	pthread_barrier_wait(&round_begins);
	if (one_in(4))
		clock_suspend(any_below(SEC / 500));
	pthread_barrier_wait(&round_ends);
	WRITE_ONCE(calm, true);
	ended = ledger_end_round(patience);
	rounds++;
	return ended;
}

static void stop_all(void)
{
	unsigned int i;

	WRITE_ONCE(leaving, true);
	WRITE_ONCE(act_ends, true);
	pthread_barrier_wait(&round_begins);
	for (i = 0; i < NR_ROLES; i++) {
		while (!READ_ONCE(waiters[i].done)) {
			task_signal(&waiters[i].task, false);
			usleep(100);
		}
		pthread_join(waiters[i].thread, NULL);
	}
	for (i = 0; i < nr_adders; i++)
		pthread_join(adders[i].thread, NULL);
	for (i = 0; i < NR_OTHERS; i++)
		pthread_join(others[i].thread, NULL);
	vandal_close();
	for (i = 0; i < NR_WHEELS; i++)
		sys_close(wheels[i].filp);
}

static void check_leftovers(void)
{
	u32 uid;

	for (uid = 0; uid < NR_USERS; uid++) {
		if (atomic_long_read(&users[uid]->bytes))
			wrong(LEFTOVERS, "user %u is charged for %ld bytes", uid,
			      atomic_long_read(&users[uid]->bytes));
	}
	if (memcg.references)
		wrong(LEFTOVERS, "%ld references to the cgroup", memcg.references);
	if (clock_timers())
		wrong(LEFTOVERS, "%u hrtimers are queued", clock_timers());
}

/* Returns false if the waiters do not come back. */
static bool play_act(u64 end)
{
	unsigned int i;

	start_all();
	for (i = 0; i < ROUNDS && clock_now(CLOCK_MONOTONIC) < end; i++) {
		if (!play_round())
			return false;
	}
	stop_all();
	check_leftovers();
	return true;
}

/*
 * The verdict.
 */

static unsigned int never_happened(void)
{
	unsigned int i, missing = 0;

	for (i = 0; i < NR_EVENTS; i++) {
		tap_note("%s: %llu", event_name[i], READ_ONCE(happened[i]));
		missing += !READ_ONCE(happened[i]);
	}
	return missing;
}

/* Return the exit status. */
static int verdicts(void)
{
	tap_note("%llu rounds, seed %llu", rounds, (unsigned long long)seed);
	tap_result(!faults_tell(LEDGER), "every timer is read once or cancelled once");
	tap_result(!faults_tell(WAKING), "nobody sleeps while something is due");
	tap_result(!faults_tell(ANSWERS), "calls say what they did, and events are never early");
	tap_result(!faults_tell(LEFTOVERS), "what is closed leaves nothing behind");
	tap_result(!never_happened(), "all that may happen happened");
	return tap_done();
}

static void parse_arguments(int argc, char **argv)
{
	const struct program_option known[] = {
		{ "seconds", "N", "how long (default: 10)", .number = &seconds, .max = 1000000 },
		{ "seed", "N", "seed of the calls; the order of threads still varies (default: 1)",
		  .number = &seed, .max = UINT64_MAX },
		{ "threads", "N", "threads that add, modify and cancel, up to 16 (default: 3)",
		  .number = &nr_adders, .min = 1, .max = MAX_ADDERS },
		{ "patience", "N", "seconds that waiters may sleep over a due timer (default: 10)",
		  .number = &patience, .max = 1000 },
		{ }
	};

	words_or_exit(argc, argv, &(const struct command_line) {
		"Usage: driver-SANITIZER [OPTIONS]\n"
		"Runs the driver in user space, on threads; prints TAP.\n",
		.options = known,
	});
}

int main(int argc, char **argv)
{
	static struct task_struct task;
	bool ended = true;
	u32 uid;
	u64 end;

	parse_arguments(argc, argv);
	puts("TAP version 13");
	task_init(&task, &mm, seed);
	current = &task;
	pthread_barrier_init(&round_begins, NULL, nr_adders + 1);
	pthread_barrier_init(&round_ends, NULL, nr_adders + 1);
	*parameter_max_user_bytes = USER_BYTES;
	if (module_load())
		broken("the module cannot be loaded");
	for (uid = 0; uid < NR_USERS; uid++)
		users[uid] = twheel_user_get((kuid_t) { uid });
	clock_start(&mm);
	play_cases();
	fail_each_step();

	end = clock_now(CLOCK_MONOTONIC) + seconds * SEC;
	while (ended && clock_now(CLOCK_MONOTONIC) < end)
		ended = play_act(end);
	/* They sleep, and no thread can wake them. */
	if (!ended)
		_exit(verdicts());
	for (uid = 0; uid < NR_USERS; uid++)
		twheel_user_put(users[uid]);
	module_unload();
	return verdicts();
}
