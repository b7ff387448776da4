/* SPDX-License-Identifier: MIT */
/*
 * System calls, and the waiting that poll(2) and epoll do around the driver's poll
 *
 * All return the same as the kernel's: a negative errno for an error.
 */
#pragma once

#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/poll.h>

#include <uapi/linux/twheel.h>

/* A task that waits for a file, as poll(2) and epoll do */
struct watch {
	poll_table table;	/* the argument of the first call of the driver's poll */
	wait_queue_entry_t entry;	/* its entry in the file's wait queue */
	wait_queue_head_t *queue;
	struct file *filp;
	struct task_struct *task;
	bool triggered;	/* it has been woken, and has to poll again */
	u32 flags;	/* EPOLLET: only a wake-up makes it poll again; EPOLLEXCLUSIVE */
};

int sys_open(u32 uid, struct file **filp);
void sys_close(struct file *filp);
/* A process that has the file open, too, closes it or dies. */
void sys_close_copy(struct file *filp);
long sys_ioctl(struct file *filp, unsigned int cmd, void *arg);
/*
 * Read with IOCB_NOWAIT, as io_uring and RWF_NOWAIT do, or without; @plain reads as read(2),
 * others as io_uring.
 */
ssize_t sys_read(struct file *filp, void *to, size_t size, int flags, bool plain);
/*
 * Map with MAP_SHARED and offset 0; return the mapping, or NULL without memory. It lasts
 * until the file is closed.
 */
void *sys_mmap(struct file *filp, size_t size);
/* An io_uring command, by its submitter. */
long sys_uring(struct file *filp, unsigned int cmd, u64 first, u64 second);
void sys_fdinfo(struct file *filp);

/* epoll: add a file, wait for it, and remove it. */
/* Returns whether there is something to read. */
bool watch_add(struct watch *watch, struct file *filp, u32 flags);
int watch_wait(struct watch *watch);
void watch_remove(struct watch *watch);

/* poll(2); without @wait, its timeout is 0. */
int sys_poll(struct file *filp, bool wait);

/* waiters.c: ways to wait, and to read until there is a signal. */
void wait_in_read(void);
void wait_in_poll(void);
void wait_in_level(void);
void wait_in_edge(void);
void wait_in_exclusive(void);
void wait_in_uring(void);

/* The wheel that the task uses; its ring or NULL, and a lock for those that take events from it. */
extern OF_TASK struct file *wheel;
extern OF_TASK struct twheel_ring *ring;
extern OF_TASK u32 ring_slots;
extern OF_TASK struct mutex *ring_lock;

/* Make the ring of the wheel, unless it has one, and map it. */
void map_ring(u32 slots);
/* Take the events in the ring, and record them; return how many. */
unsigned int take_events(void);

/* In each suite: read up to @max events, and record them; a negative errno, or how many. */
int read_events(unsigned int max, int flags);
void record_event(const struct twheel_event *event);

/* Check that a file is charged for exactly what it holds; its user has no other. */
void check_charge(struct file *filp);
