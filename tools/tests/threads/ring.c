// SPDX-License-Identifier: MIT
/*
 * Rings: most have their events recorded, and one is full of garbage
 *
 * The driver's release and acquire of @tail and @head order one thread's writes to a ring
 * before another's reads. The lock here is only for the threads that take events.
 */
#include <unistd.h>

#include "clock.h"
#include "kernel.h"
#include "threads.h"

/* Make a ring and map it, however often memory is missing. Set @slots to how many it has. */
static struct twheel_ring *make_ring(struct file *filp, u32 *slots)
{
	struct twheel_ring *ring = NULL;
	struct twheel_ring_setup setup;
	long ret;

	do {
		setup = (struct twheel_ring_setup) { .slots = *slots };
		current->lean = any_below(4);
		if (one_in(8))
			current->unwritable = (unsigned long)&setup + any_below(sizeof(setup));
		ret = sys_ioctl(filp, TWHEEL_RING, &setup);
		if (ret && ret != -ENOMEM && ret != -EFAULT)
			broken("a ring cannot be made");
		if (!ret)
			ring = sys_mmap(filp, setup.size);
		task_mend(current);
	} while (!ring);
	*slots = setup.slots;
	return ring;
}

/* All waiters of a wheel make its ring at the same time; it gets only one. */
void map_ring(u32 nr)
{
	u32 slots = one_in(2) ? 2 : 2 + any_below(1000);
	struct wheel *wheel = &wheels[nr];
	struct twheel_ring *ring;

	if (nr < FIRST_RING)
		return;
	ring = make_ring(wheel->filp, &slots);
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
	const struct twheel_event *slot = (struct twheel_event *)(ring + 1);
	u32 tail = smp_load_acquire(&ring->tail); /* events are before it */
	u32 head = READ_ONCE(ring->head);
	unsigned int n;

	if (tail >= wheel->slots) {
		wrong(ANSWERS, "the tail of a ring of %u slots is %u", wheel->slots, tail);
		return 0;
	}
	breathing_space();
	for (n = 0; n < max && head != tail; n++) {
		event[n] = slot[head];
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
	bool more;

	do {
		pthread_mutex_lock(&wheel->taking);
		more = READ_ONCE(wheel->ring->flags) & TWHEEL_RING_MORE;
		n = take(wheel, event, max);
		pthread_mutex_unlock(&wheel->taking);
		for (i = 0; i < n; i++)
			record_event(nr, &event[i]);
		count(&happened[RING_TAKEN], n);
		count(&happened[RING_FULL], more);
		if (more)
			sys_poll(wheel->filp, false);
	} while (!n && more);
	return n ?: -EAGAIN;
}

/*
 * Garbage.
 */

/* Until the wheel with the garbage has so many timers, it gets more: many pages full. */
#define MANY	2000
/* The data of all its timers. */
#define DATA	0x7ee1U

static struct wheel vandalised;

void vandal_open(void)
{
	struct twheel_setup setup = {
		.tick_ns = 1000, .wheel_size = 64, .clock_id = CLOCK_MONOTONIC,
	};

	if (sys_open(NR_WHEELS + 1, &vandalised.filp) ||
	    sys_ioctl(vandalised.filp, TWHEEL_SETUP, &setup))
		broken("a wheel cannot be opened");
	vandalised.slots = 2;
	vandalised.ring = make_ring(vandalised.filp, &vandalised.slots);
}

/* ThreadSanitizer does not see that: a program cannot rely on any order here. */
static __attribute__((no_sanitize("thread"))) void scribble(u32 *where, u32 value)
{
	WRITE_ONCE(*where, value);
}

/* Valid, nearly valid and random numbers of slots. */
static u32 garbage(void)
{
	const u32 numbers[] = {
		any_below(vandalised.slots), vandalised.slots - 2 + any_below(4),
		-any_below(3), any_below(1ULL << 32),
	};

	return numbers[any_below(ARRAY_SIZE(numbers))];
}

/* Write to the head, the tail, the flags or anything; to the head most often. */
void vandal_write(void)
{
	size_t size = sizeof(struct twheel_ring) + vandalised.slots * sizeof(struct twheel_event);
	struct twheel_ring *ring = vandalised.ring;
	u32 *const places[] = {
		&ring->head, &ring->head, &ring->head, &ring->tail, &ring->tail, &ring->flags,
		(u32 *)ring + any_below(size / sizeof(u32)),
	};

	scribble(places[any_below(ARRAY_SIZE(places))], garbage());
}

/* Check that each timer is in one place, with any ring. Return how many are in the wheel. */
static u64 check_vandalised(void)
{
	struct twheel_info info;

	if (sys_ioctl(vandalised.filp, TWHEEL_INFO, &info))
		broken("TWHEEL_INFO fails");
	if (info.added != info.pending + info.expired + info.cancelled + info.delivered)
		wrong(LEDGER, "garbage: %llu added, %llu + %llu here, %llu cancelled, %llu out",
		      info.added, info.pending, info.expired, info.cancelled, info.delivered);
	return info.pending + info.expired;
}

void vandal_use(void)
{
	struct twheel_add add[80] = {};
	struct twheel_batch b = { .entries = (unsigned long)add, .count = 1 + any_below(80) };
	unsigned int i;
	long ret;

	for (i = 0; i < b.count; i++) {
		add[i].time_ns = any_below(300) * USEC;
		add[i].data = DATA;
	}
	if (check_vandalised() < MANY) {
		if (sys_ioctl(vandalised.filp, TWHEEL_ADD_BATCH, &b) != b.count)
			broken("timers cannot be added");
		/* It can have expired, and be in the ring. */
		ret = sys_ioctl(vandalised.filp, TWHEEL_CANCEL, &add[0].id);
		if (ret && ret != -ENOENT)
			wrong(ANSWERS, "a cancel with garbage in the ring: %ld", ret);
	} else {
		/* Make room, as random garbage seldom does. */
		scribble(&vandalised.ring->head, any_below(vandalised.slots));
	}
	for (i = any_below(4); i; i--)
		sys_poll(vandalised.filp, false);
	usleep(any_below(500));
}

void vandal_close(void)
{
	u64 left = check_vandalised(), taken = 0, end = clock_now(CLOCK_MONOTONIC) + 10 * SEC;
	struct twheel_event event[MAX_BATCH];
	unsigned int i, n;

	/* A head that is out of range leaves no room. */
	WRITE_ONCE(vandalised.ring->head, vandalised.slots);
	usleep(500);
	if (!sys_poll(vandalised.filp, false))
		wrong(WAKING, "a ring with an invalid head does not look full");
	if (check_vandalised() != left)
		wrong(LEDGER, "events go to a ring that has no room");

	/* Without garbage, the ring works again: the remaining timers come, each once. */
	WRITE_ONCE(vandalised.ring->head, READ_ONCE(vandalised.ring->tail));
	while (taken < left && clock_now(CLOCK_MONOTONIC) < end) {
		sys_poll(vandalised.filp, false);
		n = take(&vandalised, event, MAX_BATCH);
		for (i = 0; i < n; i++) {
			if (event[i].data != DATA || event[i].count != 1)
				wrong(LEDGER, "after garbage, a ring has a wrong event");
		}
		taken += n;
	}
	if (taken != left || check_vandalised())
		wrong(LEDGER, "after garbage, %llu events come instead of %llu", taken, left);
	check_charge(vandalised.filp);
	sys_close(vandalised.filp);
}
