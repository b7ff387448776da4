// SPDX-License-Identifier: MIT
/*
 * The actions of others on a wheel while waiters wait for it
 *
 * Timers have numbers; their deadlines are in ticks from the beginning. A level has four buckets
 * of a tick, the one above it four of four ticks, and three timers are a crowd.
 */
#include "ledger.h"

static void ok(long err)
{
	if (err)
		broken("a call fails that should not");
}

/* It may have been read before. */
static void ok_or_gone(long err)
{
	if (err && err != -ENOENT)
		broken("a cancel or a modify fails");
}

static void add_earlier(void)
{
	ok(add(4, 3));
}

static void add_due(void)
{
	ok(add(8, 0));
}

static void add_late(void)
{
	ok(add(9, 9));
}

static void add_some(void)
{
	if (add_batch(4, 3, 3) != 3)
		broken("a batch is cut short");
}

static void add_without_memory(void)
{
	long err;

	current->lean = 1;
	err = add(4, 3);
	if (err && err != -ENOMEM)
		broken("an add without memory fails otherwise");
	current->lean = 0;
	ok(add(5, 5));
}

static void cancel_head(void)
{
	ok_or_gone(cancel(0));
}

static void modify_earlier(void)
{
	ok_or_gone(modify(0, 3));
}

static void modify_later(void)
{
	ok_or_gone(modify(0, 6));
}

static void drain(void)
{
	int n;

	do {
		n = ring ? (int)take_events() : read_events(1, O_NONBLOCK);
	} while (n > 0);
}

/* The waiter gets the events that it leaves. */
static void read_once(void)
{
	int n = read_events(1, 0);

	if (n != 1 && n != -EINTR && n != -ERESTARTSYS)
		broken("a read that may wait fails");
}

static void time_goes_by(void)
{
	clock_pass(4 * TICK_NS);
}

/* The first waiter is the first coroutine. */
static void kill_first(void)
{
	task_signal(&coroutines[0].task, true);
}

static void signal_first(void)
{
	task_signal(&coroutines[0].task, false);
}

static void change_by_uring(void)
{
	ok(uring_add(4, 3));
	ok_or_gone(uring_cancel(0));
}

static void set_up_and_add(void)
{
	long err = set_up(CLOCK_BOOTTIME, 2 * TICK_NS);

	if (err && err != -EBUSY)
		broken("TWHEEL_SETUP fails");
	ok(add(5, 5));
}

static void set_back(void)
{
	clock_set(-4 * (s64)TICK_NS);
}

static void set_back_and_add(void)
{
	clock_set(-4 * (s64)TICK_NS);
	ok(add(4, 1));
}

static void set_back_and_forward(void)
{
	clock_set(-4 * (s64)TICK_NS);
	clock_set(6 * TICK_NS);
}

static void periodic(void)
{
	ok(add_periodic(0, 2, 40));
}

static void cancel_periodic(void)
{
	clock_pass(45 * TICK_NS);
	ok(cancel(0));
}

/* It moves events to the ring; the waiter takes them. */
static void poll_twice(void)
{
	clock_pass(3 * TICK_NS);
	sys_poll(wheel, false);
	sys_poll(wheel, false);
}

static void look(void)
{
	struct twheel_query query = {};
	struct twheel_listed listed[4];
	struct twheel_list list = { .entries = (unsigned long)listed, .count = 4 };
	long n;

	if (sys_ioctl(wheel, TWHEEL_QUERY, &query) != -ENOENT)
		broken("TWHEEL_QUERY finds what was never added");
	n = sys_ioctl(wheel, TWHEEL_LIST, &list);
	if (n < 0 || n > 2)
		broken("TWHEEL_LIST lists what was never added");
	sys_fdinfo(wheel);
}

static void set_up_without_memory(void)
{
	long err;

	current->lean = 1;
	err = set_up(CLOCK_REALTIME, 2 * TICK_NS);
	if (err && err != -EBUSY && err != -ENOMEM)
		broken("TWHEEL_SETUP without memory fails otherwise");
	current->lean = 0;
	ok(add(5, 5));
}

static struct task_struct *task_of(void (*run)(void))
{
	struct coroutine *c = coroutines;

	while (c->run != run)
		c++;
	return &c->task;
}

static void ask_for_info(void)
{
	struct twheel_info info;
	long err = sys_ioctl(wheel, TWHEEL_INFO, &info);

	if (err && err != -EINTR)
		broken("TWHEEL_INFO fails");
}

static void kill_who_asks(void)
{
	task_signal(task_of(ask_for_info), true);
}

static void add_many_due(void)
{
	long done = add_batch(4, 0, 5);

	if (done != 5 && done != -EINTR && !current->signalled)
		broken("a batch is cut short");
}

static void kill_who_adds(void)
{
	task_signal(task_of(add_many_due), true);
}

/* To sort them takes more steps than a poll may: it leaves work, and finds nothing. */
#define UNSORTED	{ 8, 11, 10, 9, 8, 11, 10, 9, 8, 11, 10, 9 }

/* Acts for every way to wait. Rings have three slots that can be filled. */
const struct act acts[] = {
	{ "two_waiters", CLOCK_MONOTONIC, { 2, 2 }, {}, 2 },
	{ "add_first", -1, {}, { add_earlier }, 1 },
	{ "add_earlier", CLOCK_MONOTONIC, { 9 }, { add_earlier }, 1 },
	{ "add_due", CLOCK_MONOTONIC, { 9 }, { add_due }, 1 },
	{ "add_some", CLOCK_MONOTONIC, { 9 }, { add_some }, 1 },
	{ "add_twice", CLOCK_MONOTONIC, {}, { add_earlier, add_late }, 1 },
	{ "no_memory", CLOCK_MONOTONIC, {}, { add_without_memory }, 1 },
	{ "cancel_head", CLOCK_MONOTONIC, { 2, 9 }, { cancel_head }, 1 },
	{ "modify_earlier", CLOCK_MONOTONIC, { 9 }, { modify_earlier }, 1 },
	{ "modify_later", CLOCK_MONOTONIC, { 2 }, { modify_later }, 1 },
	{ "drain", CLOCK_MONOTONIC, { 2, 2 }, { drain }, 1 },
	{ "read_once", CLOCK_MONOTONIC, { 2, 2 }, { read_once }, 1 },
	{ "late", CLOCK_MONOTONIC, { 2, 9 }, { time_goes_by }, 1 },
	{ "kill", CLOCK_MONOTONIC, { 2, 2 }, { kill_first }, 2 },
	{ "signal", CLOCK_MONOTONIC, { 2, 2 }, { signal_first }, 2 },
	{ "info", CLOCK_MONOTONIC, { 2, 2, 2 }, { ask_for_info, kill_who_asks }, 1 },
	{ "add_killed", CLOCK_MONOTONIC, { 2, 2, 2 }, { add_many_due, kill_who_adds }, 1 },
	{ "look", CLOCK_MONOTONIC, { 2, 2 }, { look }, 1 },
	{ "uring", CLOCK_MONOTONIC, { 9 }, { change_by_uring }, 1 },
	{ "set_up", -1, {}, { set_up_and_add, add_earlier }, 1 },
	{ "set_back", CLOCK_REALTIME, { 2, 9 }, { set_back }, 1 },
	{ "back_and_add", CLOCK_REALTIME, { 2, 9 }, { set_back_and_add }, 1 },
	{ "set_forward", CLOCK_REALTIME, { 2, 9 }, { set_back_and_forward }, 1 },
	{ "crowd", CLOCK_MONOTONIC, { 9, 9, 9, 9 }, { time_goes_by }, 1 },
	{ "sort", CLOCK_MONOTONIC, UNSORTED, {}, 1 },
	{ "periodic", CLOCK_MONOTONIC, {}, { cancel_periodic }, 1, .prepare = periodic },
	{ "ring_add", CLOCK_MONOTONIC, { 9 }, { add_earlier }, 1, true },
	{ "ring_full", CLOCK_MONOTONIC, { 2, 2, 2, 2, 2 }, { time_goes_by }, 1, true },
	{ "ring_polled", CLOCK_MONOTONIC, { 2, 2, 2, 2, 2 }, { poll_twice }, 1, true },
	{ "ring_shared", CLOCK_MONOTONIC, { 2, 2, 2, 2, 2 }, {}, 2, true },
	{ "ring_sort", CLOCK_MONOTONIC, UNSORTED, {}, 1, true },
	{ "ring_cancel", CLOCK_MONOTONIC, { 2, 9 }, { cancel_head }, 1, true },
	{},
};

/*
 * Acts for one way to wait, or none.
 */

/* The hrtimer is armed, and may be firing. */
static void close_armed(void)
{
	struct watch watch;

	watch_add(&watch, wheel, false);
	watch_remove(&watch);
	sys_close(wheel);
	wheel = NULL;
}

static void make_ring(u32 slots)
{
	struct twheel_ring_setup setup = { .slots = slots }, again = {};

	ok(sys_ioctl(wheel, TWHEEL_RING, &setup));
	ok(sys_ioctl(wheel, TWHEEL_RING, &again));
	if (setup.slots != again.slots)
		broken("a file has two rings");
}

static void make_small_ring(void)
{
	make_ring(2);
}

static void make_large_ring(void)
{
	make_ring(20);
}

/* Another wheel of the same user. */
static struct file *other WORLD;

static void open_other(void)
{
	if (sys_open(0, &other))
		broken("a wheel cannot be opened");
}

static void use_other(void)
{
	struct twheel_add add = { .time_ns = TICK_NS };

	ok(sys_ioctl(other, TWHEEL_ADD, &add));
	sys_close(other);
}

/* There are three pages, each with four timers. */
static void cancel_first_pages(void)
{
	unsigned int nr;

	for (nr = 0; nr < 8; nr++)
		ok(cancel(nr));
}

static void cancel_last_page(void)
{
	unsigned int nr;

	for (nr = 8; nr < 12; nr++)
		ok(cancel(nr));
	ok(add(12, 5));
}

/* A program that cancels and modifies what has expired instead of reading it. */
static void cancel_on_edge(void)
{
	struct watch watch;

	running->is_waiter = true;
	watch_add(&watch, wheel, true);
	if (watch_wait(&watch) > 0) {
		clock_pass(4 * TICK_NS);
		ok_or_gone(cancel(0));
		ok_or_gone(modify(1, 9));
		while (watch_wait(&watch) > 0)
			drain();
	}
	watch_remove(&watch);
}

const struct act lone_acts[] = {
	{ "edge_cancels", CLOCK_MONOTONIC, { 2, 4, 12 }, { cancel_on_edge, poll_twice } },
	{ "and_edge", CLOCK_MONOTONIC, { 2, 2 }, { add_earlier }, 1,
	  .only = "read", .also = "edge" },
	{ "and_level", CLOCK_MONOTONIC, { 2, 2 }, { cancel_head }, 1,
	  .only = "edge", .also = "level" },
	{ "and_aio", CLOCK_MONOTONIC, { 9 }, { add_earlier }, 1,
	  .only = "uring", .also = "aio" },
	{ "no_memory_to_set_up", -1, {}, { set_up_without_memory, add_earlier }, 1,
	  .only = "read" },
	{ "kill_busy", CLOCK_MONOTONIC, { 2, 2, 2 }, { kill_first, add_late }, 2,
	  .only = "read" },
	{ "close", CLOCK_MONOTONIC, { 2 }, { close_armed } },
	{ "two_rings", CLOCK_MONOTONIC, {}, { make_small_ring, make_large_ring } },
	{ "two_wheels", CLOCK_MONOTONIC, {}, { add_earlier, use_other }, .prepare = open_other },
	{ "trim", CLOCK_MONOTONIC, { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9 },
	  { cancel_first_pages, cancel_last_page } },
	{},
};
