// SPDX-License-Identifier: MIT
/*
 * Threads, each with its own ring, change the timers of one wheel, with an accountant:
 * each timer is read once or cancelled once
 */
#include <pthread.h>
#include <stdio.h>

#include "chance.h"
#include "ring.h"

#define THREADS		4
#define MOST		64
/* Several holds of the lock. */
#define BATCH		400

static int fd;
static unsigned int per_thread;
static uint64_t *ids;
/* How often the timer was read or cancelled. */
static uint8_t *ends;
static unsigned int wrong, early_ends, by_ring;
static bool done;

static void count(unsigned int *counter, unsigned int n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static void end_timer(uint64_t nr)
{
	if (nr >= (uint64_t)THREADS * per_thread ||
	    __atomic_fetch_add(&ends[nr], 1, __ATOMIC_RELAXED))
		count(&wrong, 1);
}

/* Adds by a batch, which may end early; the next batch adds the rest. */
static void add_batch(struct io_uring *ring, struct twheel_add *add, unsigned int n)
{
	struct twheel_batch batch;
	int res;

	while (n) {
		batch = (struct twheel_batch){ (uintptr_t)add, n, 0 };
		twheel_prep_add_batch(get_sqe(ring, 0), fd, &batch);
		submit(ring);
		res = result(ring);
		if (res <= 0) {
			count(&wrong, 1);
			return;
		}
		count(&early_ends, res != (int)n);
		add += res;
		n -= res;
	}
}

static void add_singly(struct io_uring *ring, struct twheel_add *add, unsigned int n)
{
	int res[MOST];
	unsigned int i;

	for (i = 0; i < n; i++)
		twheel_prep_add(get_sqe(ring, i), fd, &add[i]);
	submit(ring);
	if (!results(ring, n, res))
		count(&wrong, 1);
	for (i = 0; i < n; i++)
		count(&wrong, res[i] != 0);
}

/* Modifies and cancels timers of any thread; a cancel that succeeds ends its timer. */
static void change(struct io_uring *ring, struct chance *chance, unsigned int n)
{
	uint64_t nr[MOST];
	int res[MOST];
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint64_t id, which = chance_below(chance, (uint64_t)THREADS * per_thread);
		struct io_uring_sqe *sqe = get_sqe(ring, i);

		id = __atomic_load_n(&ids[which], __ATOMIC_RELAXED);
		nr[i] = which;
		if (chance_hit(chance, 50)) {
			nr[i] = UINT64_MAX;
			twheel_prep_modify(sqe, fd, id, chance_below(chance, 3 * MSEC));
		} else {
			twheel_prep_cancel(sqe, fd, id);
		}
		if (chance_hit(chance, 10))
			sqe->flags |= IOSQE_ASYNC;
	}
	submit(ring);
	if (!results(ring, n, res))
		count(&wrong, 1);
	for (i = 0; i < n; i++) {
		if (!res[i] && nr[i] != UINT64_MAX)
			end_timer(nr[i]);
		count(&wrong, res[i] && res[i] != -ENOENT);
	}
}

static void *change_all(void *arg)
{
	unsigned int thread = (uintptr_t)arg, begin = thread * per_thread, next = 0, i;
	struct twheel_add add[BATCH];
	struct io_uring ring;
	struct chance chance;

	chance_init(&chance, 1, thread);
	open_ring(&ring, kinds[thread % nr_kinds].flags);
	while (next < per_thread) {
		bool batch = chance_hit(&chance, 50);
		unsigned int n = 1 + chance_below(&chance, batch ? BATCH : MOST);

		if (n > per_thread - next)
			n = per_thread - next;
		memset(add, 0, sizeof(add));
		for (i = 0; i < n; i++) {
			add[i].time_ns = chance_below(&chance, 5 * MSEC);
			add[i].data = begin + next + i;
		}
		if (batch)
			add_batch(&ring, add, n);
		else
			add_singly(&ring, add, n);
		for (i = 0; i < n; i++)
			__atomic_store_n(&ids[begin + next + i], add[i].id, __ATOMIC_RELAXED);
		next += n;
		change(&ring, &chance, 1 + chance_below(&chance, MOST));
	}
	io_uring_queue_exit(&ring);
	return NULL;
}

static void *read_all(void *arg)
{
	struct twheel_event event[64];
	struct io_uring_cqe cqe;
	struct io_uring ring;
	unsigned int i;

	(void)arg;
	open_ring(&ring, 0);
	io_uring_prep_read(get_sqe(&ring, 0), fd, event, sizeof(event), 0);
	submit(&ring);
	/* The last event ends the reader. */
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
		if (wait_cqe(&ring, A_WHILE, &cqe) == NONE)
			continue;
		if (cqe.res <= 0) {
			count(&wrong, 1);
			break;
		}
		for (i = 0; i < cqe.res / sizeof(*event); i++)
			end_timer(event[i].data);
		count(&by_ring, cqe.res / sizeof(*event));
		io_uring_prep_read(get_sqe(&ring, 0), fd, event, sizeof(event), 0);
		submit(&ring);
	}
	io_uring_queue_exit(&ring);
	return NULL;
}

void test_races(unsigned int ops)
{
	pthread_t thread[THREADS + 2];
	unsigned int i, total, never = 0;
	uint64_t end;

	per_thread = ops / THREADS;
	total = per_thread * THREADS;
	fd = open_wheel(0);
	ids = calloc(total, sizeof(*ids));
	ends = calloc(total, 1);
	for (i = 0; i < THREADS + 2; i++) {
		if (pthread_create(&thread[i], NULL, i < THREADS ? change_all : read_all,
				   (void *)(uintptr_t)i))
			bail_out("cannot make a thread");
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	end = now_ns() + LATE;
	while ((info_of(fd).pending || info_of(fd).expired) && now_ns() < end)
		sleep_for(MSEC);
	sleep_for(A_WHILE);
	__atomic_store_n(&done, true, __ATOMIC_RELAXED);
	for (; i < THREADS + 2; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < total; i++)
		never += ends[i] != 1;
	tap_note("%u timers, %u read by rings, %u batches ended early", total, by_ring,
		 early_ends);
	tap_result(!wrong && !never,
		   "%u threads, each with a ring on one wheel: every timer ends once", THREADS);
	close(fd);
	free(ids);
	free(ends);
}
