// SPDX-License-Identifier: GPL-2.0-only
/*
 * A ring of events in memory that programs map: making and mapping it; polls, which fill it
 *
 * The pages never fault and never move, so they can be written with the lock of the file held.
 * They are reference-counted: a page that a program still uses by other means, such as a pipe, is
 * freed after that use. Programs can write anything there: see what polls read.
 *
 * Every mapping keeps the file open, and the ring stays as long as the file does. A child does
 * not inherit mappings, since an event is for one process; it may map the ring for itself.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>

#include "twheel_compat.h"
#include "twheel_event.h"

static_assert(sizeof(struct twheel_ring) +
	      TWHEEL_RING_SLOTS_MAX * sizeof(struct twheel_event) == SZ_64K);

/* Give the file a ring, unless another thread has. */
static int install_ring(struct twheel_file *file, u32 slots)
{
	size_t bytes = PAGE_ALIGN(sizeof(struct twheel_ring) + slots * sizeof(struct twheel_event));
	struct mem_cgroup *old;
	void *ring;

	if (!twheel_user_charge(file->user, bytes))
		return -ENOSPC;
	old = set_active_memcg(file->memcg);
	ring = alloc_pages_exact(bytes, TWHEEL_GFP | __GFP_ZERO);
	set_active_memcg(old);
	if (!ring) {
		twheel_user_uncharge(file->user, bytes);
		return -ENOMEM;
	}
	spin_lock(&file->lock);
	file->charged += bytes;
	if (!file->ring) {
		file->ring_slots = (bytes - sizeof(struct twheel_ring)) /
				   sizeof(struct twheel_event);
		/* Polls read it without the lock. */
		smp_store_release(&file->ring, ring);
		ring = NULL;
	}
	twheel_file_credit(file);
	spin_unlock(&file->lock);
	/* Readers that are blocked fail. */
	wake_up_interruptible_all(&file->wait);
	if (ring)
		free_pages_exact(ring, bytes);
	return 0;
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
	struct twheel_ring_setup setup;
	int err;

	if (copy_from_user(&setup, arg, sizeof(setup)))
		return -EFAULT;
	if (setup.flags || setup.reserved)
		return -EINVAL;
	if (!smp_load_acquire(&file->ring)) { /* then @ring_slots */
		if (!setup.slots)
			return -ENOENT;
		if (setup.slots < 2 || setup.slots > TWHEEL_RING_SLOTS_MAX)
			return -EINVAL;
		err = install_ring(file, setup.slots);
		if (err)
			return err;
	}
	setup.slots = file->ring_slots;
	setup.size = twheel_ring_bytes(file);
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
	void *ring = smp_load_acquire(&file->ring); /* then @ring_slots */
	size_t offset;
	int err = 0;

	if (!ring)
		return -ENODEV;
	if (vma->vm_pgoff || !(vma->vm_flags & VM_MAYSHARE) ||
	    vma->vm_end - vma->vm_start != twheel_ring_bytes(file))
		return -EINVAL;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	for (offset = 0; !err && offset < twheel_ring_bytes(file); offset += PAGE_SIZE)
		err = vm_insert_page(vma, vma->vm_start + offset, virt_to_page(ring + offset));
	return err;
}

/* Return how many empty slots can be filled; none if the program's head is invalid. */
static u32 ring_room(const struct twheel_file *file)
{
	u32 head = smp_load_acquire(&file->ring->head); /* after the program's reads */

	if (head >= file->ring_slots)
		return 0;
	return (head > file->ring_tail ? 0 : file->ring_slots) + head - file->ring_tail - 1;
}

static bool ring_has_events(const struct twheel_ring *ring)
{
	return READ_ONCE(ring->head) != READ_ONCE(ring->tail);
}

/* Move up to a chunk of events to the ring; @more is due after them. Returns true if any moved. */
static bool fill_ring(struct twheel_file *file, bool more)
{
	struct twheel_ring *ring = file->ring;
	struct twheel_event *event = (struct twheel_event *)(ring + 1);
	u32 tail = file->ring_tail, room = min_t(u32, ring_room(file), TWHEEL_CHUNK), n;
	struct twheel_entry *entry;

	for (n = 0; n < room && has_expired(file); n++) {
		entry = take(file, &event[tail]);
		if (entry)
			twheel_store_put(&file->store, entry);
		tail = tail + 1 < file->ring_slots ? tail + 1 : 0;
	}
	file->delivered += n;
	file->ring_tail = tail;
	WRITE_ONCE(ring->flags, more || file->wheel.nr_expired ? TWHEEL_RING_MORE : 0);
	/* The program sees the events, and the flags, before this. */
	smp_store_release(&ring->tail, tail);
	return n;
}

/* Poll a wheel with a ring: move what is due there. Returns true if the ring has events then. */
bool twheel_poll_ring(struct twheel_file *file, struct twheel_ring *ring)
{
	u32 left = READ_ONCE(ring->flags);
	bool more, has_events;

	/*
	 * A program that finds events, and not TWHEEL_RING_MORE, has all that was due; one that
	 * finds it polls again. Both need the lock once.
	 */
	if (!twheel_file_arm(file) && !left &&
	    !(ring_has_events(ring) && twheel_file_is_due(file)))
		return ring_has_events(ring);
	more = twheel_file_enter(file, TWHEEL_FEW_STEPS);
	/* Waiters may have taken all that earlier polls moved, or were never woken for this. */
	if (fill_ring(file, more) && (left || file->due > READ_ONCE(file->fired)))
		file->news = true;
	has_events = ring_has_events(ring);
	/* Nothing may have changed but the clock, and the program does not look again. */
	twheel_file_publish_and_unlock(file, more && !has_events);
	return has_events;
}
