// SPDX-License-Identifier: MIT
/*
 * System calls, and the waiting that poll(2) and epoll do around the driver's poll
 */
#include <stdlib.h>

#include <linux/seq_file.h>
#include <linux/uio.h>

#include "calls.h"
#include "kernel.h"

struct open_file {
	struct file file;
	struct cred cred;
	struct inode inode;
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
	*filp = &open->file;
	err = device->open(&open->inode, *filp);
	may_return();
	if (err)
		free(open);
	return err;
}

void sys_close(struct file *filp)
{
	struct open_file *open = container_of(filp, struct open_file, file);

	device->release(&open->inode, filp);
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
	struct iov_iter iter = { .is_ubuf = plain, .count = size, .ubuf = to };
	ssize_t ret;

	file.f_flags |= flags & O_NONBLOCK;
	if (plain && !(flags & IOCB_NOWAIT)) {
		ret = device->read(&file, to, size, NULL);
		may_return();
		return ret;
	}
	current->never_waits = flags & IOCB_NOWAIT;
	ret = device->read_iter(&iocb, &iter);
	current->never_waits = false;
	may_return();
	if (ret > 0 && (iter.iov_offset != (size_t)ret || iter.count != size - ret))
		broken("read: the iterator is not where it should be");
	return ret;
}

void sys_fdinfo(struct file *filp)
{
	struct seq_file m = {};

	device->show_fdinfo(&m, filp);
	may_return();
	if (!m.count || m.count >= sizeof(m.text))
		broken("fdinfo: nothing, or too much");
}

/* As of poll(2) and epoll, it wakes whenever it is called. */
static int trigger(wait_queue_entry_t *entry, __poll_t key)
{
	struct watch *watch = container_of(entry, struct watch, entry);

	/* Without events it has to ask; with others it would not wake. */
	if (key && !(key & EPOLLIN))
		broken("a wake-up without EPOLLIN");
	WRITE_ONCE(watch->triggered, true);
	task_wake(watch->task);
	return 1;
}

static void queue(struct file *filp, wait_queue_head_t *wq, poll_table *table)
{
	struct watch *watch = container_of(table, struct watch, table);

	(void)filp;
	watch->queue = wq;
	add_wait_queue(wq, &watch->entry);
}

static bool ready(struct watch *watch)
{
	__poll_t events;

	current->never_waits = true;
	events = device->poll(watch->filp, &watch->table);
	current->never_waits = false;
	may_return();
	watch->table._qproc = NULL;
	return events & EPOLLIN;
}

bool watch_add(struct watch *watch, struct file *filp, bool edge)
{
	*watch = (struct watch) {
		.table = { ._qproc = queue, ._key = EPOLLIN },
		.entry = { .func = trigger },
		.filp = filp,
		.task = current,
		.edge = edge,
	};
	if (!ready(watch))
		return false;
	WRITE_ONCE(watch->triggered, true);
	return true;
}

static int sleep_until_triggered(struct watch *watch)
{
	for (;;) {
		task_about_to_sleep();
		if (READ_ONCE(watch->triggered))
			break;
		if (signal_pending(current))
			break;
		task_sleep();
	}
	task_wake(current);
	return READ_ONCE(watch->triggered) ? 0 : -EINTR;
}

int watch_wait(struct watch *watch)
{
	int err;

	for (;;) {
		err = sleep_until_triggered(watch);
		if (err)
			return err;
		WRITE_ONCE(watch->triggered, false);
		if (!ready(watch))
			continue;
		/* What is level-triggered stays on epoll's list. */
		if (!watch->edge)
			WRITE_ONCE(watch->triggered, true);
		return EPOLLIN;
	}
}

void watch_remove(struct watch *watch)
{
	remove_wait_queue(watch->queue, &watch->entry);
}

int sys_poll(struct file *filp, bool wait)
{
	struct watch watch;
	int ret = watch_add(&watch, filp, false) ? EPOLLIN : 0;

	if (wait && !ret)
		ret = watch_wait(&watch);
	watch_remove(&watch);
	return ret;
}
