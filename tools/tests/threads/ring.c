// SPDX-License-Identifier: MIT
/*
 * Rings: most have their events recorded, and one is full of garbage
 *
 * The driver's release and acquire of @tail and @head order one thread's writes to a ring
 * before another's reads. The lock here is only for the threads that take events.
 */
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "kernel.h"
#include "workers.h"

static struct twheel_event *slots_of(struct twheel_ring *ring)
{
	return (struct twheel_event *)(ring + 1);
}

/* Makes a ring, however often memory is missing for it; returns how many slots it has. */
static u32 make_ring(struct file *filp, u32 slots, u32 *size)
{
	struct twheel_ring_setup setup;
	long ret;

	do {
		setup = (struct twheel_ring_setup) { .slots = slots };
		current->lean = any_below(4);
		if (one_in(8))
			current->unwritable = (unsigned long)&setup + any_below(sizeof(setup));
		ret = sys_ioctl(filp, TWHEEL_RING, &setup);
		task_mend(current);
		record_error(ret);
		task_forget_signals(current);
	} while (ret == -ENOMEM || ret == -EINTR || ret == -EFAULT);
	if (ret)
		wrong(ANSWERS, "a ring of %u slots: error %ld", slots, ret);
	*size = setup.size;
	happens(RING_MADE);
	return setup.slots;
}

static void *map_whole(struct file *filp, size_t size)
{
	void *map;

	do {
		current->lean = any_below(4);
		map = sys_mmap(filp, size);
		task_mend(current);
	} while (!map);
	return map;
}

/* All waiters of a wheel make its ring at the same time; it gets only one. */
void map_ring(u32 nr)
{
	struct wheel *wheel = &wheels[nr];
	struct twheel_ring *ring;
	u32 slots, size;

	if (nr < FIRST_RING)
		return;
	slots = make_ring(wheel->filp, one_in(2) ? 2 : 2 + any_below(1000), &size);
	ring = map_whole(wheel->filp, size);
	pthread_mutex_lock(&wheel->taking);
	if (wheel->ring && (wheel->ring != ring || wheel->slots != slots))
		wrong(ANSWERS, "wheel %u has two rings", nr);
	wheel->ring = ring;
	wheel->slots = slots;
	pthread_mutex_unlock(&wheel->taking);
}

static unsigned int take(struct wheel *wheel, struct twheel_event *event, unsigned int max)
{
	struct twheel_ring *ring = wheel->ring;
	u32 tail = smp_load_acquire(&ring->tail); /* events are before it */
	u32 head = READ_ONCE(ring->head);
	unsigned int n;

	if (tail >= wheel->slots) {
		wrong(ANSWERS, "the tail of a ring of %u slots is %u", wheel->slots, tail);
		return 0;
	}
	breathing_space();
	for (n = 0; n < max && head != tail; n++) {
		event[n] = slots_of(ring)[head];
		head = head + 1 < wheel->slots ? head + 1 : 0;
	}
	smp_store_release(&ring->head, head); /* events have been copied */
	return n;
}

int take_some(u32 nr, unsigned int max)
{
	struct wheel *wheel = &wheels[nr];
	struct twheel_event event[MAX_BATCH];
	unsigned int i, n;

	if (max > MAX_BATCH)
		max = MAX_BATCH;
	pthread_mutex_lock(&wheel->taking);
	if (READ_ONCE(wheel->ring->flags) & TWHEEL_RING_MORE)
		happens(RING_FULL);
	n = take(wheel, event, max);
	pthread_mutex_unlock(&wheel->taking);
	for (i = 0; i < n; i++)
		record_event(nr, &event[i]);
	count(&happened[RING_TAKEN], n);
	return n ?: -EAGAIN;
}

void take_all(u32 nr)
{
	/* Busy with something else, for long enough that others fill the ring. */
	if (one_in(4))
		usleep(any_below(3000));
	for (;;) {
		while (take_some(nr, MAX_BATCH) > 0)
			;
		if (!(READ_ONCE(wheels[nr].ring->flags) & TWHEEL_RING_MORE))
			return;
		sys_poll(wheels[nr].filp, false);
	}
}

/*
 * Garbage.
 */

/* How many timers the wheel with the garbage may have before some have to expire. */
#define MANY	1000
/* The data of all its timers. */
#define DATA	0x7ee1U

static struct {
	struct file *filp;
	struct twheel_ring *ring;
	u32 slots;
	u32 size;
	u64 added;
	u64 cancelled;
} vandalised;

void vandal_open(void)
{
	struct twheel_setup setup = { .tick_ns = 1000, .wheel_size = 64 };

	memset(&vandalised, 0, sizeof(vandalised));
	setup.clock_id = CLOCK_MONOTONIC;
	if (sys_open(NR_WHEELS + 1, &vandalised.filp) ||
	    sys_ioctl(vandalised.filp, TWHEEL_SETUP, &setup))
		broken("a wheel cannot be opened");
	vandalised.slots = make_ring(vandalised.filp, 2, &vandalised.size);
	vandalised.ring = map_whole(vandalised.filp, vandalised.size);
}

/* ThreadSanitizer does not see that: a program cannot rely on any order here. */
static __attribute__((no_sanitize("thread"))) void scribble(u32 *where, u32 value)
{
	WRITE_ONCE(*where, value);
}

/* Valid, nearly valid and random numbers of slots. */
static u32 garbage(void)
{
	switch (any_below(4)) {
	case 0:
		return vandalised.slots - 2 + any_below(4);
	case 1:
		return -any_below(3);
	case 2:
		return any_below(1ULL << 32);
	default:
		return any_below(vandalised.slots);
	}
}

void vandal_write(void)
{
	struct twheel_ring *ring = vandalised.ring;

	happens(VANDALISED);
	switch (any_below(8)) {
	case 0 ... 3:
		return scribble(&ring->head, garbage());
	case 4 ... 5:
		return scribble(&ring->tail, garbage());
	case 6:
		return scribble(&ring->flags, garbage());
	default:
		scribble((u32 *)ring + any_below(vandalised.size / sizeof(u32)), garbage());
	}
}

/* Check that each timer is in one place, with any ring. Return how many are in the wheel. */
static u64 check_vandalised(void)
{
	struct twheel_info info;

	if (sys_ioctl(vandalised.filp, TWHEEL_INFO, &info))
		broken("TWHEEL_INFO fails");
	if (info.added != vandalised.added || info.cancelled != vandalised.cancelled ||
	    info.added != info.pending + info.expired + info.cancelled + info.delivered)
		wrong(LEDGER, "garbage: %llu added, %llu + %llu here, %llu cancelled, %llu out",
		      info.added, info.pending, info.expired,
		      info.cancelled, info.delivered);
	return info.pending + info.expired;
}

void vandal_use(void)
{
	struct twheel_add add[40] = {};
	struct twheel_batch b = { .entries = (unsigned long)add, .count = 1 + any_below(40) };
	unsigned int i;
	long ret;

	for (i = 0; i < b.count; i++) {
		add[i].time_ns = any_below(300) * USEC;
		add[i].data = DATA;
	}
	if (check_vandalised() < MANY) {
		ret = sys_ioctl(vandalised.filp, TWHEEL_ADD_BATCH, &b);
		if (ret != b.count)
			broken("timers cannot be added");
		vandalised.added += ret;
		/* It can have expired, and be in the ring. */
		ret = sys_ioctl(vandalised.filp, TWHEEL_CANCEL, &add[0].id);
		if (ret && ret != -ENOENT)
			wrong(ANSWERS, "a cancel with garbage in the ring: %ld", ret);
		vandalised.cancelled += !ret;
	} else {
		/* Make room, as random garbage seldom does. */
		scribble(&vandalised.ring->head, any_below(vandalised.slots));
	}
	for (i = any_below(4); i; i--)
		sys_poll(vandalised.filp, false);
	usleep(any_below(500));
}

/* Without garbage, the ring works again: the remaining timers come, each once. */
static u64 take_the_rest(u64 left, u64 end)
{
	struct twheel_ring *ring = vandalised.ring;
	/* The position of the last poll, which has moved nothing. */
	u32 head = READ_ONCE(ring->tail), tail;
	u64 taken = 0;

	WRITE_ONCE(ring->head, head);
	while (taken < left && clock_now(CLOCK_MONOTONIC) < end) {
		sys_poll(vandalised.filp, false);
		tail = smp_load_acquire(&ring->tail); /* events are before it */
		for (; head != tail && head < vandalised.slots; taken++) {
			if (slots_of(ring)[head].data != DATA || slots_of(ring)[head].count != 1)
				wrong(LEDGER, "after garbage, a ring has an event that is none");
			head = head + 1 < vandalised.slots ? head + 1 : 0;
		}
		smp_store_release(&ring->head, head); /* events have been copied */
	}
	return taken;
}

void vandal_close(void)
{
	u64 left = check_vandalised(), taken;
	u64 end = clock_now(CLOCK_MONOTONIC) + 10 * SEC;

	/* A head that is out of range leaves no room. */
	WRITE_ONCE(vandalised.ring->head, vandalised.slots);
	usleep(500);
	if (!sys_poll(vandalised.filp, false))
		wrong(WAKING, "a ring with a head that is none does not look full");
	if (check_vandalised() != left)
		wrong(LEDGER, "events go to a ring that has no room");
	taken = take_the_rest(left, end);
	if (taken != left || check_vandalised())
		wrong(LEDGER, "after garbage, %llu events come instead of %llu", taken, left);
	check_charge(vandalised.filp);
	sys_close(vandalised.filp);
}
