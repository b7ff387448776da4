// SPDX-License-Identifier: MIT
/*
 * The race of all against all: threads change, read and poll the timers of four shared wheels,
 * of which one has a ring
 *
 * Each timer has a record, whose number is the timer's data. Threads record the results of their
 * calls there. In the end each timer must have been read once, or cancelled once, or be listed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "chance.h"
#include "clock.h"
#include "libtwheel-device.h"
#include "race.h"
#include "tap.h"

#define WHEELS		4
#define THREADS		6
#define MAX_BATCH	32
#define MAX_ERRORS	8
/* Until two threads have met */
#define MAX_ROUNDS	50
#define PAGE		4096
#define ROUND_TIMERS	100000
/* Recent timers are likely to exist. */
#define RECENT		4000
/* How long timers may be in a wheel, unless they are there for an hour. */
#define SOON		(20 * MSEC)

/* The account of one timer */
struct record {
	atomic_ullong id;	/* that the add returned, or 0 */
	atomic_ullong read_id;	/* as its event had it */
	atomic_ushort delivered, cancelled, listed;	/* how often */
	atomic_uchar wheel;	/* the number of its wheel */
	atomic_bool is_modified;	/* a thread modifies it: the others leave it alone */
	/* Its deadline since the last modify lies between these two times. */
	uint64_t earliest, latest;
	uint64_t deadline;	/* as its event or the list had it */
};

/* A wheel that threads share */
struct wheel {
	int fd;
	unsigned int nr;
	clockid_t clock;
	struct twheel_ring_view ring;	/* its ring, or all zero */
};

/* When the ledger is full, each thread may still add a batch. */
static struct record records[ROUND_TIMERS + THREADS * MAX_BATCH];
static atomic_uint nr_records;
static uint32_t capacity;
static struct wheel wheels[WHEELS];
static atomic_bool stop;
static atomic_ullong nr_ops;
static atomic_uint errors;
/* Cancels of a timer that another thread was about to read or cancel, too. */
static atomic_uint too_late;
/* Held by the thread that takes events from a ring. */
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;

#define wrong(...)							\
do {									\
	if (errors++ < MAX_ERRORS)					\
		tap_note(__VA_ARGS__);					\
} while (0)

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
		return chance_below(chance, SOON);
	}
}

/* One operation, or many times that. */
static unsigned int any_count(struct chance *chance)
{
	return chance_hit(chance, 50) ? 1 : 1 + chance_below(chance, MAX_BATCH);
}

/* ---- Adding, cancelling and modifying ------------------------------------ */

/* A relative time counts from some time between @before and now. */
static void expect_deadline(struct record *record, const struct wheel *wheel, uint64_t before,
			    uint64_t delay)
{
	record->earliest = before + delay;
	record->latest = now_on(wheel->clock) + delay;
}

static void add_some(struct chance *chance, const struct wheel *wheel)
{
	unsigned int count = any_count(chance), i;
	uint32_t first = atomic_fetch_add(&nr_records, count);
	struct twheel_add add[MAX_BATCH];
	uint64_t before;
	int ret;

	if (first + count > capacity)
		stop = true;
	for (i = 0; i < count; i++) {
		add[i] = (struct twheel_add) { .time_ns = any_delay(chance), .data = first + i };
		records[first + i].wheel = wheel->nr;
	}
	before = now_on(wheel->clock);
	if (count == 1)
		ret = twheel_add_timer(wheel->fd, add) ? -1 : 1;
	else
		ret = twheel_add_batch(wheel->fd, add, count);
	if (ret != (int)count)
		wrong("added %d of %u timers: %s", ret, count, strerror(errno));
	/* Timers with an id exist, others do not. */
	for (i = 0; i < count; i++) {
		expect_deadline(&records[first + i], wheel, before, add[i].time_ns);
		records[first + i].id = add[i].id;
	}
	nr_ops += count;
}

/* Recently added timers of a wheel */
struct picked {
	struct record *record[MAX_BATCH];
	uint64_t id[MAX_BATCH];
	unsigned int count;
};

static struct picked pick(struct chance *chance, const struct wheel *wheel)
{
	uint32_t end = nr_records, window = end < RECENT ? end : RECENT;
	unsigned int tries = any_count(chance);
	struct picked picked;

	for (picked.count = 0; window && tries--; ) {
		struct record *record = &records[end - 1 - chance_below(chance, window)];

		picked.record[picked.count] = record;
		picked.id[picked.count] = record->id;
		picked.count += record->id && record->wheel == wheel->nr;
	}
	return picked;
}

static void cancel_some(struct chance *chance, const struct wheel *wheel)
{
	struct picked picked = pick(chance, wheel);
	unsigned int ended;
	int ret, i;

	if (!picked.count)
		return;
	ended = picked.record[0]->cancelled + picked.record[0]->delivered;
	if (picked.count == 1)
		ret = twheel_cancel_timer(wheel->fd, picked.id[0]) ? -1 : 1;
	else
		ret = twheel_cancel_batch(wheel->fd, picked.id, NULL, picked.count);
	if (ret < 0 && errno != ENOENT)
		wrong("cancel: %s", strerror(errno));
	for (i = 0; i < ret; i++)
		picked.record[i]->cancelled++;
	too_late += picked.count == 1 && ret < 0 && !ended;
	nr_ops += ret < 1 ? 1 : ret;
}

static void modify_some(struct chance *chance, const struct wheel *wheel)
{
	struct picked picked = pick(chance, wheel);
	struct twheel_modify modify[MAX_BATCH];
	struct record *record[MAX_BATCH];
	int count = 0, ret, i;
	uint64_t before;

	for (i = 0; i < (int)picked.count; i++) {
		if (atomic_exchange(&picked.record[i]->is_modified, true))
			continue;
		modify[count] = (struct twheel_modify) {
			.id = picked.id[i],
			.time_ns = any_delay(chance),
		};
		record[count++] = picked.record[i];
	}
	if (!count)
		return;
	before = now_on(wheel->clock);
	ret = twheel_modify_batch(wheel->fd, modify, NULL, count);
	if (ret < 0 && errno != ENOENT)
		wrong("modify: %s", strerror(errno));
	for (i = 0; i < count; i++) {
		if (i < ret)
			expect_deadline(record[i], wheel, before, modify[i].time_ns);
		record[i]->is_modified = false;
	}
	nr_ops += ret < 1 ? 1 : ret;
}

/* ---- Reading ------------------------------------------------------------- */

static bool is_on_wall_clock(const struct wheel *wheel)
{
	return wheel->clock == CLOCK_REALTIME || wheel->clock == CLOCK_TAI;
}

static void record_event(const struct wheel *wheel, const struct twheel_event *event)
{
	struct record *record = &records[event->data];

	if (event->data >= nr_records || record->wheel != wheel->nr) {
		wrong("an event has data %llu", event->data);
		return;
	}
	/* A wall clock may have been set back since. */
	if (event->count != 1 ||
	    (!is_on_wall_clock(wheel) && event->deadline_ns > now_on(wheel->clock)))
		wrong("timer %llu: count %llu, deadline %llu", event->data, event->count,
		      event->deadline_ns);
	record->read_id = event->id;
	record->deadline = event->deadline_ns;
	record->delivered++;
}

static int poll_in(const struct wheel *wheel, int timeout_ms)
{
	return poll(&(struct pollfd) { .fd = wheel->fd, .events = POLLIN }, 1, timeout_ms);
}

/* Copy at most @max events from the ring, up to its end; return how many. */
static size_t take_events(const struct wheel *wheel, struct twheel_event *to, size_t max)
{
	const struct twheel_event *event;
	size_t count;

	if (poll_in(wheel, 0) < 0)
		wrong("poll: %s", strerror(errno));
	pthread_mutex_lock(&taking);
	event = twheel_ring_peek(&wheel->ring, &count);
	if (count > max)
		count = max;
	if (count) {
		memcpy(to, event, count * sizeof(*event));
		twheel_ring_consume(&wheel->ring, count);
	}
	pthread_mutex_unlock(&taking);
	return count;
}

/* Read some events without waiting, from the ring if there is one; return how many. */
static size_t read_some(struct chance *chance, const struct wheel *wheel)
{
	static __thread char pages[2][PAGE] __attribute__((aligned(PAGE)));
	size_t max = 1 + chance_below(chance, MAX_BATCH), count = 0, i;
	/* Some are on a page that may be missing. */
	struct twheel_event *event = (struct twheel_event *)pages[1] - chance_below(chance, max);

	if (chance_hit(chance, 30))
		madvise(pages[1], PAGE, MADV_DONTNEED);
	if (wheel->ring.ring) {
		count = take_events(wheel, event, max);
	} else {
		struct iovec vector = { event, max * sizeof(*event) };
		ssize_t size = chance_hit(chance, 50) ?
			       read(wheel->fd, event, vector.iov_len) :
			       preadv2(wheel->fd, &vector, 1, -1, RWF_NOWAIT);

		if (size < 0 ? errno != EAGAIN : size % sizeof(*event))
			wrong("read %zd bytes: %s", size, strerror(errno));
		if (size > 0)
			count = size / sizeof(*event);
	}
	for (i = 0; i < count; i++)
		record_event(wheel, &event[i]);
	nr_ops += count ?: 1;
	return count;
}

static void act(struct chance *chance)
{
	const struct wheel *wheel = &wheels[chance_below(chance, WHEELS)];
	unsigned int dice = chance_below(chance, 100);

	if (dice < 33)
		add_some(chance, wheel);
	else if (dice < 54)
		cancel_some(chance, wheel);
	else if (dice < 70)
		modify_some(chance, wheel);
	else if (dice < 98)
		read_some(chance, wheel);
	else
		poll_in(wheel, chance_below(chance, 2));
}

static void *run_thread(void *chance)
{
	while (!stop)
		act(chance);
	return NULL;
}

/* ---- The end of a round -------------------------------------------------- */

/* Without threads, what is left is listed, once, and none of it was due when @since was now. */
static uint64_t check_list(const struct wheel *wheel, uint64_t since)
{
	static struct twheel_listed listed[1000];
	uint64_t cursor = 0, count = 0;
	ssize_t n, i;

	while ((n = twheel_list_timers(wheel->fd, &cursor, listed, ARRAY_SIZE(listed))) > 0) {
		for (i = 0; i < n; i++) {
			struct record *record = &records[listed[i].data];

			if (listed[i].data >= nr_records || record->wheel != wheel->nr ||
			    record->id != listed[i].id ||
			    (!is_on_wall_clock(wheel) && listed[i].deadline_ns < since))
				wrong("wheel %u lists timer %llu, id %#llx", wheel->nr,
				      listed[i].data, listed[i].id);
			else
				record->listed++;
			record->deadline = listed[i].deadline_ns;
		}
		count += n;
	}
	if (n)
		wrong("TWHEEL_LIST failed: %s", strerror(errno));
	return count;
}

/* Read what is due, and check that the wheel's counters agree with the ledger. */
static void check_wheel(struct chance *chance, const struct wheel *wheel)
{
	uint64_t since = now_on(wheel->clock), left, added = 0, delivered = 0, cancelled = 0;
	struct twheel_info info;
	uint32_t n;

	/* Long enough for wheels that sort before they read. */
	while (poll_in(wheel, 100) > 0)
		read_some(chance, wheel);
	left = check_list(wheel, since);
	if (twheel_get_info(wheel->fd, &info))
		bail_out("TWHEEL_INFO failed");
	for (n = 0; n < nr_records; n++) {
		const struct record *record = &records[n];

		if (record->wheel != wheel->nr)
			continue;
		added += record->id != 0;
		delivered += record->delivered;
		cancelled += record->cancelled;
	}
	if (!info.cancelled || !info.modified || !info.delivered)
		wrong("on wheel %u, not everything happened", wheel->nr);
	if (info.pending + info.expired != left || info.added != added ||
	    info.delivered != delivered || info.cancelled != cancelled)
		wrong("wheel %u: %llu + %llu left; off by %+lld, %+lld, %+lld", wheel->nr,
		      info.pending, info.expired, (long long)(info.added - added),
		      (long long)(info.delivered - delivered),
		      (long long)(info.cancelled - cancelled));
}

static void check_record(uint32_t number)
{
	const struct record *record = &records[number];
	unsigned int ends = record->delivered + record->cancelled + record->listed;

	if (ends != (record->id ? 1 : 0))
		wrong("timer %u (id %#llx) was read %u times, cancelled %u times, listed %u times",
		      number, record->id, record->delivered, record->cancelled, record->listed);
	if (record->delivered && record->read_id != record->id)
		wrong("timer %u has id %#llx, but was read with %#llx", number, record->id,
		      record->read_id);
	if ((record->delivered || record->listed) && !is_on_wall_clock(&wheels[record->wheel]) &&
	    (record->deadline < record->earliest || record->deadline > record->latest))
		wrong("timer %u is due at %llu, not between %llu and %llu", number,
		      (unsigned long long)record->deadline,
		      (unsigned long long)record->earliest,
		      (unsigned long long)record->latest);
}

static void open_wheel(unsigned int nr, clockid_t clock, uint64_t tick, uint32_t size)
{
	struct twheel_setup setup = { .tick_ns = tick, .wheel_size = size, .clock_id = clock };
	struct wheel *wheel = &wheels[nr];

	*wheel = (struct wheel) {
		.fd = twheel_open(NULL, O_NONBLOCK | O_CLOEXEC),
		.nr = nr,
		.clock = clock,
	};
	if (wheel->fd < 0)
		bail_out("cannot open " TWHEEL_DEVICE);
	if (tick && twheel_set_up(wheel->fd, &setup))
		bail_out("cannot set up a wheel");
}

static void open_wheels(struct chance *chance, bool wall)
{
	uint64_t tick = USEC << chance_below(chance, 10);
	uint32_t size = 2 + chance_below(chance, 10), slots = 2 + chance_below(chance, 300);

	open_wheel(0, CLOCK_MONOTONIC, 0, 0);
	open_wheel(1, wall ? CLOCK_TAI : CLOCK_BOOTTIME, tick, size);
	open_wheel(2, wall ? CLOCK_REALTIME : CLOCK_MONOTONIC,
		   USEC + chance_below(chance, 5 * MSEC), 2 + chance_below(chance, 1000));
	open_wheel(3, wall ? CLOCK_TAI : CLOCK_BOOTTIME, tick, size);
	if (twheel_ring_map(wheels[3].fd, slots, &wheels[3].ring))
		bail_out("cannot map a ring of %u slots", slots);
}

static void race_round(uint64_t seed, bool wall)
{
	struct chance chance[THREADS + 1];
	pthread_t thread[THREADS];
	uint32_t n;
	int i;

	memset(records, 0, sizeof(records));
	nr_records = 0;
	stop = false;
	for (i = 0; i <= THREADS; i++)
		chance_init(&chance[i], seed, i);
	open_wheels(&chance[THREADS], wall);
	for (i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, run_thread, &chance[i]))
			bail_out("cannot create a thread");
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	/* Let all due timers expire. */
	sleep_for(SOON + 5 * MSEC);
	for (i = 0; i < WHEELS; i++)
		check_wheel(&chance[THREADS], &wheels[i]);
	for (n = 0; n < nr_records; n++)
		check_record(n);
	for (i = 0; i < WHEELS; i++) {
		twheel_ring_unmap(&wheels[i].ring);
		close(wheels[i].fd);
	}
}

void race_mayhem(const struct race_options *options)
{
	uint64_t seed = options->seed;
	unsigned int rounds = 0;

	nr_ops = 0;
	errors = 0;
	too_late = 0;
	capacity = options->ops < ROUND_TIMERS ? options->ops / 2 + 100 : ROUND_TIMERS;
	do {
		race_round(seed++, options->wall);
		rounds++;
	} while (!errors && (nr_ops < options->ops || (!too_late && rounds < MAX_ROUNDS)));
	if (errors)
		tap_note("%u errors with --seed %llu", errors, (unsigned long long)seed - 1);
	/* SECURITY: concurrent calls */
	tap_result(!errors && too_late, "all at once%s (%llu operations in %u rounds, %u too late)",
		   options->wall ? ", on wall clocks" : "", nr_ops, rounds, too_late);
}
