// SPDX-License-Identifier: MIT
/*
 * The accountant of twheel-race; see race.h
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

struct books *books_open(uint32_t capacity, uint64_t seed)
{
	struct books *books = calloc(1, sizeof(*books) + capacity * sizeof(books->record[0]));
	unsigned int i;

	if (!books)
		bail_out("no memory for %u timers", capacity);
	books->capacity = capacity;
	pthread_mutex_init(&books->taking, NULL);
	for (i = 0; i < MAX_WORKERS; i++) {
		books->worker[i].books = books;
		chance_init(&books->worker[i].chance, seed, i);
	}
	return books;
}

/* Records an error, which books_balance() prints. */
void books_error(struct books *books, const char *format, ...)
{
	unsigned int nr = books->errors++;
	va_list args;

	if (nr >= MAX_ERRORS)
		return;
	va_start(args, format);
	vsnprintf(books->error[nr], sizeof(books->error[nr]), format, args);
	va_end(args);
}

/* Opens a wheel; its setup may be NULL. */
struct wheel *books_wheel(struct books *books, int flags, const struct twheel_setup *setup)
{
	struct wheel *wheel = &books->wheel[books->wheels];

	wheel->nr = books->wheels++;
	wheel->clock = setup ? (clockid_t)setup->clock_id : CLOCK_MONOTONIC;
	wheel->fd = twheel_open(NULL, flags | O_CLOEXEC);
	if (wheel->fd < 0)
		bail_out("cannot open " TWHEEL_DEVICE);
	if (setup && twheel_set_up(wheel->fd, setup))
		bail_out("cannot set up a wheel");
	return wheel;
}

/* Gives a wheel a ring. */
void books_ring(struct wheel *wheel, uint32_t slots)
{
	if (twheel_ring_map(wheel->fd, slots, &wheel->ring))
		bail_out("cannot map a ring of %u slots", slots);
}

void books_close_wheels(struct books *books)
{
	while (books->wheels) {
		struct wheel *wheel = &books->wheel[--books->wheels];

		twheel_ring_unmap(&wheel->ring);
		close(wheel->fd);
	}
}

uint64_t books_ops(const struct books *books)
{
	uint64_t ops = 0;
	unsigned int i;

	for (i = 0; i < MAX_WORKERS; i++)
		ops += books->worker[i].ops;
	return ops;
}

/* ---- Adding -------------------------------------------------------------- */

/*
 * Adds timers whose times are in worker->add. Returns false if the books are full.
 */
bool worker_add(struct worker *worker, struct wheel *wheel, unsigned int count)
{
	struct books *books = worker->books;
	uint32_t first = atomic_fetch_add(&books->next, count);
	unsigned int i;
	int ret;

	if (first + count > books->capacity) {
		books->next = books->capacity;
		return false;
	}
	for (i = 0; i < count; i++) {
		worker->add[i].id = 0;
		worker->add[i].data = first + i;
		books->record[first + i].wheel = wheel->nr;
	}
	if (count == 1)
		ret = twheel_add_timer(wheel->fd, worker->add) ? -1 : 1;
	else
		ret = twheel_add_batch(wheel->fd, worker->add, count);
	if (ret != (int)count)
		books_error(books, "added %d of %u timers: %s", ret, count, strerror(errno));
	/* Timers with an id exist, others do not. */
	for (i = 0; i < count; i++)
		books->record[first + i].id = worker->add[i].id;
	worker->ops += count;
	return true;
}

/* ---- Cancelling and modifying -------------------------------------------- */

/* Picks recently added timers of the wheel; returns how many. */
static unsigned int pick(struct worker *worker, const struct wheel *wheel, unsigned int count)
{
	struct books *books = worker->books;
	uint32_t next = books->next, window, number;
	unsigned int picked = 0;

	if (next > books->capacity)
		next = books->capacity;
	window = next < RECENT ? next : RECENT;
	while (window && count--) {
		number = next - 1 - chance_below(&worker->chance, window);
		worker->number[picked] = number;
		worker->id[picked] = books->record[number].id;
		if (worker->id[picked] && books->record[number].wheel == wheel->nr)
			picked++;
	}
	return picked;
}

void worker_cancel(struct worker *worker, struct wheel *wheel, unsigned int count)
{
	struct books *books = worker->books;
	int ret, i;

	count = pick(worker, wheel, count);
	if (!count)
		return;
	if (count == 1)
		ret = twheel_cancel_timer(wheel->fd, worker->id[0]) ? -1 : 1;
	else
		ret = twheel_cancel_batch(wheel->fd, worker->id, NULL, count);
	if (ret < 0 && errno != ENOENT)
		books_error(books, "cancel: %s", strerror(errno));
	for (i = 0; i < ret; i++)
		books->record[worker->number[i]].cancelled++;
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
		books_error(worker->books, "modify: %s", strerror(errno));
	worker->ops += ret < 1 ? 1 : ret;
}

/* ---- Reading ------------------------------------------------------------- */

static bool is_wall_clock(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_TAI;
}

static void book_event(struct books *books, const struct wheel *wheel,
		       const struct twheel_event *event)
{
	struct record *record = &books->record[event->data];

	if (event->data >= books->capacity || record->wheel != wheel->nr) {
		books_error(books, "an event has data %llu", (unsigned long long)event->data);
		return;
	}
	/* A wall clock may have been set back since. */
	if (event->count != 1 ||
	    (!is_wall_clock(wheel->clock) && event->deadline_ns > now_on(wheel->clock)))
		books_error(books, "timer %llu: count %llu, deadline %llu", event->data,
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

	pthread_mutex_lock(&worker->books->taking);
	event = twheel_ring_peek(&wheel->ring, &count);
	if (count > max)
		count = max;
	if (count) {
		memcpy(worker->event, event, count * sizeof(*event));
		twheel_ring_consume(&wheel->ring, count);
	}
	pthread_mutex_unlock(&worker->books->taking);
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
			books_error(worker->books, "poll: %s", strerror(errno));
		count = take(worker, wheel, max);
	} else {
		size = preadv2(wheel->fd, &vector, 1, -1, RWF_NOWAIT);
		if (size < 0 && errno != EAGAIN)
			books_error(worker->books, "read: %s", strerror(errno));
		if (size > 0 && size % sizeof(worker->event[0]))
			books_error(worker->books, "read %zd bytes", size);
		if (size > 0)
			count = size / sizeof(worker->event[0]);
	}
	for (i = 0; i < count; i++)
		book_event(worker->books, wheel, &worker->event[i]);
	worker->ops += count ?: 1;
	return count;
}

/* ---- The end of a race --------------------------------------------------- */

static void drain_wheel(struct books *books, struct wheel *wheel)
{
	struct worker *worker = &books->worker[0];

	while (poll_in(wheel->fd, 0) > 0 && worker_read(worker, wheel, MAX_BATCH))
		;
}

/* Without workers, the wheel lists exactly the timers in the books. */
static void check_list(struct books *books, const struct wheel *wheel)
{
	static struct twheel_listed listed[1000];
	uint64_t cursor = 0, count = 0;
	struct twheel_info info;
	ssize_t n, i;

	if (twheel_get_info(wheel->fd, &info))
		bail_out("TWHEEL_INFO failed");
	while ((n = twheel_list_timers(wheel->fd, &cursor, listed, ARRAY_SIZE(listed))) > 0) {
		for (i = 0; i < n; i++) {
			const struct record *record = &books->record[listed[i].data];

			if (listed[i].data >= books->capacity || record->wheel != wheel->nr ||
			    record->id != listed[i].id || record->delivered || record->cancelled)
				books_error(books, "wheel %u lists timer %llu, id %#llx",
					    wheel->nr, listed[i].data, listed[i].id);
		}
		count += n;
	}
	if (n || count != info.pending + info.expired)
		books_error(books, "wheel %u lists %llu of %llu timers: %s", wheel->nr,
			    (unsigned long long)count, info.pending + info.expired,
			    n ? strerror(errno) : "the end");
}

/*
 * Reads expired timers and cancels the others. Returns how many it cancelled.
 */
uint64_t books_drain(struct books *books)
{
	uint32_t end = books->next < books->capacity ? books->next : books->capacity;
	uint64_t cancelled = 0;
	unsigned int i;
	uint32_t n;

	for (i = 0; i < books->wheels; i++)
		drain_wheel(books, &books->wheel[i]);
	for (i = 0; i < books->wheels; i++)
		check_list(books, &books->wheel[i]);
	for (n = 0; n < end; n++) {
		struct record *record = &books->record[n];

		if (!record->id || record->delivered || record->cancelled)
			continue;
		if (!twheel_cancel_timer(books->wheel[record->wheel].fd, record->id)) {
			record->cancelled++;
			cancelled++;
		} else if (errno != ENOENT) {
			books_error(books, "cancel: %s", strerror(errno));
		}
	}
	/* Some may have expired in between, but then they were not cancelled. */
	for (i = 0; i < books->wheels; i++)
		drain_wheel(books, &books->wheel[i]);
	return cancelled;
}

static void check_record(struct books *books, uint32_t number)
{
	const struct record *record = &books->record[number];
	unsigned int ends = record->delivered + record->cancelled;

	if (record->id ? ends != 1 : ends)
		books_error(books, "timer %u (id %#llx) was read %u times and cancelled %u times",
			    number, (unsigned long long)record->id, record->delivered,
			    record->cancelled);
	if (record->delivered && record->read_id != record->id)
		books_error(books, "timer %u has id %#llx, but was read with %#llx", number,
			    (unsigned long long)record->id,
			    (unsigned long long)record->read_id);
}

/* Checks that the wheel's counters agree with the books. */
static void check_wheel(struct books *books, const struct wheel *wheel)
{
	uint64_t added = 0, delivered = 0, cancelled = 0;
	uint32_t end = books->next < books->capacity ? books->next : books->capacity;
	struct twheel_info info;
	uint32_t n;

	if (twheel_get_info(wheel->fd, &info))
		bail_out("TWHEEL_INFO failed");
	for (n = 0; n < end; n++) {
		const struct record *record = &books->record[n];

		if (record->wheel != wheel->nr)
			continue;
		added += record->id != 0;
		delivered += record->delivered;
		cancelled += record->cancelled;
	}
	if (info.pending || info.expired || info.added != added ||
	    info.delivered != delivered || info.cancelled != cancelled)
		books_error(books, "wheel %u: %llu + %llu left; off by %+lld, %+lld, %+lld",
			    wheel->nr, info.pending, info.expired,
			    (long long)(info.added - added),
			    (long long)(info.delivered - delivered),
			    (long long)(info.cancelled - cancelled));
}

/* Checks the books; prints the errors. */
bool books_balance(struct books *books)
{
	uint32_t end = books->next < books->capacity ? books->next : books->capacity;
	unsigned int i;
	uint32_t n;

	for (n = 0; n < end; n++)
		check_record(books, n);
	for (i = 0; i < books->wheels; i++)
		check_wheel(books, &books->wheel[i]);
	for (i = 0; i < books->errors && i < MAX_ERRORS; i++)
		tap_note("%s", books->error[i]);
	if (books->errors > MAX_ERRORS)
		tap_note("... and %u errors more", books->errors - MAX_ERRORS);
	return !books->errors;
}
