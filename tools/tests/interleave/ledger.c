// SPDX-License-Identifier: MIT
/*
 * The ledger of a wheel; see scenario.h
 */
#include <linux/math64.h>
#include <linux/mutex.h>

#include "scenario.h"
#include "twheel_file.h"

#define MAX_TIMERS	16
/* How long a poll that leaves work may pause before it continues. */
#define PAUSE_NS	10000ULL

static u64 tick WORLD;
static bool has_uring WORLD;
static DEFINE_MUTEX(taking);

/* The account of a timer */
static struct record {
	u64 id;	/* the id that its add returned, or 0 */
	u64 read_id;	/* the id in its event, or 0 */
	u64 deadline;	/* when it is due; of a periodic one, the next time */
	u64 moved_to;	/* the new @deadline, if the modify in progress has been executed */
	u64 interval;	/* of a periodic one */
	u32 delivered;	/* how often it was read */
	bool cancelled;
} records[MAX_TIMERS] WORLD;

/*
 * Opening, and changing timers.
 */

/* A call succeeds, unless an allocation has failed or a signal has ended it. */
static void check(long ret, long expected)
{
	bool may_fail = current->lean || current->failed;

	if (ret != expected && !(ret == -ENOMEM && may_fail) && !current->signalled)
		broken("a call fails that should not");
	current->lean = 0;
}

void set_up(const struct step *step)
{
	struct twheel_setup setup = {
		.tick_ns = step->ticks * TICK_NS,
		.wheel_size = 4,
		.clock_id = step->nr,
	};
	long err = sys_ioctl(wheel, TWHEEL_SETUP, &setup);

	if (!err)
		tick = setup.tick_ns;
	check(err == -EBUSY ? 0 : err, 0);
}

static u64 time_of(unsigned int ticks)
{
	return CLOCK_BEGIN + ticks * TICK_NS;
}

static struct twheel_add begin_add(unsigned int nr, unsigned int ticks, unsigned int period)
{
	struct record *record = &records[nr];

	if (nr >= MAX_TIMERS)
		broken("too many timers");
	record->deadline = time_of(ticks);
	record->interval = period * TICK_NS;
	return (struct twheel_add) {
		.time_ns = record->deadline,
		.interval_ns = record->interval,
		.data = nr,
		.flags = TWHEEL_ABSTIME,
	};
}

static void end_add(const struct twheel_add *add, long n, long done)
{
	const struct twheel_add *end = add + (done > 0 ? done : 0);

	for (; add < end; add++) {
		if (!add->id)
			broken("a timer has no id");
		records[add->data].id = add->id;
	}
	check(done, n);
}

static void add_timer(unsigned int nr, unsigned int ticks, unsigned int period)
{
	struct twheel_add add = begin_add(nr, ticks, period);
	long err = has_uring ? sys_uring(wheel, TWHEEL_ADD, (unsigned long)&add, 0) :
			       sys_ioctl(wheel, TWHEEL_ADD, &add);

	end_add(&add, 1, err ?: 1);
}

void add(const struct step *step)
{
	add_timer(step->nr, step->ticks, 0);
}

void add_batch(const struct step *step)
{
	struct twheel_add add[MAX_TIMERS];
	struct twheel_batch batch = { .entries = (unsigned long)add, .count = step->n };
	unsigned int i;

	for (i = 0; i < step->n; i++)
		add[i] = begin_add(step->nr + i, step->ticks, 0);
	end_add(add, step->n, sys_ioctl(wheel, TWHEEL_ADD_BATCH, &batch));
}

/* It may have been read before, if it was due. */
static void check_change(const struct record *record, long err)
{
	if (err == -ENOENT && record->deadline <= clock_latest() && !record->interval)
		return;
	check(err, 0);
}

void modify(const struct step *step)
{
	struct record *record = &records[step->nr];
	struct twheel_modify modify[MAX_TIMERS];
	struct twheel_batch batch = { .entries = (unsigned long)modify, .count = step->n };
	long n = step->n ?: 1, done, i;

	for (i = 0; i < n; i++) {
		modify[i] = (struct twheel_modify) {
			.id = record[i].id,
			.time_ns = time_of(step->ticks),
			.flags = TWHEEL_ABSTIME,
		};
		record[i].moved_to = modify[i].time_ns;
	}
	if (step->n)
		done = sys_ioctl(wheel, TWHEEL_MODIFY_BATCH, &batch);
	else
		done = sys_ioctl(wheel, TWHEEL_MODIFY, modify) ?: 1;
	for (i = 0; i < n; i++) {
		if (i < done)
			record[i].deadline = record[i].moved_to;
		record[i].moved_to = 0;
	}
	if (done < n)
		check_change(record + max(done, 0L), done < 0 ? done : -ENOENT);
}

/* No read that succeeds has moved the deadline since the modify. */
void query(const struct step *step)
{
	struct twheel_query query = { .id = records[step->nr].id };

	check(sys_ioctl(wheel, TWHEEL_QUERY, &query), 0);
	if (query.deadline_ns != records[step->nr].deadline)
		broken("a timer has another deadline than its modify gave it");
}

void cancel(const struct step *step)
{
	struct record *record = &records[step->nr], *end = record + (step->n ?: 1);

	for (; record < end; record++) {
		u64 id = record->id;
		long err = has_uring ? sys_uring(wheel, TWHEEL_URING_CANCEL, id, 0) :
				       sys_ioctl(wheel, TWHEEL_CANCEL, &id);

		check_change(record, err);
		record->cancelled |= !err;
	}
}

/* Timers count until they have been read, and while they are. */
void add_to_the_limit(const struct step *step)
{
	struct twheel_file *file = wheel->private_data;
	struct twheel_add add = { .time_ns = TICK_NS };
	long err;

	file->max_timers = 2;
	err = sys_ioctl(wheel, TWHEEL_ADD, &add);
	if (err == -ENOSPC)
		return;
	if (err || file->wheel.nr_pending + file->wheel.nr_expired + file->taken > 2)
		broken("there are more timers than the limit");
	if (sys_ioctl(wheel, TWHEEL_CANCEL, &add.id))
		broken("a timer cannot be cancelled");
}

void ledger_open(const struct act *act)
{
	unsigned int i;

	check(sys_open(0, &wheel), 0);
	tick = TWHEEL_TICK_DEFAULT_NS;
	has_uring = act->has_uring;
	ring_lock = &taking;
	if (!act->is_bare)
		set_up(&(struct step) {
			.nr = act->is_wall ? CLOCK_REALTIME : CLOCK_MONOTONIC,
			.ticks = act->tick ?: 1,
		});
	if (act->has_ring)
		map_ring(2);
	for (i = 0; i < MAX_DUE && act->due[i]; i++)
		add_timer(i, act->due[i], act->period);
}

/*
 * Reading.
 */

/*
 * All periods whose tick had ended when the read began at @begin, and none whose tick has not ended
 * yet; but of a wheel that lags, no more than the levels cover from its clock on, in @covered.
 */
static void check_periods(const struct record *record, u64 count, u64 begin, u64 covered)
{
	u64 last = record->deadline + (count - 1) * record->interval;
	u64 passed = min(begin / tick * tick, covered - record->interval);

	if (!count || last + record->interval <= passed)
		broken("unread periods come one by one");
	if (count > 1 && DIV_ROUND_UP(last, tick) * tick > clock_latest())
		broken("a period is counted before its tick has ended");
}

void record_event(const struct twheel_event *event)
{
	struct record *record = &records[event->data];

	if (event->data >= MAX_TIMERS || !record->deadline)
		broken("an event of a timer that was never added");
	if (record->delivered++ && !record->interval)
		broken("a timer is read twice");
	if (record->read_id && record->read_id != event->id)
		broken("a timer has two ids");
	record->read_id = event->id;
	if (event->deadline_ns != record->deadline && event->deadline_ns != record->moved_to)
		broken("an event has a wrong deadline");
	/* It may have been in a ring for long. */
	if (!ring && event->deadline_ns > clock_latest())
		broken("a timer is read early");
	if (record->interval)
		record->deadline += event->count * record->interval;
}

int read_events(unsigned int max, int flags)
{
	const struct twheel_file *file = wheel->private_data;
	struct twheel_event event[MAX_TIMERS];
	u64 begin, covered;
	ssize_t size;
	int i;

	clock_call_begins();
	begin = clock_wall();
	covered = file->wheel.time + file->max_delay;
	size = sys_read(wheel, event, max * sizeof(*event), flags, true);
	if ((size == -EINTR || size == -ERESTARTSYS) && flags && !current->killed)
		broken("a read that may not wait is interrupted");
	if (size < 0)
		return size;
	if (!size || size % sizeof(*event) || size > (ssize_t)(max * sizeof(*event)))
		broken("a read returns no whole number of events");
	for (i = 0; i < size / (ssize_t)sizeof(*event); i++) {
		const struct record *record = &records[event[i].data % MAX_TIMERS];

		if (record->interval)
			check_periods(record, event[i].count, begin, covered);
		record_event(&event[i]);
	}
	return i;
}

/*
 * Checking.
 */

static bool is_outstanding(const struct record *record)
{
	return record->id && !record->cancelled && (record->interval || !record->delivered);
}

static bool has_sleeping_waiter(void)
{
	const struct coroutine *c;

	for (c = coroutines; c < coroutines + nr_coroutines; c++) {
		if (c->is_waiter && !c->ended)
			return true;
	}
	return false;
}

void ledger_check_idle(void)
{
	u64 soon = clock_wall() + PAUSE_NS, fire = clock_next_fire();
	const struct record *record;

	if (!has_sleeping_waiter())
		return;
	for (record = records; record < records + MAX_TIMERS; record++) {
		u64 due = DIV_ROUND_UP(record->deadline, tick) * tick;

		if (is_outstanding(record) && fire > (due > soon ? due : soon))
			broken(due <= soon ? "a waiter sleeps while something is due" :
			       "a waiter sleeps, and no hrtimer is armed for what will be due");
	}
}

static void read_the_rest(void)
{
	unsigned int tries;

	clock_pass(1000 * NSEC_PER_MSEC);
	while (ring && (sys_poll(wheel, false) || READ_ONCE(ring->flags)))
		take_events();
	/* Timers that are not in order yet take reads some time. */
	for (tries = 0; !ring && tries < 4; tries++) {
		while (read_events(3, O_NONBLOCK) > 0)
			tries = 0;
		clock_pass(PAUSE_NS);
	}
}

static void check_records(void)
{
	const struct record *record;

	for (record = records; record < records + MAX_TIMERS; record++) {
		if (!record->id && record->delivered)
			broken("a timer is read whose add has failed");
		if (record->read_id && record->read_id != record->id)
			broken("a timer is read with another id");
		if (!record->id || record->interval)
			continue;
		if (record->cancelled && record->delivered)
			broken("a timer is read that has been cancelled");
		if (!record->cancelled && !record->delivered)
			broken("a timer is lost");
	}
}

static void check_file(void)
{
	struct twheel_file *file = wheel->private_data;

	if (waitqueue_active(&file->wait)) /* no barrier: no coroutine runs */
		broken("an entry is left in the wait queue");
	if (file->growing || file->taken)
		broken("the calls that allocate are counted wrongly");
	if (file->wheel.nr_levels && file->wheel.level[0]->span != file->wheel.tick)
		broken("a level is older than TWHEEL_SETUP");
	check_charge(wheel);
}

void ledger_close(void)
{
	if (wheel) {
		read_the_rest();
		check_file();
		check_records();
		sys_close(wheel);
	}
	if (clock_timers())
		broken("an hrtimer is queued after its file was closed");
	world_check_freed();
}
