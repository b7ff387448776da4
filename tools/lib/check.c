// SPDX-License-Identifier: MIT
/*
 * The checks of TWHEEL_DEBUG, in front of functions of the loop's backend; see libtwheel(3)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/limits.h>

#include "loop.h"

static void die(const struct twheel_loop *loop, const struct twheel_handle *handle,
		const char *what)
{
	fprintf(stderr, "twheel: loop %p, timer %p: %s\n", loop, handle, what);
	abort();
}

static void check_thread(struct twheel_loop *loop)
{
	loop->thread = loop->thread ?: gettid();
	if (loop->thread != gettid())
		die(loop, NULL, "two threads dispatch; twheel_loop_post() is for others");
}

void twheel_loop_check_handle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	struct list_head *link = handle_link(handle);
	bool linked = handle->state & LINKED;
	bool armed = handle->state & ARMED;

	if (handle->loop != loop || !handle->callback || linked == armed)
		die(loop, handle, "its memory was freed or changed while it was running");
	if (!link->next || !link->prev || link->next->prev != link || link->prev->next != link)
		die(loop, handle, "its links or a neighbour's were changed while it was running");
}

/* The device has the handle's address. */
void twheel_loop_check_event(struct twheel_loop *loop, struct twheel_handle *handle, uint64_t id)
{
	twheel_loop_check_handle(loop, handle);
	if (!(handle->state & ARMED) || handle->where != id)
		die(loop, handle, "it was initialised again while it was running");
}

/* A handle is checked before its link is followed. */
static void check_list(struct twheel_loop *loop, struct list_head *list)
{
	struct list_head *link;

	for (link = list->next; link != list; link = link->next)
		twheel_loop_check_handle(loop, linked_handle(link));
}

static int check_disarm(struct twheel_loop *loop, struct twheel_handle *handle)
{
	twheel_loop_check_handle(loop, handle);
	return loop->real->disarm(loop, handle);
}

static int check_flush(struct twheel_loop *loop)
{
	check_thread(loop);
	check_list(loop, &loop->flushing);
	return loop->real->flush(loop);
}

static int check_collect(struct twheel_loop *loop, bool again)
{
	const bool can_be_set = loop->clock_id == CLOCK_REALTIME;

	check_thread(loop);
	/* Timers of the device are checked with their events. */
	if (loop->real->number == TWHEEL_BACKEND_USER)
		loop->real->each_list(loop, can_be_set ? S64_MAX : loop_clock(loop),
				      check_list);
	return loop->real->collect(loop, again);
}

void twheel_loop_add_checks(struct twheel_loop *loop)
{
	const char *debug = secure_getenv("TWHEEL_DEBUG");

	if (!debug || !*debug || !strcmp(debug, "0"))
		return;
	loop->backend.disarm = check_disarm;
	loop->backend.flush = check_flush;
	loop->backend.collect = check_collect;
}
