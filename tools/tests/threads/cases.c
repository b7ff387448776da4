// SPDX-License-Identifier: MIT
/*
 * Rare cases: another thread acts at the one moment that matters
 */
#include <stdlib.h>

#include "../../../twheel_file.h"

#include "clock.h"
#include "kernel.h"
#include "workers.h"

/* An add begins before this time on any host; the machine is then suspended until after it. */
#define SOON_NS		(10 * SEC)

static struct file *wheel;
static u64 deadline;

/* Advances the wheel's clock past the deadline, as no other call does. */
static void add_after_the_deadline(void)
{
	struct twheel_add add = { .time_ns = SEC };

	clock_suspend(deadline + MSEC - clock_now(CLOCK_BOOTTIME));
	if (sys_ioctl(wheel, TWHEEL_ADD, &add))
		broken("an add in the meantime fails");
}

/* A timer falls due while its level is allocated: waiters have to be woken. */
static void fall_due_without_a_level(void)
{
	const struct twheel_setup setup = {
		.tick_ns = 1000,
		.wheel_size = TWHEEL_SIZE_DEFAULT,
		.clock_id = CLOCK_BOOTTIME,
	};
	struct twheel_add add = { .flags = TWHEEL_ABSTIME };
	struct watch watch;

	if (sys_open(NR_WHEELS, &wheel) || sys_ioctl(wheel, TWHEEL_SETUP, (void *)&setup))
		broken("a wheel cannot be opened");
	/* A past timer takes memory for timers, but no level. */
	if (sys_ioctl(wheel, TWHEEL_ADD, &add) || sys_ioctl(wheel, TWHEEL_CANCEL, &add.id))
		broken("a timer that is past cannot be added or cancelled");
	watch_add(&watch, wheel, true);
	deadline = clock_now(CLOCK_BOOTTIME) + SOON_NS;
	add.time_ns = deadline;
	current->interlude = add_after_the_deadline;
	if (sys_ioctl(wheel, TWHEEL_ADD, &add))
		wrong(ANSWERS, "an add of what falls due in between fails");
	if (current->interlude)
		broken("no level was made");
	if (!READ_ONCE(watch.triggered))
		wrong(WAKING, "a timer fell due while its level was made, and who waits sleeps");
	watch_remove(&watch);
	sys_close(wheel);
}

static struct task_struct *adder;
static unsigned int allocations;
static bool has_been_set_up;

/* Sets the wheel up when its adder has allocated this often. */
static void set_up_after_allocations(void)
{
	const struct twheel_setup setup = {
		.tick_ns = TWHEEL_TICK_MAX_NS,
		.wheel_size = TWHEEL_SIZE_DEFAULT,
		.clock_id = CLOCK_BOOTTIME,
	};

	if (allocations--)
		adder->interlude = set_up_after_allocations;
	else
		has_been_set_up = !sys_ioctl(wheel, TWHEEL_SETUP, (void *)&setup);
}

/* A timer that is valid for the wheel before a set-up is not added to the wheel after it. */
static void add_while_it_is_set_up(unsigned int nr)
{
	struct twheel_add add = { .interval_ns = TWHEEL_TICK_DEFAULT_NS };
	long err;

	if (sys_open(NR_WHEELS, &wheel))
		broken("a wheel cannot be opened");
	adder = current;
	allocations = nr;
	has_been_set_up = false;
	current->interlude = set_up_after_allocations;
	err = sys_ioctl(wheel, TWHEEL_ADD, &add);
	if (err != (has_been_set_up ? -EINVAL : 0))
		wrong(ANSWERS, "an add, set up in between, at allocation %u: %ld", nr, err);
	current->interlude = NULL;
	sys_close(wheel);
}

/*
 * A crowd that is not due for another second does not delay a call that checks or expires due
 * timers: the call cascades a part of it at most.
 */
static void call_ahead_of_a_crowd(unsigned int cmd, void *arg)
{
	const struct twheel_setup setup = {
		.tick_ns = TWHEEL_TICK_DEFAULT_NS,
		.wheel_size = TWHEEL_SIZE_DEFAULT,
		.clock_id = CLOCK_BOOTTIME,
	};
	/* A bucket of the third level is opened a sixteenth of its length ahead. */
	const u64 length = setup.tick_ns * setup.wheel_size * setup.wheel_size;
	u64 due = (clock_now(CLOCK_BOOTTIME) / length + 2) * length + SEC;
	struct twheel_add add = { .time_ns = due, .flags = TWHEEL_ABSTIME };
	struct twheel_info info;
	unsigned int i;
	long err;

	if (sys_open(NR_WHEELS, &wheel) || sys_ioctl(wheel, TWHEEL_SETUP, (void *)&setup))
		broken("no wheel for a crowd");
	for (i = 0; i < 1000; i++) {
		if (sys_ioctl(wheel, TWHEEL_ADD, &add))
			broken("a crowd is not added");
	}
	clock_suspend(due - 2 * SEC - clock_now(CLOCK_BOOTTIME));
	err = sys_ioctl(wheel, cmd, arg) ?: sys_ioctl(wheel, TWHEEL_INFO, &info);
	if (err || info.cascaded > 500)
		wrong(ANSWERS, "a call ahead of a crowd: %ld, %llu cascaded", err,
		      (unsigned long long)info.cascaded);
	sys_close(wheel);
}

/*
 * During the making of a ring, another thread makes it, or sets the wheel up, or both; and
 * after that there may be no memory.
 */
static bool makes_ring, sets_up;

static void make_ring_or_set_up(void)
{
	const struct twheel_setup setup = {
		.tick_ns = TWHEEL_TICK_MAX_NS,
		.wheel_size = TWHEEL_SIZE_DEFAULT,
		.clock_id = CLOCK_BOOTTIME,
	};
	struct twheel_ring_setup ring = { .slots = 500 };

	if (sets_up && sys_ioctl(wheel, TWHEEL_SETUP, (void *)&setup))
		wrong(ANSWERS, "a wheel cannot be set up while its ring is made");
	if (makes_ring && (sys_ioctl(wheel, TWHEEL_RING, &ring) || ring.slots < 500))
		wrong(ANSWERS, "two rings cannot be made at a time");
}

static void make_ring_in_between(bool lean)
{
	struct twheel_ring_setup ring = { .slots = 2 }, again = {};
	bool is_first;
	long err;

	if (sys_open(NR_WHEELS, &wheel))
		broken("a wheel cannot be opened");
	current->interlude = make_ring_or_set_up;
	current->lean = lean;
	err = sys_ioctl(wheel, TWHEEL_RING, &ring);
	current->interlude = NULL;
	task_mend(current);
	if (err != (lean ? -ENOMEM : 0))
		wrong(ANSWERS, "a ring that another thread makes, too: %ld", err);
	err = sys_ioctl(wheel, TWHEEL_RING, &again);
	if (err != (lean && !makes_ring ? -ENOENT : 0))
		wrong(ANSWERS, "of two rings that were made at a time: %ld", err);
	/* The second caller gets the ring of the first. */
	is_first = again.slots < 500;
	if (!err && ((!lean && again.slots != ring.slots) || makes_ring == is_first))
		wrong(ANSWERS, "of two rings that were made at a time, one has %u slots, one %u",
		      ring.slots, again.slots);
	check_charge(wheel);
	sys_close(wheel);
}

static void make_rings(void)
{
	unsigned int what;

	for (what = 0; what < 8; what++) {
		makes_ring = what & 1;
		sets_up = what & 2;
		make_ring_in_between(what & 4);
	}
}

/* A buffer that extends beyond the end of user memory: nothing is written, and nothing is lost. */
static void read_across_the_end(bool plain)
{
	struct twheel_add past = { .flags = TWHEEL_ABSTIME };
	struct twheel_event events[2] = {};
	ssize_t ret;

	if (sys_open(NR_WHEELS, &wheel))
		broken("a wheel cannot be opened");
	if (sys_ioctl(wheel, TWHEEL_ADD, &past) || sys_ioctl(wheel, TWHEEL_ADD, &past))
		broken("a timer that is past cannot be added");
	current->user_end = (unsigned long)events;
	ret = sys_read(wheel, events, sizeof(events), O_NONBLOCK, plain);
	if (ret != -EFAULT || events[0].id)
		wrong(ANSWERS, "a read beyond user memory: %zd", ret);
	current->user_end = (unsigned long)&events[1];
	ret = sys_read(wheel, events, sizeof(events), O_NONBLOCK, plain);
	if ((ret != -EFAULT && ret != sizeof(events[0])) || events[1].id)
		wrong(ANSWERS, "a read across the end of user memory: %zd", ret);
	task_mend(current);
	if (sys_read(wheel, events, sizeof(events), O_NONBLOCK, plain) !=
	    (ssize_t)sizeof(events) - (ret > 0 ? ret : 0))
		wrong(ANSWERS, "an event is lost that could not be written");
	sys_close(wheel);
}

/*
 * Threads whose timers take more pages than an idle wheel keeps, and free them while the
 * others take theirs.
 */
#define NR_TAKERS	3
#define NR_TAKEN	2000

static void take_and_give_back(struct twheel_add *adds, u64 *ids)
{
	struct twheel_batch batch = { .entries = (unsigned long)adds, .count = NR_TAKEN };
	unsigned int i;
	long ret;

	for (i = 0; i < NR_TAKEN; i++)
		adds[i] = (struct twheel_add) { .time_ns = (1 + any_below(1000)) * SEC };
	ret = sys_ioctl(wheel, TWHEEL_ADD_BATCH, &batch);
	for (i = 0; i < NR_TAKEN; i++)
		ids[i] = adds[i].id;
	batch.entries = (unsigned long)ids;
	if (ret != NR_TAKEN || sys_ioctl(wheel, TWHEEL_CANCEL_BATCH, &batch) != NR_TAKEN)
		wrong(ANSWERS, "of many timers, %ld are added, or not all are cancelled", ret);
}

static void *run_taker(void *mm)
{
	struct twheel_add *adds = malloc(NR_TAKEN * sizeof(*adds));
	u64 *ids = malloc(NR_TAKEN * sizeof(*ids));
	struct task_struct task;
	unsigned int turn;

	task_init(&task, mm, (unsigned long)pthread_self());
	current = &task;
	if (!adds || !ids)
		broken("no memory for many timers");
	for (turn = 0; turn < 20; turn++)
		take_and_give_back(adds, ids);
	free(adds);
	free(ids);
	return NULL;
}

static void give_pages_back(void)
{
	struct twheel_file *file;
	pthread_t takers[NR_TAKERS];
	unsigned int i;

	if (sys_open(NR_WHEELS, &wheel))
		broken("a wheel cannot be opened");
	for (i = 0; i < NR_TAKERS; i++) {
		if (pthread_create(&takers[i], NULL, run_taker, current->mm))
			broken("a thread cannot be started");
	}
	for (i = 0; i < NR_TAKERS; i++)
		pthread_join(takers[i], NULL);
	file = wheel->private_data;
	if (file->store.nr_pages > TWHEEL_KEEP_PAGES)
		wrong(LEFTOVERS, "%u pages are kept, of which %u are empty",
		      file->store.nr_pages, file->store.nr_empty);
	check_charge(wheel);
	sys_close(wheel);
}

void play_cases(void)
{
	struct twheel_add past = { .flags = TWHEEL_ABSTIME };
	struct twheel_info info;
	unsigned int nr;

	fall_due_without_a_level();
	for (nr = 0; nr < 8; nr++)
		add_while_it_is_set_up(nr);
	call_ahead_of_a_crowd(TWHEEL_INFO, &info);
	if (info.max_timers != 1 << 24)
		wrong(ANSWERS, "the module limits wheels to %llu timers", info.max_timers);
	call_ahead_of_a_crowd(TWHEEL_ADD, &past);
	make_rings();
	read_across_the_end(true);
	read_across_the_end(false);
	give_pages_back();
}
