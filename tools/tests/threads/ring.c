// SPDX-License-Identifier: MIT
/*
 * Rings, whose events are recorded
 *
 * The driver's release and acquire of @tail and @head order one thread's writes to a ring
 * before another's reads. The lock here is only for the threads that take events.
 */
#include "kernel.h"
#include "threads.h"

/* Make a ring and map it. Set @slots to how many it has. */
static struct twheel_ring *make_ring(struct file *filp, u32 *slots)
{
	struct twheel_ring_setup setup = { .slots = *slots };

	if (sys_ioctl(filp, TWHEEL_RING, &setup))
		broken("a ring cannot be made");
	*slots = setup.slots;
	return sys_mmap(filp, setup.size);
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
