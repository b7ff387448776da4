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
#define MAX_CALLS	400
/* The latest deadline that a waiter waits for. */
#define SOON_NS		(3 * MSEC)

uint64_t nr_adders = 3;

/* The state of an adder: its records, and the arguments of a call. */
struct adder {
	u32 begin;
	u32 kept;	/* from here on, long-lived timers have not been cancelled */
	u32 next;
	u32 end;
	u32 wheel;
	u32 picked[MAX_BATCH];	/* the records of timers that are changed */
	union {
		struct twheel_add add[MAX_BATCH];
		struct twheel_modify modify[MAX_BATCH];
		u64 id[MAX_BATCH];
	};
};

/* A call that changes timers, alone and in batches */
struct change {
	const char *name;
	unsigned int single;
	unsigned int batch;
	long expected;	/* an errno without another reason */
};

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
		wrong("%s: %ld instead of %u", call, ret, n);
}

/* The same by io_uring, where some commands contain their arguments. */
static long command(unsigned int cmd, void *arg)
{
	const struct twheel_modify *modify = arg;

	if (cmd == TWHEEL_CANCEL && one_in(2))
		return sys_uring(wheel, TWHEEL_URING_CANCEL, *(u64 *)arg, 0);
	if (cmd == TWHEEL_MODIFY && !modify->flags && one_in(2))
		return sys_uring(wheel, TWHEEL_URING_MODIFY, modify->id, modify->time_ns);
	return sys_uring(wheel, cmd, (unsigned long)arg, 0);
}

/* One call for the entries in @a. Return how many were done. */
static u32 change(struct adder *a, const struct change *c, u32 n)
{
	struct twheel_batch b = { .entries = (unsigned long)a->add, .count = n };
	bool alone = n == 1 && one_in(2);
	unsigned int cmd = alone ? c->single : c->batch;
	void *arg = alone ? (void *)a->add : &b;
	long ret;

	if (!n)
		return 0;
	ret = one_in(2) ? command(cmd, arg) : sys_ioctl(wheel, cmd, arg);
	if (alone && !ret)
		ret = 1;
	check_answer(c->name, ret, n, wheels[a->wheel].limited, c->expected);
	return max(ret, 0L);
}

/*
 * Adding.
 */

static void choose_time(struct twheel_add *add, struct record *record, u64 now)
{
	u32 kind = any_below(8);

	WRITE_ONCE(record->is_periodic, kind == 0);
	WRITE_ONCE(record->long_lived, kind <= 1);
	add->time_ns = kind == 1 ? SEC << any_below(34) : any_below(MSEC);
	/* Without a set-up, a tick is a millisecond. */
	if (kind == 0)
		add->interval_ns = MSEC + wheels[record->wheel].setup.tick_ns + any_below(MSEC);
	if (kind > 2) {
		/* Some are due. */
		add->flags = TWHEEL_ABSTIME;
		add->time_ns = now - MSEC / 2 + any_below(SOON_NS);
	}
}

static void add(struct adder *a)
{
	static const struct change adding = { "add", TWHEEL_ADD, TWHEEL_ADD_BATCH };
	u64 now = twheel_file_now(wheel->private_data), crowd = now + any_below(SOON_NS);
	u32 n = min(some(), a->end - a->next), done, i;
	bool crowded = n > 32 && one_in(3);

	memset(a->add, 0, n * sizeof(a->add[0]));
	for (i = 0; i < n; i++) {
		struct record *record = &records[a->next + i];

		WRITE_ONCE(record->wheel, a->wheel);
		a->add[i].data = a->next + i;
		choose_time(&a->add[i], record, now);
		if (crowded && a->add[i].flags)
			a->add[i].time_ns = crowd;
	}
	done = change(a, &adding, n);
	for (i = 0; i < done; i++)
		WRITE_ONCE(records[a->next + i].id, a->add[i].id);
	HAPPENS("timers added", done);
	/* The record of a timer that does not exist is not reused. */
	a->next += n;
}

/*
 * Modifying, cancelling and querying timers of all threads.
 */

/* Pick timers of a wheel; return how many. */
static u32 pick(struct adder *a, size_t stride)
{
	u32 n = some(), picked = 0, nr;
	u64 *id = a->id;

	while (n--) {
		/* One of the last records of an adder, which all are about as far. */
		nr = any_below(nr_adders) * MAX_ADDS + a->next - a->begin;
		nr -= min(a->next - a->begin, (u32)any_below(MAX_BATCH));
		*id = READ_ONCE(records[nr].id);
		if (!*id || READ_ONCE(records[nr].wheel) != a->wheel)
			continue;
		/* Most bad ids end a batch; some do not. */
		if (has_ended(&records[nr]) && !one_in(64))
			continue;
		a->picked[picked++] = nr;
		id = (void *)id + stride;
	}
	return picked;
}

static void cancel(struct adder *a)
{
	static const struct change cancelling = {
		"cancel", TWHEEL_CANCEL, TWHEEL_CANCEL_BATCH, -ENOENT
	};
	u32 n = change(a, &cancelling, pick(a, sizeof(a->id[0])));

	HAPPENS("timers cancelled", n);
	while (n--)
		__atomic_fetch_add(&records[a->picked[n]].cancelled, 1, __ATOMIC_RELAXED);
}

static void modify(struct adder *a)
{
	static const struct change modifying = {
		"modify", TWHEEL_MODIFY, TWHEEL_MODIFY_BATCH, -ENOENT
	};
	u64 now = twheel_file_now(wheel->private_data);
	u32 n, i;

	memset(a->modify, 0, sizeof(a->modify));
	n = pick(a, sizeof(a->modify[0]));
	for (i = 0; i < n; i++) {
		a->modify[i].time_ns = one_in(8) ? 0 : any_below(SOON_NS);
		if (one_in(2)) {
			a->modify[i].time_ns += now;
			a->modify[i].flags = TWHEEL_ABSTIME;
		}
	}
	n = change(a, &modifying, n);
	HAPPENS("timers modified", n);
}

/* Look at the wheel, without waiting. */
static void look(struct adder *a)
{
	struct twheel_query query = {};
	struct twheel_listed listed[50];
	struct twheel_list list = {
		.cursor = any_below(4) << 8 | any_below(84),
		.entries = (uintptr_t)listed,
		.count = 1 + any_below(ARRAY_SIZE(listed)),
	};
	struct twheel_info info;
	long ret = 0;

	switch (any_below(7)) {
	case 0 ... 1:
		query.id = pick(a, sizeof(a->id[0])) ? a->id[0] : 0;
		ret = sys_ioctl(wheel, TWHEEL_QUERY, &query);
		HAPPENS("timers queried", !ret);
		break;
	case 2:
		ret = min(sys_ioctl(wheel, TWHEEL_LIST, &list), 0L);
		break;
	case 3:
		ret = sys_ioctl(wheel, TWHEEL_INFO, &info);
		break;
	case 4:
		sys_fdinfo(wheel);
		break;
	case 5:
		sys_poll(wheel, false);
		break;
	default:
		read_events(1, O_NONBLOCK);
	}
	check_answer("look", ret ?: 1, 1, false, -ENOENT);
}

/* Only one thread can, and none once there is a timer. */
static void set_up(u32 nr)
{
	struct twheel_setup setup = wheels[nr].setup;
	long ret = sys_ioctl(wheels[nr].filp, TWHEEL_SETUP, &setup);

	HAPPENS("wheels set up", !ret);
	check_answer("set-up", ret ?: 1, 1, false, -EBUSY);
}

/*
 * A round.
 */

static void any_call(struct adder *a)
{
	a->wheel = any_below(NR_WHEELS);
	use_wheel(a->wheel);
	switch (any_below(16)) {
	case 0 ... 6:
		return add(a);
	case 7 ... 8:
		return cancel(a);
	case 9 ... 11:
		return modify(a);
	case 12 ... 13:
		return look(a);
	case 14:
		return disturb();
	default:
		usleep(any_below(500));
	}
}

/* No waiter waits for these to the end of the round. */
static void cancel_long_lived(struct adder *a)
{
	for (; a->kept < a->next; a->kept++) {
		struct record *record = &records[a->kept];

		if (record->long_lived &&
		    !sys_ioctl(wheels[record->wheel].filp, TWHEEL_CANCEL, &record->id))
			__atomic_fetch_add(&record->cancelled, 1, __ATOMIC_RELAXED);
	}
}

void add_for_a_round(u32 adder)
{
	const u32 begin = adder * MAX_ADDS;
	struct adder a = { begin, begin, begin, begin + MAX_ADDS };
	u32 calls = 1 + any_below(MAX_CALLS), nr;

	for (nr = 0; nr < NR_WHEELS; nr++) {
		if (one_in(2))
			set_up(nr);
	}
	while (calls--) {
		any_call(&a);
		if (!calls || one_in(20))
			cancel_long_lived(&a);
	}
}
