// SPDX-License-Identifier: MIT
/*
 * Threads that add, modify, cancel and query timers, at times without memory
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "kernel.h"
#include "workers.h"

/* Calls that an adder makes in a round, at most. */
#define MAX_CALLS	60
/* The latest deadline that a waiter waits for. */
#define SOON_NS		(3 * MSEC)

uint64_t nr_adders = 3;

/* The state of an adder: its records, and room for the arguments of a call. */
struct adder {
	u32 next;
	u32 end;
	u32 first[MAX_BATCH];
	union {
		struct twheel_add add[MAX_BATCH];
		struct twheel_modify modify[MAX_BATCH];
		u64 id[MAX_BATCH];
	};
};

static unsigned int some(void)
{
	return one_in(2) ? 1 : one_in(2) ? 1 + any_below(8) : 1 + any_below(MAX_BATCH);
}

/* Make allocations fail at times, and user memory end within these arguments. */
static bool take_memory_away(const void *argument, size_t size)
{
	unsigned long somewhere = (unsigned long)argument + any_below(size);

	switch (any_below(24)) {
	case 0:
		current->unreadable = somewhere;
		return true;
	case 1:
		current->unwritable = somewhere;
		return true;
	case 2:
		current->user_end = somewhere;
		return true;
	case 3 ... 5:
		current->lean = 1 + any_below(3);
		return true;
	}
	return false;
}

/* Whether a result is valid: all @n are done, or there was a reason to stop. */
static void check_answer(const char *call, long ret, u32 n, bool trouble, long expected)
{
	bool signalled = signal_pending(current);

	record_error(ret);
	task_forget_signals(current);
	if (ret == n || (ret < 0 && ret == expected))
		return;
	if (ret > n || !ret || (!trouble && !signalled && (ret < 0 || !expected)))
		wrong(ANSWERS, "%s: %ld instead of %u", call, ret, n);
}

/* The same by io_uring, where some commands contain their arguments. */
static long command(struct file *filp, unsigned int cmd, void *arg)
{
	const struct twheel_modify *modify = arg;
	u64 first = (unsigned long)arg, second = 0;

	if (cmd == TWHEEL_CANCEL && one_in(2)) {
		cmd = TWHEEL_URING_CANCEL;
		first = *(u64 *)arg;
	} else if (cmd == TWHEEL_MODIFY && !modify->flags && one_in(2)) {
		cmd = TWHEEL_URING_MODIFY;
		first = modify->id;
		second = modify->time_ns;
	}
	return sys_uring(filp, cmd, first, second);
}

/*
 * One call for one entry, or for a batch of them. Returns how many were done, or an errno. A
 * batch by io_uring may end early instead of waiting: an ioctl does the rest.
 */
static long call(u32 wheel, unsigned int single, unsigned int batch, void *entries, u32 n,
		 bool alone)
{
	size_t size = batch == TWHEEL_ADD_BATCH ? sizeof(struct twheel_add) :
		      batch == TWHEEL_MODIFY_BATCH ? sizeof(struct twheel_modify) : sizeof(u64);
	struct twheel_batch b = { .entries = (unsigned long)entries, .count = n };
	struct file *filp = wheels[wheel].filp;
	long ret = 0, rest;

	if (alone) {
		ret = one_in(2) ? command(filp, single, entries) : sys_ioctl(filp, single, entries);
		return ret ?: 1;
	}
	if (one_in(2)) {
		ret = command(filp, batch, &b);
		if (ret < 0 || ret == n || signal_pending(current))
			return ret;
		b.entries += ret * size;
		b.count -= ret;
	}
	rest = sys_ioctl(filp, batch, &b);
	return ret && rest < 0 ? ret : ret + rest;
}

/*
 * Adding.
 */

static void choose_time(struct twheel_add *add, struct record *record, u64 now, u64 crowd)
{
	u64 tick = MSEC;

	switch (any_below(8)) {
	case 0:
		add->flags = TWHEEL_ABSTIME;
		add->time_ns = now - any_below(MSEC);
		break;
	case 1:
		add->time_ns = any_below(2) * USEC;
		break;
	case 2:
		add->time_ns = SEC << any_below(34);
		WRITE_ONCE(record->long_lived, true);
		break;
	case 3:
		if (one_in(2))
			tick = READ_ONCE(wheels[record->wheel].setup.tick_ns) + tick;
		add->time_ns = any_below(MSEC);
		add->interval_ns = 2 * tick + any_below(MSEC);
		WRITE_ONCE(record->periodic, true);
		WRITE_ONCE(record->long_lived, true);
		break;
	case 4:
		add->time_ns = any_below(300) * USEC;
		break;
	default:
		add->flags = TWHEEL_ABSTIME;
		add->time_ns = crowd ?: now + any_below(SOON_NS);
	}
	WRITE_ONCE(record->deadline, add->flags ? add->time_ns : 0);
}

static u32 fill_adds(struct adder *a, u32 wheel, u32 n)
{
	u64 now = clock_now(wheels[wheel].slow_clock);
	u64 crowd = one_in(3) ? now + any_below(SOON_NS) : 0;
	u32 i;

	if (n > a->end - a->next)
		n = a->end - a->next;
	memset(a->add, 0, n * sizeof(a->add[0]));
	for (i = 0; i < n; i++) {
		struct record *record = &records[a->next + i];

		WRITE_ONCE(record->wheel, wheel);
		a->add[i].data = record_data(a->next + i);
		choose_time(&a->add[i], record, now, n > 32 ? crowd : 0);
	}
	return n;
}

static void add(struct adder *a, u32 wheel)
{
	u32 n = fill_adds(a, wheel, some()), i;
	bool trouble;
	long ret;

	if (!n)
		return;
	trouble = take_memory_away(a->add, n * sizeof(a->add[0]));
	ret = call(wheel, TWHEEL_ADD, TWHEEL_ADD_BATCH, a->add, n, n == 1 && one_in(2));
	task_mend(current);
	for (i = 0; ret > 0 && i < ret; i++)
		WRITE_ONCE(records[a->next + i].id, a->add[i].id);
	/* The record of a timer that does not exist is not reused. */
	a->next += n;
	if (ret > 0) {
		count(&wheels[wheel].added, ret);
		count(&happened[ADDED], ret);
	}
	check_answer("add", ret, n, trouble || wheels[wheel].limited, 0);
}

/*
 * Modifying, cancelling and querying timers of all threads.
 */

/* Picks timers of a wheel; returns how many. */
static u32 pick(struct adder *a, u32 wheel, u64 *id, size_t stride, u32 n)
{
	u32 picked = 0, nr;

	while (n--) {
		nr = any_below(nr_adders * MAX_ADDS);
		*id = READ_ONCE(records[nr].id);
		if (!*id || READ_ONCE(records[nr].wheel) != wheel)
			continue;
		/* Most bad ids end a batch; some do not. */
		if (has_ended(&records[nr]) && !one_in(64))
			continue;
		a->first[picked++] = nr;
		id = (void *)id + stride;
	}
	return picked;
}

static long cancel_picked(struct adder *a, u32 wheel, u32 n, bool trouble)
{
	long ret = call(wheel, TWHEEL_CANCEL, TWHEEL_CANCEL_BATCH, a->id, n, n == 1 && one_in(2));
	u32 i;

	task_mend(current);
	for (i = 0; ret > 0 && i < ret; i++)
		__atomic_fetch_add(&records[a->first[i]].cancelled, 1, __ATOMIC_RELAXED);
	if (ret > 0) {
		count(&wheels[wheel].cancelled, ret);
		count(&happened[CANCELLED], ret);
	}
	check_answer("cancel", ret, n, trouble, -ENOENT);
	return ret;
}

static void cancel(struct adder *a, u32 wheel)
{
	u32 n = pick(a, wheel, a->id, sizeof(a->id[0]), some());

	if (n)
		cancel_picked(a, wheel, n, take_memory_away(a->id, n * sizeof(a->id[0])));
}

static void modify(struct adder *a, u32 wheel)
{
	u64 now = clock_now(wheels[wheel].slow_clock);
	bool trouble;
	long ret;
	u32 n, i;

	memset(a->modify, 0, sizeof(a->modify));
	n = pick(a, wheel, &a->modify[0].id, sizeof(a->modify[0]), some());
	if (!n)
		return;
	for (i = 0; i < n; i++) {
		WRITE_ONCE(records[a->first[i]].deadline, 0);
		a->modify[i].time_ns = one_in(8) ? 0 : any_below(SOON_NS);
		if (one_in(2)) {
			a->modify[i].time_ns += now;
			a->modify[i].flags = TWHEEL_ABSTIME;
		}
	}
	/* A timer that is picked more than once gets only one entry. */
	trouble = take_memory_away(a->modify, n * sizeof(a->modify[0]));
	ret = call(wheel, TWHEEL_MODIFY, TWHEEL_MODIFY_BATCH, a->modify, n, n == 1 && one_in(2));
	task_mend(current);
	if (ret > 0)
		count(&happened[MODIFIED], ret);
	check_answer("modify", ret, n, trouble || wheels[wheel].limited, -ENOENT);
}

static void query_one(struct adder *a, u32 wheel)
{
	struct twheel_query q = {};
	bool trouble;
	long ret;
	u64 id;

	if (!pick(a, wheel, a->id, sizeof(a->id[0]), 8))
		return;
	id = a->id[0];
	q.id = id;
	trouble = take_memory_away(&q, sizeof(q));
	ret = sys_ioctl(wheels[wheel].filp, TWHEEL_QUERY, &q);
	task_mend(current);
	if (!ret && (q.id != id || q.state > TWHEEL_EXPIRED || (u32)q.data >= MAX_RECORDS ||
		     READ_ONCE(records[(u32)q.data].id) != id))
		wrong(ANSWERS, "a query has another timer's answer");
	if (!ret)
		happens(QUERIED);
	check_answer("query", ret ?: 1, 1, trouble, -ENOENT);
}

/*
 * Looking at the wheel, without waiting.
 */

/* A part of the list, from any cursor: some timers may have been added just now. */
static long list_some(u32 wheel, bool *trouble)
{
	struct twheel_listed listed[50] = {};
	struct twheel_list list = {
		.cursor = any_below(4) << 8 | any_below(84),
		.entries = (uintptr_t)listed,
		.count = 1 + any_below(ARRAY_SIZE(listed)),
	};
	long ret, i;

	*trouble = take_memory_away(listed, sizeof(listed));
	ret = sys_ioctl(wheels[wheel].filp, TWHEEL_LIST, &list);
	task_mend(current);
	for (i = 0; i < ret; i++)
		if (!listed[i].id || listed[i].state > TWHEEL_EXPIRED ||
		    (u32)listed[i].data >= MAX_RECORDS)
			wrong(ANSWERS, "a list has what is no timer");
	return min(ret, 0L);
}

static void look(u32 wheel)
{
	struct twheel_info info = {};
	bool trouble = false;
	long ret = 0;

	switch (any_below(6)) {
	case 0:
		ret = list_some(wheel, &trouble);
		break;
	case 1:
		trouble = take_memory_away(&info, sizeof(info));
		ret = sys_ioctl(wheels[wheel].filp, TWHEEL_INFO, &info);
		task_mend(current);
		break;
	case 2:
		sys_fdinfo(wheels[wheel].filp);
		break;
	case 3:
		sys_poll(wheels[wheel].filp, false);
		break;
	case 4:
		read_some(wheel, 1 + any_below(8), IOCB_NOWAIT);
		break;
	default:
		read_some(wheel, 1 + any_below(8), O_NONBLOCK);
	}
	check_answer("info", ret ?: 1, 1, trouble, 0);
}

/* Only one thread can, and none once there is a timer. */
static void set_up(u32 wheel)
{
	struct twheel_setup setup = wheels[wheel].setup;
	bool trouble = take_memory_away(&setup, sizeof(setup));
	long ret = sys_ioctl(wheels[wheel].filp, TWHEEL_SETUP, &setup);

	task_mend(current);
	if (!ret) {
		happens(SET_UP);
		if (__atomic_fetch_add(&wheels[wheel].set_up, 1, __ATOMIC_RELAXED))
			wrong(ANSWERS, "a wheel was set up twice");
	}
	check_answer("set-up", ret ?: 1, 1, trouble, -EBUSY);
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
	case 12:
		return query_one(a, wheel);
	case 13:
		return look(wheel);
	default:
		if (one_in(4))
			usleep(any_below(500));
	}
}

/* No waiter waits for these to the end of the round. */
static void cancel_long_lived(struct adder *a, u32 begin)
{
	u32 nr;

	for (nr = begin; nr < a->next; nr++) {
		struct record *record = &records[nr];

		if (!record->long_lived)
			continue;
		a->id[0] = record->id;
		a->first[0] = nr;
		cancel_picked(a, record->wheel, 1, false);
	}
}

void add_for_a_round(unsigned int adder)
{
	u32 begin = adder * MAX_ADDS;
	struct adder *a = malloc(sizeof(*a));
	u32 calls = 1 + any_below(MAX_CALLS), wheel;

	if (!a)
		broken("no memory for an adder");
	a->next = begin;
	a->end = begin + MAX_ADDS;
	for (wheel = 0; wheel < NR_WHEELS; wheel++) {
		if (!READ_ONCE(wheels[wheel].added) && one_in(2))
			set_up(wheel);
	}
	while (calls--)
		any_call(a);
	cancel_long_lived(a, begin);
	free(a);
}

/*
 * Opening and closing.
 */

static void arm(struct file *filp)
{
	struct twheel_add adds[40] = {};
	struct twheel_batch b = {
		.entries = (unsigned long)adds,
		.count = 1 + any_below(40),
	};
	struct watch watch;
	u32 i;

	for (i = 0; i < b.count; i++)
		adds[i].time_ns = any_below(500) * USEC;
	sys_ioctl(filp, TWHEEL_ADD_BATCH, &b);
	task_mend(current);
	watch_add(&watch, filp, one_in(2));
	if (one_in(2))
		usleep(any_below(300));
	if (!READ_ONCE(watch.triggered))
		happens(CLOSED_ARMED);
	watch_remove(&watch);
}

void open_and_close(void)
{
	struct twheel_setup setup = {
		.tick_ns = (1 + any_below(100)) * USEC,
		.wheel_size = 2 + any_below(100),
		.clock_id = one_in(2) ? CLOCK_MONOTONIC : CLOCK_BOOTTIME,
	};
	struct file *filp;

	if (one_in(4))
		current->lean = 1 + any_below(4);
	if (!sys_open(NR_WHEELS, &filp)) {
		sys_ioctl(filp, TWHEEL_SETUP, &setup);
		arm(filp);
		sys_close(filp);
	}
	task_mend(current);
}
