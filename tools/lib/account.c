// SPDX-License-Identifier: MIT
/*
 * The account of all running handles of a loop, for twheel_loop_walk() and TWHEEL_DEBUG
 *
 * It is a backend in front of the loop's own. The handles are in a hash table with open
 * addressing, because a handle has no room for links.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "loop.h"

#define FIRST_SLOTS	64

/**
 * struct account - the running handles of a loop
 * @debug: their memory is checked.
 * @thread: the thread that flushes and dispatches, or 0 before the first time.
 * @count: how many there are.
 * @slots: how many there is room for: a power of two, at least twice @count.
 * @handle: the handles; NULL is an empty slot.
 */
struct account {
	bool debug;
	pid_t thread;
	size_t count;
	size_t slots;
	struct twheel_handle **handle;
};

/*
 * The table.
 */

static size_t home(const struct account *account, const struct twheel_handle *handle)
{
	/* The upper half of a product with 2^64 divided by the golden ratio. */
	return ((uintptr_t)handle * 0x9e3779b97f4a7c15ULL >> 32) & (account->slots - 1);
}

/* Return the slot of a handle, or the empty one where it belongs. */
static size_t find(const struct account *account, const struct twheel_handle *handle)
{
	size_t slot = home(account, handle);

	while (account->handle[slot] && account->handle[slot] != handle)
		slot = (slot + 1) & (account->slots - 1);
	return slot;
}

static int resize(struct account *account, size_t slots)
{
	struct account old = *account;
	size_t i;

	account->handle = calloc(slots, sizeof(*account->handle));
	if (!account->handle) {
		account->handle = old.handle;
		return -1;
	}
	account->slots = slots;
	for (i = 0; i < old.slots; i++)
		if (old.handle[i])
			account->handle[find(account, old.handle[i])] = old.handle[i];
	free(old.handle);
	return 0;
}

static int insert(struct account *account, struct twheel_handle *handle)
{
	if (2 * (account->count + 1) > account->slots && resize(account, 2 * account->slots))
		return -1;
	account->handle[find(account, handle)] = handle;
	account->count++;
	return 0;
}

/* Remove a handle and close the gap: later handles move up, but not before their home. */
static void delete(struct account *account, struct twheel_handle *handle)
{
	size_t mask = account->slots - 1;
	size_t gap = find(account, handle);
	size_t slot = gap;

	if (!account->handle[gap])
		return;
	for (;;) {
		slot = (slot + 1) & mask;
		if (!account->handle[slot])
			break;
		if (((slot - home(account, account->handle[slot])) & mask) <
		    ((slot - gap) & mask))
			continue;
		account->handle[gap] = account->handle[slot];
		gap = slot;
	}
	account->handle[gap] = NULL;
	account->count--;
}

/*
 * Checks.
 */

static void die(const struct twheel_loop *loop, const struct twheel_handle *handle,
		const char *what)
{
	if (handle)
		fprintf(stderr, "twheel: loop %p, timer %p: %s\n", loop, handle, what);
	else
		fprintf(stderr, "twheel: loop %p: %s\n", loop, what);
	abort();
}

static void check_thread(struct twheel_loop *loop, bool owns)
{
	struct account *account = loop->account;
	pid_t thread;

	if (!account->debug)
		return;
	thread = gettid();
	if (!account->thread && owns)
		account->thread = thread;
	if (account->thread && account->thread != thread)
		die(loop, NULL, "two threads use it; twheel_loop_post() is for others");
}

static void check_handle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	struct list_head *link = handle_link(handle);
	bool linked = handle->state & LINKED;
	bool armed = handle->state & ARMED;

	if (handle->loop != loop || !handle->callback || linked == armed ||
	    handle->state & ~(RUNNING | ACCOUNTED | REPEATS | SCHEDULED))
		die(loop, handle, "its memory was freed or changed while it was running");
	/* The device keeps no links of armed timers. */
	if (armed && loop->real->number == TWHEEL_BACKEND_DEVICE)
		return;
	if (!link->next || !link->prev || link->next->prev != link || link->prev->next != link)
		die(loop, handle, "its links or a neighbour's were changed while it was running");
}

static void check_all(struct twheel_loop *loop)
{
	struct account *account = loop->account;
	size_t i;

	check_thread(loop, true);
	for (i = 0; account->debug && i < account->slots; i++)
		if (account->handle[i])
			check_handle(loop, account->handle[i]);
}

/*
 * The backend in front of the other one.
 */

static int account_arm(struct twheel_loop *loop, struct twheel_handle *handle)
{
	check_thread(loop, false);
	if (insert(loop->account, handle)) {
		handle->state = 0;
		handle->armed = IDLE;
		return -1;
	}
	handle->state |= ACCOUNTED;
	return loop->real->arm(loop, handle);
}

static int account_disarm(struct twheel_loop *loop, struct twheel_handle *handle)
{
	check_thread(loop, false);
	if (handle->state & LINKED)
		unlink_handle(loop, handle);
	else if (loop->real->disarm(loop, handle) < 0)
		return -1;
	delete(loop->account, handle);
	return 1;
}

static int account_flush(struct twheel_loop *loop)
{
	check_all(loop);
	return loop->real->flush(loop);
}

static int account_collect(struct twheel_loop *loop)
{
	check_all(loop);
	return loop->real->collect(loop);
}

static struct twheel_handle *account_take(struct twheel_loop *loop)
{
	struct twheel_handle *handle = loop->real->take(loop);

	if (handle)
		delete(loop->account, handle);
	return handle;
}

static int account_wake(struct twheel_loop *loop)
{
	return loop->real->wake(loop);
}

static int account_alarm(struct twheel_loop *loop)
{
	return loop->real->alarm(loop);
}

static uint64_t account_count(struct twheel_loop *loop)
{
	return loop->real->count(loop);
}

static const struct backend accounting = {
	.arm = account_arm,
	.disarm = account_disarm,
	.flush = account_flush,
	.collect = account_collect,
	.take = account_take,
	.wake = account_wake,
	.alarm = account_alarm,
	.count = account_count,
};

int twheel_account_new(struct twheel_loop *loop, bool debug)
{
	struct account *account = calloc(1, sizeof(*account));

	if (!account || resize(account, FIRST_SLOTS)) {
		free(account);
		return -1;
	}
	account->debug = debug;
	loop->account = account;
	loop->backend = &accounting;
	return 0;
}

void twheel_account_free(struct twheel_loop *loop)
{
	if (!loop->account)
		return;
	free(loop->account->handle);
	free(loop->account);
	loop->account = NULL;
}

int twheel_account_add(struct twheel_loop *loop, struct twheel_handle *handle)
{
	if (insert(loop->account, handle))
		return -1;
	handle->state |= ACCOUNTED;
	return 0;
}

void twheel_account_drop(struct twheel_loop *loop, struct twheel_handle *handle)
{
	delete(loop->account, handle);
}

/* Visit a copy of the table: the function may stop a timer, which moves others. */
int twheel_account_walk(struct twheel_loop *loop, twheel_visit *visit, void *arg)
{
	struct account *account = loop->account;
	size_t count = 0, i;
	struct twheel_handle **all;
	int ret = 0;

	all = malloc((account->count ?: 1) * sizeof(*all));
	if (!all)
		return -1;
	for (i = 0; i < account->slots; i++)
		if (account->handle[i])
			all[count++] = account->handle[i];
	for (i = 0; i < count && !ret; i++)
		ret = visit(loop, all[i], arg);
	free(all);
	return ret;
}
