// SPDX-License-Identifier: MIT
/*
 * One timerfd over a binary heap, for twheel-bench: the timers of most event loops
 */
#include <err.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bench.h"

/* A timer in the heap. */
struct node {
	uint64_t deadline;
	size_t which;
};

static const struct work *work;
static struct node *heap;
/* The place of each timer in the heap, or NOWHERE. */
static size_t *place;
static size_t count;
static int timer;
static int epoll;
/* The deadline that the timerfd is armed for. */
static uint64_t armed;

#define NOWHERE	SIZE_MAX

static void open_heap(const struct work *w)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	work = w;
	count = 0;
	armed = UINT64_MAX;
	heap = bench_array(w->pending, sizeof(*heap));
	place = bench_array(w->pending, sizeof(*place));
	timer = timerfd_create(w->clock, TFD_NONBLOCK | TFD_CLOEXEC);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (timer < 0 || epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event))
		err(1, "timerfd, epoll");
}

static void put(size_t at, struct node node)
{
	heap[at] = node;
	place[node.which] = at;
}

/* Put a node into the gap at @at, or above or below it. */
static void sift(size_t at, struct node node)
{
	size_t child;

	for (; at && heap[(at - 1) / 2].deadline > node.deadline; at = (at - 1) / 2)
		put(at, heap[(at - 1) / 2]);
	for (; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && heap[child + 1].deadline < heap[child].deadline)
			child++;
		if (heap[child].deadline >= node.deadline)
			break;
		put(at, heap[child]);
	}
	put(at, node);
}

static void insert(size_t which, uint64_t deadline)
{
	sift(count++, (struct node){ deadline, which });
}

static void remove_at(size_t at)
{
	place[heap[at].which] = NOWHERE;
	if (at != --count)
		sift(at, heap[count]);
}

static void arm(void)
{
	struct itimerspec its = { };

	if (!count || heap->deadline == armed)
		return;
	armed = heap->deadline;
	its.it_value = timespec_of(armed);
	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &its, NULL))
		err(1, "timerfd_settime");
}

static void add(size_t first, size_t n)
{
	for (; n; n--, first++)
		insert(first, now_on(work->clock) + work->delay_ns[first]);
}

static void modify(const uint32_t *which, size_t n)
{
	for (; n; n--, which++) {
		uint64_t deadline = now_on(work->clock) + work->timeout_ns;

		sift(place[*which], (struct node){ deadline, *which });
	}
}

static void cancel(const uint32_t *which, size_t n)
{
	for (; n; n--, which++)
		if (place[*which] != NOWHERE)
			remove_at(place[*which]);
}

/* Take due timers: one turn of the loop. */
static size_t wait(size_t max, int timeout_ms, uint64_t *sum)
{
	struct epoll_event event;
	uint64_t now, expirations;
	size_t n;

	arm();
	if (epoll_wait(epoll, &event, 1, timeout_ms) == 1 &&
	    read(timer, &expirations, sizeof(expirations)) == sizeof(expirations))
		armed = UINT64_MAX;
	now = now_on(work->clock);
	for (n = 0; n < max && count && heap->deadline <= now; n++) {
		size_t which = heap->which;

		*sum += which;
		remove_at(0);
		if (work->rearm)
			insert(which, now + work->timeout_ns);
	}
	return n;
}

static size_t deliver(size_t max, uint64_t *sum)
{
	return wait(max, -1, sum);
}

static size_t turn(uint64_t *sum)
{
	return wait(BENCH_BATCH_MAX, 0, sum);
}

static void close_heap(void)
{
	close(epoll);
	close(timer);
	free(heap);
	free(place);
}

const struct facility timerfd_heap_facility = {
	.name = "timerfd-heap",
	.kernel = NOT_IN_KERNEL,
	.open = open_heap,
	.add = add,
	.modify = modify,
	.cancel = cancel,
	.deliver = deliver,
	.turn = turn,
	.close = close_heap,
};
