// SPDX-License-Identifier: MIT
/*
 * Races of two threads that use the same timer or wheel at the same moment, as often as
 * possible
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "helpers.h"
#include "libtwheel.h"
#include "pass.h"
#include "race.h"
#include "tap.h"

/* A timer that takes longer than this is lost. */
#define PATIENCE	(20 * SEC)

static pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		bail_out("cannot create a thread");
	return thread;
}

static void spin_until(uint64_t when)
{
	while (now_ns() < when)
		;
}

/* Reads until it has to stop and nothing is left to read. */
static void *read_all(void *arg)
{
	struct worker *worker = arg;
	struct books *books = worker->books;

	while (!books->stop) {
		if (poll_in(books->wheel[0].fd, 1) > 0)
			worker_read(worker, &books->wheel[0],
				    1 + chance_below(&worker->chance, MAX_BATCH), false);
	}
	return NULL;
}

static void finish(struct books *books, const char *name, const char *unit, uint64_t count)
{
	bool ok;

	books_drain(books);
	ok = books_balance(books);
	tap_result(ok, "%s (%llu %s)", name, (unsigned long long)count, unit);
	books_close_wheels(books);
	books_close(books);
}

/* ---- Cancel against expiry ------------------------------------------------ */

/*
 * Cancels a handful of timers @after they are due, while the other thread reads
 * them; returns how many it cancelled.
 */
static unsigned int cancel_when_due(struct worker *worker, uint64_t after)
{
	struct books *books = worker->books;
	unsigned int i, cancelled = 0;
	uint32_t first = books->next;
	uint64_t due = now_ns() + 200 * USEC;

	for (i = 0; i < MAX_BATCH; i++)
		worker->add[i] = (struct twheel_add) {
			.time_ns = due + chance_below(&worker->chance, 20 * USEC),
			.flags = TWHEEL_ABSTIME,
		};
	worker_add(worker, &books->wheel[0], MAX_BATCH);
	spin_until(due + after);
	for (i = 0; i < MAX_BATCH; i++) {
		struct record *record = &books->record[first + i];

		if (!twheel_cancel_timer(books->wheel[0].fd, record->id)) {
			record->cancelled++;
			cancelled++;
		} else if (errno != ENOENT) {
			books_error(books, "cancel: %s", strerror(errno));
		}
	}
	worker->ops += MAX_BATCH;
	return cancelled;
}

/* Moves due timers to the ring, and takes nothing. */
static void *poll_all(void *arg)
{
	struct books *books = arg;

	while (!books->stop)
		poll_in(books->wheel[0].fd, 0);
	return NULL;
}

static void cancel_race(const struct race_options *options, bool with_ring)
{
	struct twheel_setup setup = { .tick_ns = 10 * USEC, .wheel_size = 10,
				      .clock_id = CLOCK_MONOTONIC };
	uint32_t timers = options->ops / 4 + MAX_BATCH;
	struct books *books = books_open(timers, options->seed);
	uint32_t cancelled = 0, now;
	uint64_t after = 0;
	pthread_t reader, poller;

	books_wheel(books, O_NONBLOCK, &setup);
	if (with_ring) {
		books_ring(&books->wheel[0], 2);
		poller = start(poll_all, books);
	}
	reader = start(read_all, &books->worker[1]);
	while (books->next + MAX_BATCH <= timers) {
		now = cancel_when_due(&books->worker[0], after);
		cancelled += now;
		/* Aim for the moment when the other thread is half-way through. */
		if (now > MAX_BATCH / 2)
			after += 10 * USEC;
		else
			after -= after / 8;
	}
	books->stop = true;
	pthread_join(reader, NULL);
	if (with_ring)
		pthread_join(poller, NULL);
	tap_note("%u of %u timers were cancelled in time", cancelled, books->next);
	/* SECURITY: concurrent calls */
	finish(books, with_ring ? "cancel against a ring that is filled" : "cancel against expiry",
	       "timers", books->next);
}

void race_cancel_expiry(const struct race_options *options)
{
	cancel_race(options, false);
}

void race_cancel_ring(const struct race_options *options)
{
	cancel_race(options, true);
}

/* ---- Modify against cascade ----------------------------------------------- */

#define CROWD	2048

/* New deadlines for a crowd of timers while their bucket is being cascaded. */
static void modify_crowd(struct worker *worker, uint32_t first, uint64_t due,
			 uint64_t spread)
{
	struct books *books = worker->books;

	while (now_ns() < due + spread) {
		uint32_t number = first + chance_below(&worker->chance, CROWD);
		uint64_t deadline = due - spread + chance_below(&worker->chance, 2 * spread);
		struct record *record = &books->record[number];

		if (!twheel_modify_timer(books->wheel[0].fd, record->id, deadline, TWHEEL_ABSTIME))
			record->deadline = deadline;
		else if (errno != ENOENT)
			books_error(books, "modify: %s", strerror(errno));
		worker->ops++;
	}
}

static void add_crowd(struct worker *worker, uint64_t due)
{
	struct books *books = worker->books;
	uint32_t first = books->next, n;
	unsigned int i;

	for (n = 0; n < CROWD; n += MAX_BATCH) {
		for (i = 0; i < MAX_BATCH; i++)
			worker->add[i] = (struct twheel_add) {
				.time_ns = due + chance_below(&worker->chance, 100 * USEC),
				.flags = TWHEEL_ABSTIME,
			};
		worker_add(worker, &books->wheel[0], MAX_BATCH);
		for (i = 0; i < MAX_BATCH; i++)
			books->record[first + n + i].deadline = worker->add[i].time_ns;
	}
}

/* Check that each timer was read at its last deadline. */
static void check_deadlines(struct books *books)
{
	uint32_t n;

	for (n = 0; n < books->next; n++) {
		const struct record *record = &books->record[n];

		if (record->delivered && record->deadline != record->read_deadline)
			books_error(books, "timer %u had deadline %llu, but was read with %llu",
				    n, (unsigned long long)record->deadline,
				    (unsigned long long)record->read_deadline);
	}
}

void race_modify_cascade(const struct race_options *options)
{
	struct twheel_setup setup = { .tick_ns = 2 * USEC, .wheel_size = 6,
				      .clock_id = CLOCK_MONOTONIC };
	uint32_t crowds = options->ops / 4 / CROWD + 1;
	struct books *books = books_open(crowds * CROWD, options->seed);
	uint64_t took = 20 * MSEC;
	struct twheel_info info;
	pthread_t reader;

	books_wheel(books, O_NONBLOCK, &setup);
	reader = start(read_all, &books->worker[1]);
	while (crowds--) {
		uint32_t first = books->next;
		uint64_t began = now_ns(), due = began + 2 * took + 5 * MSEC;

		add_crowd(&books->worker[0], due);
		took = now_ns() - began;
		spin_until(due - took / 2);
		modify_crowd(&books->worker[0], first, due, took / 4);
	}
	sleep_for(took / 4 + 2 * MSEC);
	books->stop = true;
	pthread_join(reader, NULL);
	books_drain(books);
	check_deadlines(books);
	twheel_get_info(books->wheel[0].fd, &info);
	tap_note("%llu deadlines changed, %llu moves to a lower level", info.modified,
		 info.cascaded);
	/* SECURITY: concurrent calls */
	finish(books, "modify against cascade", "operations", books_ops(books));
}

/* ---- Readers against each other ------------------------------------------- */

#define READERS	3

static void *read_one_by_one(void *arg)
{
	struct worker *worker = arg;

	while (!worker->books->stop)
		worker_read(worker, &worker->books->wheel[0], 1, true);
	return NULL;
}

/* Waits until a reader has read the timer: a wake-up may not be lost. */
static bool wait_delivered(struct books *books, uint32_t number)
{
	uint64_t end = now_ns() + PATIENCE;

	while (!books->record[number].delivered) {
		if (now_ns() > end) {
			books_error(books, "nobody woke up for timer %u", number);
			return false;
		}
		sleep_for(20 * USEC);
	}
	return true;
}

static void add_in_turn(struct worker *worker, uint32_t timers)
{
	struct books *books = worker->books;

	while (books->next < timers && !books->stop) {
		unsigned int i, count = 1 + chance_below(&worker->chance, 2);
		uint32_t first = books->next;

		for (i = 0; i < count; i++)
			worker->add[i] = (struct twheel_add) {
				.time_ns = chance_below(&worker->chance, 100 * USEC),
			};
		if (!worker_add(worker, &books->wheel[0], count))
			return;
		for (i = 0; i < count; i++) {
			if (!wait_delivered(books, first + i))
				return;
		}
	}
}

void race_readers(const struct race_options *options)
{
	struct twheel_setup setup = { .tick_ns = USEC, .wheel_size = 64,
				      .clock_id = CLOCK_BOOTTIME };
	uint32_t timers = options->ops / 64 + 1, count;
	struct books *books = books_open(timers + 2 + READERS, options->seed);
	struct worker *worker = &books->worker[0];
	pthread_t reader[READERS];
	int i;

	books_wheel(books, 0, &setup);
	for (i = 0; i < READERS; i++)
		reader[i] = start(read_one_by_one, &books->worker[1 + i]);
	add_in_turn(worker, timers);
	count = books->next;
	/* One more timer for each reader, so that it sees the end. */
	books->stop = true;
	for (i = 0; i < READERS; i++) {
		worker->add[0] = (struct twheel_add) { };
		worker_add(worker, &books->wheel[0], 1);
	}
	for (i = 0; i < READERS; i++)
		pthread_join(reader[i], NULL);
	finish(books, "readers against each other", "timers", count);
}

/* ---- Close against a sleeping reader -------------------------------------- */

struct sleeper {
	int fd;
	int result;
	atomic_bool awake;
	bool polls;
	struct twheel_event event;
};

static void *sleep_in_call(void *arg)
{
	struct sleeper *sleeper = arg;

	sleeper->awake = true;
	sleeper->result = sleeper->polls ? poll_in(sleeper->fd, 1000)
					 : twheel_read(sleeper->fd, &sleeper->event, 1);
	if (sleeper->result < 0)
		sleeper->result = -errno;
	return NULL;
}

/* The reader has the wheel until it returns; or it came too late. */
static bool close_once(struct chance *chance, unsigned int *late)
{
	struct twheel_add add = { .time_ns = 100 * USEC + chance_below(chance, MSEC),
				  .data = chance_next(chance) };
	struct sleeper sleeper = { .polls = chance_hit(chance, 30) };
	pthread_t thread;

	sleeper.fd = twheel_open(NULL, O_CLOEXEC);
	if (sleeper.fd < 0 || twheel_add_timer(sleeper.fd, &add))
		bail_out("cannot add a timer");
	thread = start(sleep_in_call, &sleeper);
	while (!sleeper.awake)
		sched_yield();
	spin_until(now_ns() + chance_below(chance, 300 * USEC));
	close(sleeper.fd);
	pthread_join(thread, NULL);
	if (sleeper.polls && sleeper.result == 1)
		return true;
	if (sleeper.result == -EBADF) {
		++*late;
		return true;
	}
	return sleeper.result == 1 && sleeper.event.id == add.id &&
	       sleeper.event.data == add.data;
}

void race_close_reader(const struct race_options *options)
{
	unsigned int i, rounds = options->ops / 200 + 10, late = 0;
	struct chance chance;
	bool ok = true;

	chance_init(&chance, options->seed, 0);
	for (i = 0; i < rounds && ok; i++)
		ok = close_once(&chance, &late);
	tap_note("%u of %u closes came before the read", late, i);
	tap_result(ok, "close against a sleeping reader (%u times)", i); /* SECURITY: close */
}

/* ---- Close against cascade ------------------------------------------------ */

#define CLOSED_CROWD	500

/* Timers that are due one after the other, all in one bucket of a level. */
static int open_crowd(struct chance *chance, uint64_t due)
{
	struct twheel_setup setup = { .tick_ns = USEC, .wheel_size = 4,
				      .clock_id = CLOCK_MONOTONIC };
	struct twheel_add add[CLOSED_CROWD];
	int fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);
	unsigned int i;

	for (i = 0; i < CLOSED_CROWD; i++)
		add[i] = (struct twheel_add) {
			.time_ns = due + chance_below(chance, MSEC),
			.data = i,
			.flags = TWHEEL_ABSTIME,
		};
	if (fd < 0 || twheel_set_up(fd, &setup) ||
	    twheel_add_batch(fd, add, CLOSED_CROWD) != CLOSED_CROWD)
		bail_out("cannot add timers");
	return fd;
}

/* Whether each timer of a crowd expires once, and in order. */
static bool crowd_is_complete(int fd)
{
	bool seen[CLOSED_CROWD] = { };
	struct twheel_event event[64];
	uint64_t last = 0;
	ssize_t count, i;
	unsigned int read = 0;

	while (read < CLOSED_CROWD && poll_in(fd, PATIENCE / MSEC) == 1) {
		count = twheel_read(fd, event, ARRAY_SIZE(event));
		for (i = 0; i < count; i++) {
			if (event[i].data >= CLOSED_CROWD || seen[event[i].data] ||
			    (event[i].deadline_ns + USEC - 1) / USEC < last)
				return false;
			seen[event[i].data] = true;
			last = (event[i].deadline_ns + USEC - 1) / USEC;
		}
		read += count > 0 ? count : 0;
	}
	return read == CLOSED_CROWD;
}

/* Closes one of two wheels that cascade at the same time: the other one continues. */
static bool close_crowd(struct chance *chance)
{
	uint64_t due, ahead = 4 * MSEC;
	int closed, other;
	bool ok;

	for (;;) {
		due = now_ns() + ahead;
		closed = open_crowd(chance, due);
		other = open_crowd(chance, due);
		if (now_ns() + MSEC < due)
			break;
		/* Timers that are due when added come in no order. */
		close(closed);
		close(other);
		ahead *= 2;
	}
	spin_until(due - MSEC + chance_below(chance, 2 * MSEC));
	close(closed);
	ok = crowd_is_complete(other);
	close(other);
	return ok;
}

/* The kernel finds leaks of a closed wheel, too. */
void race_close_cascade(const struct race_options *options)
{
	unsigned int i, rounds = options->ops / 500 + 10;
	struct chance chance;
	bool ok = true;

	chance_init(&chance, options->seed, 0);
	for (i = 0; i < rounds && ok; i++)
		ok = close_crowd(&chance);
	tap_result(ok, "close against cascade (%u times)", i); /* SECURITY: close */
}

/* ---- Set-up against add --------------------------------------------------- */

struct setup_race {
	pthread_barrier_t barrier;
	int fd;
	int setup_error;
	bool last;
};

static void *set_up(void *arg)
{
	struct twheel_setup setup = { .tick_ns = 5 * MSEC, .wheel_size = 3,
				      .clock_id = CLOCK_BOOTTIME };
	struct setup_race *race = arg;

	for (;;) {
		pthread_barrier_wait(&race->barrier);
		if (race->last)
			return NULL;
		race->setup_error = twheel_set_up(race->fd, &setup) ? errno : 0;
		pthread_barrier_wait(&race->barrier);
	}
}

/* Whether the wheel was set up or not, the timer is there. */
static bool set_up_once(struct setup_race *race, unsigned int *early)
{
	struct twheel_add add = { .time_ns = HOUR };
	struct twheel_info info;
	bool ok;

	race->fd = twheel_open(NULL, O_CLOEXEC);
	pthread_barrier_wait(&race->barrier);
	ok = !twheel_add_timer(race->fd, &add);
	pthread_barrier_wait(&race->barrier);
	ok = ok && !twheel_get_info(race->fd, &info) && info.pending == 1 && info.added == 1;
	if (!race->setup_error) {
		ok = ok && info.tick_ns == 5 * MSEC && info.wheel_size == 3;
		++*early;
	} else {
		ok = ok && race->setup_error == EBUSY && info.tick_ns != 5 * MSEC;
	}
	ok = ok && !twheel_cancel_timer(race->fd, add.id);
	close(race->fd);
	return ok;
}

void race_setup_add(const struct race_options *options)
{
	unsigned int i, rounds = options->ops / 100 + 10, early = 0;
	struct setup_race race = { };
	pthread_t thread;
	bool ok = true;

	pthread_barrier_init(&race.barrier, NULL, 2);
	thread = start(set_up, &race);
	for (i = 0; i < rounds && ok; i++)
		ok = set_up_once(&race, &early);
	race.last = true;
	pthread_barrier_wait(&race.barrier);
	pthread_join(thread, NULL);
	tap_note("%u of %u set-ups came before the add", early, i);
	tap_result(ok, "set-up against add (%u times)", i); /* SECURITY: concurrent calls */
}

/* ---- Periodic timers against their end ------------------------------------ */

#define PERIODIC	64

/* The events of a periodic timer: its periods follow one another. */
struct periodic {
	uint64_t id;
	uint64_t first;
	uint64_t interval;
	atomic_ullong periods;
	atomic_ullong latest;	/* the last deadline that was read */
	atomic_ullong cancelled_at;
};

struct periodic_race {
	int fd;
	atomic_bool stop;
	atomic_uint errors;
	atomic_ullong events;
	struct periodic timer[PERIODIC];
};

static void book_periods(struct periodic_race *race, const struct twheel_event *event,
			 uint64_t began)
{
	struct periodic *timer = &race->timer[event->data % PERIODIC];
	uint64_t last = event->deadline_ns + (event->count - 1) * timer->interval;
	unsigned long long latest = timer->latest;

	timer->periods += event->count;
	if ((event->deadline_ns - timer->first) % timer->interval || last > now_ns() ||
	    (timer->cancelled_at && timer->cancelled_at < began))
		race->errors++;
	while (last > latest && !atomic_compare_exchange_weak(&timer->latest, &latest, last))
		;
	race->events++;
}

static void *read_periodic(void *arg)
{
	struct periodic_race *race = arg;
	struct twheel_event event[5];

	while (!race->stop) {
		uint64_t began = now_ns();
		ssize_t count, i;

		if (poll_in(race->fd, 1) != 1)
			continue;
		count = twheel_read(race->fd, event, ARRAY_SIZE(event));
		for (i = 0; i < count; i++)
			book_periods(race, &event[i], began);
	}
	return NULL;
}

static void add_periodic(struct periodic_race *race, struct chance *chance)
{
	struct twheel_add add[PERIODIC];
	unsigned int i;

	for (i = 0; i < PERIODIC; i++) {
		struct periodic *timer = &race->timer[i];

		*timer = (struct periodic) {
			.first = now_ns() + chance_below(chance, MSEC),
			.interval = 100 * USEC + chance_below(chance, MSEC),
		};
		add[i] = (struct twheel_add) {
			.time_ns = timer->first,
			.interval_ns = timer->interval,
			.data = i,
			.flags = TWHEEL_ABSTIME,
		};
	}
	if (twheel_add_batch(race->fd, add, PERIODIC) != PERIODIC)
		bail_out("cannot add periodic timers");
	for (i = 0; i < PERIODIC; i++)
		race->timer[i].id = add[i].id;
}

/* No period is missing between the first and the last one that was read. */
static bool check_periods(const struct periodic_race *race)
{
	const struct periodic *timer;

	for (timer = race->timer; timer < race->timer + PERIODIC; timer++) {
		if (timer->latest &&
		    timer->latest != timer->first + (timer->periods - 1) * timer->interval)
			return false;
	}
	return !race->errors;
}

static bool periodic_round(struct periodic_race *race, struct chance *chance)
{
	struct twheel_info info;
	pthread_t reader[2];
	unsigned int i;

	race->stop = false;
	add_periodic(race, chance);
	for (i = 0; i < 2; i++)
		reader[i] = start(read_periodic, race);
	for (i = 0; i < PERIODIC; i++) {
		sleep_for(chance_below(chance, 200 * USEC));
		if (twheel_cancel_timer(race->fd, race->timer[i].id))
			race->errors++;
		race->timer[i].cancelled_at = now_ns();
	}
	race->stop = true;
	for (i = 0; i < 2; i++)
		pthread_join(reader[i], NULL);
	return check_periods(race) && !twheel_get_info(race->fd, &info) &&
	       !info.pending && !info.expired;
}

void race_periodic(const struct race_options *options)
{
	static struct periodic_race race;
	struct twheel_setup setup = { .tick_ns = 10 * USEC, .wheel_size = 4,
				      .clock_id = CLOCK_MONOTONIC };
	struct chance chance;
	bool ok = true;

	chance_init(&chance, options->seed, 0);
	race.fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);
	if (race.fd < 0 || twheel_set_up(race.fd, &setup))
		bail_out("cannot open " TWHEEL_DEVICE);
	do {
		ok = periodic_round(&race, &chance);
	} while (ok && race.events < options->ops / 16);
	close(race.fd);
	/* SECURITY: concurrent calls */
	tap_result(ok, "periodic timers against cancel (%llu events)",
		   (unsigned long long)race.events);
}

/* ---- Passing a wheel on --------------------------------------------------- */

struct passing {
	int socket;
	unsigned int received, errors;
};

/* Every wheel has two timers: one expires about now, the other one never. */
static void *receive_wheels(void *arg)
{
	struct passing *passing = arg;
	struct twheel_event event;
	struct twheel_info info;
	int fd;

	while ((fd = receive_fd(passing->socket)) >= 0) {
		/* Every fourth wheel is dropped with its timers. */
		if (passing->received++ % 4 &&
		    (twheel_read(fd, &event, 1) != 1 || event.data != passing->received - 1 ||
		     twheel_get_info(fd, &info) || info.pending != 1 || info.expired))
			passing->errors++;
		close(fd);
	}
	return NULL;
}

/* A wheel may be open only in a message in flight. */
void race_passing(const struct race_options *options)
{
	unsigned int i, rounds = options->ops / 100 + 10;
	struct passing passing = { };
	struct chance chance;
	pthread_t thread;
	int pair[2];

	chance_init(&chance, options->seed, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		bail_out("cannot create a socket");
	passing.socket = pair[1];
	thread = start(receive_wheels, &passing);
	for (i = 0; i < rounds; i++) {
		struct twheel_add due = { .data = i,
					  .time_ns = chance_below(&chance, 200 * USEC) };
		struct twheel_add later = { .time_ns = HOUR };
		int fd = twheel_open(NULL, O_CLOEXEC);

		if (fd < 0 || twheel_add_timer(fd, &due) || twheel_add_timer(fd, &later))
			bail_out("cannot add a timer");
		if (send_fd(pair[0], fd))
			bail_out("cannot send a descriptor");
		close(fd);
	}
	close(pair[0]);
	pthread_join(thread, NULL);
	close(pair[1]);
	tap_result(passing.received == rounds && !passing.errors,
		   "wheels in messages (%u of them)", rounds);
}
