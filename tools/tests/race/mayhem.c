// SPDX-License-Identifier: MIT
/*
 * The race of all against all: threads make all kinds of calls on four shared wheels, of which
 * one has a ring
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "libtwheel-device.h"
#include "race.h"
#include "tap.h"

#define ROUND_TIMERS	100000

/* Due at once, very soon, soon, or never: never is for cancelling. */
static uint64_t any_delay(struct chance *chance)
{
	switch (chance_below(chance, 8)) {
	case 0:
		return 0;
	case 1:
	case 2:
		return chance_below(chance, 100 * USEC);
	case 3:
		return HOUR;
	default:
		return chance_below(chance, 20 * MSEC);
	}
}

/* One operation, or many times that. */
static unsigned int any_count(struct chance *chance)
{
	return chance_hit(chance, 50) ? 1 : 1 + chance_below(chance, MAX_BATCH);
}

static void add_some(struct worker *worker, struct wheel *wheel)
{
	unsigned int count = any_count(&worker->chance), i;

	for (i = 0; i < count; i++)
		worker->add[i] = (struct twheel_add) { .time_ns = any_delay(&worker->chance) };
	if (!worker_add(worker, wheel, count))
		worker->ledger->stop = true;
}

static void modify_some(struct worker *worker, struct wheel *wheel)
{
	unsigned int count = any_count(&worker->chance), i;

	for (i = 0; i < count; i++)
		worker->modify[i] = (struct twheel_modify) {
			.time_ns = any_delay(&worker->chance),
		};
	worker_modify(worker, wheel, count);
}

/* The counters balance at any time: each timer is in one place. */
static void look_at_wheel(struct worker *worker, struct wheel *wheel)
{
	struct twheel_info info;

	if (twheel_get_info(wheel->fd, &info) ||
	    info.added != info.pending + info.expired + info.cancelled + info.delivered)
		ledger_error(worker->ledger, "the counters of wheel %u do not balance", wheel->nr);
	worker->ops++;
}

static void look_at_timer(struct worker *worker, struct wheel *wheel)
{
	struct ledger *ledger = worker->ledger;
	uint32_t number = chance_below(&worker->chance, ledger->next % ledger->capacity + 1);
	uint64_t id = ledger->record[number].id;
	struct twheel_query query;

	if (ledger->record[number].wheel != wheel->nr || !id)
		return;
	if (twheel_query_timer(wheel->fd, id, &query) ? errno != ENOENT : query.data != number)
		ledger_error(ledger, "query of timer %u failed", number);
	worker->ops++;
}

/* Makes a call on a duplicate, and closes it. */
static void use_duplicate(struct worker *worker, struct wheel *wheel)
{
	struct wheel copy = *wheel;

	copy.fd = fcntl(wheel->fd, F_DUPFD_CLOEXEC, 0);
	if (copy.fd < 0) {
		ledger_error(worker->ledger, "cannot duplicate a descriptor");
		return;
	}
	add_some(worker, &copy);
	worker_read(worker, &copy, MAX_BATCH);
	close(copy.fd);
}

/* A private wheel is closed while its timers expire. */
static void open_and_close(struct worker *worker)
{
	struct twheel_add add[MAX_BATCH];
	unsigned int i;
	int fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);

	for (i = 0; i < MAX_BATCH; i++)
		add[i] = (struct twheel_add) {
			.time_ns = any_delay(&worker->chance),
			.interval_ns = i % 2 ? 0 : MSEC,
		};
	if (fd < 0 || twheel_add_batch(fd, add, MAX_BATCH) != MAX_BATCH)
		ledger_error(worker->ledger, "a wheel of one's own does not work");
	if (fd >= 0)
		close(fd);
	worker->ops += MAX_BATCH;
}

static void act(struct worker *worker)
{
	unsigned int nr = chance_below(&worker->chance, worker->ledger->wheels);
	struct wheel *wheel = &worker->ledger->wheel[nr];
	unsigned int dice = chance_below(&worker->chance, 100);

	if (dice < 30)
		add_some(worker, wheel);
	else if (dice < 50)
		worker_cancel(worker, wheel, any_count(&worker->chance));
	else if (dice < 65)
		modify_some(worker, wheel);
	else if (dice < 90)
		worker_read(worker, wheel, 1 + chance_below(&worker->chance, MAX_BATCH));
	else if (dice < 92)
		poll_in(wheel->fd, chance_below(&worker->chance, 2));
	else if (dice < 94)
		look_at_wheel(worker, wheel);
	else if (dice < 96)
		look_at_timer(worker, wheel);
	else if (dice < 99)
		use_duplicate(worker, wheel);
	else
		open_and_close(worker);
}

static void *run_thread(void *arg)
{
	struct worker *worker = arg;

	while (!worker->ledger->stop)
		act(worker);
	return NULL;
}

static void open_wheels(struct ledger *ledger, struct chance *chance, bool wall)
{
	struct twheel_setup small = {
		.tick_ns = USEC << chance_below(chance, 10),
		.wheel_size = 2 + chance_below(chance, 10),
		.clock_id = wall ? CLOCK_TAI : CLOCK_BOOTTIME,
	};
	struct twheel_setup any = {
		.tick_ns = USEC + chance_below(chance, 5 * MSEC),
		.wheel_size = 2 + chance_below(chance, 1000),
		.clock_id = wall ? CLOCK_REALTIME : CLOCK_MONOTONIC,
	};

	ledger_wheel(ledger, O_NONBLOCK, NULL);
	ledger_wheel(ledger, O_NONBLOCK, &small);
	ledger_wheel(ledger, O_NONBLOCK, &any);
	ledger_ring(ledger_wheel(ledger, O_NONBLOCK, &small), 2 + chance_below(chance, 300));
}

static bool race_round(uint64_t seed, uint32_t timers, bool wall, uint64_t *ops)
{
	struct ledger *ledger = ledger_open(timers, seed);
	struct chance chance;
	pthread_t thread[MAX_WORKERS];
	bool ok;
	int i;

	chance_init(&chance, seed, MAX_WORKERS);
	open_wheels(ledger, &chance, wall);
	for (i = 0; i < MAX_WORKERS; i++) {
		if (pthread_create(&thread[i], NULL, run_thread, &ledger->worker[i]))
			bail_out("cannot create a thread");
	}
	for (i = 0; i < MAX_WORKERS; i++)
		pthread_join(thread[i], NULL);
	/* Let all due timers expire. */
	sleep_for(25 * MSEC);
	ledger_drain(ledger);
	ok = ledger_balance(ledger);
	*ops += ledger_ops(ledger);
	ledger_close_wheels(ledger);
	free(ledger);
	return ok;
}

void race_mayhem(const struct race_options *options)
{
	uint64_t ops = 0, seed = options->seed;
	uint32_t timers = options->ops < ROUND_TIMERS ? options->ops / 2 + 100 : ROUND_TIMERS;
	unsigned int rounds = 0;
	bool ok = true;

	do {
		ok = race_round(seed++, timers, options->wall, &ops);
		rounds++;
	} while (ok && ops < options->ops);
	if (!ok)
		tap_note("with --seed %llu", (unsigned long long)seed - 1);
	/* SECURITY: concurrent calls */
	tap_result(ok, "all at once%s (%llu operations in %u rounds)",
		   options->wall ? ", on wall clocks" : "", (unsigned long long)ops, rounds);
}
