// SPDX-License-Identifier: MIT
/*
 * Distinguishing a process from the one it was forked from
 *
 * In a child of fork(), a handler makes all loops refuse, so that starts and stops need not check
 * for that. A page that the kernel zeroes in every child also shows one of a raw clone().
 */
#include <sys/mman.h>

#include "loop.h"

uint32_t *twheel_process_page;

/* All loops of the process. */
static LIST_HEAD(live);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int refuse_handle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	return twheel_loop_check(loop);
}

/* The first loop of a process gives it a number, which those of its parent do not have. */
void twheel_loop_register(struct twheel_loop *loop)
{
	static uint32_t last_number;

	pthread_mutex_lock(&lock);
	if (!*twheel_process_page)
		__atomic_store_n(twheel_process_page, ++last_number, __ATOMIC_RELAXED);
	loop->process = *twheel_process_page;
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

/* Other functions check first whose loop it is; between two turns, so does a start. */
static void begin_child(void)
{
	struct twheel_loop *loop;

	list_for_each_entry(loop, &live, all) {
		end_turn(loop);
		loop->backend.disarm = refuse_handle;
		loop->backend.alarm = twheel_loop_check;
	}
	unlock_loops();
}

int twheel_loop_watch_forks(void)
{
	uint32_t *page;

	lock_loops();
	if (!twheel_process_page) {
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page != MAP_FAILED && !madvise(page, sizeof(*page), MADV_WIPEONFORK) &&
		    !pthread_atfork(lock_loops, unlock_loops, begin_child))
			twheel_process_page = page;
		else if (page != MAP_FAILED)
			munmap(page, sizeof(*page));
	}
	unlock_loops();
	return twheel_process_page ? 0 : fail(ENOMEM);
}
