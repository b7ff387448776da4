// SPDX-License-Identifier: GPL-2.0-only
/*
 * A ring of events in memory that programs map: making, mapping, filling and freeing it
 *
 * The pages never fault and never move, so they can be written with the lock of the file held.
 * They are reference-counted: a page that a program still uses by other means, such as a pipe, is
 * freed after that use. Programs can write anything there. The kernel reads @head to compute how
 * much room there is, and @tail to report to poll() what the program can see.
 *
 * Every mapping keeps the file open, and the ring stays as long as the file does. A child does
 * not inherit mappings, since an event is for one process; it may map the ring for itself.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "twheel_compat.h"
#include "twheel_event.h"
#include "twheel_file.h"

static_assert(sizeof(struct twheel_ring) +
	      TWHEEL_RING_SLOTS_MAX * sizeof(struct twheel_event) == SZ_64K);

/* How often one poll may take the lock. */
#define TWHEEL_POLL_HOLDS	8

/**
 * twheel_ring_free() - free a ring
 * @ring: the ring, which is no longer mapped; or NULL
 */
void twheel_ring_free(struct twheel_ring_memory *ring)
{
	if (!ring)
		return;
	free_pages_exact(ring->shared, ring->size);
	kfree(ring);
}

/* Allocate a ring of @size bytes; or return NULL. */
static struct twheel_ring_memory *ring_alloc(u32 size)
{
	struct twheel_ring_memory *ring = kmalloc(sizeof(*ring), TWHEEL_GFP);

	if (!ring)
		return NULL;
	*ring = (struct twheel_ring_memory) {
		.shared = alloc_pages_exact(size, TWHEEL_GFP | __GFP_ZERO),
		.size = size,
		.slots = (size - sizeof(struct twheel_ring)) / sizeof(struct twheel_event),
	};
	if (!ring->shared) {
		kfree(ring);
		return NULL;
	}
	ring->event = (struct twheel_event *)(ring->shared + 1);
	return ring;
}

/* Give the file a ring, unless another thread has. */
static int install_ring(struct twheel_file *file, u32 size)
{
	size_t bytes = roundup_pow_of_two(sizeof(struct twheel_ring_memory)) + size;
	struct twheel_ring_memory *ring;
	struct mem_cgroup *old;
	int err = -ENOMEM;

	if (!twheel_user_charge(file->user, bytes))
		return -ENOSPC;
	old = set_active_memcg(file->memcg);
	ring = ring_alloc(size);
	set_active_memcg(old);
	if (ring) {
		err = 0;
		twheel_file_lock(file);
		if (!file->ring) {
			/* Polls read it without the lock. */
			smp_store_release(&file->ring, ring);
			file->charged += bytes;
			bytes = 0;
			ring = NULL;
		}
		twheel_file_unlock(file);
		/* Readers that are blocked fail. */
		wake_up_interruptible_all(&file->wait);
	}
	twheel_ring_free(ring);
	twheel_user_uncharge(file->user, bytes);
	return err;
}

/**
 * twheel_make_ring() - make the ring of a file, unless it has one, and describe it
 * @file: the file, not locked
 * @arg: the ring to make; set to the existing ring
 *
 * Return: 0; or -EFAULT, -EINVAL, -ENOENT, -ENOSPC or -ENOMEM.
 */
long twheel_make_ring(struct twheel_file *file, struct twheel_ring_setup __user *arg)
{
	const struct twheel_ring_memory *ring = smp_load_acquire(&file->ring); /* is complete */
	struct twheel_ring_setup setup;
	int err;

	if (copy_from_user(&setup, arg, sizeof(setup)))
		return -EFAULT;
	if (setup.flags || setup.reserved)
		return -EINVAL;
	if (!ring) {
		if (!setup.slots)
			return -ENOENT;
		if (setup.slots < 2 || setup.slots > TWHEEL_RING_SLOTS_MAX)
			return -EINVAL;
		err = install_ring(file, PAGE_ALIGN(sizeof(*ring->shared) +
						    setup.slots * sizeof(*ring->event)));
		if (err)
			return err;
		ring = smp_load_acquire(&file->ring); /* is complete */
	}
	setup.slots = ring->slots;
	setup.size = ring->size;
	return copy_to_user(arg, &setup, sizeof(setup)) ? -EFAULT : 0;
}

/**
 * twheel_mmap() - map the ring of a file
 * @filp: the open file
 * @vma: the mapping, which must be shared, from offset 0, and have the size of the ring
 *
 * Return: 0; or -EINVAL, -ENODEV without a ring, or -ENOMEM.
 */
int twheel_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct twheel_file *file = filp->private_data;
	const struct twheel_ring_memory *ring = smp_load_acquire(&file->ring); /* is complete */
	u32 offset;
	int err = 0;

	if (!ring)
		return -ENODEV;
	if (vma->vm_pgoff || !(vma->vm_flags & VM_MAYSHARE) ||
	    vma->vm_end - vma->vm_start != ring->size)
		return -EINVAL;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	for (offset = 0; !err && offset < ring->size; offset += PAGE_SIZE)
		err = vm_insert_page(vma, vma->vm_start + offset,
				     virt_to_page((void *)ring->shared + offset));
	return err;
}

/* ---- Filling it ---- */

/* Return how many empty slots can be filled; none if the program's head is invalid. */
static u32 ring_room(const struct twheel_ring_memory *ring)
{
	u32 head = smp_load_acquire(&ring->shared->head); /* after the program's reads */

	if (head >= ring->slots)
		return 0;
	return (head > ring->tail ? 0 : ring->slots) + head - ring->tail - 1;
}

static bool ring_has_events(const struct twheel_ring_memory *ring)
{
	return READ_ONCE(ring->shared->head) != READ_ONCE(ring->shared->tail);
}

/*
 * Move up to a chunk of events to the ring. Returns whether there is room for more. With
 * @behind, more is due than has expired.
 */
static bool fill_ring(struct twheel_file *file, struct twheel_ring_memory *ring, bool behind)
{
	u32 tail = ring->tail, room = ring_room(ring), n;

	n = min3((u64)room, (u64)TWHEEL_CHUNK, file->wheel.nr_expired);
	room -= n;
	while (n--) {
		struct twheel_entry *entry = to_entry(twheel_first_expired(file));

		ring->event[tail] = twheel_event_of(file, entry);
		twheel_take(file, entry);
		tail = tail + 1 < ring->slots ? tail + 1 : 0;
	}
	ring->tail = tail;
	WRITE_ONCE(ring->shared->flags, file->wheel.nr_expired || behind ? TWHEEL_RING_MORE : 0);
	/* The program sees the events, and the flags, before this. */
	smp_store_release(&ring->shared->tail, tail);
	return room;
}

/*
 * Advance the wheel, and move expired timers to the ring; many are moved in a hold of the lock
 * of their own. Returns whether to go on, and sets @behind if more is due than has expired.
 */
static bool advance_and_fill(struct twheel_file *file, struct twheel_ring_memory *ring,
			     bool *behind)
{
	bool many = file->wheel.nr_expired >= TWHEEL_FEW_STEPS && !twheel_file_is_set_back(file);

	/* With many, assume so: another hold of the lock finds out. */
	*behind = many;
	if (!many) {
		*behind = twheel_file_advance(file, TWHEEL_NEVER, TWHEEL_STEPS);
		if (file->wheel.nr_expired >= TWHEEL_FEW_STEPS ||
		    twheel_is_rewinding(&file->wheel)) {
			WRITE_ONCE(ring->shared->flags, TWHEEL_RING_MORE);
			return true;
		}
	}
	return fill_ring(file, ring, *behind) && (many || file->wheel.nr_expired);
}

/**
 * twheel_ring_poll() - poll a wheel with a ring
 * @file: the file, not locked
 * @ring: its ring
 *
 * Moves what is due to the ring, in a bounded number of holds of the lock.
 *
 * Return: true if the ring has events after that.
 */
bool twheel_ring_poll(struct twheel_file *file, struct twheel_ring_memory *ring)
{
	unsigned int holds = TWHEEL_POLL_HOLDS;
	bool again, behind;
	u32 tail;

	/*
	 * A program that finds events, and not TWHEEL_RING_MORE, has all that was due; one that
	 * finds it polls again. Both need the lock once.
	 */
	again = twheel_file_arm(file) || READ_ONCE(ring->shared->flags) ||
		(ring_has_events(ring) && twheel_file_is_due(file));
	while (again && holds--) {
		twheel_file_lock(file);
		tail = ring->tail;
		again = advance_and_fill(file, ring, &behind);
		if (ring->tail != tail)
			twheel_file_publish_and_unlock(file, TWHEEL_FILLED);
		else if (!(again && holds) && !ring_has_events(ring))
			twheel_file_publish_and_unlock(file, again || behind ?
						       TWHEEL_UNFINISHED : TWHEEL_NOTHING);
		else
			twheel_file_unlock(file);
	}
	return ring_has_events(ring);
}
