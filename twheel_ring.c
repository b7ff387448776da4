// SPDX-License-Identifier: GPL-2.0-only
/*
 * A ring of events in memory that programs map: making and mapping it; polls fill it
 *
 * The pages never fault and never move, so they can be written with the lock of the file held.
 * They are reference-counted: a page that a program still uses by other means, such as a pipe, is
 * freed after that use. Programs can write anything there: see the kernel's reads in twheel_read.c.
 *
 * Every mapping keeps the file open, and the ring stays as long as the file does. A child does
 * not inherit mappings, since an event is for one process; it may map the ring for itself.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>

#include "twheel_compat.h"
#include "twheel_file.h"

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
