// SPDX-License-Identifier: MIT
/*
 * System calls, and the waiting that poll(2) and epoll do around the driver's poll
 */
#include <stdlib.h>

#include <linux/io_uring/cmd.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/uio.h>

#include "calls.h"
#include "kernel.h"
#include "twheel_file.h"

struct open_file {
	struct file file;
	struct cred cred;
};

const struct file_operations *device;

int sys_open(u32 uid, struct file **filp)
{
	struct open_file *open = calloc(1, sizeof(*open));
	int err;

	if (!open)
		broken("no memory for a file");
	open->cred.uid.val = uid;
	open->file.f_cred = &open->cred;
	err = device->open(NULL, &open->file);
	may_return();
	*filp = err ? NULL : &open->file;
	if (err)
		free(open);
	return err;
}

void sys_close_copy(struct file *filp)
{
	if (device->flush(filp, NULL))
		broken("a file cannot be closed");
	may_return();
}

void sys_close(struct file *filp)
{
	struct open_file *open = container_of(filp, struct open_file, file);

	sys_close_copy(filp);
	device->release(NULL, filp);
	may_return();
	free(open);
}

long sys_ioctl(struct file *filp, unsigned int cmd, void *arg)
{
	long ret = device->unlocked_ioctl(filp, cmd, (unsigned long)arg);

	may_return();
	return ret;
}

/* O_NONBLOCK is the file's; here each call has its own. */
ssize_t sys_read(struct file *filp, void *to, size_t size, int flags, bool plain)
{
	struct file file = *filp;
	struct kiocb iocb = { .ki_filp = &file, .ki_flags = flags & IOCB_NOWAIT };
	struct iov_iter iter = { .count = size, .ubuf = to };
	ssize_t ret;

	file.f_flags |= flags & O_NONBLOCK;
	if (plain && !(flags & IOCB_NOWAIT)) {
		ret = device->read(&file, to, size, NULL);
		may_return();
		return ret;
	}
	ret = device->read_iter(&iocb, &iter);
	may_return();
	if (ret > 0 && (iter.iov_offset != (size_t)ret || iter.count != size - ret))
		broken("read: the iterator is not where it should be");
	return ret;
}

/* The program sees the pages at the driver's addresses, as they are contiguous. */
static void *mapped_pages(const struct vm_area_struct *vma)
{
	unsigned long i, first = (unsigned long)vma->pages[0];

	for (i = 0; i < (vma->vm_end - vma->vm_start) >> PAGE_SHIFT; i++) {
		if ((unsigned long)vma->pages[i] != first + i * PAGE_SIZE)
			broken("a page is mapped where another one should be");
	}
	if (~vma->vm_flags & (VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP))
		broken("a mapping can grow, or be inherited");
	return vma->pages[0];
}

void *sys_mmap(struct file *filp, size_t size)
{
	struct page *pages[SZ_64K >> PAGE_SHIFT] = {};
	struct vm_area_struct vma = {
		.vm_start = SZ_1M,
		.vm_end = SZ_1M + size,
		.vm_flags = VM_SHARED | VM_MAYSHARE,
		.pages = pages,
	};
	int err;

	err = device->mmap(filp, &vma);
	may_return();
	if (err && err != -ENOMEM)
		broken("a ring cannot be mapped");
	return err ? NULL : mapped_pages(&vma);
}

long sys_uring(struct file *filp, unsigned int cmd, u64 first, u64 second)
{
	const struct io_uring_sqe sqe = { .cmd = { first, second } };
	struct io_uring_cmd ioucmd = { .file = filp, .sqe = &sqe, .cmd_op = cmd };
	int ret;

	ret = device->uring_cmd(&ioucmd, IO_URING_F_NONBLOCK);
	may_return();
	if (ret > 0)
		broken("uring: a count is returned, where 6.1 loses it");
	if (ret == -EAGAIN)
		broken("uring: a worker is needed, which later commands can overtake");
	return ret == -EIOCBQUEUED ? ioucmd.result : ret;
}

void sys_fdinfo(struct file *filp)
{
	struct seq_file m = {};

	device->show_fdinfo(&m, filp);
	may_return();
	if (!m.count || m.count >= sizeof(m.text))
		broken("fdinfo: nothing, or too much");
}

/* As in poll(2) and epoll, it wakes whenever it is called. */
static int trigger(wait_queue_entry_t *entry, __poll_t key)
{
	struct watch *watch = container_of(entry, struct watch, entry);

	/* Without a key it has to poll; a key without EPOLLIN would not wake it. */
	if (key && !(key & EPOLLIN))
		broken("a wake-up without EPOLLIN");
	WRITE_ONCE(watch->triggered, true);
	return task_wake(watch->task);
}

static void queue(struct file *filp, wait_queue_head_t *wq, poll_table *table)
{
	struct watch *watch = container_of(table, struct watch, table);

	watch->queue = wq;
	add_wait_queue(wq, &watch->entry);
}

static bool ready(struct watch *watch)
{
	__poll_t events;

	events = device->poll(watch->filp, &watch->table);
	may_return();
	watch->table._qproc = NULL;
	return events & EPOLLIN;
}

bool watch_add(struct watch *watch, struct file *filp, u32 flags)
{
	*watch = (struct watch) {
		.table = { ._qproc = queue, ._key = EPOLLIN },
		.entry = {
			.flags = flags & EPOLLEXCLUSIVE ? WQ_FLAG_EXCLUSIVE : 0,
			.func = trigger,
		},
		.filp = filp,
		.task = current,
		.flags = flags,
	};
	if (!ready(watch))
		return false;
	WRITE_ONCE(watch->triggered, true);
	return true;
}

int watch_wait(struct watch *watch)
{
	do {
		task_about_to_sleep();
		while (!READ_ONCE(watch->triggered) && !signal_pending(current)) {
			task_sleep();
			task_about_to_sleep();
		}
		task_wake(current);
		if (!READ_ONCE(watch->triggered) || fatal_signal_pending(current))
			return -EINTR;
		WRITE_ONCE(watch->triggered, false);
	} while (!ready(watch));
	/* A level-triggered file stays on epoll's list. */
	if (!(watch->flags & EPOLLET))
		WRITE_ONCE(watch->triggered, true);
	return EPOLLIN;
}

void watch_remove(struct watch *watch)
{
	remove_wait_queue(watch->queue, &watch->entry);
}

int sys_poll(struct file *filp, bool wait)
{
	struct watch watch;
	int ret = watch_add(&watch, filp, 0) ? EPOLLIN : 0;

	if (wait && !ret)
		ret = watch_wait(&watch);
	watch_remove(&watch);
	return ret;
}

void check_charge(struct file *filp)
{
	struct twheel_file *file = filp->private_data;

	spin_lock(&file->lock);
	if (file->charged != atomic_long_read(&file->user->bytes) ||
	    file->charged != twheel_file_bytes(file))
		broken("a file is charged for what it does not hold");
	/* Without timers, a wheel holds some empty pages. */
	if (file->store.nr_empty > TWHEEL_KEEP_PAGES ||
	    (file->store.nr_empty < file->store.nr_pages && !twheel_file_timers(file)))
		broken("empty pages are kept, or counted wrongly");
	spin_unlock(&file->lock);
}
