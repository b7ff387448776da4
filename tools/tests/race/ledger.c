// SPDX-License-Identifier: MIT
/*
 * The ledger of twheel-race; see race.h
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "libtwheel-device.h"
#include "race.h"
#include "tap.h"

/* Recent timers, which are likely to exist. */
#define RECENT	4000

struct ledger *ledger_open(uint32_t capacity, uint64_t seed)
{
	struct ledger *ledger = calloc(1, sizeof(*ledger) + capacity * sizeof(ledger->record[0]));
	unsigned int i;

	if (!ledger)
		bail_out("no memory for %u timers", capacity);
	ledger->capacity = capacity;
	pthread_mutex_init(&ledger->taking, NULL);
	for (i = 0; i < MAX_WORKERS; i++) {
		ledger->worker[i].ledger = ledger;
		chance_init(&ledger->worker[i].chance, seed, i);
	}
	return ledger;
}

/* Records an error, which ledger_balance() prints. */
void ledger_error(struct ledger *ledger, const char *format, ...)
{
	unsigned int nr = ledger->errors++;
	va_list args;

	if (nr >= MAX_ERRORS)
		return;
	va_start(args, format);
	vsnprintf(ledger->error[nr], sizeof(ledger->error[nr]), format, args);
	va_end(args);
}

/* Opens a wheel; its setup may be NULL. */
struct wheel *ledger_wheel(struct ledger *ledger, int flags, const struct twheel_setup *setup)
{
	struct wheel *wheel = &ledger->wheel[ledger->wheels];

	wheel->nr = ledger->wheels++;
	wheel->clock = setup ? (clockid_t)setup->clock_id : CLOCK_MONOTONIC;
	wheel->fd = twheel_open(NULL, flags | O_CLOEXEC);
	if (wheel->fd < 0)
		bail_out("cannot open " TWHEEL_DEVICE);
	if (setup && twheel_set_up(wheel->fd, setup))
		bail_out("cannot set up a wheel");
	return wheel;
}

/* Gives a wheel a ring. */
void ledger_ring(struct wheel *wheel, uint32_t slots)
{
	if (twheel_ring_map(wheel->fd, slots, &wheel->ring))
		bail_out("cannot map a ring of %u slots", slots);
}

void ledger_close_wheels(struct ledger *ledger)
{
	while (ledger->wheels) {
		struct wheel *wheel = &ledger->wheel[--ledger->wheels];

		twheel_ring_unmap(&wheel->ring);
		close(wheel->fd);
	}
}

uint64_t ledger_ops(const struct ledger *ledger)
{
	uint64_t ops = 0;
	unsigned int i;

	for (i = 0; i < MAX_WORKERS; i++)
		ops += ledger->worker[i].ops;
	return ops;
}

/* ---- Adding -------------------------------------------------------------- */

/*
 * Adds timers whose times are in worker->add. Returns false if the ledger is full.
 */
bool worker_add(struct worker *worker, struct wheel *wheel, unsigned int count)
{
	struct ledger *ledger = worker->ledger;
	uint32_t first = atomic_fetch_add(&ledger->next, count);
	unsigned int i;
	int ret;

	if (first + count > ledger->capacity) {
		ledger->next = ledger->capacity;
		return false;
	}
	for (i = 0; i < count; i++) {
		worker->add[i].id = 0;
		worker->add[i].data = first + i;
		ledger->record[first + i].wheel = wheel->nr;
	}
	if (count == 1)
		ret = twheel_add_timer(wheel->fd, worker->add) ? -1 : 1;
	else
		ret = twheel_add_batch(wheel->fd, worker->add, count);
	if (ret != (int)count)
		ledger_error(ledger, "added %d of %u timers: %s", ret, count, strerror(errno));
	/* Timers with an id exist, others do not. */
	for (i = 0; i < count; i++)
		ledger->record[first + i].id = worker->add[i].id;
	worker->ops += count;
	return true;
}

/* ---- Cancelling and modifying -------------------------------------------- */

/* Picks recently added timers of the wheel; returns how many. */
static unsigned int pick(struct worker *worker, const struct wheel *wheel, unsigned int count)
{
	struct ledger *ledger = worker->ledger;
	uint32_t next = ledger->next, window, number;
	unsigned int picked = 0;

	if (next > ledger->capacity)
		next = ledger->capacity;
	window = next < RECENT ? next : RECENT;
	while (window && count--) {
		number = next - 1 - chance_below(&worker->chance, window);
		worker->number[picked] = number;
		worker->id[picked] = ledger->record[number].id;
		if (worker->id[picked] && ledger->record[number].wheel == wheel->nr)
			picked++;
	}
	return picked;
}

void worker_cancel(struct worker *worker, struct wheel *wheel, unsigned int count)
{
	struct ledger *ledger = worker->ledger;
	int ret, i;

	count = pick(worker, wheel, count);
	if (!count)
		return;
	if (count == 1)
		ret = twheel_cancel_timer(wheel->fd, worker->id[0]) ? -1 : 1;
	else
		ret = twheel_cancel_batch(wheel->fd, worker->id, NULL, count);
	if (ret < 0 && errno != ENOENT)
		ledger_error(ledger, "cancel: %s", strerror(errno));
	for (i = 0; i < ret; i++)
		ledger->record[worker->number[i]].cancelled++;
	worker->ops += ret < 1 ? 1 : ret;
}

/* Gives some timers new deadlines, which are in worker->modify. */
void worker_modify(struct worker *worker, struct wheel *wheel, unsigned int count)
{
	unsigned int i;
	int ret;

	count = pick(worker, wheel, count);
	if (!count)
		return;
	for (i = 0; i < count; i++)
		worker->modify[i].id = worker->id[i];
	ret = twheel_modify_batch(wheel->fd, worker->modify, NULL, count);
	if (ret < 0 && errno != ENOENT)
		ledger_error(worker->ledger, "modify: %s", strerror(errno));
	worker->ops += ret < 1 ? 1 : ret;
}

/* ---- Reading ------------------------------------------------------------- */

static bool is_wall_clock(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_TAI;
}

static void record_event(struct ledger *ledger, const struct wheel *wheel,
			 const struct twheel_event *event)
{
	struct record *record = &ledger->record[event->data];

	if (event->data >= ledger->capacity || record->wheel != wheel->nr) {
		ledger_error(ledger, "an event has data %llu", (unsigned long long)event->data);
		return;
	}
	/* A wall clock may have been set back since. */
	if (event->count != 1 ||
	    (!is_wall_clock(wheel->clock) && event->deadline_ns > now_on(wheel->clock)))
		ledger_error(ledger, "timer %llu: count %llu, deadline %llu", event->data,
			     event->count, event->deadline_ns);
	record->read_id = event->id;
	record->delivered++;
}

int poll_in(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, timeout_ms);
}

/* Copies at most @max events from the ring, up to its end; returns how many. */
static unsigned int take(struct worker *worker, struct wheel *wheel, unsigned int max)
{
	const struct twheel_event *event;
	size_t count;

	pthread_mutex_lock(&worker->ledger->taking);
	event = twheel_ring_peek(&wheel->ring, &count);
	if (count > max)
		count = max;
	if (count) {
		memcpy(worker->event, event, count * sizeof(*event));
		twheel_ring_consume(&wheel->ring, count);
	}
	pthread_mutex_unlock(&worker->ledger->taking);
	return count;
}

/* Read at most @max events without waiting, from the ring if there is one; return how many. */
unsigned int worker_read(struct worker *worker, struct wheel *wheel, unsigned int max)
{
	struct iovec vector = {
		.iov_base = worker->event,
		.iov_len = max * sizeof(worker->event[0]),
	};
	unsigned int i, count = 0;
	ssize_t size = 0;

	if (wheel->ring.ring) {
		if (poll_in(wheel->fd, 0) < 0)
			ledger_error(worker->ledger, "poll: %s", strerror(errno));
		count = take(worker, wheel, max);
	} else {
		size = preadv2(wheel->fd, &vector, 1, -1, RWF_NOWAIT);
		if (size < 0 && errno != EAGAIN)
			ledger_error(worker->ledger, "read: %s", strerror(errno));
		if (size > 0 && size % sizeof(worker->event[0]))
			ledger_error(worker->ledger, "read %zd bytes", size);
		if (size > 0)
			count = size / sizeof(worker->event[0]);
	}
	for (i = 0; i < count; i++)
		record_event(worker->ledger, wheel, &worker->event[i]);
	worker->ops += count ?: 1;
	return count;
}

/* ---- The end of a race --------------------------------------------------- */

static void drain_wheel(struct ledger *ledger, struct wheel *wheel)
{
	struct worker *worker = &ledger->worker[0];

	while (poll_in(wheel->fd, 0) > 0 && worker_read(worker, wheel, MAX_BATCH))
		;
}

/* Without workers, the wheel lists exactly the timers in the ledger. */
static void check_list(struct ledger *ledger, const struct wheel *wheel)
{
	static struct twheel_listed listed[1000];
	uint64_t cursor = 0, count = 0;
	struct twheel_info info;
	ssize_t n, i;

	if (twheel_get_info(wheel->fd, &info))
		bail_out("TWHEEL_INFO failed");
	while ((n = twheel_list_timers(wheel->fd, &cursor, listed, ARRAY_SIZE(listed))) > 0) {
		for (i = 0; i < n; i++) {
			const struct record *record = &ledger->record[listed[i].data];

			if (listed[i].data >= ledger->capacity || record->wheel != wheel->nr ||
			    record->id != listed[i].id || record->delivered || record->cancelled)
				ledger_error(ledger, "wheel %u lists timer %llu, id %#llx",
					     wheel->nr, listed[i].data, listed[i].id);
		}
		count += n;
	}
	if (n || count != info.pending + info.expired)
		ledger_error(ledger, "wheel %u lists %llu of %llu timers: %s", wheel->nr,
			     (unsigned long long)count, info.pending + info.expired,
			     n ? strerror(errno) : "the end");
}

/*
 * Reads expired timers and cancels the others. Returns how many it cancelled.
 */
uint64_t ledger_drain(struct ledger *ledger)
{
	uint32_t end = ledger->next < ledger->capacity ? ledger->next : ledger->capacity;
	uint64_t cancelled = 0;
	unsigned int i;
	uint32_t n;

	for (i = 0; i < ledger->wheels; i++)
		drain_wheel(ledger, &ledger->wheel[i]);
	for (i = 0; i < ledger->wheels; i++)
		check_list(ledger, &ledger->wheel[i]);
	for (n = 0; n < end; n++) {
		struct record *record = &ledger->record[n];

		if (!record->id || record->delivered || record->cancelled)
			continue;
		if (!twheel_cancel_timer(ledger->wheel[record->wheel].fd, record->id)) {
			record->cancelled++;
			cancelled++;
		} else if (errno != ENOENT) {
			ledger_error(ledger, "cancel: %s", strerror(errno));
		}
	}
	/* Some may have expired in between, but then they were not cancelled. */
	for (i = 0; i < ledger->wheels; i++)
		drain_wheel(ledger, &ledger->wheel[i]);
	return cancelled;
}

static void check_record(struct ledger *ledger, uint32_t number)
{
	const struct record *record = &ledger->record[number];
	unsigned int ends = record->delivered + record->cancelled;

	if (record->id ? ends != 1 : ends)
		ledger_error(ledger, "timer %u (id %#llx) was read %u times and cancelled %u times",
			     number, (unsigned long long)record->id, record->delivered,
			     record->cancelled);
	if (record->delivered && record->read_id != record->id)
		ledger_error(ledger, "timer %u has id %#llx, but was read with %#llx", number,
			     (unsigned long long)record->id,
			     (unsigned long long)record->read_id);
}

/* Checks that the wheel's counters agree with the ledger. */
static void check_wheel(struct ledger *ledger, const struct wheel *wheel)
{
	uint64_t added = 0, delivered = 0, cancelled = 0;
	uint32_t end = ledger->next < ledger->capacity ? ledger->next : ledger->capacity;
	struct twheel_info info;
	uint32_t n;

	if (twheel_get_info(wheel->fd, &info))
		bail_out("TWHEEL_INFO failed");
	for (n = 0; n < end; n++) {
		const struct record *record = &ledger->record[n];

		if (record->wheel != wheel->nr)
			continue;
		added += record->id != 0;
		delivered += record->delivered;
		cancelled += record->cancelled;
	}
	if (info.pending || info.expired || info.added != added ||
	    info.delivered != delivered || info.cancelled != cancelled)
		ledger_error(ledger, "wheel %u: %llu + %llu left; off by %+lld, %+lld, %+lld",
			     wheel->nr, info.pending, info.expired,
			     (long long)(info.added - added),
			     (long long)(info.delivered - delivered),
			     (long long)(info.cancelled - cancelled));
}

/* Checks the ledger; prints the errors. */
bool ledger_balance(struct ledger *ledger)
{
	uint32_t end = ledger->next < ledger->capacity ? ledger->next : ledger->capacity;
	unsigned int i;
	uint32_t n;

	for (n = 0; n < end; n++)
		check_record(ledger, n);
	for (i = 0; i < ledger->wheels; i++)
		check_wheel(ledger, &ledger->wheel[i]);
	for (i = 0; i < ledger->errors && i < MAX_ERRORS; i++)
		tap_note("%s", ledger->error[i]);
	if (ledger->errors > MAX_ERRORS)
		tap_note("... and %u errors more", ledger->errors - MAX_ERRORS);
	return !ledger->errors;
}
