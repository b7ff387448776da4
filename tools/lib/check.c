// SPDX-License-Identifier: MIT
/*
 * The checks of TWHEEL_DEBUG, which cost O(1) in each call
 *
 * They stand in front of functions of the loop's backend.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"

static void die(const struct twheel_loop *loop, const struct twheel_handle *handle,
		const char *what)
{
	fprintf(stderr, "twheel: loop %p, timer %p: %s\n", loop, handle, what);
	abort();
}

static const struct backend *checked(struct twheel_loop *loop)
{
	loop->thread = loop->thread ?: gettid();
	if (loop->thread != gettid())
		die(loop, NULL, "two threads dispatch; twheel_loop_post() is for others");
	return loop->real;
}

void twheel_loop_check_handle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	struct list_head *link = handle_link(handle);
	bool linked = handle->state & LINKED;
	bool armed = handle->state & ARMED;

	if (handle->loop != loop || !handle->callback || linked == armed)
		die(loop, handle, "its memory was freed or changed while it was running");
	/* The device keeps no links of armed timers. */
	if (armed && loop->real->number == TWHEEL_BACKEND_DEVICE)
		return;
	if (!link->next || !link->prev || link->next->prev != link || link->prev->next != link)
		die(loop, handle, "its links or a neighbour's were changed while it was running");
}

static int check_disarm(struct twheel_loop *loop, struct twheel_handle *handle)
{
	twheel_loop_check_handle(loop, handle);
	return loop->real->disarm(loop, handle);
}

static int check_flush(struct twheel_loop *loop)
{
	return checked(loop)->flush(loop);
}

static int check_collect(struct twheel_loop *loop, bool again)
{
	return checked(loop)->collect(loop, again);
}

void twheel_loop_add_checks(struct twheel_loop *loop)
{
	const char *debug = secure_getenv("TWHEEL_DEBUG");

	if (!debug || !*debug || !strcmp(debug, "0"))
		return;
	loop->own.disarm = check_disarm;
	loop->own.flush = check_flush;
	loop->own.collect = check_collect;
}
