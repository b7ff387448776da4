// SPDX-License-Identifier: MIT
/*
 * The actions of other tasks on a wheel while waiters wait for it
 *
 * Deadlines are in ticks from the beginning. A level has four buckets of a tick, the one above it
 * four of four ticks, and three timers are a crowd.
 */
#include "scenario.h"

static void pass(const struct step *step)
{
	clock_pass(step->ticks * TICK_NS);
}

static void set_clock(const struct step *step)
{
	clock_set(step->ticks * (s64)TICK_NS);
}

/* An allocation of the next call may fail. */
static void lean(const struct step *step)
{
	current->lean = 1;
}

/* The first waiter, which is the first coroutine; or with a number, the act's first task. */
static struct task_struct *target(const struct step *step)
{
	struct coroutine *c = coroutines;

	while (step->nr && !c->steps)
		c++;
	return &c->task;
}

static void kill(const struct step *step)
{
	task_signal(target(step), true);
}

static void interrupt(const struct step *step)
{
	task_signal(target(step), false);
}

static void drain(const struct step *step)
{
	int n;

	do {
		n = ring ? (int)take_events() : read_events(1, O_NONBLOCK);
	} while (n > 0);
}

/* The waiter gets the events that it leaves. */
static void read_some(const struct step *step)
{
	int n = read_events(step->n ?: 1, 0);

	if (n < 1 && n != -EINTR && n != -ERESTARTSYS)
		broken("a read that may wait fails");
}

/* Its memory is missing: what it would have read is for others. */
static void read_nowhere(const struct step *step)
{
	int n;

	current->unwritable = 0;
	n = read_events(step->n ?: 1, O_NONBLOCK);
	task_mend(current);
	if (n != -EFAULT && n != -EAGAIN)
		broken("a read without memory does not fail");
}

/* It moves events to the ring; the waiter takes them. */
static void poll(const struct step *step)
{
	sys_poll(wheel, false);
}

static void look(const struct step *step)
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

static void info(const struct step *step)
{
	struct twheel_info info;
	long err = sys_ioctl(wheel, TWHEEL_INFO, &info);

	if (err && err != -EINTR)
		broken("TWHEEL_INFO fails");
}

/* Another task's set-up can make the interval too short, but not after the add. */
static void add_short(const struct step *step)
{
	struct twheel_add add = { .interval_ns = TWHEEL_TICK_DEFAULT_NS };
	long err = sys_ioctl(wheel, TWHEEL_ADD, &add);
	struct twheel_info info;

	if (err == -EINVAL)
		return;
	if (err || sys_ioctl(wheel, TWHEEL_INFO, &info) || sys_ioctl(wheel, TWHEEL_CANCEL, &add.id))
		broken("a periodic timer cannot be added and cancelled");
	if (info.tick_ns > add.interval_ns)
		broken("an interval is shorter than a tick");
}

/* The hrtimer is armed, and may be firing. */
static void close_armed(const struct step *step)
{
	struct watch watch;

	watch_add(&watch, wheel, 0);
	watch_remove(&watch);
	sys_close(wheel);
	wheel = NULL;
}

static void make_ring(const struct step *step)
{
	struct twheel_ring_setup setup = { .slots = step->n }, again = {};

	if (sys_ioctl(wheel, TWHEEL_RING, &setup) || sys_ioctl(wheel, TWHEEL_RING, &again))
		broken("a ring cannot be made");
	if (setup.slots != again.slots)
		broken("a file has two rings");
}

/* More than the user may have, which leaves others what they need. */
static void make_huge_ring(const struct step *step)
{
	struct twheel_ring_setup setup = { .slots = TWHEEL_RING_SLOTS_MAX };

	if (sys_ioctl(wheel, TWHEEL_RING, &setup) != -ENOSPC)
		broken("a user has more memory than the limit");
}

/* The first levels of this wheel would leave others too little. */
static void add_too_far(const struct step *step)
{
	struct twheel_setup setup = { .tick_ns = TICK_NS, .wheel_size = 900 };
	struct twheel_add add = { .time_ns = TWHEEL_TIME_MAX_NS };

	if (sys_ioctl(wheel, TWHEEL_SETUP, &setup) || sys_ioctl(wheel, TWHEEL_ADD, &add) != -ENOSPC)
		broken("a user has more memory than the limit");
}

/* Another wheel of the same user. */
static void use_other(const struct step *step)
{
	struct twheel_add add = { .time_ns = TICK_NS };
	struct file *other;

	if (sys_open(0, &other) || sys_ioctl(other, TWHEEL_ADD, &add))
		broken("a second wheel cannot be used");
	sys_close(other);
}

/* A program that cancels and modifies what has expired instead of reading it. */
static void cancel_on_edge(const struct step *step)
{
	struct watch watch;

	running->is_waiter = true;
	watch_add(&watch, wheel, EPOLLET);
	if (watch_wait(&watch) > 0) {
		clock_pass(4 * TICK_NS);
		cancel(&(struct step) { .nr = 0 });
		modify(&(struct step) { .nr = 1, .ticks = 9 });
		while (watch_wait(&watch) > 0)
			drain(step);
	}
	watch_remove(&watch);
}

/* To sort them takes more steps than a poll may: it leaves work, and finds nothing. */
#define UNSORTED	{ 8, 11, 10, 9, 8, 11, 10, 9, 8, 11, 10, 9 }

/* Rings have three slots that can be filled; of twelve timers, four are on a page. */
const struct act acts[] = {
	{ "two_waiters", { 2, 2 }, .waiters = 2 },
	{ "add_first", {}, { { add, 4, 3 } }, .is_bare = true },
	{ "add_earlier", { 9 }, { { add, 4, 3 } } },
	{ "add_due", { 9 }, { { add, 8, 0 } } },
	{ "add_some", { 9 }, { { add_batch, 4, 3, 3 } } },
	{ "add_twice", {}, { { add, 4, 3 } }, { { add, 9, 9 } } },
	{ "no_memory", {}, { { lean }, { add, 4, 3 }, { add, 5, 5 } } },
	{ "cancel_head", { 2, 9 }, { { cancel, 0 } } },
	{ "modify_earlier", { 9 }, { { modify, 0, 3 } } },
	{ "modify_later", { 2 }, { { modify, 0, 6 } } },
	{ "drain", { 2, 2 }, { { drain } } },
	{ "read_once", { 2, 2 }, { { read_some } } },
	{ "read_nowhere", { 2, 2 }, { { read_nowhere, .n = 2 } } },
	{ "late", { 2, 9 }, { { pass, 0, 4 } } },
	{ "kill", { 2, 2 }, { { kill } }, .waiters = 2 },
	{ "signal", { 2, 2 }, { { interrupt } }, .waiters = 2 },
	{ "info", { 2, 2, 2 }, { { info } }, { { kill, 1 } } },
	{ "add_killed", { 2, 2, 2 }, { { add_batch, 4, 0, 5 } }, { { kill, 1 } } },
	{ "look", { 2, 2 }, { { look } } },
	{ "uring", { 9 }, { { add, 4, 3 }, { cancel, 0 } }, .has_uring = true },
	{ "set_up", {}, { { set_up, CLOCK_BOOTTIME, 2 }, { add, 5, 5 } }, { { add, 4, 3 } },
	  .is_bare = true },
	{ "set_back", { 2, 9 }, { { set_clock, 0, -4 } }, .is_wall = true },
	{ "back_and_add", { 2, 9 }, { { set_clock, 0, -4 }, { add, 4, 1 } }, .is_wall = true },
	{ "set_forward", { 2, 9 }, { { set_clock, 0, -4 }, { set_clock, 0, 6 } }, .is_wall = true },
	{ "crowd", { 9, 9, 9, 9 }, { { pass, 0, 4 } } },
	{ "sort", UNSORTED },
	{ "sort_signal", UNSORTED, { { pass, 0, 9 }, { drain } }, { { interrupt, 1 } } },
	{ "sort_set_back", UNSORTED, { { pass, 0, 20 }, { set_clock, 0, -10 } }, .is_wall = true },
	{ "rewind", { 2, 2, 3, 9 }, { { set_clock, 0, -4 }, { poll } }, .is_wall = true },
	{ "modify_due", { 9, 9, 9, 9 }, { { modify, 0, 0, .n = 4 } } },
	{ "periods", { 1, 1, 1, 90 }, { { pass, 0, 41 }, { cancel, 0, .n = 4 } }, .period = 5,
	  .tick = 2 },
	{ "periodic", { 2 }, { { pass, 0, 45 }, { cancel, 0 } }, .period = 40 },
	{ "ring_add", { 9 }, { { add, 4, 3 } }, .has_ring = true },
	{ "ring_full", { 2, 2, 2, 2, 2 }, { { pass, 0, 4 } }, .has_ring = true },
	{ "ring_early", { 2, 9 }, { { pass, 0, 3 }, { poll } }, .has_ring = true },
	{ "ring_polled", { 2, 2, 2, 2, 2 }, { { pass, 0, 3 }, { poll }, { poll } },
	  .has_ring = true },
	{ "ring_shared", { 2, 2, 2, 2, 2 }, .has_ring = true, .waiters = 2 },
	{ "ring_sort", UNSORTED, .has_ring = true },
	{ "ring_set_back", { 2, 6 },
	  { { pass, 0, 3 }, { poll }, { pass, 0, 3 }, { set_clock, 0, -2 } },
	  .has_ring = true, .is_wall = true },
	{ "ring_cancel", { 2, 9 }, { { cancel, 0 } }, .has_ring = true },
	{ "edge_cancels", { 2, 4, 12 }, { { cancel_on_edge } },
	  { { pass, 0, 3 }, { poll }, { poll } }, .only = "alone" },
	{ "and_edge", { 2, 2 }, { { add, 4, 3 } }, .only = "read", .also = wait_in_edge },
	{ "and_level", { 2, 2 }, { { cancel, 0 } }, .only = "edge", .also = wait_in_level },
	{ "and_poll", { 9 }, { { add, 4, 3 } }, .only = "uring", .also = wait_in_poll },
	{ "add_late", {}, { { add, 4, 3 } }, { { pass, 0, 4 } }, .only = "level" },
	{ "set_up_long", {}, { { set_up, CLOCK_MONOTONIC, 2000 } }, { { add_short } },
	  .is_bare = true, .only = "alone" },
	{ "no_memory_to_set_up", {}, { { lean }, { set_up, CLOCK_REALTIME, 2 }, { add, 5, 5 } },
	  { { add, 4, 3 } }, .is_bare = true, .only = "read" },
	{ "kill_busy", { 2, 2, 2 }, { { kill } }, { { add, 9, 9 } }, .only = "read", .waiters = 2 },
	{ "kill_and_add", { 2, 9 }, { { kill } }, { { add, 4, 12 } }, .only = "exclusive",
	  .waiters = 2 },
	{ "read_many", { 2, 2, 2, 3 }, { { read_some, .n = 4 } }, { { pass, 0, 4 }, { poll } },
	  .only = "read" },
	{ "read_stopped", { 2, 2, 2, 2 }, { { read_some, .n = 4 } }, { { interrupt, 1 } },
	  .only = "read" },
	{ "modify_nowhere", { 2 }, { { pass, 0, 3 }, { read_nowhere } },
	  { { modify, 0, 30 }, { query }, { cancel, 0 } }, .period = 50, .only = "alone" },
	{ "close", { 2 }, { { close_armed } }, .only = "alone" },
	{ "two_rings", {}, { { make_ring, .n = 2 } }, { { make_ring, .n = 20 } }, .only = "alone" },
	{ "two_wheels", {}, { { add, 4, 3 }, { make_huge_ring } }, { { use_other } },
	  .only = "alone" },
	{ "too_far", {}, { { add_too_far } }, { { use_other } }, .is_bare = true, .only = "alone" },
	{ "limit", { 2, 2 }, { { pass, 0, 3 }, { read_some, .n = 1 } }, { { add_to_the_limit } },
	  .only = "alone" },
	{ "trim", { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9 }, { { cancel, 0, .n = 8 } },
	  { { cancel, 8, .n = 4 }, { add, 12, 5 } }, .only = "alone" },
	{},
};
