// SPDX-License-Identifier: MIT
/*
 * The ledger; see ledger.h
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../twheel_file.h"
#include "ledger.h"
#include "clock.h"
#include "kernel.h"
#include "tap.h"

/* How many errors are printed. */
#define MAX_TOLD	8

struct wheel wheels[NR_WHEELS];
struct record records[MAX_RECORDS];
u32 round_nr;
u64 happened[NR_EVENTS];

const char *const event_name[NR_EVENTS] = {
	[ADDED] = "timers added",
	[MODIFIED] = "timers modified",
	[CANCELLED] = "timers cancelled",
	[READ] = "events read",
	[PERIODIC] = "events of periodic timers read",
	[SET_UP] = "wheels set up",
	[QUERIED] = "timers queried",
	[NO_MEMORY] = "calls without memory",
	[NO_SPACE] = "calls beyond a limit",
	[NOT_THERE] = "calls with missing user memory",
	[INTERRUPTED] = "calls interrupted by a signal",
	[KILLED] = "callers killed while they waited for the lock",
	[CLOCK_SET] = "times that the wall clocks were set",
	[WOKEN_BY_POLL] = "polls that waited",
	[WOKEN_BY_EPOLL] = "epolls that waited",
	[BLOCKED_READ] = "reads that waited",
	[LOCK_BUSY] = "reads that were not to wait, and would have had to",
	[CLOSED_ARMED] = "files closed while they were armed",
	[RING_MADE] = "rings made or described",
	[RING_TAKEN] = "events taken from rings",
	[RING_FULL] = "events taken while a ring said that there is more",
	[RING_REFUSED] = "reads of a wheel that has a ring",
	[VANDALISED] = "garbage written into a ring",
	[FAILED] = "steps of calls that failed",
};

static struct {
	pthread_mutex_t lock;
	u32 number[NR_FAULTS];
	char told[NR_FAULTS][MAX_TOLD][200];
} faults = { .lock = PTHREAD_MUTEX_INITIALIZER };

void wrong(enum fault fault, const char *format, ...)
{
	va_list args;
	u32 nr;

	pthread_mutex_lock(&faults.lock);
	nr = faults.number[fault]++;
	if (nr < MAX_TOLD) {
		va_start(args, format);
		vsnprintf(faults.told[fault][nr], sizeof(faults.told[0][0]), format, args);
		va_end(args);
	}
	pthread_mutex_unlock(&faults.lock);
}

u32 faults_tell(enum fault fault)
{
	u32 i, number;

	pthread_mutex_lock(&faults.lock);
	number = faults.number[fault];
	for (i = 0; i < number && i < MAX_TOLD; i++)
		tap_note("%s", faults.told[fault][i]);
	if (i < number)
		tap_note("... and %u more", number - i);
	pthread_mutex_unlock(&faults.lock);
	return number;
}

u64 record_data(u32 nr)
{
	return (u64)READ_ONCE(round_nr) << 32 | nr;
}

static void check_event(u32 wheel, const struct twheel_event *event)
{
	u32 nr = event->data, past = event->data >> 32;
	struct record *record;
	u64 deadline;

	if (past != READ_ONCE(round_nr) || nr >= MAX_RECORDS) {
		wrong(LEDGER, "an event of timer %u of round %u in round %u", nr, past, round_nr);
		return;
	}
	record = &records[nr];
	if (READ_ONCE(record->wheel) != wheel)
		wrong(LEDGER, "timer %u is of another wheel", nr);
	deadline = READ_ONCE(record->deadline);
	if (deadline && deadline != event->deadline_ns && !READ_ONCE(record->periodic))
		wrong(ANSWERS, "timer %u: deadline %llu instead of %llu", nr,
		      event->deadline_ns, deadline);
	if (event->deadline_ns > clock_now(wheels[wheel].fast_clock))
		wrong(ANSWERS, "timer %u was read before its deadline", nr);
	if (READ_ONCE(record->periodic))
		happens(PERIODIC);
	if (READ_ONCE(record->periodic) ? !event->count : event->count != 1)
		wrong(ANSWERS, "timer %u: count %llu", nr, event->count);
	WRITE_ONCE(record->read_id, event->id);
	__atomic_fetch_add(&record->delivered, 1, __ATOMIC_RELAXED);
}

void record_event(u32 wheel, const struct twheel_event *event)
{
	happens(READ);
	check_event(wheel, event);
	/* A reader of this count also sees the writes before it; other threads need not. */
	__atomic_fetch_add(&wheels[wheel].delivered, 1, __ATOMIC_RELEASE);
}

void record_error(long err)
{
	if (err == -ENOMEM)
		happens(NO_MEMORY);
	else if (err == -ENOSPC)
		happens(NO_SPACE);
	else if (err == -EFAULT)
		happens(NOT_THERE);
	else if (err == -ERESTARTSYS)
		happens(INTERRUPTED);
	else if (err == -EINTR)
		happens(KILLED);
}

void ledger_begin_round(void)
{
	memset(records, 0, sizeof(records));
	WRITE_ONCE(round_nr, round_nr + 1);
}

/* The number of a timer that has not ended. */
static u32 first_left(u32 from)
{
	while (from < MAX_RECORDS && has_ended(&records[from]))
		from++;
	return from;
}

static void tell_left(void)
{
	u32 left[NR_WHEELS] = {}, nr;

	for (nr = first_left(0); nr < MAX_RECORDS; nr = first_left(nr + 1))
		left[READ_ONCE(records[nr].wheel)]++;
	for (nr = 0; nr < NR_WHEELS; nr++) {
		if (left[nr])
			wrong(WAKING, "wheel %u: %u timers are due, and who waits sleeps",
			      nr, left[nr]);
	}
}

static void check_record(u32 nr)
{
	const struct record *record = &records[nr];
	u32 ends = record->cancelled + (record->periodic ? 0 : record->delivered);

	if (record->id ? ends != 1 : ends || record->delivered)
		wrong(LEDGER, "timer %u, id %#llx, was read %u times and cancelled %u times",
		      nr, record->id, record->delivered, record->cancelled);
	if (record->delivered && record->read_id != record->id)
		wrong(LEDGER, "timer %u has id %#llx, but was read with %#llx", nr,
		      record->id, record->read_id);
}

/* Check the wheel's counters against the ledger. Return whether everything is recorded. */
static bool check_wheel(u32 nr, bool last_try)
{
	struct wheel *wheel = &wheels[nr];
	u64 delivered = __atomic_load_n(&wheel->delivered, __ATOMIC_ACQUIRE);
	struct twheel_info info;

	if (sys_ioctl(wheel->filp, TWHEEL_INFO, &info))
		wrong(ANSWERS, "TWHEEL_INFO fails");
	/* A reader may not have recorded its events yet. */
	if (info.delivered != delivered && !last_try)
		return false;
	/* With its first timer, the set-up of a wheel is final; a wall clock stays unknown. */
	if (wheel->added && wheel->fast_clock != CLOCK_AHEAD) {
		wheel->slow_clock = info.clock_id;
		wheel->fast_clock = info.clock_id;
	}
	if (info.pending || info.expired || info.delivered != delivered ||
	    info.added != wheel->added || info.cancelled != wheel->cancelled)
		wrong(LEDGER, "wheel %u: %llu + %llu left; off by %+lld, %+lld, %+lld", nr,
		      info.pending, info.expired, info.added - wheel->added,
		      info.delivered - delivered, info.cancelled - wheel->cancelled);
	return true;
}

void check_charge(struct file *filp)
{
	struct twheel_file *file = filp->private_data;
	unsigned long charged;

	twheel_file_lock(file);
	charged = atomic_long_read(&file->user->bytes);
	if (charged != file->charged || charged != twheel_file_bytes(file))
		wrong(LEFTOVERS, "a file is charged for %zu, its user for %lu, it holds %zu",
		      file->charged, charged, twheel_file_bytes(file));
	twheel_file_unlock_unchanged(file);
}

/* Without timers, a wheel holds empty pages. */
static void check_pages(u32 nr)
{
	struct twheel_file *file = wheels[nr].filp->private_data;

	twheel_file_lock(file);
	if (file->store.nr_empty != file->store.nr_pages)
		wrong(LEFTOVERS, "wheel %u: of %u pages, %u are empty", nr,
		      file->store.nr_pages, file->store.nr_empty);
	twheel_file_unlock_unchanged(file);
}

bool ledger_end_round(unsigned int patience)
{
	u64 end = clock_now(CLOCK_MONOTONIC) + patience * SEC;
	u32 nr = 0;

	while ((nr = first_left(nr)) < MAX_RECORDS) {
		if (clock_now(CLOCK_MONOTONIC) > end) {
			tell_left();
			return false;
		}
		usleep(100);
	}
	for (nr = 0; nr < NR_WHEELS; nr++) {
		while (!check_wheel(nr, clock_now(CLOCK_MONOTONIC) > end))
			usleep(100);
		check_pages(nr);
		check_charge(wheels[nr].filp);
	}
	for (nr = 0; nr < MAX_RECORDS; nr++)
		check_record(nr);
	return true;
}
