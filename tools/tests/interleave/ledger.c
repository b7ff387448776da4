// SPDX-License-Identifier: MIT
/*
 * The account of a wheel; see ledger.h
 */
#include <string.h>

#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/sizes.h>

#include "ledger.h"
#include "twheel_file.h"

#define MAX_TIMERS	16
/* How long a poll that leaves work may pause before it continues. */
#define PAUSE_NS	10000ULL

struct file *wheel WORLD;
struct twheel_ring *ring WORLD;
static u32 slots WORLD;
static clockid_t clock_id WORLD;
static u64 tick WORLD;

/* The account of a timer */
static struct record {
	u64 id;	/* the id that its add returned, or 0 */
	u64 read_id;	/* the id in its event, or 0 */
	u64 deadline;	/* when it is due; of a periodic one, the next time */
	u64 moved_to;	/* the new @deadline, if the modify in progress has been executed */
	u64 interval;	/* of a periodic one */
	u32 delivered;	/* how often it was read */
	bool added;	/* the add has returned, and did not fail */
	bool cancelled;	/* so has the cancel */
} records[MAX_TIMERS] WORLD;

/*
 * Opening, and changing timers.
 */

long set_up(clockid_t clock, u64 new_tick)
{
	struct twheel_setup setup = {
		.tick_ns = new_tick,
		.wheel_size = 4,
		.clock_id = clock,
	};
	long err = sys_ioctl(wheel, TWHEEL_SETUP, &setup);

	if (!err) {
		clock_id = clock;
		tick = new_tick;
	}
	return err;
}

void ledger_open(clockid_t clock)
{
	struct twheel_file *file;

	if (sys_open(0, &wheel))
		broken("a wheel cannot be opened");
	/* The module numbers the files; here each is the first. */
	file = wheel->private_data;
	file->id = 1;
	tick = TWHEEL_TICK_DEFAULT_NS;
	clock_id = clock;
	if (clock >= 0 && set_up(clock, TICK_NS))
		broken("a wheel cannot be set up");
	clock_id = clock < 0 ? CLOCK_MONOTONIC : clock;
}

void ledger_open_ring(void)
{
	struct twheel_ring_setup setup = { .slots = 2 };

	if (sys_ioctl(wheel, TWHEEL_RING, &setup))
		broken("a ring cannot be made");
	ring = sys_mmap(wheel, setup.size);
	slots = setup.slots;
}

static u64 time_of(unsigned int due)
{
	return CLOCK_BEGIN + due * TICK_NS;
}

static struct twheel_add begin_add(unsigned int nr, unsigned int due, unsigned int period)
{
	if (nr >= MAX_TIMERS)
		broken("too many timers");
	records[nr].deadline = time_of(due);
	records[nr].interval = period * TICK_NS;
	return (struct twheel_add) {
		.time_ns = records[nr].deadline,
		.interval_ns = records[nr].interval,
		.data = nr,
		.flags = TWHEEL_ABSTIME,
	};
}

static void end_add(unsigned int nr, const struct twheel_add *add)
{
	if (!add->id)
		broken("a timer has no id");
	records[nr].id = add->id;
	records[nr].added = true;
}

long add_periodic(unsigned int nr, unsigned int due, unsigned int period)
{
	struct twheel_add add = begin_add(nr, due, period);
	long err = sys_ioctl(wheel, TWHEEL_ADD, &add);

	if (!err)
		end_add(nr, &add);
	return err;
}

long add(unsigned int nr, unsigned int due)
{
	return add_periodic(nr, due, 0);
}

long add_batch(unsigned int nr, unsigned int due, unsigned int n)
{
	struct twheel_add add[MAX_TIMERS];
	struct twheel_batch batch = { .entries = (unsigned long)add, .count = n };
	unsigned int i;
	long done;

	for (i = 0; i < n; i++)
		add[i] = begin_add(nr + i, due, 0);
	done = sys_ioctl(wheel, TWHEEL_ADD_BATCH, &batch);
	for (i = 0; (long)i < done; i++)
		end_add(nr + i, &add[i]);
	return done;
}

long uring_add(unsigned int nr, unsigned int due)
{
	struct twheel_add add = begin_add(nr, due, 0);
	long err = sys_uring(wheel, TWHEEL_ADD, (unsigned long)&add, 0);

	if (!err)
		end_add(nr, &add);
	return err;
}

long modify(unsigned int nr, unsigned int due)
{
	struct twheel_modify modify = {
		.id = records[nr].id,
		.time_ns = time_of(due),
		.flags = TWHEEL_ABSTIME,
	};
	long err;

	records[nr].moved_to = modify.time_ns;
	err = sys_ioctl(wheel, TWHEEL_MODIFY, &modify);
	if (!err)
		records[nr].deadline = records[nr].moved_to;
	records[nr].moved_to = 0;
	return err;
}

long cancel(unsigned int nr)
{
	u64 id = records[nr].id;
	long err = sys_ioctl(wheel, TWHEEL_CANCEL, &id);

	records[nr].cancelled |= !err;
	return err;
}

long uring_cancel(unsigned int nr)
{
	long err = sys_uring(wheel, TWHEEL_URING_CANCEL, records[nr].id, 0);

	records[nr].cancelled |= !err;
	return err;
}

/*
 * Reading.
 */

static void record_event(const struct twheel_event *event)
{
	struct record *record = &records[event->data];

	if (event->data >= MAX_TIMERS || !record->deadline)
		broken("an event of a timer that was never added");
	if (record->delivered++ && !record->interval)
		broken("a timer is read twice");
	if (record->read_id && record->read_id != event->id)
		broken("a timer has two ids");
	record->read_id = event->id;
	if (event->deadline_ns != record->deadline &&
	    (!record->moved_to || event->deadline_ns != record->moved_to))
		broken("an event has a wrong deadline");
	/* It may have been in a ring for long. */
	if (!ring && event->deadline_ns > clock_latest(clock_id))
		broken("a timer is read early");
	if (record->interval)
		record->deadline += event->count * record->interval;
}

int read_events(unsigned int max, int flags)
{
	struct twheel_event event[MAX_TIMERS];
	ssize_t size;
	int i;

	clock_call_begins();
	size = sys_read(wheel, event, max * sizeof(*event), flags, true);
	if (size < 0)
		return size;
	if (!size || size % sizeof(*event) || size > (ssize_t)(max * sizeof(*event)))
		broken("a read returns no whole number of events");
	for (i = 0; i < size / (ssize_t)sizeof(*event); i++)
		record_event(&event[i]);
	return i;
}

/* One at a time takes events from the ring. */
static DEFINE_MUTEX(taking);

unsigned int take_events(void)
{
	const struct twheel_event *event = (struct twheel_event *)(ring + 1);
	unsigned int n = 0;
	u32 head, tail;

	mutex_lock(&taking);
	tail = smp_load_acquire(&ring->tail); /* events are before it */
	head = READ_ONCE(ring->head);
	for (; head != tail; n++) {
		record_event(&event[head]);
		head = head + 1 < slots ? head + 1 : 0;
		smp_store_release(&ring->head, head); /* the event has been copied */
	}
	mutex_unlock(&taking);
	return n;
}

/*
 * Checking.
 */

static bool is_outstanding(const struct record *record)
{
	return record->added && !record->cancelled && (record->interval || !record->delivered);
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
	u64 soon = clock_at(clock_id) + PAUSE_NS, fire = clock_next_fire(clock_id);
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
	clock_pass(1000 * NSEC_PER_MSEC);
	if (!ring) {
		while (read_events(3, O_NONBLOCK) > 0)
			;
		return;
	}
	while (sys_poll(wheel, false) || READ_ONCE(ring->flags))
		take_events();
}

static void check_records(void)
{
	const struct record *record;

	for (record = records; record < records + MAX_TIMERS; record++) {
		if (!record->added && record->delivered)
			broken("a timer is read whose add has failed");
		if (record->read_id && record->read_id != record->id)
			broken("a timer is read with another id");
		if (!record->added || record->interval)
			continue;
		if (record->cancelled && record->delivered)
			broken("a timer is read that has been cancelled");
		if (!record->cancelled && !record->delivered)
			broken("a timer is lost");
	}
}

/* A file is charged for exactly what it holds, and for no more than the allocator has given. */
static void check_charge(void)
{
	struct twheel_file *file = wheel->private_data;

	if (file->lock.owner || file->wait.lock.owner)
		broken("a lock is held when nobody runs");
	if (waitqueue_active(&file->wait)) /* no barrier: no coroutine runs */
		broken("an entry is left in the wait queue");
	if (atomic_read(&file->growing))
		broken("the calls that allocate are counted wrongly");
	if (file->charged != atomic_long_read(&file->user->bytes) ||
	    file->charged != twheel_file_bytes(file))
		broken("a file is charged for what it does not hold");
	if (file->store.nr_pages > TWHEEL_KEEP_PAGES + file->wheel.nr_pending)
		broken("empty pages are kept");
}

void ledger_close(void)
{
	if (wheel) {
		read_the_rest();
		check_charge();
		check_records();
		sys_close(wheel);
	}
	if (clock_timers())
		broken("an hrtimer is queued after its file was closed");
	world_check_freed();
}
