/* SPDX-License-Identifier: MIT */
/*
 * io_uring without a library
 *
 * A ring belongs to one thread. The tests are built for several machines, some of which have no
 * liburing.
 */
#pragma once

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libtwheel-uring.h"

#define RING_ENTRIES	64

/* As mmap(), or NULL with errno set. */
static inline void *map_fd(int fd, size_t size, int prot, int flags, off_t offset)
{
	void *map = mmap(NULL, size, prot, flags, fd, offset);

	return map == MAP_FAILED ? NULL : map;
}

struct ring {
	int fd;
	struct io_uring_params params;
	char *queues;
	struct io_uring_sqe *sqes;
};

static inline unsigned int *ring_word(struct ring *ring, __u32 offset)
{
	return (unsigned int *)(ring->queues + offset);
}

/* @flags: IORING_SETUP_*. */
static inline bool ring_open(struct ring *ring, __u32 flags)
{
	struct io_uring_params *p = &ring->params;
	size_t submit, complete;

	memset(ring, 0, sizeof(*ring));
	p->flags = flags;
	p->sq_thread_idle = 60000;
	ring->fd = syscall(SYS_io_uring_setup, RING_ENTRIES, p);
	if (ring->fd < 0)
		return false;
	submit = p->sq_off.array + p->sq_entries * sizeof(__u32);
	complete = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
	ring->queues = map_fd(ring->fd, submit > complete ? submit : complete,
			      PROT_READ | PROT_WRITE, MAP_SHARED, IORING_OFF_SQ_RING);
	ring->sqes = map_fd(ring->fd, p->sq_entries * sizeof(*ring->sqes) <<
			    !!(flags & IORING_SETUP_SQE128),
			    PROT_READ | PROT_WRITE, MAP_SHARED, IORING_OFF_SQES);
	return ring->queues && ring->sqes;
}

/* Queue a request; @more: the second half of a large entry, or NULL. */
static inline void ring_queue(struct ring *ring, const struct io_uring_sqe *sqe,
			      const struct io_uring_sqe *more)
{
	unsigned int *tail = ring_word(ring, ring->params.sq_off.tail);
	unsigned int slot = *tail & (ring->params.sq_entries - 1);
	unsigned int large = !!(ring->params.flags & IORING_SETUP_SQE128);

	ring->sqes[slot << large] = *sqe;
	if (large)
		ring->sqes[2 * slot + 1] = more ? *more : (struct io_uring_sqe) { 0 };
	ring_word(ring, ring->params.sq_off.array)[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
}

static inline bool ring_enter(struct ring *ring, unsigned int count)
{
	return syscall(SYS_io_uring_enter, ring->fd, count, 0, 0, NULL, 0) == (long)count;
}

static inline bool ring_submit(struct ring *ring, const struct io_uring_sqe *sqe)
{
	ring_queue(ring, sqe, NULL);
	return ring_enter(ring, 1);
}

/* @flags is 0 or IORING_POLL_ADD_MULTI, for a poll that continues after it has reported. */
static inline bool ring_poll(struct ring *ring, int fd, __u32 flags)
{
	return ring_submit(ring, &(struct io_uring_sqe) {
		.opcode = IORING_OP_POLL_ADD, .fd = fd, .poll_events = POLLIN, .len = flags,
	});
}

static inline bool ring_read(struct ring *ring, int fd, void *buffer, __u32 size)
{
	return ring_submit(ring, &(struct io_uring_sqe) {
		.opcode = IORING_OP_READ, .fd = fd, .addr = (uintptr_t)buffer, .len = size,
		.off = -1,
	});
}

/* Takes a completion, if there is one, without a system call. */
static inline bool ring_peek(struct ring *ring, struct io_uring_cqe *cqe)
{
	unsigned int *head = ring_word(ring, ring->params.cq_off.head);
	unsigned int *tail = ring_word(ring, ring->params.cq_off.tail);
	struct io_uring_cqe *cqes = (void *)(ring->queues + ring->params.cq_off.cqes);

	if (*head == __atomic_load_n(tail, __ATOMIC_ACQUIRE))
		return false;
	*cqe = cqes[*head & (ring->params.cq_entries - 1)];
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return true;
}

/* Takes a completion, if there is one; with @wait, waits for it. */
static inline bool ring_next(struct ring *ring, struct io_uring_cqe *cqe, bool wait)
{
	do {
		syscall(SYS_io_uring_enter, ring->fd, 0, wait, IORING_ENTER_GETEVENTS, NULL, 0);
		if (ring_peek(ring, cqe))
			return true;
	} while (wait);
	return false;
}

/* Executes a request that does not wait: its result. */
static inline int ring_execute(struct ring *ring, const struct io_uring_sqe *sqe)
{
	struct io_uring_cqe cqe;

	if (!ring_submit(ring, sqe))
		return -errno;
	ring_next(ring, &cqe, true);
	return cqe.res;
}
