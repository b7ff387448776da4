// SPDX-License-Identifier: MIT
/*
 * The ledger; see threads.h
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "kernel.h"
#include "tap.h"
#include "threads.h"
#include "twheel_file.h"

/* How many errors of a kind are printed. */
#define MAX_TOLD	8
/* How long waiters may sleep over a due timer. */
#define PATIENCE_NS	(10 * SEC)

struct wheel wheels[NR_WHEELS];
struct record records[MAX_RECORDS];
u32 faults[NR_FAULTS];
u64 happened[NR_EVENTS];
static u32 round_nr;

const char *const event_name[NR_EVENTS] = {
	[ADDED] = "timers added",
	[CANCELLED] = "timers cancelled",
	[MODIFIED] = "timers modified",
	[READ] = "events read",
	[PERIODIC] = "events of periodic timers read",
	[SET_UP] = "wheels set up",
	[QUERIED] = "timers queried",
	[NO_SPACE] = "calls beyond a limit",
	[NOT_THERE] = "calls with missing user memory",
	[INTERRUPTED] = "calls interrupted by a signal",
	[WOKEN_BY_POLL] = "polls that waited",
	[WOKEN_BY_EPOLL] = "epolls that waited",
	[LOCK_BUSY] = "reads that were not to wait, and would have had to",
	[CLOSED_ARMED] = "files closed while they were armed",
	[RING_TAKEN] = "events taken from rings",
	[RING_FULL] = "events taken while a ring said that there is more",
	[RING_REFUSED] = "reads of a wheel that has a ring",
	[FAILED] = "steps of calls that failed",
};

void wrong(enum fault fault, const char *format, ...)
{
	char text[200];
	va_list args;

	if (__atomic_fetch_add(&faults[fault], 1, __ATOMIC_RELAXED) >= MAX_TOLD)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tap_note("%s", text);
}

u64 record_data(u32 nr)
{
	return (u64)READ_ONCE(round_nr) << 32 | nr;
}

bool has_ended(const struct record *record)
{
	if (!READ_ONCE(record->id) || READ_ONCE(record->cancelled))
		return true;
	return READ_ONCE(record->delivered) && !READ_ONCE(record->interval);
}

/*
 * It is due, and the tick of the last of many periods has ended, on the clock as it is after the
 * read; a wall clock may have been set back since.
 */
static void check_time(u32 wheel, const struct twheel_event *event, u64 interval)
{
	const struct twheel_file *file = wheels[wheel].filp->private_data;
	u64 tick = file->wheel.tick, last = event->deadline_ns;
	u64 now = twheel_file_now(file) + (twheel_file_can_be_set(file) ? CLOCK_SET_MAX : 0);

	if (event->count > 1)
		last = DIV_ROUND_UP(last + (event->count - 1) * interval, tick) * tick;
	if (last > now)
		wrong(ANSWERS, "timer %u, count %llu, is read %llu ns early", (u32)event->data,
		      event->count, last - now);
}

static void check_event(u32 wheel, const struct twheel_event *event)
{
	u32 nr = event->data, past = event->data >> 32;
	struct record *record = &records[nr];
	u64 id;

	if (past != READ_ONCE(round_nr) || nr >= MAX_RECORDS) {
		wrong(LEDGER, "an event of timer %u of round %u in round %u", nr, past, round_nr);
		return;
	}
	id = READ_ONCE(record->id);
	/* The add may not have returned yet. */
	if (READ_ONCE(record->wheel) != wheel || (id && id != event->id))
		wrong(LEDGER, "timer %u is of another wheel, or has another id", nr);
	if (READ_ONCE(record->interval))
		happens(PERIODIC);
	if (READ_ONCE(record->interval) ? !event->count : event->count != 1)
		wrong(ANSWERS, "timer %u: count %llu", nr, event->count);
	check_time(wheel, event, READ_ONCE(record->interval));
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
	static const long errors[NR_EVENTS] = {
		[NO_SPACE] = -ENOSPC, [NOT_THERE] = -EFAULT, [INTERRUPTED] = -ERESTARTSYS,
	};
	unsigned int i;

	for (i = 0; i < NR_EVENTS; i++)
		count(&happened[i], err < 0 && errors[i] == err);
}

void ledger_begin_round(void)
{
	memset(records, 0, sizeof(records));
	WRITE_ONCE(round_nr, round_nr + 1);
}

static void check_record(u32 nr)
{
	const struct record *record = &records[nr];
	u32 ends = record->cancelled + (record->interval ? 0 : record->delivered);

	/* One whose id could not be handed back may have been read before it was cancelled. */
	if (record->id ? ends != 1 : ends > 1 || record->cancelled)
		wrong(LEDGER, "timer %u, id %#llx, was read %u times and cancelled %u times",
		      nr, record->id, record->delivered, record->cancelled);
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
	if (info.pending || info.expired || info.delivered != delivered)
		wrong(LEDGER, "wheel %u: %llu + %llu left; %llu events, of which %llu were read",
		      nr, info.pending, info.expired, info.delivered, delivered);
	return true;
}

bool ledger_end_round(void)
{
	u64 end = clock_now(CLOCK_MONOTONIC) + PATIENCE_NS;
	u32 nr;

	for (nr = 0; nr < MAX_RECORDS; nr++) {
		while (!has_ended(&records[nr])) {
			if (clock_now(CLOCK_MONOTONIC) > end) {
				wrong(WAKING, "wheel %u: timer %u is due, and no waiter is woken",
				      records[nr].wheel, nr);
				return false;
			}
			usleep(100);
		}
	}
	for (nr = 0; nr < NR_WHEELS; nr++) {
		while (!check_wheel(nr, clock_now(CLOCK_MONOTONIC) > end))
			usleep(100);
		check_charge(wheels[nr].filp);
	}
	for (nr = 0; nr < MAX_RECORDS; nr++)
		check_record(nr);
	for (nr = 0; nr < NR_FAULTS && !READ_ONCE(faults[nr]); nr++)
		;
	return nr == NR_FAULTS;
}
