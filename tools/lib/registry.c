// SPDX-License-Identifier: MIT
/*
 * The memory of all loops of the process
 *
 * Handles hold the address of the loop they were last in, even if that has been freed. So this
 * memory is never freed: a freed loop refuses every call until its memory is reused. Idle
 * handles detect even that, by the loop's number.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

/* This many freed loops are not reused, for handles that ran in them and are still used. */
#define KEEP		16

/* Loops in use; and freed ones, oldest first, where leak checkers find them. */
static LIST_HEAD(live);
static struct twheel_loop *freed;
static struct twheel_loop **last_freed = &freed;
static unsigned int nr_freed;
static uint64_t last_number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int refuse(struct twheel_loop *loop)
{
	return twheel_loop_check(loop) ? -1 : 0;
}

static int refuse_handle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	(void)handle;
	return refuse(loop);
}

static struct twheel_handle *take_none(struct twheel_loop *loop)
{
	(void)loop;
	return NULL;
}

static uint64_t count_none(struct twheel_loop *loop)
{
	(void)loop;
	return 0;
}

/* Stands in for the backend of a loop that is another process's, or was freed. */
static const struct backend refusing = {
	.arm = refuse_handle,
	.disarm = refuse_handle,
	.flush = refuse,
	.collect = refuse,
	.take = take_none,
	.wake = refuse,
	.alarm = refuse,
	.count = count_none,
};

static void refuse_all(struct twheel_loop *loop)
{
	forget_time(loop);
	loop->backend = &refusing;
}

/* Return the oldest freed loop of this size, if there are more than KEEP in all; or NULL. */
static struct twheel_loop *reuse(size_t size)
{
	struct twheel_loop **place = &freed;
	struct twheel_loop *loop;

	while (*place && (*place)->size != size)
		place = &(*place)->next;
	loop = *place;
	if (!loop || nr_freed <= KEEP)
		return NULL;
	*place = loop->next;
	if (!loop->next)
		last_freed = place;
	nr_freed--;
	return loop;
}

void *twheel_loop_alloc(size_t size)
{
	struct twheel_loop *loop;

	pthread_mutex_lock(&lock);
	loop = reuse(size);
	pthread_mutex_unlock(&lock);
	if (loop)
		memset(loop, 0, size);
	else
		loop = calloc(1, size);
	if (loop) {
		loop->size = size;
		INIT_LIST_HEAD(&loop->all);
	}
	return loop;
}

void twheel_loop_register(struct twheel_loop *loop)
{
	pthread_mutex_lock(&lock);
	loop->idle = (1ULL << 63) | ++last_number;
	list_add_tail(&loop->all, &live);
	pthread_mutex_unlock(&lock);
}

void twheel_loop_retire(struct twheel_loop *loop)
{
	loop->owner = NO_OWNER;
	loop->fd = -1;
	loop->idle = UINT64_MAX;
	refuse_all(loop);
	pthread_mutex_lock(&lock);
	list_del(&loop->all);
	loop->next = NULL;
	*last_freed = loop;
	last_freed = &loop->next;
	nr_freed++;
	pthread_mutex_unlock(&lock);
}

void twheel_loops_lock(void)
{
	pthread_mutex_lock(&lock);
}

void twheel_loops_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void twheel_loops_forked(void)
{
	struct twheel_loop *loop;

	list_for_each_entry(loop, &live, all)
		refuse_all(loop);
	twheel_loops_unlock();
}
