// SPDX-License-Identifier: MIT
/*
 * Distinguishing a process from the one it was forked from
 *
 * In a child of fork(), a handler makes all loops refuse, so that starts and stops need not check
 * for that.
 */
#include "loop.h"

/* All loops of the process. */
static LIST_HEAD(live);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int refuse_handle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	return twheel_loop_check(loop);
}

void twheel_loop_register(struct twheel_loop *loop)
{
	pthread_mutex_lock(&lock);
	list_add_tail(&loop->all, &live);
	pthread_mutex_unlock(&lock);
}

void twheel_loop_unregister(struct twheel_loop *loop)
{
	pthread_mutex_lock(&lock);
	list_del(&loop->all);
	pthread_mutex_unlock(&lock);
}

static void lock_loops(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_loops(void)
{
	pthread_mutex_unlock(&lock);
}

/* In the child. Other functions check first whether the loop is inherited. */
static void refuse_loops(void)
{
	struct twheel_loop *loop;

	list_for_each_entry(loop, &live, all) {
		end_turn(loop);
		loop->is_inherited = true;
		loop->backend.arm = refuse_handle;
		loop->backend.disarm = refuse_handle;
		loop->backend.alarm = twheel_loop_check;
	}
	unlock_loops();
}

int twheel_loop_watch_forks(void)
{
	static bool watches;

	lock_loops();
	if (!watches)
		watches = !pthread_atfork(lock_loops, unlock_loops, refuse_loops);
	unlock_loops();
	return watches ? 0 : fail(ENOMEM);
}
