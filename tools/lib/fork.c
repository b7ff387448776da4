// SPDX-License-Identifier: MIT
/*
 * Distinguishing a process from the one it was forked from
 *
 * A page that is zeroed in the child of a fork() holds a number. Reading it detects a child,
 * even one that was made without the C library. In a child of the C library's fork(), a handler
 * makes all loops refuse: starts and stops need not read the number.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "loop.h"

/* All loops of the process. */
static LIST_HEAD(live);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int refuse_handle(struct twheel_loop *loop, struct twheel_handle *handle)
{
	return twheel_loop_check(loop);
}

/* Stands in for the backend of a loop that is another process's; other calls check that first. */
static const struct backend refusing = {
	.arm = refuse_handle,
	.disarm = refuse_handle,
	.alarm = twheel_loop_check,
};

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

/* In the child of a fork(). */
static void refuse_loops(void)
{
	struct twheel_loop *loop;

	list_for_each_entry(loop, &live, all) {
		end_turn(loop);
		loop->backend = &refusing;
	}
	unlock_loops();
}

uint32_t *twheel_process_page;
static uint32_t last_token;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void map_page(void)
{
	size_t bytes = sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	if (memory == MAP_FAILED)
		return;
	if (madvise(memory, bytes, MADV_WIPEONFORK) ||
	    pthread_atfork(lock_loops, unlock_loops, refuse_loops))
		munmap(memory, bytes);
	else
		twheel_process_page = memory;
}

/* The count of tokens is not wiped, so no ancestor has had the next one. */
int twheel_process_token_new(void)
{
	pthread_once(&once, map_page);
	if (!twheel_process_page)
		return fail(ENOMEM);
	lock_loops();
	if (!twheel_process_token())
		__atomic_store_n(twheel_process_page, ++last_token, __ATOMIC_RELAXED);
	unlock_loops();
	return 0;
}
