// SPDX-License-Identifier: MIT
/*
 * The driver in user space: its unchanged source, on threads, with sanitizers
 *
 * An act has its own wheels, waiters for them, and rounds in which other threads add,
 * modify and cancel; see books.h. Three more threads send signals, open and close files,
 * and write rubbish into a ring.
 */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "twheel_file.h"
#include "clock.h"
#include "kernel.h"
#include "options.h"
#include "workers.h"

#define ROUNDS		25
/* Room for three levels of 65,536 buckets. */
#define USER_BYTES	(8UL << 20)
/* One for each wheel, one that opens and closes, and one whose ring has rubbish. */
#define NR_USERS	(NR_WHEELS + 2)

static unsigned int seconds = 10;
static u64 seed = 1;
static unsigned int patience = 10;

static struct mem_cgroup memcg;
static struct mm_struct mm = { .memcg = &memcg };
static u64 rounds;
/* Their accounts, which remain when all wheels have been closed. */
static struct twheel_user *users[NR_USERS];

/* The threads that wait, those that add, and the others. */
static struct thread {
	pthread_t thread;
	struct task_struct task;
	unsigned int nr;
	bool done;
} waiters[NR_ROLES], adders[MAX_ADDERS], pest, churn, bystander, vandal, victim;

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

	current = &self->task;
	roles[self->nr].wait(roles[self->nr].wheel);
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
		add_for_a_round(self->nr);
		pthread_barrier_wait(&round_ends);
	}
}

/*
 * Sends signals, half of them fatal, and sets the wall clocks, but never in a way that would
 * hide a lost wake-up.
 */
static void *run_pest(void *data)
{
	struct thread *self = data;

	current = &self->task;
	while (!READ_ONCE(leaving)) {
		u32 n = any_below(NR_ROLES + nr_adders);

		if (!READ_ONCE(calm)) {
			task_signal(n < NR_ROLES ? &waiters[n].task :
				    &adders[n - NR_ROLES].task, any_below(2));
			wall_clock_set(any_below(CLOCK_SET_MAX));
			happens(CLOCK_SET);
		}
		usleep(any_below(2000));
	}
	return NULL;
}

static void *run_churn(void *data)
{
	struct thread *self = data;

	current = &self->task;
	while (!READ_ONCE(leaving))
		open_and_close(NR_WHEELS);
	return NULL;
}

/* Polls, and leaves the events that it moves to the rings to others, which the poll has to wake. */
static void *run_bystander(void *data)
{
	struct thread *self = data;

	current = &self->task;
	while (!READ_ONCE(leaving)) {
		u32 nr = FIRST_RING + any_below(NR_WHEELS - FIRST_RING);

		if (!READ_ONCE(calm))
			sys_poll(wheels[nr].filp, false);
		usleep(any_below(300));
	}
	return NULL;
}

static void *run_vandal(void *data)
{
	struct thread *self = data;

	current = &self->task;
	while (!READ_ONCE(leaving)) {
		vandal_write();
		if (one_in(4))
			usleep(any_below(300));
	}
	return NULL;
}

static void *run_victim(void *data)
{
	struct thread *self = data;

	current = &self->task;
	while (!READ_ONCE(leaving))
		vandal_use();
	return NULL;
}

static void launch(struct thread *thread, unsigned int nr, void *(*run)(void *))
{
	task_init(&thread->task, &mm, chance_next(&current->chance));
	thread->nr = nr;
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
	vandal_open(NR_WHEELS + 1);
	for (i = 0; i < NR_ROLES; i++)
		wheels[roles[i].wheel].awake++;
	for (i = 0; i < NR_ROLES; i++)
		launch(&waiters[i], i, run_waiter);
	for (i = 0; i < nr_adders; i++)
		launch(&adders[i], i, run_adder);
	launch(&pest, 0, run_pest);
	launch(&churn, 0, run_churn);
	launch(&bystander, 0, run_bystander);
	launch(&vandal, 0, run_vandal);
	launch(&victim, 0, run_victim);
}

static bool play_round(void)
{
	bool ended;

	/* A thread that hangs in a call never comes back. */
	alarm(patience + 60);
	books_begin_round();
	WRITE_ONCE(calm, false);
	pthread_barrier_wait(&round_begins);
	if (one_in(4))
		clock_suspend(any_below(SEC / 500));
	pthread_barrier_wait(&round_ends);
	WRITE_ONCE(calm, true);
	ended = books_end_round(patience);
	rounds++;
	return ended;
}

static void join(struct thread *thread)
{
	pthread_join(thread->thread, NULL);
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
		join(&waiters[i]);
	}
	for (i = 0; i < nr_adders; i++)
		join(&adders[i]);
	join(&pest);
	join(&churn);
	join(&bystander);
	join(&vandal);
	join(&victim);
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
		wrong(LEFTOVERS, "%ld references to the control group", memcg.references);
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

static bool verdict(unsigned int nr, const char *name, unsigned int failures)
{
	printf("%sok %u - %s\n", failures ? "not " : "", nr, name);
	return !failures;
}

static unsigned int never_happened(void)
{
	unsigned int i, missing = 0;

	for (i = 0; i < NR_EVENTS; i++) {
		printf("# %s: %llu\n", event_name[i], READ_ONCE(happened[i]));
		missing += !READ_ONCE(happened[i]);
	}
	return missing;
}

static bool verdicts(void)
{
	bool ok = true;

	printf("# %llu rounds, seed %llu\n", rounds, seed);
	ok &= verdict(1, "every timer is read once or cancelled once", faults_tell(BOOKS));
	ok &= verdict(2, "nobody sleeps while something is due", faults_tell(WAKING));
	ok &= verdict(3, "calls say what they did, and events are never early",
		      faults_tell(ANSWERS));
	ok &= verdict(4, "what is closed leaves nothing behind", faults_tell(LEFTOVERS));
	ok &= verdict(5, "all that may happen happened", never_happened());
	fflush(stdout);
	return ok;
}

static void usage(FILE *stream)
{
	fprintf(stream,
		"Usage: driver-SANITIZER [--seconds N] [--seed N] [--threads N] [--patience N]\n"
		"\n"
		"Runs the driver in user space, on threads; prints TAP.\n"
		"\n"
		"  --seconds N   how long; %u by default\n"
		"  --seed N      seed of the calls; the order of threads still varies\n"
		"  --threads N   threads that add, modify and cancel, up to %u; 3 by default\n"
		"  --patience N  seconds that a timer may stay due while waiters sleep; %u\n",
		seconds, MAX_ADDERS, patience);
}

static void parse_arguments(int argc, char **argv)
{
	static const struct option known[] = {
		{ "seconds", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' },
		{ "threads", required_argument, NULL, 'n' },
		{ "patience", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	int c;

	nr_adders = 3;
	while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		switch (c) {
		case 't':
			seconds = number_or_exit("--seconds", optarg, 0, 1000000);
			break;
		case 's':
			seed = number_or_exit("--seed", optarg, 0, U64_MAX);
			break;
		case 'n':
			nr_adders = number_or_exit("--threads", optarg, 1, MAX_ADDERS);
			break;
		case 'p':
			patience = number_or_exit("--patience", optarg, 0, 1000);
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	static struct task_struct task;
	bool ended = true;
	u32 uid;
	u64 end;

	parse_arguments(argc, argv);
	printf("TAP version 13\n1..5\n");
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
		_exit(!verdicts());
	for (uid = 0; uid < NR_USERS; uid++)
		twheel_user_put(users[uid]);
	module_unload();
	return !verdicts();
}
