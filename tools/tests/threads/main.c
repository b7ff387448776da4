// SPDX-License-Identifier: MIT
/*
 * The driver in user space: its unchanged source, on threads, with sanitizers
 *
 * A round has its own wheels, waiters for them, and other threads that add, modify and cancel; see
 * threads.h.
 */
#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "twheel_file.h"
#include "clock.h"
#include "kernel.h"
#include "options.h"
#include "tap.h"
#include "threads.h"

/* Rounds, at most, until all that may happen has happened. */
#define MAX_ROUNDS	20000
#define NR_ROLES	16
/* Room for three levels of 65,536 buckets. */
#define USER_BYTES	(8UL << 20)
/* How far the wall clocks are set forward, at most. */
#define CLOCK_SET_MAX	5000000

static uint64_t seconds = 10, seed = 1;

static struct mem_cgroup memcg;
static struct mm_struct mm = { .memcg = &memcg };
static unsigned int rounds;
/* Their accounts, which remain when all wheels have been closed. */
static struct twheel_user *users[NR_WHEELS];

static struct thread {
	pthread_t thread;
	struct task_struct task;
	void (*run)(u32 nr);
	u32 nr;
	bool done;
} waiters[NR_ROLES], adders[MAX_ADDERS];

/* Makes waiters return for good. */
static bool leaving;

/* Sanitizers stop at the first error, and print where a rule was broken. */
const char *__tsan_default_options(void)
{
	return "halt_on_error=1:handle_abort=1:second_deadlock_stack=1";
}

const char *__asan_default_options(void)
{
	return "handle_abort=1";
}

void wrong(const char *format, ...)
{
	static char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	broken(text);
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

/* Wait for threads to end; waiters need a signal. */
static void join_all(struct thread *threads, unsigned int n, bool are_waiters)
{
	u32 turns = 0;

	while (n--) {
		while (!READ_ONCE(threads[n].done)) {
			if (!wait_a_turn(&turns))
				wrong("a thread does not come back from a call");
			if (are_waiters)
				task_signal(&threads[n].task, false);
		}
		pthread_join(threads[n].thread, NULL);
	}
}

/*
 * Each of the first wheels has one kind of waiter: none makes up for what another missed. The last
 * one gets its ring while a reader waits, which fails.
 */
static const struct role {
	u32 wheel;
	void (*wait)(void);
} roles[NR_ROLES] = {
	{ 0, wait_in_read }, { 0, wait_in_read }, { 0, wait_in_read },
	{ 1, wait_in_level },
	{ 2, wait_in_edge },
	{ 3, wait_in_poll }, { 3, wait_in_poll },
	{ 4, wait_in_read }, { 4, wait_in_level }, { 4, wait_in_edge },
	{ 5, wait_in_level },
	{ 6, wait_in_edge },
	{ 7, wait_in_read }, { 7, wait_in_poll }, { 7, wait_in_poll }, { 7, wait_in_edge },
};

/* All waiters of a wheel make its ring at the same time; it gets only one. */
static void make_ring(struct wheel *w)
{
	map_ring(one_in(2) ? 2 : 2 + any_below(1000));
	mutex_lock(&w->taking);
	if (w->ring && w->ring != ring)
		broken("a wheel has two rings");
	w->ring = ring;
	mutex_unlock(&w->taking);
}

/* A waiter that is killed closes its file; another one replaces it. */
static void wait(u32 nr)
{
	const struct role *role = &roles[nr];

	use_wheel(role->wheel);
	if (role->wheel >= FIRST_RING && role->wait != wait_in_read)
		make_ring(&wheels[role->wheel]);
	while (!READ_ONCE(leaving)) {
		role->wait();
		if (fatal_signal_pending(current))
			sys_close_copy(wheel);
		task_forget_signals(current);
	}
}

void disturb(void)
{
	task_signal(&waiters[any_below(NR_ROLES)].task, any_below(2));
	wall_clock_set(any_below(CLOCK_SET_MAX));
}

/*
 * A round.
 */

static void open_wheel(u32 nr)
{
	static const u64 ticks[] = { 1000, 7001, 50000, 333000, 1000000, 2000000 };
	static const u32 sizes[] = { 2, 3, 10, 64, 256, 1000, 65536 };
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME,
					    CLOCK_TAI };
	clockid_t clock = clocks[any_below(ARRAY_SIZE(clocks))];
	bool wall = clock == CLOCK_REALTIME || clock == CLOCK_TAI;
	struct wheel *w = &wheels[nr];

	*w = (struct wheel) {
		.setup = {
			.tick_ns = ticks[any_below(ARRAY_SIZE(ticks))],
			/* The largest may leave no memory for a ring, or for all levels. */
			.wheel_size = sizes[any_below(ARRAY_SIZE(sizes) -
						      (wall || nr >= FIRST_RING))],
			.max_timers = any_below(4) ? 0 : 1 + any_below(300),
			.clock_id = clock,
		},
		.taking = LOCK_INIT,
	};
	w->limited = w->setup.max_timers || w->setup.wheel_size > 1000;
	if (sys_open(nr, &w->filp))
		broken("a wheel cannot be opened");
}

static void start_all(void)
{
	unsigned int i;

	memset(records, 0, nr_adders * MAX_ADDS * sizeof(records[0]));
	WRITE_ONCE(leaving, false);
	for (i = 0; i < NR_WHEELS; i++)
		open_wheel(i);
	for (i = 0; i < NR_ROLES; i++)
		launch(&waiters[i], wait, i);
	for (i = 0; i < nr_adders; i++)
		launch(&adders[i], add_for_a_round, i);
}

static void stop_all(void)
{
	unsigned int i;

	WRITE_ONCE(leaving, true);
	join_all(waiters, NR_ROLES, true);
	ledger_check();
	for (i = 0; i < NR_WHEELS; i++)
		sys_close(wheels[i].filp);
}

static void check_leftovers(void)
{
	u32 uid;

	for (uid = 0; uid < NR_WHEELS; uid++) {
		if (atomic_long_read(&users[uid]->bytes))
			wrong("user %u is charged for %ld bytes", uid,
			      atomic_long_read(&users[uid]->bytes));
	}
	if (memcg.references)
		wrong("%ld references to the cgroup", memcg.references);
	if (clock_timers())
		wrong("%u hrtimers are queued", clock_timers());
}

static void play_round(void)
{
	start_all();
	if (one_in(4))
		clock_suspend(any_below(SEC / 500));
	join_all(adders, nr_adders, false);
	ledger_wait();
	stop_all();
	check_leftovers();
	rounds++;
}

static bool all_happened(void)
{
	const struct happening *h = __start_happenings;

	while (h < __stop_happenings && READ_ONCE(h->times))
		h++;
	return h == __stop_happenings;
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
	const struct happening *h;
	u32 uid;
	u64 end;

	parse_arguments(argc, argv);
	puts("TAP version 13");
	tap_note("seed %llu", (unsigned long long)seed);
	fflush(stdout);
	task_init(&task, &mm, seed);
	current = &task;
	*parameter_max_user_bytes = USER_BYTES;
	if (module_load())
		broken("the module cannot be loaded");
	for (uid = 0; uid < NR_WHEELS; uid++)
		users[uid] = twheel_user_get((kuid_t) { uid });
	clock_start(&mm);
#ifdef __SANITIZE_ADDRESS__
	fail_each_step();
	tap_result(true, "calls whose steps fail do nothing, or less");
#endif

	/* A loaded machine needs more time until all has happened. */
	end = clock_now(CLOCK_MONOTONIC) + seconds * SEC;
	while (clock_now(CLOCK_MONOTONIC) < end || (!all_happened() && rounds < MAX_ROUNDS))
		play_round();
	for (uid = 0; uid < NR_WHEELS; uid++)
		twheel_user_put(users[uid]);
	module_unload();
	tap_result(true, "every timer is read once or cancelled once, in %u rounds", rounds);
	for (h = __start_happenings; h < __stop_happenings; h++)
		tap_note("%s: %llu", h->what, h->times);
	tap_result(all_happened(), "all that may happen happened");
	return tap_done();
}
