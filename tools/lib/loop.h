/* SPDX-License-Identifier: MIT */
/*
 * What a loop and its two backends have in common; libtwheel.h describes it from outside
 *
 * loop.c decides when a timer is to be armed and when its callback is called. A backend
 * holds timers until they expire: the device in the kernel, the user's in a wheel here.
 */
#ifndef LIBTWHEEL_LOOP_H
#define LIBTWHEEL_LOOP_H

#include <pthread.h>
#include <stdbool.h>

#include <linux/kernel.h>
#include <linux/list.h>

#include "libtwheel.h"

/* How many timers are armed, cancelled or read in one call of the kernel. */
#define BATCH			512

/* What @armed of a handle is while it is idle: later than any deadline. */
#define NOT_ARMED		UINT64_MAX

/* What @now of a loop is while it is not known: no sum with it is a valid time. */
#define NOT_READ		(TWHEEL_TIME_MAX_NS + 1)

/*
 * The bits of @state. A handle that is linked is in one of the lists of its loop; an armed
 * one in the backend, which has it expire at @armed. Without either it is idle. The others
 * say how it goes on after that.
 */
#define LINKED			0x01
#define ARMED			0x02
#define RUNNING			(LINKED | ARMED)
#define REPEATS			0x10
#define SCHEDULED		0x20

/**
 * struct backend - what a loop runs over
 * @number: TWHEEL_BACKEND_DEVICE or TWHEEL_BACKEND_USER.
 * @free: drops all timers, and the loop.
 * @arm: arms an idle handle, or leaves that to @flush and links it to @changes. Returns 0.
 * @disarm: makes an armed handle idle. Returns 0; or -1 with errno set, and it is armed.
 * @flush: arms the handles of @flushing. Returns 0, or -1 with errno set.
 * @collect: looks for more timers that have expired, when all that it found before are
 *	taken. Returns 0, or -1 with errno set.
 * @take: takes a timer that has expired; or NULL.
 * @wake: makes the descriptor readable. Called by any thread, with the lock held. Returns
 *	0, or -1 with errno set.
 */
struct backend {
	int number;
	void (*free)(struct twheel_loop *loop);
	int (*arm)(struct twheel_loop *loop, struct twheel_handle *handle);
	int (*disarm)(struct twheel_loop *loop, struct twheel_handle *handle);
	int (*flush)(struct twheel_loop *loop);
	int (*collect)(struct twheel_loop *loop);
	struct twheel_handle *(*take)(struct twheel_loop *loop);
	int (*wake)(struct twheel_loop *loop);
};

/**
 * struct twheel_loop - a loop
 * @now: its time, or NOT_READ. The first member: twheel_again() in the header reads it.
 * @clock_id: its clock.
 * @owner: the process it belongs to, as a token of fork.c.
 * @fd: what the program waits for.
 * @more: collect() may find more.
 * @backend: what it runs over.
 * @changes: handles that wait to be armed by the next flush.
 * @flushing: those that wait for it since the last one began.
 * @expired: those that have expired, and are yet to be called.
 * @unarmed: from the config.
 * @data: from the config.
 * @lock: protects @first, @last, and what wake() needs.
 * @first: messages of other threads; the last one's @next is not NULL, but @end.
 * @last: where to put the next one.
 */
struct twheel_loop {
	uint64_t now;
	clockid_t clock_id;
	uint32_t owner;
	int fd;
	bool more;
	const struct backend *backend;
	struct list_head changes;
	struct list_head flushing;
	struct list_head expired;
	twheel_unarmed *unarmed;
	void *data;
	pthread_mutex_t lock;
	struct twheel_message *first;
	struct twheel_message **last;
};

/* Each returns a loop of which it has set @fd and @backend; or NULL with errno set. */
struct twheel_loop *twheel_device_new(int fd, const struct twheel_setup *setup);
struct twheel_loop *twheel_user_new(const struct twheel_setup *setup);

static inline struct list_head *handle_link(struct twheel_handle *handle)
{
	return (struct list_head *)handle->link;
}

static inline struct twheel_handle *linked_handle(struct list_head *link)
{
	return container_of(link, struct twheel_handle, link);
}

/* Have an idle handle armed by the next flush; until then its deadline can be any. */
static inline int link_change(struct twheel_loop *loop, struct twheel_handle *handle)
{
	list_add_tail(handle_link(handle), &loop->changes);
	handle->state |= LINKED;
	handle->armed = 0;
	return 0;
}

/* The handle is in no list and no backend any more. */
static inline void set_idle(struct twheel_handle *handle)
{
	handle->state &= ~RUNNING;
	handle->armed = NOT_ARMED;
}

uint64_t twheel_loop_read_clock(struct twheel_loop *loop);

/* The time of the loop, which reads the clock once for all that follows a wait. */
static inline uint64_t loop_now(struct twheel_loop *loop)
{
	return likely(loop->now <= TWHEEL_TIME_MAX_NS) ? loop->now : twheel_loop_read_clock(loop);
}

/* 0 if this process may use the loop; or -1 with errno set. */
int twheel_loop_check(const struct twheel_loop *loop);

/* Something is left that dispatch() should be called for, by way of the descriptor. */
bool twheel_loop_has_left(struct twheel_loop *loop);

/* A linked handle cannot be armed: 0 when its owner was told, or -1 with errno set. */
int twheel_loop_report(struct twheel_loop *loop, struct twheel_handle *handle, int error);

/* A number of this process that no ancestor has; 0 while it has none. */
uint32_t twheel_process_token(void);

/* The same, and makes one; 0 if that cannot be. After this, the other may be called. */
uint32_t twheel_process_token_new(void);

#endif /* LIBTWHEEL_LOOP_H */
