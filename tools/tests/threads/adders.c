// SPDX-License-Identifier: MIT
/*
 * Threads that add, modify, cancel and query timers; faults.c has what can fail
 */
#include <string.h>
#include <unistd.h>

#include "twheel_file.h"
#include "clock.h"
#include "kernel.h"
#include "threads.h"

/* Calls that an adder makes in a round, at most. */
#define MAX_CALLS	60
/* The latest deadline that a waiter waits for. */
#define SOON_NS		(3 * MSEC)

uint64_t nr_adders = 3;

/* The state of an adder: its records, and the arguments of a call. */
struct adder {
	u32 next;
	u32 end;
	u32 picked[MAX_BATCH];	/* the records of timers that are changed */
	union {
		struct twheel_add add[MAX_BATCH];
		struct twheel_modify modify[MAX_BATCH];
		u64 id[MAX_BATCH];
	};
};

/* The calls that change timers, each alone and in batches, by the event that they cause. */
static const struct {
	const char *name;
	unsigned int single;
	unsigned int batch;
	long expected;	/* an errno without another reason */
} changes[] = {
	[ADDED] = { "add", TWHEEL_ADD, TWHEEL_ADD_BATCH },
	[CANCELLED] = { "cancel", TWHEEL_CANCEL, TWHEEL_CANCEL_BATCH, -ENOENT },
	[MODIFIED] = { "modify", TWHEEL_MODIFY, TWHEEL_MODIFY_BATCH, -ENOENT },
};

/* The time on the clock of a wheel, which may be set up after that. */
static u64 now_of(u32 wheel)
{
	return twheel_file_now(wheels[wheel].filp->private_data);
}

/* How many timers a call changes. */
static u32 some(void)
{
	return one_in(2) ? 1 : one_in(2) ? 1 + any_below(8) : 1 + any_below(MAX_BATCH);
}

/* Check a result: all @n are done, or there was a reason to stop. */
static void check_answer(const char *call, long ret, u32 n, bool limited, long expected)
{
	record_error(ret);
	if (ret == n || (ret < 0 && ret == expected))
		return;
	if (ret > n || !ret || (!limited && (ret < 0 || !expected)))
		wrong(ANSWERS, "%s: %ld instead of %u", call, ret, n);
}

/* The same by io_uring, where some commands contain their arguments. */
static long command(struct file *filp, unsigned int cmd, void *arg)
{
	const struct twheel_modify *modify = arg;

	if (cmd == TWHEEL_CANCEL && one_in(2))
		return sys_uring(filp, TWHEEL_URING_CANCEL, *(u64 *)arg, 0);
	if (cmd == TWHEEL_MODIFY && !modify->flags && one_in(2))
		return sys_uring(filp, TWHEEL_URING_MODIFY, modify->id, modify->time_ns);
	return sys_uring(filp, cmd, (unsigned long)arg, 0);
}

/* One call for the entries in @a. Return how many were done. */
static u32 change(struct adder *a, u32 wheel, enum event event, u32 n)
{
	struct twheel_batch b = { .entries = (unsigned long)a->add, .count = n };
	bool alone = n == 1 && one_in(2);
	unsigned int cmd = alone ? changes[event].single : changes[event].batch;
	void *arg = alone ? (void *)a->add : &b;
	struct file *filp = wheels[wheel].filp;
	long ret;

	ret = one_in(2) ? command(filp, cmd, arg) : sys_ioctl(filp, cmd, arg);
	if (alone && !ret)
		ret = 1;
	if (ret > 0)
		count(&happened[event], ret);
	check_answer(changes[event].name, ret, n, wheels[wheel].limited, changes[event].expected);
	return ret < 0 ? 0 : ret;
}

/*
 * Adding.
 */

static void choose_time(struct twheel_add *add, struct record *record, u64 now)
{
	switch (any_below(8)) {
	case 0:
		add->flags = TWHEEL_ABSTIME;
		add->time_ns = now - any_below(MSEC);
		break;
	case 1:
		add->time_ns = SEC << any_below(34);
		WRITE_ONCE(record->long_lived, true);
		break;
	case 2:
		add->time_ns = any_below(MSEC);
		/* Without a set-up, a tick is a millisecond. */
		add->interval_ns = MSEC + wheels[record->wheel].setup.tick_ns + any_below(MSEC);
		WRITE_ONCE(record->interval, add->interval_ns);
		WRITE_ONCE(record->long_lived, true);
		break;
	case 3:
		add->time_ns = any_below(300) * USEC;
		break;
	default:
		add->flags = TWHEEL_ABSTIME;
		add->time_ns = now + any_below(SOON_NS);
	}
}

static void add(struct adder *a, u32 wheel)
{
	u64 now = now_of(wheel), crowd = now + any_below(SOON_NS);
	u32 n = min(some(), a->end - a->next), done, i;
	bool crowded = n > 32 && one_in(3);

	if (!n)
		return;
	memset(a->add, 0, n * sizeof(a->add[0]));
	for (i = 0; i < n; i++) {
		struct record *record = &records[a->next + i];

		WRITE_ONCE(record->wheel, wheel);
		a->add[i].data = record_data(a->next + i);
		choose_time(&a->add[i], record, now);
		if (crowded && a->add[i].flags)
			a->add[i].time_ns = crowd;
	}
	done = change(a, wheel, ADDED, n);
	for (i = 0; i < done; i++)
		WRITE_ONCE(records[a->next + i].id, a->add[i].id);
	/* The record of a timer that does not exist is not reused. */
	a->next += n;
}

/*
 * Modifying, cancelling and querying timers of all threads.
 */

/* Pick timers of a wheel; return how many. */
static u32 pick(struct adder *a, u32 wheel, size_t stride)
{
	u32 n = some(), picked = 0, nr;
	u64 *id = a->id;

	while (n--) {
		nr = any_below(nr_adders * MAX_ADDS);
		*id = READ_ONCE(records[nr].id);
		if (!*id || READ_ONCE(records[nr].wheel) != wheel)
			continue;
		/* Most bad ids end a batch; some do not. */
		if (has_ended(&records[nr]) && !one_in(64))
			continue;
		a->picked[picked++] = nr;
		id = (void *)id + stride;
	}
	return picked;
}

static void cancel(struct adder *a, u32 wheel)
{
	u32 n = pick(a, wheel, sizeof(a->id[0])), i;

	n = n ? change(a, wheel, CANCELLED, n) : 0;
	for (i = 0; i < n; i++)
		__atomic_fetch_add(&records[a->picked[i]].cancelled, 1, __ATOMIC_RELAXED);
}

static void modify(struct adder *a, u32 wheel)
{
	u64 now = now_of(wheel);
	u32 n, i;

	memset(a->modify, 0, sizeof(a->modify));
	n = pick(a, wheel, sizeof(a->modify[0]));
	for (i = 0; i < n; i++) {
		a->modify[i].time_ns = one_in(8) ? 0 : any_below(SOON_NS);
		if (one_in(2)) {
			a->modify[i].time_ns += now;
			a->modify[i].flags = TWHEEL_ABSTIME;
		}
	}
	if (n)
		change(a, wheel, MODIFIED, n);
}

/*
 * Looking at the wheel, without waiting.
 */

static long query_picked(struct adder *a, u32 wheel)
{
	struct twheel_query q = { .id = a->id[0] };
	long ret = sys_ioctl(wheels[wheel].filp, TWHEEL_QUERY, &q);

	if (!ret && (q.id != a->id[0] || q.state > TWHEEL_EXPIRED || (u32)q.data >= MAX_RECORDS ||
		     READ_ONCE(records[(u32)q.data].id) != q.id))
		wrong(ANSWERS, "a query has another timer's answer");
	if (!ret)
		happens(QUERIED);
	return ret;
}

/* A part of the list, from any cursor: some timers may have been added just now. */
static long list_some(u32 wheel)
{
	struct twheel_listed listed[50] = {};
	struct twheel_list list = {
		.cursor = any_below(4) << 8 | any_below(84),
		.entries = (uintptr_t)listed,
		.count = 1 + any_below(ARRAY_SIZE(listed)),
	};
	long ret = sys_ioctl(wheels[wheel].filp, TWHEEL_LIST, &list), i;

	for (i = 0; i < ret; i++)
		if (!listed[i].id || listed[i].state > TWHEEL_EXPIRED ||
		    (u32)listed[i].data >= MAX_RECORDS)
			wrong(ANSWERS, "a list has what is not a timer");
	return min(ret, 0L);
}

static void look(struct adder *a, u32 wheel)
{
	struct file *filp = wheels[wheel].filp;
	struct twheel_info info;
	long ret = 0;

	switch (any_below(7)) {
	case 0 ... 1:
		ret = pick(a, wheel, sizeof(a->id[0])) ? query_picked(a, wheel) : 0;
		break;
	case 2:
		ret = list_some(wheel);
		break;
	case 3:
		ret = sys_ioctl(filp, TWHEEL_INFO, &info);
		break;
	case 4:
		sys_fdinfo(filp);
		break;
	case 5:
		sys_poll(filp, false);
		break;
	default:
		read_some(wheel, 1 + any_below(8), one_in(2) ? O_NONBLOCK : IOCB_NOWAIT);
	}
	check_answer("look", ret ?: 1, 1, false, -ENOENT);
}

/* Only one thread can, and none once there is a timer. */
static void set_up(u32 wheel)
{
	struct twheel_setup setup = wheels[wheel].setup;
	long ret = sys_ioctl(wheels[wheel].filp, TWHEEL_SETUP, &setup);

	if (!ret)
		happens(SET_UP);
	check_answer("set-up", ret ?: 1, 1, false, -EBUSY);
}

/*
 * A round.
 */

static void any_call(struct adder *a)
{
	u32 wheel = any_below(NR_WHEELS);

	switch (any_below(16)) {
	case 0 ... 6:
		return add(a, wheel);
	case 7 ... 8:
		return cancel(a, wheel);
	case 9 ... 11:
		return modify(a, wheel);
	case 12 ... 13:
		return look(a, wheel);
	default:
		if (one_in(4))
			usleep(any_below(500));
	}
}

/* No waiter waits for these to the end of the round. */
static void cancel_long_lived(u32 begin, u32 end)
{
	struct record *record;

	for (record = &records[begin]; record < &records[end]; record++) {
		if (record->long_lived &&
		    !sys_ioctl(wheels[record->wheel].filp, TWHEEL_CANCEL, &record->id))
			__atomic_fetch_add(&record->cancelled, 1, __ATOMIC_RELAXED);
	}
}

void add_for_a_round(u32 adder)
{
	struct adder a = { .next = adder * MAX_ADDS, .end = (adder + 1) * MAX_ADDS };
	u32 calls = 1 + any_below(MAX_CALLS), wheel;

	for (wheel = 0; wheel < NR_WHEELS; wheel++) {
		if (one_in(2))
			set_up(wheel);
	}
	while (calls--)
		any_call(&a);
	cancel_long_lived(adder * MAX_ADDS, a.next);
}

/*
 * Opening and closing.
 */

void open_and_close(void)
{
	struct twheel_setup setup = {
		.tick_ns = (1 + any_below(100)) * USEC,
		.wheel_size = 2 + any_below(100),
		.clock_id = one_in(2) ? CLOCK_MONOTONIC : CLOCK_BOOTTIME,
	};
	struct twheel_add add = { .time_ns = any_below(500) * USEC };
	u32 n = 1 + any_below(40);
	struct watch watch;
	struct file *filp;

	if (sys_open(NR_WHEELS, &filp))
		broken("a wheel cannot be opened");
	sys_ioctl(filp, TWHEEL_SETUP, &setup);
	while (n--)
		sys_ioctl(filp, TWHEEL_ADD, &add);
	watch_add(&watch, filp, one_in(2) ? EPOLLET : 0);
	if (one_in(2))
		usleep(any_below(300));
	if (!READ_ONCE(watch.triggered))
		happens(CLOSED_ARMED);
	watch_remove(&watch);
	sys_close(filp);
}
