// SPDX-License-Identifier: MIT
/*
 * The driver in user space: its unchanged source, on threads, with sanitizers
 *
 * An act has its own wheels, waiters for them, and rounds in which other threads add,
 * modify and cancel; see threads.h. Three more threads send signals, poll, and open and close
 * files.
 */
#include <err.h>
#include <stdio.h>
#include <unistd.h>

#include "twheel_file.h"
#include "clock.h"
#include "kernel.h"
#include "options.h"
#include "tap.h"
#include "threads.h"

/* Rounds of an act; and of all acts at most, until all that may happen has happened. */
#define ROUNDS		20
#define MAX_ROUNDS	2000
/* Threads that neither wait nor add. */
#define NR_OTHERS	3
/* Room for three levels of 65,536 buckets. */
#define USER_BYTES	(8UL << 20)
/* One for each wheel, and one that opens and closes. */
#define NR_USERS	(NR_WHEELS + 1)

static uint64_t seconds = 10, seed = 1;

static struct mem_cgroup memcg;
static struct mm_struct mm = { .memcg = &memcg };
static unsigned int rounds;
/* Their accounts, which remain when all wheels have been closed. */
static struct twheel_user *users[NR_USERS];

static struct thread {
	pthread_t thread;
	struct task_struct task;
	void (*run)(u32 nr);
	u32 nr;
	bool done;
} waiters[NR_ROLES], adders[MAX_ADDERS], others[NR_OTHERS];

/* Only due timers wake waiters. */
static bool calm;

/* Sanitizers stop at the first error, and print where a rule was broken. */
const char *__tsan_default_options(void)
{
	return "halt_on_error=1:handle_abort=1:second_deadlock_stack=1";
}

const char *__asan_default_options(void)
{
	return "handle_abort=1";
}

/*
 * Threads.
 */

static void *run_thread(void *data)
{
	struct thread *self = data;

	current = &self->task;
	self->run(self->nr);
	WRITE_ONCE(self->done, true);
	return NULL;
}

static void launch(struct thread *thread, void (*run)(u32 nr), u32 nr)
{
	*thread = (struct thread) { .run = run, .nr = nr };
	task_init(&thread->task, &mm, chance_next(&current->chance));
	if (pthread_create(&thread->thread, NULL, run_thread, thread))
		err(1, "cannot start a thread");
}

static void join_all(struct thread *threads, unsigned int n)
{
	while (n--)
		pthread_join(threads[n].thread, NULL);
}

/*
 * Send signals, half of them fatal, and set the wall clocks, but never in a way that would
 * hide a lost wake-up.
 */
static void disturb(void)
{
	if (!READ_ONCE(calm)) {
		task_signal(&waiters[any_below(NR_ROLES)].task, any_below(2));
		wall_clock_set(any_below(CLOCK_SET_MAX));
	}
	usleep(any_below(2000));
}

/* Poll, and leave the events that it moves to the rings to others, which the poll has to wake. */
static void poll_only(void)
{
	u32 nr = FIRST_RING + any_below(NR_WHEELS - FIRST_RING);

	if (!READ_ONCE(calm))
		sys_poll(wheels[nr].filp, false);
	usleep(any_below(300));
}

static void repeat(u32 nr)
{
	static void (*const steps[NR_OTHERS])(void) = {
		disturb, poll_only, open_and_close,
	};

	while (!READ_ONCE(leaving))
		steps[nr]();
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
		.taking = PTHREAD_MUTEX_INITIALIZER,
	};
	wheel->limited = wheel->setup.max_timers || wheel->setup.wheel_size > 1000;
	if (sys_open(nr, &wheel->filp))
		broken("a wheel cannot be opened");
}

static void start_all(void)
{
	unsigned int i;

	WRITE_ONCE(leaving, false);
	for (i = 0; i < NR_WHEELS; i++)
		open_wheel(i);
	for (i = 0; i < NR_ROLES; i++)
		launch(&waiters[i], roles[i].wait, roles[i].wheel);
	for (i = 0; i < NR_OTHERS; i++)
		launch(&others[i], repeat, i);
}

static bool play_round(void)
{
	unsigned int i;

	/* A thread that hangs in a call never comes back. */
	alarm(60);
	ledger_begin_round();
	WRITE_ONCE(calm, false);
	for (i = 0; i < nr_adders; i++)
		launch(&adders[i], add_for_a_round, i);
	if (one_in(4))
		clock_suspend(any_below(SEC / 500));
	join_all(adders, nr_adders);
	WRITE_ONCE(calm, true);
	rounds++;
	return ledger_end_round();
}

static void stop_all(void)
{
	unsigned int i;

	WRITE_ONCE(leaving, true);
	for (i = 0; i < NR_ROLES; i++) {
		while (!READ_ONCE(waiters[i].done)) {
			task_signal(&waiters[i].task, false);
			usleep(100);
		}
	}
	join_all(waiters, NR_ROLES);
	join_all(others, NR_OTHERS);
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

/* Return false after an error. */
static bool play_act(void)
{
	unsigned int i;

	start_all();
	for (i = 0; i < ROUNDS; i++) {
		if (!play_round())
			return false;
	}
	stop_all();
	check_leftovers();
	return true;
}

static bool all_happened(void)
{
	unsigned int i;

	for (i = 0; i < NR_EVENTS && READ_ONCE(happened[i]); i++)
		;
	return i == NR_EVENTS;
}

/* Return the exit status. */
static int verdicts(void)
{
	static const char *const fault_name[NR_FAULTS] = {
		[LEDGER] = "every timer is read once or cancelled once",
		[WAKING] = "no waiter sleeps while something is due",
		[ANSWERS] = "calls return what they did",
		[LEFTOVERS] = "what is closed leaves nothing behind",
	};
	unsigned int i;

	tap_note("%u rounds, seed %llu", rounds, (unsigned long long)seed);
	for (i = 0; i < NR_EVENTS; i++)
		tap_note("%s: %llu", event_name[i], READ_ONCE(happened[i]));
	/* Failures first: what was noted of them stands before them. */
	for (i = 0; i < 2 * NR_FAULTS; i++) {
		bool passed = i >= NR_FAULTS;

		if (!READ_ONCE(faults[i % NR_FAULTS]) == passed)
			tap_result(passed, "%s", fault_name[i % NR_FAULTS]);
	}
	tap_result(all_happened(), "all that may happen happened");
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
	*parameter_max_user_bytes = USER_BYTES;
	if (module_load())
		broken("the module cannot be loaded");
	for (uid = 0; uid < NR_USERS; uid++)
		users[uid] = twheel_user_get((kuid_t) { uid });
	clock_start(&mm);
	fail_each_step();

	/* A loaded machine needs more time until all has happened. */
	end = clock_now(CLOCK_MONOTONIC) + seconds * SEC;
	while (ended && (clock_now(CLOCK_MONOTONIC) < end ||
			 (!all_happened() && rounds < MAX_ROUNDS)))
		ended = play_act();
	/* Waiters may sleep, and no thread can wake them. */
	if (!ended)
		_exit(verdicts());
	for (uid = 0; uid < NR_USERS; uid++)
		twheel_user_put(users[uid]);
	module_unload();
	return verdicts();
}
