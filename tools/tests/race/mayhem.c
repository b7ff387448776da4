// SPDX-License-Identifier: MIT
/*
 * The load of a race: threads add, modify, cancel, read and poll timers of shared wheels, of which
 * one has a ring
 *
 * Each timer has a record, whose number is the timer's data. In the end each timer was read once or
 * cancelled once, and the wheels have no others. twheel-fuzz checks the results of single calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "chance.h"
#include "clock.h"
#include "libtwheel-device.h"
#include "race.h"
#include "tap.h"

#define WHEELS		3
#define THREADS		6
#define BATCH		32
#define MAX_ERRORS	8
/* Until two threads have met */
#define MAX_ROUNDS	50
#define ROUND_TIMERS	100000
/* Recent timers are likely to exist. */
#define RECENT		4000
/* How long timers may be in a wheel, unless they are there for an hour. */
#define SOON		(20 * MSEC)

/* The account of one timer */
struct record {
	atomic_ullong id;	/* that the add returned, or 0 */
	atomic_uint ends;	/* how often it was read or cancelled */
	atomic_uint wheel;	/* the number of its wheel */
};

/* When the ledger is full, each thread may still add a batch. */
static struct record records[ROUND_TIMERS + THREADS * BATCH];
static atomic_uint nr_records;
static uint32_t capacity;
/* The wheels, and the ring of the last one */
static int fds[WHEELS];
static struct twheel_ring_view ring;
static bool is_wall;
static atomic_bool stop;
static atomic_ullong nr_ops;
static atomic_uint errors;
/* Cancels of a timer that another thread was about to read or cancel, too. */
static atomic_uint too_late;
/* Held by the thread that takes events from the ring. */
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;

#define wrong(...)							\
do {									\
	if (errors++ < MAX_ERRORS)					\
		tap_note(__VA_ARGS__);					\
} while (0)

/* Due at once, soon, or never: never is for cancelling. */
static uint64_t any_delay(struct chance *chance)
{
	return chance_hit(chance, 10) ? HOUR : chance_below(chance, 4) ?
	       chance_below(chance, SOON) : 0;
}

static void add_some(struct chance *chance, unsigned int wheel)
{
	unsigned int count = 1 + chance_below(chance, BATCH), i;
	uint32_t first = atomic_fetch_add(&nr_records, count);
	struct twheel_add add[BATCH];

	for (i = 0; i < count; i++) {
		add[i] = (struct twheel_add) { .time_ns = any_delay(chance), .data = first + i };
		records[first + i].wheel = wheel;
	}
	if (twheel_add_batch(fds[wheel], add, count) != (int)count)
		wrong("cannot add %u timers: %s", count, strerror(errno));
	for (i = 0; i < count; i++)
		records[first + i].id = add[i].id;
	if (first + count > capacity)
		stop = true;
	nr_ops += count;
}

/* A recently added timer of the wheel, or NULL. */
static struct record *pick(struct chance *chance, unsigned int wheel)
{
	uint32_t end = nr_records, window = end < RECENT ? end : RECENT;
	struct record *record = window ? &records[end - 1 - chance_below(chance, window)] : NULL;

	return record && record->id && record->wheel == wheel ? record : NULL;
}

static void cancel_one(struct record *record)
{
	unsigned int ends = record->ends;

	if (!twheel_cancel_timer(fds[record->wheel], record->id))
		record->ends++;
	else if (errno != ENOENT)
		wrong("cancel: %s", strerror(errno));
	else
		too_late += !ends;
}

static void modify_one(struct chance *chance, const struct record *record)
{
	struct twheel_modify modify = { .id = record->id, .time_ns = any_delay(chance) };

	if (twheel_modify_batch(fds[record->wheel], &modify, NULL, 1) < 0 && errno != ENOENT)
		wrong("modify: %s", strerror(errno));
}

static void record_event(unsigned int wheel, const struct twheel_event *event)
{
	struct record *record = &records[event->data];

	/* A wall clock may have been set back since. */
	if (event->data >= nr_records || record->wheel != wheel ||
	    (record->id && record->id != event->id) || event->count != 1 ||
	    (!is_wall && event->deadline_ns > now_on(wheel ? CLOCK_BOOTTIME : CLOCK_MONOTONIC)))
		wrong("wheel %u: an event with data %llu, id %#llx, count %llu", wheel,
		      event->data, event->id, event->count);
	else
		record->ends++;
}

/* Copy at most @max events from the ring, up to its end; return how many. */
static int take_events(struct twheel_event *to, size_t max)
{
	const struct twheel_event *event;
	size_t count;

	pthread_mutex_lock(&taking);
	event = twheel_ring_peek(&ring, &count);
	if (count > max)
		count = max;
	if (count) {
		memcpy(to, event, count * sizeof(*event));
		twheel_ring_consume(&ring, count);
	}
	pthread_mutex_unlock(&taking);
	return count;
}

static bool poll_in(unsigned int wheel, int timeout_ms)
{
	return poll(&(struct pollfd) { .fd = fds[wheel], .events = POLLIN }, 1, timeout_ms) > 0;
}

/* Read some events without waiting, from the ring if there is one. */
static void read_some(struct chance *chance, unsigned int wheel)
{
	unsigned int max = 1 + chance_below(chance, BATCH);
	struct twheel_event event[BATCH];
	int count, i;

	if (wheel == WHEELS - 1) {
		poll_in(wheel, 0);
		count = take_events(event, max);
	} else {
		count = twheel_read(fds[wheel], event, max);
		if (count < 0 && errno != EAGAIN)
			wrong("read: %s", strerror(errno));
	}
	for (i = 0; i < count; i++)
		record_event(wheel, &event[i]);
	nr_ops += count > 0 ? count : 1;
}

static void *run_thread(void *arg)
{
	struct chance *chance = arg;

	while (!stop) {
		unsigned int wheel = chance_below(chance, WHEELS);
		unsigned int dice = chance_below(chance, 100);
		struct record *record = dice < 80 ? pick(chance, wheel) : NULL;

		if (dice < 5)
			add_some(chance, wheel);
		else if (record && dice < 50)
			cancel_one(record);
		else if (record)
			modify_one(chance, record);
		else if (dice < 98)
			read_some(chance, wheel);
		else
			poll_in(wheel, chance_below(chance, 2));
		nr_ops++;
	}
	return NULL;
}

/* Read what is due, cancel the rest, and check that the wheel is empty. */
static void check_wheel(struct chance *chance, unsigned int wheel)
{
	struct twheel_info info;
	uint32_t n;

	while (poll_in(wheel, 100))
		read_some(chance, wheel);
	for (n = 0; n < nr_records; n++) {
		struct record *record = &records[n];

		if (record->wheel != wheel)
			continue;
		if (record->id && !record->ends)
			cancel_one(record);
		if (record->ends != (record->id ? 1 : 0))
			wrong("timer %u (id %#llx) ended %u times", n, record->id, record->ends);
	}
	if (twheel_get_info(fds[wheel], &info))
		bail_out("TWHEEL_INFO failed");
	if (info.pending || info.expired || !info.cancelled || !info.modified || !info.delivered)
		wrong("wheel %u: %llu + %llu left, %llu cancelled, %llu modified, %llu read", wheel,
		      info.pending, info.expired, info.cancelled, info.modified, info.delivered);
}

static void open_wheel(unsigned int wheel, clockid_t clock, uint64_t tick, uint32_t size)
{
	struct twheel_setup setup = { .tick_ns = tick, .wheel_size = size, .clock_id = clock };

	fds[wheel] = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC);
	if (fds[wheel] < 0 || twheel_set_up(fds[wheel], &setup))
		bail_out("cannot open " TWHEEL_DEVICE);
}

static void race_round(uint64_t seed)
{
	struct chance chance[THREADS + 1], *any = &chance[THREADS];
	pthread_t thread[THREADS];
	unsigned int i;

	memset(records, 0, sizeof(records));
	nr_records = 0;
	stop = false;
	for (i = 0; i <= THREADS; i++)
		chance_init(&chance[i], seed, i);
	open_wheel(0, is_wall ? CLOCK_REALTIME : CLOCK_MONOTONIC, MSEC, 256);
	for (i = 1; i < WHEELS; i++)
		open_wheel(i, is_wall ? CLOCK_TAI : CLOCK_BOOTTIME, USEC << chance_below(any, 10),
			   2 + chance_below(any, 10));
	if (twheel_ring_map(fds[WHEELS - 1], 2 + chance_below(any, 300), &ring))
		bail_out("cannot map a ring");
	for (i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, run_thread, &chance[i]))
			bail_out("cannot create a thread");
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	/* Let all due timers expire. */
	sleep_for(SOON + 5 * MSEC);
	for (i = 0; i < WHEELS; i++)
		check_wheel(any, i);
	twheel_ring_unmap(&ring);
	for (i = 0; i < WHEELS; i++)
		close(fds[i]);
}

void race_mayhem(const struct race_options *options)
{
	uint64_t seed = options->seed;
	unsigned int rounds = 0;

	nr_ops = 0;
	errors = 0;
	too_late = 0;
	is_wall = options->wall;
	capacity = options->ops < ROUND_TIMERS ? options->ops / 2 + 100 : ROUND_TIMERS;
	do {
		race_round(seed++);
		rounds++;
	} while (!errors && (nr_ops < options->ops || (!too_late && rounds < MAX_ROUNDS)));
	if (errors)
		tap_note("%u errors with --seed %llu", errors, (unsigned long long)seed - 1);
	/* SECURITY: concurrent calls */
	tap_result(!errors && too_late, "all at once%s (%llu operations in %u rounds, %u too late)",
		   is_wall ? ", on wall clocks" : "", nr_ops, rounds, too_late);
}
